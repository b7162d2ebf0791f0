"""A real `bythebook ingest` with the real embedder, interrupted or killed at random moments, and run again."""

from __future__ import annotations

import asyncio
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bythebook.embedding.granite import GraniteEmbedder
from tests.cli.conftest import environment, run_process
from tests.support.library import copy_data, fast_folder, open_library
from tests.support.processes import SECONDS
from tests.support.small_book import BOOK_TOML, SUBJECTS, lesson, write, write_small_book
from tests.support.soak import soak_size


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    folder = fast_folder()
    yield Trial(folder)
    shutil.rmtree(folder)


def test_ctrl_c_stops_with_a_word_and_leaves_a_consistent_index(trial: Trial) -> None:
    data_dir = trial.folder / "interrupted"
    copy_data(trial.old, data_dir)
    with trial.start(data_dir) as process:
        wait_for_change(data_dir / "index" / "lock.pid", process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, 130)  # 0: it was done before the signal came
    assert "Traceback" not in err, err
    assert process.returncode == 0 or err.strip() == "bythebook: stopped."
    trial.run_again(data_dir)


INTERRUPTED_IMPORT = """
import signal, sys

class Watch:
    module = sys.argv[1]

    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            signal.raise_signal(signal.SIGINT)

from bythebook.cli import main
sys.meta_path.insert(0, Watch())
sys.argv = ["bythebook", "ingest", "book"]
main()
"""


@pytest.mark.parametrize("module", ["typer", "bythebook.cli.ingest", "sqlalchemy"])
def test_ctrl_c_while_the_program_is_loading(folder: Path, module: str) -> None:
    write_small_book(folder / "book")
    done = run_script(folder, INTERRUPTED_IMPORT, module)
    assert (done.returncode, done.stderr.strip()) == (130, "bythebook: stopped.")


INTERRUPTED_FUTURE = """
import signal, sys

def trace(frame, event, argument):
    if frame.f_code.co_name == "_copy_future_state" and not hit:
        return trace_lines

def trace_lines(frame, event, argument):
    if "exception" in frame.f_locals and not frame.f_locals["dest"].done() and not hit:
        hit.append(frame)
        signal.raise_signal(signal.SIGINT)
    return trace_lines

hit = []
from bythebook.cli import main
sys.argv = ["bythebook", "ingest", "book"]
sys.settrace(trace)
try:
    main()
finally:
    assert hit, "no future was copied"
"""


def test_ctrl_c_while_a_future_is_given_its_result(folder: Path) -> None:
    """A signal is handled between any two instructions of Python. One that cancelled right there would leave a future half done,
    and asyncio would print a traceback."""
    write_small_book(folder / "book")
    done = run_script(folder, INTERRUPTED_FUTURE)
    assert (done.returncode, done.stderr.strip()) == (130, "bythebook: stopped.")


def test_ctrl_c_at_the_prompt_of_a_chat_ends_it_and_leaves_the_terminal_as_it_was(trial: Trial) -> None:
    """In a terminal of its own. It used to end only after the next line."""
    ours, its = os.openpty()
    before = termios.tcgetattr(its)
    command = [sys.executable, "-m", "bythebook", "chat"]
    with subprocess.Popen(command, env=environment(trial.old), stdin=its, stdout=its, stderr=its, start_new_session=True) as chat:
        try:
            read_until("›", ours)
            chat.send_signal(signal.SIGINT)
            read_until("bythebook: stopped.", ours)
            assert chat.wait(timeout=SECONDS) == 130
        finally:
            chat.kill()
    assert termios.tcgetattr(its) == before
    os.close(ours)
    os.close(its)


def test_killed_at_a_random_moment_it_converges(trial: Trial) -> None:
    trial.kill(0, random.Random(0))


@pytest.mark.soak
def test_killed_at_60_random_moments_it_converges(folder: Path) -> None:
    trial, seed, kills = Trial(folder, lessons=24), random.randrange(10**6), soak_size(60)
    moments: Counter[str] = Counter(trial.kill(number, random.Random(seed + number)) for number in range(kills))
    told = ", ".join(f"{count} {moment}" for moment, count in sorted(moments.items()))
    print(f"\n{kills} kills (seed {seed}) of a run of {trial.seconds:.1f} s: {told}; all converged")


def run_script(folder: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=environment(folder / "data"),
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


class Trial:
    """A book that was ingested and has changed since, and what an undisturbed run makes of that.

    Without `lessons` beside its own it is too short to be calibrated, which would take most of the time.
    """

    def __init__(self, folder: Path, *, lessons: int = 0) -> None:
        self.folder = folder
        self.book = write_small_book(folder / "book")
        self.old = folder / "old"
        for path, subject in () if lessons else SUBJECTS.items():
            write(self.book, path, f"# Lesson\n\n{subject}\n")
        for number in range(lessons):
            write(self.book, f"more/{number:02}-more.md", lesson(f"More {number}", f"There is more to say, number {number}."))
        assert run_process("ingest", self.book, data_dir=self.old).code == 0
        self._change()
        undisturbed = folder / "undisturbed"
        copy_data(self.old, undisturbed)
        begun = time.monotonic()
        assert run_process("ingest", self.book, data_dir=undisturbed).code == 0
        self.seconds = time.monotonic() - begun
        self.expected = snapshot(undisturbed)

    def _change(self) -> None:
        joints = self.book / "module-1-arms/chapter-1-joints"
        (joints / "01-elbows.md").rename(joints / "04-elbows.md")
        (joints / "02-wrists.md").rename(joints / "01-wrists.md")
        (self.book / "glossary.md").unlink()
        write(self.book, "book.toml", BOOK_TOML.replace("small.example", "moved.example"))
        write(self.book, "module-2-legs/chapter-3-walking/03-running.md", "# Running\n\nBoth feet leave the ground.\n")

    def start(self, data_dir: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bythebook", "ingest", str(self.book)],
            env=environment(data_dir),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def kill(self, number: int, chance: random.Random) -> str:
        """Kill a run at a random moment, once in three from nothing; run it again and compare. Says when it was killed."""
        data_dir = self.folder / f"killed-{number}"
        if chance.random() < 2 / 3:
            copy_data(self.old, data_dir)
        with self.start(data_dir) as process:
            try:
                process.wait(timeout=chance.uniform(0.2, 1.0) * self.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()
        moment = "after the end" if process.returncode == 0 else _moment(data_dir)
        self.run_again(data_dir)
        shutil.rmtree(data_dir)
        return moment

    def run_again(self, data_dir: Path) -> None:
        again = run_process("ingest", self.book, data_dir=data_dir)
        assert again.code == 0, again.err
        assert snapshot(data_dir) == self.expected


def _moment(data_dir: Path) -> str:
    if not (data_dir / "index").exists():
        return "before there was an index"
    if (data_dir / "index" / "textbook_chunks" / "journal").exists():
        return "in the middle of a swap"
    return "while reading, embedding or recording"


def snapshot(data_dir: Path) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        async with open_library(data_dir, GraniteEmbedder()) as library:
            assert await library.problems() == ()
            return await library.snapshot()

    return asyncio.run(read())


def read_until(words: str, terminal: int) -> None:
    printed = b""
    while words.encode() not in printed:
        assert select.select([terminal], [], [], SECONDS)[0], printed
        printed += os.read(terminal, 4096)


def wait_for_change(path: Path, process: subprocess.Popen[str]) -> None:
    """Until the process holds the index: its work begins then."""
    while path.read_text() != str(process.pid) and process.poll() is None:
        os.sched_yield()
