"""Evidence → a draft. A draft is not trusted: `answering` has it checked before anyone sees it.

May import `grounding` and below.
"""
