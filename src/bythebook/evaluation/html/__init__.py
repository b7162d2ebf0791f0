"""A scorecard → one HTML page.

May import `evaluation` and below.
"""
