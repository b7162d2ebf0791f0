"""Document B, the conversational agent: its configuration, its tool, what is recorded of each call, and its transcript."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bythebook.drafting.draft import DraftEvent, DraftRequest, ToolCall
from bythebook.drafting.openai_agents.drafter import AgentDrafter
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.drafting.prompts import (
    DOCUMENT_TOOL_NAME,
    SYSTEM_PROMPT,
    TOOL_PARAMETERS,
    instructions,
    labelled_tool_response,
    tool_error,
)
from bythebook.errors import InvalidSettings
from bythebook.settings import NO_ENV_FILE, read_settings
from bythebook.wiring.reader import open_embedder
from tests.cli.conftest import Cli
from tests.support.fakes.openai_server import ChatServer, Says, check_messages
from tests.support.fakes.openai_server import running as running_model
from tests.support.lighthouse import FOREIGN, TRIMMED, WICK, Forbidden, Lighthouse, Scripted, tell
from tests.support.room import Room, asked, tell_in_room
from tests.support.serving import ask as ask_service

LOCAL = "http://127.0.0.1:9/v1"


def test_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_settings()
    assert (settings.temperature, settings.max_tokens, settings.system_prompt) == (0.0, None, None)
    for blank in (" \n ", ""):
        monkeypatch.setenv("BYTHEBOOK_SYSTEM_PROMPT", blank)
        with pytest.raises(InvalidSettings, match="BYTHEBOOK_SYSTEM_PROMPT"):
            read_settings()


def test_the_env_file_of_the_working_folder_is_read(shelf: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment comes before it, and it before bythebook.toml."""
    monkeypatch.delenv(NO_ENV_FILE)
    (folder / ".env").write_text(
        "# of several programs\nexport BYTHEBOOK_BOOK='light'\nOTHER=\"unclosed\n\nAGENT_TOP_K = 4 # few\n"
        'QDRANT_COLLECTION_NAME="from_file" # the name\nnot a line\n'
    )
    (folder / "bythebook.toml").write_text("agent_top_k = 6\nagent_max_turns = 7\n")
    settings = read_settings()
    assert (settings.book, settings.agent_top_k, settings.qdrant_collection_name) == ("light", 4, "from_file")
    assert settings.agent_max_turns == 7
    assert json.loads(shelf("ask", WICK, "--json").out)["retrieval_count"] == 4
    assert json.loads(shelf("--no-env-file", "ask", WICK, "--json").out)["retrieval_count"] == 6
    monkeypatch.delenv(NO_ENV_FILE)
    monkeypatch.setenv("AGENT_TOP_K", "3")
    assert json.loads(shelf("ask", WICK, "--json").out)["retrieval_count"] == 3
    monkeypatch.delenv("AGENT_TOP_K")
    for line, told in (
        ("AGENT_TOP_K=21", "AGENT_TOP_K in .env must be a whole number from 1 to 20, but it is '21'."),
        ("OPENAI_API_KEY='sk-12", ".env, line 1: the quotation mark is not closed."),
    ):
        (folder / ".env").write_text(line)
        outcome = shelf("ask", WICK)
        assert (outcome.code, outcome.sentence()) == (2, told)


def test_a_key_of_cohere_alone_chooses_cohere_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert open_embedder(read_settings()).name.startswith("granite")
    monkeypatch.setenv("COHERE_API_KEY", "a-key")
    assert open_embedder(read_settings()).name.startswith("cohere:embed-english-v3.0")
    (record,) = caplog.records
    assert record.getMessage().startswith("Cohere embeds, because COHERE_API_KEY is set.")
    monkeypatch.setenv("BYTHEBOOK_EMBEDDER", "granite")
    assert open_embedder(read_settings()).name.startswith("granite")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("command", [("ask", WICK), ("chat", "-q", WICK), ("serve", "--port", "0")])
def test_a_key_that_cannot_be_one_is_told_before_anything_is_opened(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-short")
    outcome = cli(*command)
    assert outcome.code == 2
    assert re.match("OPENAI_API_KEY .*'sk-'", outcome.sentence())
    assert not (folder / "data").exists()


@pytest.mark.parametrize("command", [("ask", WICK), ("chat", "-q", WICK), ("serve", "--port", "0"), ("search", WICK)])
def test_a_number_out_of_range_is_an_error_everywhere(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "21")
    outcome = cli(*command)
    assert outcome.code == 2
    assert re.match("AGENT_TOP_K .*from 1 to 20.*'21'", outcome.sentence())


@pytest.mark.parametrize("key", ["", "sk-short", "pk-" + "a" * 60])
def test_a_key_has_the_documents_shape_at_openai_and_any_shape_elsewhere(key: str) -> None:
    with pytest.raises(InvalidSettings, match="OPENAI_API_KEY"):
        AgentDrafter(AgentOptions(api_key=key))
    AgentDrafter(AgentOptions(api_key=key, base_url=LOCAL))
    AgentDrafter(AgentOptions(api_key="sk-" + "a" * 37))


def test_a_temperature_above_one_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    AgentDrafter(AgentOptions(api_key="", base_url=LOCAL, temperature=1.0))
    assert caplog.records == []
    AgentDrafter(AgentOptions(api_key="", base_url=LOCAL, temperature=1.1))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_tools_parameters() -> None:
    query, top_k, threshold = (TOOL_PARAMETERS["properties"][name] for name in ("query", "top_k", "similarity_threshold"))
    assert TOOL_PARAMETERS["required"] == ["query"]
    assert (query["type"], top_k["type"], threshold["type"]) == ("string", "integer", "number")
    assert (top_k["default"], threshold["default"]) == (5, 0.0)


def test_the_documents_name_of_the_tool_is_a_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_TOOL_NAME", DOCUMENT_TOOL_NAME)
    assert read_settings().tool_name == "retrieve_documentation"
    assert "ALWAYS call the retrieve_documentation tool before answering any question" in SYSTEM_PROMPT


def test_the_prompt_and_the_tools_answer_are_the_documents(folder: Path) -> None:
    async def story(light: Lighthouse) -> None:
        drafter = Scripted(TRIMMED)
        await light.ask(WICK, drafter)
        (request,) = drafter.requests
        told = instructions(request, system_prompt="My own words.", tool_name="search_textbook", may_search=True)
        assert told.startswith("My own words.\n\n")
        assert "End EVERY sentence with the label" in told  # added to whatever the setting says
        response = json.loads(labelled_tool_response(request.evidence, WICK))
        assert response.keys() == {"results", "total_results", "query"}
        assert (response["query"], response["total_results"]) == (WICK, len(response["results"]))
        for rank, result in enumerate(response["results"], start=1):
            names = {"chunk_text", "page_title", "section_heading", "source_url", "similarity_score", "rank"}
            assert result.keys() == names | {"label", "breadcrumb"}
            assert result["rank"] == rank
            assert 0.0 <= result["similarity_score"] <= 1.0
            assert all(result[name] for name in ("chunk_text", "page_title", "source_url"))
        assert json.loads(tool_error("It broke.", WICK)) == {"error": "It broke.", "query": WICK}

    tell(folder, story)


def test_every_retrieval_is_recorded(folder: Path) -> None:
    assert {field.name for field in dataclasses.fields(ToolCall)} >= {
        "tool_name",
        "query",
        "results_count",
        "avg_similarity",
        "timestamp",
    }

    async def story(light: Lighthouse) -> None:
        for text, drafter in ((WICK, Scripted(TRIMMED)), (FOREIGN, Forbidden())):
            answer = await light.ask(text, drafter)
            (call,) = answer.tool_calls  # also when the verdict is to refuse
            assert (call.tool_name, call.query, call.results_count) == ("search_textbook", text, answer.retrieval_count)
            assert call.avg_similarity == pytest.approx(answer.confidence.average_similarity)

    tell(folder, story)


def test_the_tools_threshold_leaves_results_out(folder: Path) -> None:
    found: list[Any] = []

    class Searching(Scripted):
        async def draft(self, request: DraftRequest) -> AsyncIterator[DraftEvent]:
            assert request.search_again is not None
            for top_k, threshold in ((5, 0.0), (1, 0.0), (5, 1.0)):
                found.append(await request.search_again("What is the fog signal?", top_k, threshold))
            async for event in super().draft(request):
                yield event

    async def story(light: Lighthouse) -> None:
        await light.ask(WICK, Searching(TRIMMED))
        everything, one, best = found
        assert len(everything) > len(one) == 1
        assert {evidence.first.page_title for evidence in best} == {"Fog"}

    tell(folder, story)


def test_the_transcript_begins_with_the_system_and_alternates(folder: Path) -> None:
    """ConversationState: `messages`, `retrieval_history` and `turn_count`, its state transitions and its rules."""

    async def story(room: Room) -> None:
        thread_id = await room.begun(WICK, FOREIGN, WICK)
        messages = await room.threads.messages(thread_id)
        assert (messages[0].role, messages[0].content) == ("system", SYSTEM_PROMPT)
        assert [message.role for message in messages[1:]] == ["user", "assistant", "tool", "assistant"] * 3
        for user, call, tool, assistant in zip(*(messages[start::4] for start in (1, 2, 3, 4)), strict=True):
            assert call.tool_calls is not None
            assert (tool.tool_name, tool.tool_call_id) == ("search_textbook", call.tool_calls[0]["id"])
            assert json.loads(tool.content)["query"] == user.content
            assert user.timestamp <= tool.timestamp <= assistant.timestamp
        history = [call for turn in await room.threads.turns(thread_id) for call in turn.answer.tool_calls]
        assert [call.query for call in history] == [WICK, FOREIGN, WICK]
        assert [call.timestamp for call in history] == [message.timestamp for message in messages if message.role == "tool"]
        assert (await room.threads.get(thread_id, None)).turn_count == 3

    tell_in_room(None, folder, story)


def test_a_thread_is_protected_from_growing_without_end(folder: Path) -> None:
    """The document's 20 turns are what a model sees; document C's 50 are what a thread takes."""

    async def story(room: Room) -> None:
        seen = Scripted(TRIMMED)
        thread_id = await room.begun(*(f"{WICK} ({number})" for number in range(1, 22)))
        async for _ in room.conversation(seen).turn(asked(WICK, thread_id)):
            pass
        history = seen.requests[-1].history
        assert [exchange.question for exchange in history] == [f"{WICK} ({number})" for number in range(2, 22)]

    tell_in_room(None, folder, story)


def test_the_similarity_threshold_of_a_search(shelf: Cli, client: httpx.Client) -> None:
    everything = json.loads(shelf("search", WICK, "--json").out)["results"]
    least = everything[1]["relevance"]
    some = json.loads(shelf("search", WICK, "--similarity-threshold", str(least), "--json").out)["results"]
    assert [one["id"] for one in some] == [one["id"] for one in everything if one["relevance"] >= least]
    assert 0 < len(some) < len(everything)
    over_http = client.post("/search", json={"text": WICK, "similarity_threshold": least}).json()
    assert [one["id"] for one in over_http["results"]] == [one["id"] for one in some]
    assert "No chunk reaches the similarity threshold of 1.0." in shelf("search", FOREIGN, "--similarity-threshold", "1.0").out
    refused = shelf("search", WICK, "--similarity-threshold", "1.5")
    assert (refused.code, "must be from 0.0 to 1.0, not 1.5" in refused.sentence()) == (2, True)


def test_the_whole_transcript_of_a_model_that_searched_again(shelf: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system prompt as it was sent, every search with its results, and the answer; by `threads show --transcript`."""
    with running_model(ChatServer(key="sk-local")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
        server.turns.append(Says(calls=(("search_textbook", '{"query": "reservoir of oil", "top_k": 2}'),), finish="tool_calls"))
        server.turns.append(Says(text=f"{TRIMMED[:-1]} [1]."))
        assert shelf("chat", "-q", WICK).code == 0
        sent = server.bodies[-1]["messages"]
    (thread,) = json.loads(shelf("threads", "list", "--json").out)
    told = json.loads(shelf("threads", "show", thread["thread_id"], "--transcript", "--json").out)
    assert (told["session_id"], told["model"], told["turn_count"]) == (thread["thread_id"], "gpt-4o-mini", 1)
    assert [message["role"] for message in told["messages"]] == ["system", "user", *["assistant", "tool"] * 2, "assistant"]
    assert told["messages"][0]["content"] == sent[0]["content"]
    assert "End EVERY sentence with the label" in sent[0]["content"] or "Reply with one JSON object" in sent[0]["content"]
    calls = [message["tool_calls"][0] for message in told["messages"] if message.get("tool_calls")]
    assert [json.loads(call["function"]["arguments"])["query"] for call in calls] == [WICK, "reservoir of oil"]
    outputs = [message for message in told["messages"] if message["role"] == "tool"]
    assert [output["tool_call_id"] for output in outputs] == [call["id"] for call in calls]
    first, again = (json.loads(output["content"]) for output in outputs)
    assert (first["total_results"], again["total_results"], again["query"]) == (5, 2, "reservoir of oil")
    for result in again["results"]:
        names = "query_id chunk_text source_url page_title section_heading breadcrumb chunk_index similarity_score metadata rank"
        assert result.keys() == set(names.split())
    assert [call["query"] for call in told["retrieval_history"]] == [WICK, "reservoir of oil"]
    printed = shelf("threads", "show", thread["thread_id"], "--transcript").out
    assert "→ search_textbook" in printed
    assert "reservoir of oil" in printed


def test_the_whole_transcript_over_http(client: httpx.Client) -> None:
    thread = ask_service(client, WICK)["session_id"]
    ask_service(client, FOREIGN, session_id=thread)
    path = f"/threads/{thread}/messages"
    whole = client.get(path, params={"view": "all"}).json()
    assert [message["role"] for message in whole["messages"]] == ["system", *["user", "assistant", "tool", "assistant"] * 2]
    assert (whole["model"], whole["turn_count"], whole["started_at"]) == ("extractive", 2, whole["created_at"])
    spoken = client.get(path).json()["messages"]
    assert [message["role"] for message in spoken] == ["user", "assistant"] * 2
    as_sent = client.get(path, params={"view": "openai"}).json()["messages"]
    check_messages(as_sent)  # as strict as the real chat completions are
    assert [message["content"] for message in as_sent] == [message["content"] for message in whole["messages"]]
    assert client.get(f"/threads/{thread}").json()["model"] == "extractive"
