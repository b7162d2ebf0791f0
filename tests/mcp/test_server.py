"""`bythebook mcp` over standard input and output, with the mcp package's own client, in both eras of the protocol."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import TextContent, TextResourceContents

from tests.cli.conftest import run_process
from tests.support.sample_library import sample_library

BOOK = "physical-ai-robotics"
TOPICS = "module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md"
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def started(data_dir: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "bythebook", "mcp", "--data-dir", str(data_dir)], env=dict(os.environ)
    )


async def call(client: Client, name: str, arguments: dict[str, Any] | None) -> tuple[str, Any]:
    result = await client.call_tool(name, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return content.text, result.structured_content


async def fails(client: Client, name: str, arguments: dict[str, Any] | None) -> str:
    result = await client.call_tool(name, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.is_error
    return content.text


async def test_a_client_of_today_asks_searches_and_reads(folder: Path) -> None:
    data_dir = sample_library(folder)
    async with Client(started(data_dir)) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["ask", "search", "fetch", "lesson", "context", "books"]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        text, told = await call(client, "ask", {"question": "What is a quaternion?", "book": None, "session": None})
        assert told["answer"] in text
        for source in told["sources"]:
            assert source["url"] in text
            for quote in source["quotes"]:
                assert " ".join(quote["quote"].split())[:60] in text
        _, more = await call(client, "ask", {"question": "Why is it used?", "session": told["session"]})
        assert more["session"] == told["session"]
        _, refused = await call(client, "ask", {"question": "How do I bake bread?"})
        assert (refused["refused"], refused["reason"]) == (True, "off_topic")
        text, told = await call(client, "search", {"query": "publish and subscribe", "limit": 99})
        assert json.loads(text) == told
        assert len(told["results"]) == 20
        first = told["results"][0]
        assert {"id", "title", "url", "text"} <= first.keys()
        assert first["url"].startswith("https://physical-ai.example/docs/")
        _, fetched = await call(client, "fetch", {"id": first["id"]})
        assert (fetched["id"], fetched["text"], fetched["url"]) == (first["id"], first["text"], first["url"])
        _, context = await call(client, "context", {"chunk_id": first["id"].rpartition("/")[2]})
        assert context["passage"] == fetched
        assert (context["before"] and context["before"]["id"]) == fetched["metadata"]["before"]
        text, lesson = await call(client, "lesson", {"path": TOPICS, "book": BOOK})
        assert lesson["text"] in text
        assert lesson["text"].lstrip().startswith("# Topics and messages")
        assert (await call(client, "books", None))[1]["books"][0]["book"] == BOOK
        # the index is nobody's between two calls: a command of the author's gets it
        assert run_process("search", "publish and subscribe", data_dir=data_dir).code == 0


async def test_a_client_of_before_gets_the_same_and_bad_calls_are_one_sentence(folder: Path) -> None:
    async with Client(started(sample_library(folder)), mode="legacy") as client:
        assert len((await client.list_tools()).tools) == 6
        assert (await call(client, "ask", {"question": "What is a node?"}))[1]["confidence"] == "high"
        _, told = await call(client, "ask", {"question": "What is a node?", "books": ["*"]})
        assert told["books"] == [{"book": BOOK, "title": "Physical AI & Humanoid Robotics", "answers": True}]
        asked = {"question": "What is a node?", "books": [BOOK], "session": told["session"]}
        assert "'books' cannot be sent with 'session'" in await fails(client, "ask", asked)
        assert "There is no book 'heavy'. The library has:" in await fails(client, "ask", {"question": "Why", "books": ["heavy"]})
        assert "a list of texts" in await fails(client, "ask", {"question": "Why?", "books": []})
        assert "'question' is missing: ask takes question, book, session" in await fails(client, "ask", None)
        assert "no argument 'quest'" in await fails(client, "ask", {"question": "What?", "quest": 1})
        assert "must be a text" in await fails(client, "ask", {"question": 7})
        assert "1 to 1,000 characters" in await fails(client, "ask", {"question": " "})
        assert "UUID" in await fails(client, "ask", {"question": "What is a node?", "session": "yesterday"})
        assert "no book 'heavy'" in await fails(client, "lesson", {"path": "x", "book": "heavy"})
        assert "whole number from 1 to 20" in await fails(client, "search", {"query": "nodes", "limit": "many"})
        assert "no chunk" in await fails(client, "fetch", {"id": f"{BOOK}/nonsense"})
        assert "Did you mean" in await fails(client, "lesson", {"path": "topics-and-messages.md"})
        assert "no tool 'cook'" in await fails(client, "cook", {})
        listed = (await client.list_resources()).resources
        (address,) = [one.uri for one in listed if TOPICS in str(one.uri)]
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "book://{book}/lesson/{+path}"
        (read,) = (await client.read_resource(address)).contents
        assert isinstance(read, TextResourceContents)
        assert read.text.lstrip().startswith("# Topics and messages")
        with pytest.raises(MCPError, match="There is no book 'heavy'"):
            await client.read_resource("book://heavy/lesson/x.md")
