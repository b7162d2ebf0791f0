"""One turn: a question in, events out.

May import `followups` and below.
"""
