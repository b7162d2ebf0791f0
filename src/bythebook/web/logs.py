"""What the server writes about itself: one line of JSON for each request, or plain lines where a person watches.

No question is written down unless BYTHEBOOK_LOG_QUESTIONS says so. Values are escaped, so that no request can forge a line.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, cast

import structlog

log = cast(structlog.stdlib.BoundLogger, structlog.get_logger("bythebook"))
QUIET = ("httpx", "httpcore", "openai", "agents", "alembic", "asyncio")


def configure_logs(*, level: str = "INFO") -> None:
    """For this process. Lines of libraries take the same shape as ours."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    watched = sys.stderr.isatty()
    shown: structlog.typing.Processor = _line if watched else structlog.processors.JSONRenderer(ensure_ascii=True)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, shown]
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _line(_logger: Any, _method: str, event: structlog.typing.EventDict) -> str:
    """For a terminal: time, what happened, and the rest as name=value, quoted."""
    time, level, what = (str(event.pop(name, "")) for name in ("timestamp", "level", "event"))
    trace = event.pop("exception", None)
    rest = " ".join(f"{name}={value!a}" for name, value in event.items() if name != "request_id" or level != "info")
    first = f"{time[11:19]} {level:7} {what!s}" if what.isprintable() else f"{time[11:19]} {level:7} {what!a}"
    return f"{first}  {rest}" + (f"\n{trace}" if trace else "")
