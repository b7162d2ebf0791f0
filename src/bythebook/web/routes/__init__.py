"""A request → a call → a response, one file per resource.

May import `web` and below.
"""
