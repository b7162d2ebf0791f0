"""The service: the answering engine over HTTP. FastAPI, uvicorn, pydantic, structlog, prometheus and limits live here only."""
