"""One file per resource: parse the request, call, respond.

May import `web`.
"""
