"""A call of an editor or assistant → operations → what its model and its reader are shown.

May import `operations` and below; the mcp package is imported by `mcp.server` only.
"""
