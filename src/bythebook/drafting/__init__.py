"""Evidence → a draft. A draft is not trusted: `grounding` checks it before anyone sees it.

May import `grounding` and below.
"""
