"""`bythebook keys`: who may use the service, for what, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, to_json

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.web.keys import Key

app = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)


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
    requests_per_minute: Annotated[int, typer.Option(help="How many requests it may make a minute.")] = 100,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create a key. It is shown once: only its hash is stored."""

    async def work(database: Database) -> tuple[Key, str]:
        from bythebook.web.keys import Keys

        return await Keys(database).create(name, scope or ["chat"], book, requests_per_minute)

    key, secret = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json({**fields_of(key), "secret": secret}))
        return
    pace = f"{key.requests_per_minute:,} requests a minute"
    typer.echo(f"Key {key.key_id} for {key.name}: {', '.join(key.scopes)}; {key.book_id or 'any book'}; {pace}.")
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

    from bythebook.cli.output.console import Console
    from bythebook.cli.output.tables import plain_table, when

    console = Console(highlight=False)
    if not keys:
        console.print(
            "There is no key yet, so the service answers this machine only. Create one with 'bythebook keys create NAME'."
        )
        return
    table = plain_table("key", "name", "scopes", "book", "a minute", "made", "last used", whole="key")
    for key in keys:
        used = "revoked " + when(key.revoked_at) if key.revoked_at else when(key.last_used_at)
        scopes = ", ".join(key.scopes)
        table.add_row(
            f"[bold]{key.key_id}[/]",
            escape(key.name),
            scopes,
            escape(key.book_id or "any"),
            f"{key.requests_per_minute:,}",
            when(key.created_at),
            used,
        )
    console.print()
    console.print(table)


@app.command("revoke")
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key's id, as shown by 'keys list'.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Revoke a key. Its next request is refused; its threads are kept."""

    async def work(database: Database) -> Key:
        from bythebook.web.keys import Keys

        return await Keys(database).revoke(key_id)

    key = run_with_database(work, data_dir=data_dir)
    typer.echo(f"The key {key.key_id} ({key.name}) is revoked.")
