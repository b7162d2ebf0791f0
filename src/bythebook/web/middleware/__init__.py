"""What every request passes through.

May import `web`.
"""
