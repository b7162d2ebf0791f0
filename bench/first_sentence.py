"""How long a reader waits for the first sentence of a model's answer: prose whose words are compared, against an answer that
opens with a sentence of the book, as the model is asked to, and one that opens in its own words, which are judged. The same
drafts, from a server on the loopback that writes as fast as a hosted model."""

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
from bythebook.books.markdown import readable, single_spaced
from bythebook.drafting.draft import DraftRequest
from bythebook.drafting.openai_agents.drafter import AgentDrafter
from bythebook.drafting.openai_agents.options import AgentOptions
from bythebook.grounding.checker import Checker
from bythebook.grounding.quotes import find_quote
from bythebook.grounding.support import checked_source

FIRST_TOKEN_SECONDS, TOKENS_PER_SECOND = 0.5, 60.0
CHARACTERS_PER_TOKEN = 4
TARGET = 1.3
EVERY = 7
"""Every so many drafts, from both books."""
JUDGES = "You check whether sentences are supported"
PROSE, COPIED = "prose, words compared", "opens with the book's sentence"
OWN, QUOTED = "opens in its own words, judged", "has no opening; quote, own words, judged"
DECIDING_WORDS = 6
"""As many as a judge is asked for at most."""

Draft = dict[str, Any]


def first_sentence(_: Workshop) -> Table:
    rows = [row for row in drafted() if row["sentences"]][::EVERY]
    waits: dict[str, list[float]] = {PROSE: [], COPIED: [], OWN: [], QUOTED: []}
    with _serving() as server:
        for row in rows:
            server.draft = row
            for path, waited in waits.items():
                waited.append(asyncio.run(_wait(server.address, row, path)))
    return Table(
        title="First sentence with a model",
        columns=("path", "drafts", "median wait", "against prose", "target", ""),
        rows=tuple(_row(path, waited, waits[PROSE]) for path, waited in waits.items()) if rows else (),
        note="Until the first sentence is decided. A stand-in for a model on the loopback begins to write after "
        f"{FIRST_TOKEN_SECONDS:g} s and writes {TOKENS_PER_SECOND:g} tokens a second, drafts and verdicts alike. The drafts are "
        "a strong model's, which was not asked to open with a sentence of the book; for that path the sentence that its first "
        "quote stands in is put before them. Own words that stand in the place of the opening come without a quote; the "
        "program looks for the nearest words. The search before a draft is not in it.",
    )


def _row(path: str, waited: Sequence[float], prose: Sequence[float]) -> tuple[str, ...]:
    ratio = median(waited) / median(prose)
    goal = (f"<= {TARGET:g}", verdict(ratio <= TARGET)) if path == COPIED else ("", "")
    return (path, str(len(waited)), f"{median(waited):.2f} s", "" if path == PROSE else f"{ratio:.2f}", *goal)


async def _wait(address: str, row: Draft, path: str) -> float:
    drafter = AgentDrafter(AgentOptions(api_key="", base_url=address, model=path))
    question, evidence = row["standalone"] or row["question"], tuple(evidence_of(row))
    check = DraftCheck(Checker(evidence, "en", question), None if path == PROSE else drafter.judge)
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
    """Chat completions, streamed at a model's pace. For the model of the old path it refuses structured output, as old servers
    do."""

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
        if body["model"] == PROSE and "response_format" in body:
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
    sentences = [{"label": one["labels"][0], "quote": one["basis"], "text": one["text"]} for one in row["sentences"]]
    openings = {COPIED: _copied(row), OWN: sentences[0]["text"], QUOTED: ""}
    rest = sentences[1:] if body["model"] == OWN else sentences
    return json.dumps({"opening": openings[body["model"]], "sentences": rest, "search": ""}, ensure_ascii=False)


def _copied(row: Draft) -> str:
    """The sentence of the book in which the first quote of a draft begins."""
    first = row["sentences"][0]
    sources = [checked_source(chunk, "en") for one in evidence_of(row) for chunk in one.passages]
    found = next(iter(find_quote(first["basis"], sources)), None)
    said = next((one for one in found.source.statements if one.end > found.start), None) if found else None
    if found is None or said is None:
        return str(first["text"])
    return single_spaced(readable(found.source.chunk.text[said.start : said.end]))


def _verdicts(shown: dict[str, Any]) -> str:
    """ "Yes" to each, with the first words of its passage as those that decide."""
    verdicts = [
        {"n": one["n"], "words": " ".join(shown["passages"][one["passages"][0]].split()[:DECIDING_WORDS]), "supported": True}
        for one in shown["sentences"]
    ]
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _pieces(text: str) -> Sequence[str]:
    return [text[at : at + CHARACTERS_PER_TOKEN] for at in range(0, len(text), CHARACTERS_PER_TOKEN)]
