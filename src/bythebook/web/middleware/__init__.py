"""Every request → the same request, its body read and limited, its time and status recorded.

May import `web` and below.
"""
