"""A book's Markdown → HTML that is safe to show.

May import `web` and below.
"""
