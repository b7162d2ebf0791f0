"""A book on disk → an index that says what the book says, and a fit of relevance to it.

May import `answering` and below; `threads` stands beside it.
"""
