"""What docs/service.md prints works as printed, and so does every other page's request."""

from __future__ import annotations

import shlex

import httpx
import pytest

from tests.support.printed_commands import REPOSITORY, commands
from tests.support.serving import ask, events

PAGE = REPOSITORY / "docs" / "service.md"
COMMANDS = sorted({one.text for one in commands() if one.text.startswith("curl ")})
SHOWN_ADDRESS = "http://127.0.0.1:8000"
SHOWN_THREAD = "550e8400-e29b-41d4-a716-446655440000"


def test_there_are_examples() -> None:
    assert len(COMMANDS) == 12


@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_works_as_printed(client: httpx.Client, command: str) -> None:
    """With the address and the thread that there are in place of those that are shown."""
    thread = ask(client, "What is a node?")["session_id"]
    _, *words = shlex.split(command.replace(SHOWN_THREAD, thread))
    (address,) = [word for word in words if word.startswith(SHOWN_ADDRESS)]
    headers = dict(words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H")
    bodies = [words[place + 1] for place, word in enumerate(words) if word == "-d"]
    path = address.removeprefix(SHOWN_ADDRESS)
    response = client.request("POST" if bodies else "GET", path, headers=headers, content=bodies[0] if bodies else None)
    assert response.status_code == 200, response.text
    if "stream" in path or path.endswith("/events"):
        assert events(response.text)[-1].name == "done"
    else:
        assert response.json()


def test_every_code_is_explained() -> None:
    from bythebook.web.problems import KINDS

    text = PAGE.read_text("utf-8")
    missing = {code for _, _, code in KINDS if f"`{code}`" not in text} - {"invalid_book"}
    assert not missing
