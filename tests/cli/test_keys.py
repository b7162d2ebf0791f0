"""`bythebook keys`, and what it leaves in the database."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

from bythebook.database.engine import Database
from bythebook.web.keys import Key, Keys
from tests.cli.conftest import Cli
from tests.support.databases import opened


def found(folder: Path, secret: str) -> Key | None:
    async def look() -> Key | None:
        async with opened(None, folder / "data") as database:
            return await Keys(database).find(secret)

    return asyncio.run(look())


def test_a_key_is_made_shown_once_and_revoked(cli: Cli, folder: Path) -> None:
    none = cli("keys", "list")
    assert (none.code, none.out[:20]) == (0, "There is no key yet,")
    made = cli("keys", "create", "Ada", "--scope", "ingest", "--scope", "chat", "--book", "light", "--requests-per-minute", "7")
    (secret,) = re.findall(r"btb_\w+_[\w-]{43}", made.out)
    key = found(folder, secret)
    assert key is not None
    assert f"Key {key.key_id} for Ada: chat, ingest; light; 7 requests a minute." in made.out
    listed = cli("keys", "list").out
    assert key.key_id in listed
    assert "Ada" in listed
    assert secret.split("_", 2)[2] not in listed + cli("keys", "list", "--json").out
    assert cli("keys", "revoke", key.key_id).out == f"The key {key.key_id} (Ada) is revoked.\n"
    assert found(folder, secret) is None
    assert "revoked" in cli("keys", "list").out


def test_for_a_program(cli: Cli, folder: Path) -> None:
    made = json.loads(cli("keys", "create", "Program", "--json").out)
    assert (made["scopes"], made["book_id"], made["requests_per_minute"]) == (["chat"], None, 100)
    key = found(folder, made["secret"])
    assert key is not None
    assert [one["key_id"] for one in json.loads(cli("keys", "list", "--json").out)] == [key.key_id]


def test_mistakes(cli: Cli) -> None:
    scope = cli("keys", "create", "Ada", "--scope", "root")
    assert scope.code == 2
    assert re.search("chat, public, ingest, admin; 'root'", scope.sentence())
    gone = cli("keys", "revoke", "never")
    assert gone.code == 1
    assert re.search("no key 'never'.*'bythebook keys list'", gone.sentence())


def test_names_are_shown_as_they_are(cli: Cli) -> None:
    cli("keys", "create", "[bold]Ada[/bold] [/red]")
    assert "[bold]Ada[/bold]" in cli("keys", "list").out


def test_the_database_is_reached_while_the_index_is_held(cli: Cli, folder: Path) -> None:
    """By a server, say: keys need no turn."""

    async def hold() -> int:
        from bythebook.index.qdrant_edge.index import EdgeIndex

        (folder / "data").mkdir(exist_ok=True)
        index = await EdgeIndex.open(folder / "data" / "index")
        try:
            async with opened(None, folder / "data") as database:
                assert isinstance(database, Database)
                return (await asyncio.to_thread(cli, "keys", "create", "Ada")).code
        finally:
            await index.close()

    assert asyncio.run(hold()) == 0


def test_a_key_with_limits_is_rotated_shown_and_audited(cli: Cli, folder: Path) -> None:
    made = cli(
        "keys", "create", "Ada", "--days", "30", "--requests-per-day", "500", "--tokens-per-day", "9000", "--streams-at-once", "2"
    )
    (first,) = re.findall(r"btb_\w+_[\w-]{43}", made.out)
    assert "100 requests a minute; 500 requests a day; 9,000 tokens a day; 2 answers at once; until 20" in made.out
    key_id = first.split("_")[1]
    rotated = cli("keys", "rotate", key_id, "--overlap-hours", "0")
    (second,) = re.findall(r"btb_\w+_[\w-]{43}", rotated.out)
    assert [found(folder, secret) is not None for secret in (first, second)] == [False, True]
    shown = cli("keys", "show", key_id)
    assert "Used today (UTC): 0 requests and 0 tokens." in shown.out
    assert json.loads(cli("keys", "show", key_id, "--json").out)["used_today"] == {"requests": 0, "tokens": 0}
    log = cli("audit")
    assert ("key rotated" in log.out, "key created" in log.out, "command line" in log.out) == (True, True, True)
    lines = [json.loads(line) for line in cli("audit", "--json").out.splitlines()]
    assert [line["action"] for line in lines] == ["key rotated", "key created"]
    assert cli("keys", "create", "Ada", "--days", "0").code == 2
