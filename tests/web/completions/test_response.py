"""A stream of chat completions that fails on its way."""

from __future__ import annotations

import json

import pytest

from bythebook.errors import StorageFailure
from bythebook.web.completions.response import failed
from bythebook.web.stream import begin
from tests.web.test_stream import SCOPE, Failing, Reader

pytestmark = pytest.mark.anyio


async def test_what_fails_on_the_way_is_said_in_openais_form() -> None:
    reader = Reader()
    await (await begin(reader.receive, Failing(StorageFailure("/a/path")).events(), failed))(SCOPE, reader.receive, reader.send)
    last = b"".join(reader.got).decode().strip().split("\n\n")[-1]
    told = json.loads(last.removeprefix("data: "))["error"]
    assert (told["type"], told["code"], told["request_id"]) == ("server_error", "storage_failure", "r-1")
    assert "/a/path" not in told["message"]
