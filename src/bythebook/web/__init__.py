"""HTTP requests → operations → responses: the service, its keys, its limits and its page.

May import `mcp` and below; FastAPI, pydantic, uvicorn, limits and prometheus are imported here only.
"""
