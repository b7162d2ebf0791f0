"""How long a reader waits for the first sentence of a model's answer: prose whose words are compared, against sentences with
their quotes whose meaning is judged. The same drafts, from a server on the loopback that writes as fast as a hosted model."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.drafts import drafted, evidence_of
from bench.table import Table, verdict
from bench.timing import median
from bench.workshop import Workshop
from bythebook.answering.draft_check import DraftCheck, SettledSentence, checked_draft
from bythebook.drafting.draft import DraftRequest
from bythebook.drafting.openai_agents.drafter import AgentDrafter
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.grounding.citations import Checker

FIRST_TOKEN_SECONDS, TOKENS_PER_SECOND = 0.5, 60.0
CHARACTERS_PER_TOKEN = 4
TARGET = 1.3
EVERY = 7
"""Every so many drafts, from both books."""
JUDGES = "You check whether sentences are supported"

Draft = dict[str, Any]


def first_sentence(_: Workshop) -> Table:
    rows = [row for row in drafted() if row["sentences"]][::EVERY]
    before, after = [], []
    with _serving() as server:
        for row in rows:
            server.draft = row
            before.append(asyncio.run(_wait(server.address, row, structured=False)))
            after.append(asyncio.run(_wait(server.address, row, structured=True)))
    ratio = median(after) / median(before) if rows else 0.0
    return Table(
        title="First sentence with a model",
        columns=("path", "drafts", "median wait", "target", ""),
        rows=(
            ("prose, words compared", str(len(rows)), f"{median(before):.2f} s", "", ""),
            ("quote first, meaning judged", str(len(rows)), f"{median(after):.2f} s", "", ""),
            ("ratio", "", f"{ratio:.2f}", f"<= {TARGET:g}", verdict(ratio <= TARGET)),
        )
        if rows
        else (),
        note="Until the first sentence is decided. A stand-in for a model on the loopback begins to write after "
        f"{FIRST_TOKEN_SECONDS:g} s and writes {TOKENS_PER_SECOND:g} tokens a second, drafts and verdicts alike. The drafts are "
        "a strong model's, their quotes as long as their writer chose them. The search before a draft is not in it.",
    )


async def _wait(address: str, row: Draft, *, structured: bool) -> float:
    drafter = AgentDrafter(AgentOptions(api_key="", base_url=address, model="structured" if structured else "plain"))
    question, evidence = row["standalone"] or row["question"], tuple(evidence_of(row))
    check = DraftCheck(Checker(evidence, "en", question), drafter.judge if structured else None)
    request = DraftRequest(question=question, asked=question, evidence=evidence, book_title="Book", language="en")
    try:
        began = time.perf_counter()
        async for event in checked_draft(drafter.draft(request), check):
            if isinstance(event, SettledSentence):
                return time.perf_counter() - began
    finally:
        await drafter.close()
    raise RuntimeError(f"no sentence of {row['id']} was decided")


class _Server(ThreadingHTTPServer):
    """Chat completions, streamed at a model's pace. The model `plain` refuses structured output, as old servers do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.draft: Draft = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def _serving() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] == "plain" and "response_format" in body:
            self._refuse()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            time.sleep(FIRST_TOKEN_SECONDS)
            for piece in _pieces(_said(self.server.draft, body)):
                time.sleep(1 / TOKENS_PER_SECOND)
                self._send({"content": piece}, None)
            self._send({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):  # who measures has seen enough
            pass
        self.close_connection = True

    def _send(self, delta: dict[str, str], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def _refuse(self) -> None:
        told = json.dumps({"error": {"message": "Unrecognized request argument supplied: response_format"}}).encode()
        self.send_response(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


def _said(row: Draft, body: dict[str, Any]) -> str:
    if body["messages"][0]["content"].startswith(JUDGES):
        return _verdicts(json.loads(body["messages"][-1]["content"]))
    if "response_format" not in body:
        return "\n".join(f"{one['text']} {''.join(f'[{label}]' for label in one['labels'])}" for one in row["sentences"])
    sentences = [{"quote": one["basis"], "label": one["labels"][0], "text": one["text"]} for one in row["sentences"]]
    return json.dumps({"answered": True, "search": "", "sentences": sentences}, ensure_ascii=False)


def _verdicts(shown: dict[str, Any]) -> str:
    """ "Yes" to each, with the first words of its passage as those that decide."""
    verdicts = [
        {"n": one["n"], "words": " ".join(shown["passages"][one["passages"][0]].split()[:8]), "supported": True}
        for one in shown["sentences"]
    ]
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _pieces(text: str) -> Sequence[str]:
    return [text[at : at + CHARACTERS_PER_TOKEN] for at in range(0, len(text), CHARACTERS_PER_TOKEN)]
