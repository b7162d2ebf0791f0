"""A question and its thread → a standalone question.

May import `drafting` and below.
"""
