"""`bythebook keys`: who may use the service, for what, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, to_json
from bythebook.web.rate_limit import REQUESTS_PER_MINUTE

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.web.keys import Key
    from bythebook.web.quotas import DailyUsage

app = typer.Typer(help="Create, list, rotate and revoke API keys.", no_args_is_help=True)
KeyId = Annotated[str, typer.Argument(help="The key's id, as shown by 'keys list'.", show_default=False)]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="The key's owner or purpose.", show_default=False)],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="chat, public (chat, for a page), ingest or admin (all); repeat for several. Default: chat.", show_default=False
        ),
    ] = None,
    book: Annotated[
        str | None, typer.Option("--book", "-b", help="Only for this book. Default: all books.", show_default=False)
    ] = None,
    requests_per_minute: Annotated[int, typer.Option(help="How many requests it may make a minute.")] = REQUESTS_PER_MINUTE,
    requests_per_day: Annotated[int | None, typer.Option(help="How many requests it may make a day.", show_default=False)] = None,
    tokens_per_day: Annotated[
        int | None, typer.Option(help="How many tokens of a model its answers may take a day.", show_default=False)
    ] = None,
    streams_at_once: Annotated[
        int | None, typer.Option(help="How many answers it may get at the same time, in each process.", show_default=False)
    ] = None,
    days: Annotated[
        int | None, typer.Option(help="The key expires after this many days. Default: never.", show_default=False)
    ] = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create a key. It is shown once: only its hash is stored."""

    async def work(database: Database) -> tuple[Key, str]:
        from bythebook.web.keys import KeyLimits, Keys

        limits = KeyLimits(
            days=days, requests_per_day=requests_per_day, tokens_per_day=tokens_per_day, streams_at_once=streams_at_once
        )
        return await Keys(database).create(name, scope or ["chat"], book, requests_per_minute, limits)

    key, secret = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json({**fields_of(key), "secret": secret}))
        return
    typer.echo(
        f"Key {key.key_id} for {key.name}: {', '.join(key.scopes)}; {key.book_id or 'any book'}; {'; '.join(_limits(key))}."
    )
    _show(secret)


@app.command("rotate")
def rotate(
    key_id: KeyId,
    overlap_hours: Annotated[int, typer.Option(help="How long the old secret still works.")] = 24,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Give a key a new secret. Its threads, scopes and limits stay."""

    async def work(database: Database) -> tuple[Key, str]:
        from bythebook.web.keys import Keys

        return await Keys(database).rotate(key_id, overlap_hours=overlap_hours)

    key, secret = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json({**fields_of(key), "secret": secret}))
        return
    from bythebook.cli.output.console import when

    typer.echo(f"Key {key.key_id} for {key.name} has a new secret. The old one works until {when(key.previous_until)}.")
    _show(secret)


@app.command("show")
def show(key_id: KeyId, json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a key: its limits, and what it used today."""

    async def work(database: Database) -> tuple[Key, DailyUsage]:
        from bythebook.web.keys import Keys
        from bythebook.web.quotas import Quotas

        return await Keys(database).get(key_id), await Quotas(database).today(key_id)

    key, used = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json({**fields_of(key), "used_today": fields_of(used)}))
        return
    from bythebook.cli.output.console import when

    typer.echo(
        f"Key {key.key_id} for {key.name}: {', '.join(key.scopes)}; {key.book_id or 'any book'}; {'; '.join(_limits(key))}."
    )
    typer.echo(f"Made {when(key.created_at)}, last used {when(key.last_used_at)}.")
    if key.revoked_at:
        typer.echo(f"Revoked {when(key.revoked_at)}.")
    if key.previous_until:
        typer.echo(f"Rotated; the old secret works until {when(key.previous_until)}.")
    requests = f"{used.requests:,} requests and " if key.requests_per_day else ""
    typer.echo(f"Used today (UTC): {requests}{used.tokens:,} tokens.")


def _limits(key: Key) -> list[str]:
    """The key's limits, in words."""
    from bythebook.cli.output.console import when

    limits = {"requests a day": key.requests_per_day, "tokens a day": key.tokens_per_day, "answers at once": key.streams_at_once}
    told = [f"{number:,} {words}" for words, number in {"requests a minute": key.requests_per_minute, **limits}.items() if number]
    return [*told, f"until {when(key.expires_at)}"] if key.expires_at else told


def _show(secret: str) -> None:
    typer.echo(f"\n  {secret}\n")
    typer.echo("Copy it now: it is not shown again. A client sends it as 'Authorization: Bearer SECRET'.")


@app.command("list")
def list_keys(json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the keys: scopes, last use, and whether revoked."""

    async def work(database: Database) -> list[Key]:
        from bythebook.web.keys import Keys

        return await Keys(database).list()

    keys = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json(keys))
        return
    from rich.markup import escape

    from bythebook.cli.output.console import Console, print_table, when

    console = Console(highlight=False)
    if not keys:
        console.print(
            "There is no key yet, so the service answers this machine only. Create one with 'bythebook keys create NAME'."
        )
        return
    rows = [
        (
            f"[bold]{key.key_id}[/]",
            escape(key.name),
            ", ".join(key.scopes),
            escape(key.book_id or "any"),
            f"{key.requests_per_minute:,}",
            when(key.created_at),
            "revoked " + when(key.revoked_at) if key.revoked_at else when(key.last_used_at),
            when(key.expires_at),
        )
        for key in keys
    ]
    print_table(console, ("key", "name", "scopes", "book", "a minute", "made", "last used", "expires"), rows)


@app.command("revoke")
def revoke(
    key_id: KeyId,
    data_dir: DataDir = None,
) -> None:
    """Revoke a key. Its next request is refused; its threads are kept."""

    async def work(database: Database) -> Key:
        from bythebook.web.keys import Keys

        return await Keys(database).revoke(key_id)

    key = run_with_database(work, data_dir=data_dir)
    typer.echo(f"The key {key.key_id} ({key.name}) is revoked.")
