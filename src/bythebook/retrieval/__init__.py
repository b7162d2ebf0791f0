"""A question → the passages that may answer it.

May import `index` and below.
"""
