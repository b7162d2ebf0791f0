"""Reads lessons in a child process. A lesson that crashes it, never ends or uses up the memory is a lesson that cannot be read.

The child gets pickled calls on standard input, runs them, and writes each result to standard output. It imports only what reads a
book, and ends when its parent does.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from bythebook.errors import BookError, StorageFailure

T = TypeVar("T")
Given = TypeVar("Given", covariant=True)
READY = "ready"
HEAD = struct.Struct("!Q")
BATCH_CHARACTERS = 500_000
"""Sent to the child at once: enough that sending costs little, few enough to find the call that killed it."""
SECONDS_EACH_BATCH = 60.0
SECONDS_EACH_MILLION = 20.0
"""Of computing: ten times what a lesson of a million characters takes on a slow machine."""
WALL_TIMES = 4
"""The limits are of the processor's time, which does not depend on what else the machine does. By the clock a call may take so
many times as long, so that one that waits for something ends too."""
BYTES_AT_LEAST = 2**31
BYTES_EACH_CHARACTER = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A call that failed. `reason` is printed after the lesson's name."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCall(Generic[Given]):
    """A call to be run in the child, and how many characters it reads. `seconds` and `most_bytes`: its limits, where those for a
    text of so many characters do not suit."""

    call: partial[Given]
    characters: int
    seconds: float | None = None
    most_bytes: int | None = None


class Sandbox:
    """One child process, started at its first use and again when it has died. Calls of several threads are run one after
    another."""

    def __init__(self, *, seconds: float = SECONDS_EACH_BATCH, least_bytes: int = BYTES_AT_LEAST) -> None:
        self._seconds = seconds
        self._least_bytes = least_bytes
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def run(self, readings: Sequence[SandboxCall[T]]) -> Iterator[T | Unreadable]:
        """The result of each call, in order. Where the child dies of several, each of them is tried alone."""
        for batch in _batches(readings):
            with self._lock:
                found = self._exchange(batch)
                if isinstance(found, Unreadable):
                    alone = [self._exchange([one]) for one in batch] if len(batch) > 1 else [found]
                    found = [one if isinstance(one, Unreadable) else one[0] for one in alone]
            yield from found

    def close(self) -> None:
        """Ends the child at once, whatever it is reading."""
        self._closed = True
        if child := self._child:
            child.kill()
        with self._lock:
            self._end()

    def _exchange(self, batch: Sequence[SandboxCall[T]]) -> list[T | Unreadable] | Unreadable:
        if self._closed:
            return Unreadable(reason="was not read, because the program is ending; run it again")
        seconds, most_bytes = self._limits(batch)
        child = self._started()
        assert child.stdin
        assert child.stdout
        try:
            _send(child.stdin, (seconds, most_bytes, [one.call for one in batch]))
            found = _receive(child.stdout)
        except OSError:  # it died while the calls were being sent
            found = None
        if found is None:
            return Unreadable(reason=_cause(self._end(), seconds))
        return list(found)

    def _limits(self, batch: Sequence[SandboxCall[T]]) -> tuple[float, int]:
        characters = sum(one.characters for one in batch if one.most_bytes is None)
        own_seconds = sum(one.seconds for one in batch if one.seconds is not None)
        own_bytes = max((one.most_bytes for one in batch if one.most_bytes is not None), default=0)
        seconds = SECONDS_EACH_MILLION * characters / 1_000_000 + own_seconds
        return seconds + (0 if own_seconds else self._seconds), max(
            self._least_bytes + BYTES_EACH_CHARACTER * characters, own_bytes
        )

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            package = str(Path(__file__).parents[2])
            paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
            command = [sys.executable, "-P", "-c", f"from {__name__} import read_calls; read_calls()"]
            environment = {**os.environ, "PYTHONPATH": paths}
            try:
                child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            except OSError as error:
                raise StorageFailure(f"The process that reads lessons cannot be started ({error.strerror}).") from error
            self._child = child
            assert child.stdout
            if _receive(child.stdout) is None and not self._closed:
                raise StorageFailure(f"The process that reads lessons ended as it started (status {self._end()}).")
        return self._child

    def _end(self) -> int:
        """How the child ended, as a reason."""
        child, self._child = self._child, None
        if child is None:
            return 0
        assert child.stdin
        assert child.stdout
        child.stdout.close()
        with suppress(OSError):
            child.stdin.close()
        return child.wait()


def _batches(readings: Iterable[SandboxCall[T]]) -> Iterator[list[SandboxCall[T]]]:
    batch: list[SandboxCall[T]] = []
    for one in readings:
        batch.append(one)
        if sum(held.characters for held in batch) >= BATCH_CHARACTERS:
            yield batch
            batch = []
    if batch:
        yield batch


def _cause(status: int, seconds: float) -> str:
    if status == TOO_SLOW:
        waited = WALL_TIMES * seconds
        return f"cannot be read within {waited:.0f} seconds; split it, or run it again when the machine has less to do"
    if -status == SIGPROF:
        return f"takes more than {seconds:.0f} seconds of computing to be read; split it"
    if status == OUT_OF_MEMORY:
        return MUCH_MEMORY
    how = f"signal {-status}" if status < 0 else f"status {status}"
    if -status in GIVEN_UP or status == NOT_LOADED:
        return f"needs too much memory to be read, or is damaged ({how}); save or download it again, or split it"
    return f"ends the process that reads it ({how}); look for what is unusual in it, or split it"


def _send(pipe: IO[bytes], value: object) -> None:
    body = pickle.dumps(value)
    pipe.write(HEAD.pack(len(body)) + body)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    """None where the other side has gone."""
    head = pipe.read(HEAD.size)
    body = pipe.read(HEAD.unpack(head)[0]) if len(head) == HEAD.size else b""
    return pickle.loads(body) if body and len(body) == HEAD.unpack(head)[0] else None


TOO_SLOW, OUT_OF_MEMORY = 1, 3
"""The child's exit codes: set by faulthandler, or by itself."""
SIGPROF = 27
"""The signal of the timer that counts the processor's time. Windows has none, and there the clock alone decides."""
NOT_LOADED = 127
"""The exit code of the system's loader, which gets no memory for a function that is called for the first time."""
GIVEN_UP = (4, 5, 6, 9)
"""SIGILL, SIGTRAP, SIGABRT, SIGKILL, which Windows does not name: how libraries in C end that get no more memory, and how the
system ends what takes too much."""
MUCH_MEMORY = "needs too much memory to be read; split it into several lessons"


def read_calls() -> None:
    """Runs in the child. Standard output is for the parent: what a library might print goes elsewhere. Nobody who ingests a book
    wants to see its complaints on standard error either."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    pipe = os.fdopen(os.dup(1), "wb")
    _send(pipe, READY)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        while (asked := _receive(sys.stdin.buffer)) is not None:
            seconds, most_bytes, calls = asked
            _limit_memory(most_bytes)
            _limit_computing(seconds)
            faulthandler.dump_traceback_later(WALL_TIMES * seconds, exit=True, file=nowhere)
            found = [attempt(call) for call in calls]
            faulthandler.cancel_dump_traceback_later()
            _limit_computing(0)
            try:
                _send(pipe, found)
            except MemoryError:
                os._exit(OUT_OF_MEMORY)


def attempt(call: partial[Any]) -> Any:
    """The result of the call, or an Unreadable."""
    try:
        return call()
    except BookError as error:
        return Unreadable(reason=f"cannot be read: {error}")
    except MemoryError:
        return Unreadable(reason=MUCH_MEMORY)
    except RecursionError:
        return Unreadable(reason="is nested too deeply to be read; look for what stands in each other")
    except Exception as error:  # noqa: BLE001  # whatever a parser raises over a file is that file's affair
        return Unreadable(reason=f"cannot be read ({type(error).__name__}: {str(error)[:100]}); look for what is unusual in it")


def _limit_computing(seconds: float) -> None:
    """Ends this process when it has computed for so long, also in the middle of C code; 0 takes the limit back."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(most_bytes: int) -> None:
    """Limits the memory, where the system supports that."""
    if sys.platform != "win32":
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = most_bytes if most == resource.RLIM_INFINITY else min(most_bytes, most)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
