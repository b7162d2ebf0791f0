"""`bythebook keys`: who may use the service, for what, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bythebook.cli.options import AsJson, DataDir, fields_of, run_with_database, to_json

if TYPE_CHECKING:
    from bythebook.database.engine import Database
    from bythebook.web.keys import Key

app = typer.Typer(help="Make, list and revoke the keys of the service.", no_args_is_help=True)


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Whose it is, or what it is for.", show_default=False)],
    scope: Annotated[
        list[str] | None, typer.Option(help="chat, ingest or admin (all); repeat for several. Default: chat.", show_default=False)
    ] = None,
    book: Annotated[
        str | None, typer.Option("--book", "-b", help="For this book only. Default: any.", show_default=False)
    ] = None,
    requests_per_minute: Annotated[int, typer.Option(help="How often it may ask.")] = 100,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Make a key. Its secret is shown now and never again: only a hash of it is kept."""

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
    typer.echo("Keep it now, it is not shown again. A client sends it as 'Authorization: Bearer SECRET'.")


@app.command("list")
def list_keys(json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the keys: what each may do, when it was last used, and which are revoked."""

    async def work(database: Database) -> list[Key]:
        from bythebook.web.keys import Keys

        return await Keys(database).list()

    keys = run_with_database(work, data_dir=data_dir)
    if json:
        typer.echo(to_json(keys))
        return
    from rich.console import Console
    from rich.markup import escape

    from bythebook.cli.output.tables import plain_table, when

    console = Console(highlight=False)
    if not keys:
        console.print("There is no key yet: the service answers this machine only. Make one with 'bythebook keys create NAME'.")
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
    key_id: Annotated[str, typer.Argument(help="The key's id, as 'keys list' shows it.", show_default=False)],
    data_dir: DataDir = None,
) -> None:
    """Take a key back. It is refused from its next request on; its threads are kept."""

    async def work(database: Database) -> Key:
        from bythebook.web.keys import Keys

        return await Keys(database).revoke(key_id)

    key = run_with_database(work, data_dir=data_dir)
    typer.echo(f"The key {key.key_id} ({key.name}) is revoked.")
