"""Real clients of chat completions, as they are installed: openai (whole, async, streamed) and llm."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from tests.support.serving import BOOK, Service, ask

NODE = "What is a node?"
PAGE = Path(__file__).parents[3] / "docs" / "clients.md"
FOREIGN = "How do I bake bread?"


def shown_block(language: str, containing: str = "") -> str:
    """What docs/clients.md shows."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (block,) = [block for block in blocks if containing in block]
    return block


@pytest.fixture
def tutor(service: Service) -> Iterator[openai.OpenAI]:
    """`api_key` cannot be left out of it, so a server without keys must take any."""
    with openai.OpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as made:
        yield made


def test_openai_gets_the_answer_that_chat_run_gives(tutor: openai.OpenAI, client: httpx.Client) -> None:
    told = tutor.chat.completions.create(model=BOOK, messages=[{"role": "user", "content": NODE}])
    message = told.choices[0].message
    same = ask(client, NODE, similarity_threshold=0.0)["answer"]
    assert message.content is not None
    assert message.content.startswith(same["answer"])
    assert told.choices[0].finish_reason == "stop"
    assert message.annotations is not None
    assert [one.url_citation.url for one in message.annotations] == [one["source_url"] for one in same["citations"]]
    for number, annotation in enumerate(message.annotations, start=1):
        cited = annotation.url_citation
        assert f"[{number}]" in message.content[cited.start_index : cited.end_index]
    _, listed = message.content.split("\n\n**Sources**\n\n")
    for citation, line in zip(same["citations"], listed.splitlines(), strict=True):
        assert line.startswith(f"{citation['label']}. [")
        assert f"]({citation['source_url']})" in line
        assert f"line {citation['span']['first_line']}" in line
        assert " ".join(citation["quote"].split())[:100] in line
    assert told.usage is not None
    assert (told.usage.prompt_tokens, told.usage.completion_tokens, told.usage.total_tokens) == (0, 0, 0)
    assert told.model_extra is not None
    assert [one["snippet"] for one in told.model_extra["search_results"]] == [one["quote"] for one in same["citations"]]


def test_openai_async_gets_it_too(service: Service) -> None:
    async def complete() -> str | None:
        async with openai.AsyncOpenAI(base_url=f"{service.url}/v1", api_key="none", max_retries=0) as tutor:
            told = await tutor.chat.completions.create(model=BOOK, messages=[{"role": "user", "content": NODE}])
            return told.choices[0].message.content

    assert "**Sources**" in (asyncio.run(complete()) or "")


def test_a_stream_is_the_same_text_with_the_same_annotations(tutor: openai.OpenAI) -> None:
    whole = tutor.chat.completions.create(model=BOOK, messages=[{"role": "user", "content": NODE}]).choices[0].message
    with tutor.chat.completions.stream(
        model=BOOK, messages=[{"role": "user", "content": NODE}], stream_options={"include_usage": True}
    ) as stream:
        contents = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    message = final.choices[0].message
    assert message.content == whole.content
    assert len(contents) > 2, "sentence by sentence"
    assert final.usage is not None
    assert final.usage.total_tokens == 0
    deltas = [
        annotation
        for part in tutor.chat.completions.create(model=BOOK, messages=[{"role": "user", "content": NODE}], stream=True)
        for annotation in (part.choices[0].delta.model_extra or {}).get("annotations", ())
    ]
    assert [one["index"] for one in deltas] == list(range(len(deltas)))
    assert whole.annotations is not None
    assert [one["url_citation"] for one in deltas] == [one.url_citation.model_dump() for one in whole.annotations]


def test_a_refusal_is_content_with_its_reason_and_the_nearest_sections(tutor: openai.OpenAI) -> None:
    for question, headline in ((FOREIGN, "Not what this book is about"), ("What does a node cost in euros?", "Not in the book")):
        messages: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": question}]
        told = tutor.chat.completions.create(model=BOOK, messages=messages).choices[0]
        assert told.message.content is not None
        assert told.message.content.startswith(f"**{headline}**\n\n")
        assert "**Nearest sections**\n\n- [" in told.message.content
        assert (told.finish_reason, told.message.refusal, told.message.annotations) == ("stop", None, [])
        parts = tutor.chat.completions.create(model=BOOK, messages=messages, stream=True)
        assert "".join(part.choices[0].delta.content or "" for part in parts) == told.message.content


def test_a_follow_up_leans_on_the_messages_and_goes_on_in_their_thread(tutor: openai.OpenAI, client: httpx.Client) -> None:
    messages: list[openai.types.chat.ChatCompletionMessageParam] = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "What is a quaternion?"},
    ]
    first = tutor.chat.completions.create(model=BOOK, messages=messages)
    messages += [
        {"role": "assistant", "content": first.choices[0].message.content},
        {"role": "user", "content": [{"type": "text", "text": "Why is it used?"}]},
    ]
    second = tutor.chat.completions.create(model=BOOK, messages=messages)
    assert first.model_extra is not None
    assert second.model_extra is not None
    thread = client.get(f"/threads/{second.model_extra['thread_id']}").json()
    assert second.model_extra["thread_id"] == first.model_extra["thread_id"]
    assert [turn["answer"]["query"] for turn in thread["turns"]] == ["What is a quaternion?", "Why is it used?"]
    assert "quaternion" in thread["turns"][1]["answer"]["question"].lower()


def test_a_model_that_is_no_book_a_wrong_key_and_too_many_requests_are_openais_errors(locked: Service) -> None:
    url = f"{locked.url}/v1"
    messages: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": NODE}]
    with openai.OpenAI(base_url=url, api_key=locked.key("chat"), max_retries=0) as tutor:
        with pytest.raises(openai.NotFoundError, match="no book 'gpt-4o'") as missing:
            tutor.chat.completions.create(model="gpt-4o", messages=messages)
        assert (missing.value.code, missing.value.param, missing.value.type) == (
            "model_not_found",
            "model",
            "invalid_request_error",
        )
    with openai.OpenAI(base_url=url, api_key="btb_wrong", max_retries=0) as tutor, pytest.raises(openai.AuthenticationError):
        tutor.models.list()
    with openai.OpenAI(base_url=url, api_key=locked.key("chat", requests_per_minute=1), max_retries=0) as tutor:
        assert [model.id for model in tutor.models.list()] == [BOOK]
        with pytest.raises(openai.RateLimitError) as limited:
            tutor.models.list()
        assert int(limited.value.response.headers["retry-after"]) > 0


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
def test_the_documents_example_prints_the_answer(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    exec(shown_block("python").replace("http://127.0.0.1:8000", service.url), {})
    assert "**Sources**\n\n1. [" in capsys.readouterr().out


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
def test_llm_prints_the_answer_and_its_sources(service: Service, folder: Path) -> None:
    """With the lines of docs/clients.md."""
    lines = shown_block("yaml", containing="model_id").replace("http://127.0.0.1:8000", service.url)
    (folder / "extra-openai-models.yaml").write_text(lines, encoding="utf-8")
    (folder / "keys.json").write_text(json.dumps({"tutor": "none"}), encoding="utf-8")
    environment = {**os.environ, "LLM_USER_PATH": str(folder), "LLM_LOAD_PLUGINS": ""}
    commands = [["-m", "tutor", NODE], ["-c", "How do they communicate?"]]
    # both in one process: llm imports for two seconds
    program = f"from llm.cli import cli\nfor one in {commands!r}:\n    cli(one, standalone_mode=False)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("**Sources**\n\n1. [") == 2
    with service.client() as client:
        latest = client.get("/threads", params={"limit": 1}).json()["threads"][0]
        turns = client.get(f"/threads/{latest['thread_id']}").json()["turns"]
    assert [turn["answer"]["query"] for turn in turns] == [NODE, "How do they communicate?"]
