"""The server's log: one line of JSON for each request, or plain lines where a person watches.

Questions are logged only with BYTHEBOOK_LOG_QUESTIONS. Values are escaped, so that no request can forge a line.
"""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

QUIET = ("httpx", "httpcore", "openai", "agents", "alembic", "asyncio")
FOR_REQUEST: ContextVar[str | None] = ContextVar("for_request", default=None)
"""The id of the request that is being handled."""


class Log:
    """Logs an event together with named values."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def info(self, event: str, **fields: Any) -> None:
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, **fields: Any) -> None:
        self._logger.warning(event, extra={"fields": fields})


log = Log("bythebook")


def configure_logs(*, level: str = "INFO") -> None:
    """Configures the logs of this process. Lines of libraries get the same form as ours."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLines() if sys.stderr.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


class JsonLines(logging.Formatter):
    """For programs."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            **getattr(record, "fields", {}),
            "event": record.getMessage(),
            "request_id": FOR_REQUEST.get(),
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in fields.items() if name != "request_id" or value}, default=repr)


class PlainLines(logging.Formatter):
    """For a terminal: the time, the event, and the rest as name=value, quoted."""

    def format(self, record: logging.LogRecord) -> str:
        what, fields = record.getMessage(), dict(getattr(record, "fields", {}))
        if record.levelno > logging.INFO and (request_id := FOR_REQUEST.get()):
            fields["request_id"] = request_id
        time = f"{datetime.fromtimestamp(record.created, UTC):%H:%M:%S}"
        first = f"{time} {record.levelname.lower():7} {what if what.isprintable() else ascii(what)}"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{first}  {' '.join(f'{name}={value!a}' for name, value in fields.items())}{trace}"
