"""Values → terminal output.

May import `cli` and below.
"""
