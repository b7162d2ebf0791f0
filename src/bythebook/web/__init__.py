"""The service: the answering engine over HTTP. FastAPI, uvicorn, pydantic, prometheus and limits live here only."""
