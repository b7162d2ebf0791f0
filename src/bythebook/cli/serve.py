"""`bythebook serve`: the service and its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import DataDir, run_async

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from socket import socket

    from bythebook.settings import Settings
    from bythebook.wiring.author import Resources


def run(
    host: Annotated[
        str | None, typer.Option(help="The address to listen on. Default 127.0.0.1: this machine only.", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port. Default 8000; 0 takes a free one.", show_default=False)] = None,
    workers: Annotated[
        int, typer.Option(help="How many processes. More than one needs QDRANT_URL and REDIS_URL.", min=1, max=64)
    ] = 1,
    data_dir: DataDir = None,
) -> None:
    """Serve the HTTP API and the page."""
    from bythebook.settings import read_settings

    serve(read_settings(data_dir=data_dir, host=host, port=port), workers=workers)


def serve(settings: Settings, *, workers: int = 1) -> None:
    """Serves until it is stopped."""
    from bythebook.web.sockets import listen

    _check_settings(settings, workers)
    with listen(settings.host, settings.port) as listening:
        if workers == 1:
            run_async(_serve(settings, listening), loop_factory=_loop_factory())
            return
        from bythebook.web.server import serve_with_workers

        keyless = run_async(_rehearse(settings, listening))
        _pass_on(settings)
        _announce(listening, keyless=keyless)
        serve_with_workers(listening, workers)


def _loop_factory() -> Callable[[], AbstractEventLoop] | None:
    """With libuv a hundred streams end a tenth sooner. The extra `server` brings it; there is none for Windows."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(settings: Settings, listening: socket) -> None:
    from bythebook.operations.runner import announced
    from bythebook.web.server import serve
    from bythebook.wiring.author import open_resources

    async with open_resources(settings, embeds=True) as resources:
        keyless = await _check(resources, listening)
        host, port = listening.getsockname()[:2]
        with announced(resources.data_dir / "index", host=host, port=port):
            await serve(resources, listening, ready=lambda: _announce(listening, keyless=keyless))


async def _rehearse(settings: Settings, listening: socket) -> bool:
    """Checks here, once and with one sentence, what would otherwise fail in each worker."""
    from bythebook.wiring.author import open_resources

    async with open_resources(settings) as resources:
        return await _check(resources, listening)


async def _check(resources: Resources, listening: socket) -> bool:
    """Checks who may reach the server: without keys only this machine may. Wrong settings of a model or a collector are reported
    here too, in one sentence, before the server starts."""
    from bythebook.errors import InvalidSettings
    from bythebook.web.keys import Keys
    from bythebook.web.sockets import is_loopback

    assert resources.answerer, "it is built by its first use"
    keys, first = Keys(resources.database), resources.settings.first_key
    if first:
        await keys.adopt(first.value)
    await _record_settings(resources)
    keyless = not await keys.any()
    if keyless and not is_loopback(listening):
        raise InvalidSettings(
            f"There are no keys, so everyone who reaches {listening.getsockname()[0]} could ask. Create one first with "
            "'bythebook keys create NAME' or by BYTHEBOOK_FIRST_KEY, or leave --host at 127.0.0.1."
        )
    return keyless


async def _record_settings(resources: Resources) -> None:
    """Records the settings in the audit log where they changed since the last start. Of a secret only that it is set."""
    from bythebook.database.audit import AuditLog, act
    from bythebook.settings import described

    log, now = AuditLog(resources.database), described(resources.settings)
    last = await log.list(action="settings changed", limit=1)
    if not last or last[0].details != now:
        await log.write(act("settings changed", "serve", **now))


def _announce(listening: socket, *, keyless: bool) -> None:
    from bythebook.web.sockets import address_of

    typer.echo(f"By the Book answers on {address_of(listening)}  (Ctrl-C stops it)")
    if keyless:
        typer.echo("There are no keys yet, so only this machine can reach it. Create one with: bythebook keys create NAME")


def _check_settings(settings: Settings, workers: int) -> None:
    from importlib.util import find_spec

    from bythebook.errors import InvalidSettings, missing_extra
    from bythebook.wiring.reader import check_model

    check_model(settings)
    if settings.redis_url and find_spec("redis") is None:
        raise missing_extra("REDIS_URL", "the Redis client", "redis")
    if workers > 1 and not settings.qdrant_url:
        raise InvalidSettings(
            f"{workers} workers need a Qdrant server, because only one process can hold the embedded index. "
            "Set QDRANT_URL, or leave --workers at 1."
        )
    if workers > 1 and not settings.redis_url:
        raise InvalidSettings(
            f"{workers} workers need Redis to share the count of a key's requests. Set REDIS_URL, or leave --workers at 1."
        )


def _pass_on(settings: Settings) -> None:
    """Passes settings from the command line to the workers, which read theirs from the environment."""
    import os

    os.environ["BYTHEBOOK_DATA_DIR"] = str(Path(settings.data_dir).expanduser().absolute())
