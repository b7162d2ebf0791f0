"""A book on disk → an index that says what the book says, with relevance calibrated to it.

May import `answering` and below; `threads` stands beside it.
"""
