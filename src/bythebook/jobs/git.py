"""Runs git on repositories that nobody vouches for.

A repository brings files and nothing else, within limits: no hook, filter, submodule or LFS object is run or fetched, no redirect
is followed, and addresses of private networks are refused unless they are allowed. Of our own environment git gets only what it
needs to reach the network.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bythebook.errors import Rejected, StorageFailure, Unavailable
from bythebook.ingestion.addresses import is_public

TIMEOUT_SECONDS = 600.0
LOOK_SECONDS = 0.2
LAST_WORDS_SECONDS = 5.0
MOST_FILES = 200_000
LONGEST_ENTRY = 100_000
LONGEST_COMPLAINT = 10_000
LOCK = ".lock"
"""The file name ending of a checkout's lock, which lies beside it."""
QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|TMPDIR|TEMP|TMP|XDG_CONFIG_HOME|SSH_AUTH_SOCK|SSL_CERT_(FILE|DIR)|CURL_CA_BUNDLE|GIT_SSL_\w+"
    r"|GIT_CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|SYSTEMROOT|USERPROFILE|APPDATA|\w+_PROXY",
    re.IGNORECASE,
)
"""The environment variables that git gets: none of our keys, and nothing that would make it work elsewhere (GIT_DIR)."""
PROXY = re.compile(r"(https?|all)_proxy", re.IGNORECASE)
SAFE = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.protectHFS=true", "core.protectNTFS=true"),
    *(
        "submodule.recurse=false",
        "fetch.recurseSubmodules=false",
        "http.followRedirects=false",
        "gc.auto=0",
        "maintenance.auto=false",
    ),
    *("protocol.allow=never", "protocol.https.allow=always", "protocol.http.allow=always", "protocol.ssh.allow=always"),
)
NO_FILTERS = "* -filter -text -ident -working-tree-encoding\n"
"""Written into the checkout's own attributes, which override all others: files are written exactly as they are stored."""
REFUSALS = (
    *("Authentication failed", "could not read Username", "Permission denied"),
    *("not found", "does not exist", "couldn't find", "does not appear to be a git repository"),
    *("unable to update url base from redirection", "not allowed", "The requested URL returned error: 30"),
)
ADDRESS = re.compile(r"(?P<scheme>https?|ssh|file)://|[\w.-]+@(?P<host>[\w.-]+):")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLimits:
    """Limits for repositories. `bytes`: of what is fetched, and of the files in it. `private`: repositories may be on this
    machine or at a private address."""

    bytes: int = 2_000_000_000
    files: int = MOST_FILES
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """One branch of one repository in a folder. `shown`: its address without a password. `credentials`: git's environment with
    the password."""

    folder: Path
    url: str
    branch: str
    shown: str
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: GitLimits = field(default_factory=GitLimits)

    async def bring_up_to_date(self) -> None:
        """Fetches the newest commit and switches to it, whatever happened to the branch meanwhile: it may have been
        force-pushed."""
        reached_by = await self._checked_address()
        from filelock import AsyncFileLock

        await asyncio.to_thread(self.folder.parent.mkdir, parents=True, exist_ok=True)
        async with AsyncFileLock(f"{self.folder}{LOCK}", poll_interval=0.05):  # one git at a time, over all processes
            await self._update(reached_by)

    async def _update(self, reached_by: tuple[str, ...]) -> None:
        if (self.folder / ".git" / "HEAD").exists():
            with suppress(_TooLarge):  # from many fetches together: started again from nothing
                await self._fetch(reached_by)
                return await self._switch()
        try:
            await self._begin()
            await self._fetch(reached_by)
            await self._switch()
        except _TooLarge as error:
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
            raise Rejected(
                f"The repository {self.shown} is larger than {self.limits.bytes:,} bytes or {self.limits.files:,} files. "
                "Put the book into a smaller one, or raise BYTHEBOOK_GIT_MAX_BYTES."
            ) from error
        except OSError as error:
            raise StorageFailure(f"The checkout {self.folder} cannot be written ({error.strerror}). Make room for it.") from error

    async def _begin(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        await asyncio.to_thread(self.folder.mkdir, parents=True)
        await self._git("init", "--quiet", "--template=")
        await self._git("config", "remote.origin.url", self.url)  # a book without a name is called by this address

    async def _fetch(self, reached_by: tuple[str, ...]) -> None:
        branch = f"refs/heads/{self.branch}" if self.branch else "HEAD"
        options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--force")
        await self._git(*reached_by, "fetch", *options, "--", self.url, branch, watched=True)

    async def _switch(self) -> None:
        """Switches to what was fetched. The size is added up before anything is written: a few kilobytes can become terabytes."""
        git = self.folder / ".git"
        await asyncio.to_thread((git / "index.lock").unlink, missing_ok=True)  # left by a worker that was killed
        await asyncio.to_thread((git / "info").mkdir, exist_ok=True)
        await asyncio.to_thread((git / "info" / "attributes").write_text, NO_FILTERS)
        await self._git("ls-tree", "-r", "-l", "-z", "FETCH_HEAD", take=self._add_up)
        await self._git("reset", "--quiet", "--hard", "FETCH_HEAD")
        await self._git("clean", "--quiet", "-ffdx")

    async def _add_up(self, listed: asyncio.StreamReader) -> bool:
        """Whether the files stay within the limits. Each entry is mode, type, id, size and path."""
        files = size = 0
        rest = b""
        while block := await listed.read(65_536):
            *entries, rest = (rest + block).split(b"\0")
            files += len(entries)
            size += sum(int(entry.split(None, 4)[3].replace(b"-", b"0")) for entry in entries)
            if files > self.limits.files or size > self.limits.bytes or len(rest) > LONGEST_ENTRY:
                return False
        return True

    async def _checked_address(self) -> tuple[str, ...]:
        """Refuses an address that must not be contacted. Git is told to use the addresses that were checked, so that the name
        cannot resolve to others in between."""
        found = ADDRESS.match(self.url)
        if found is None or (found["scheme"] == "file" and not self.limits.private):
            raise Rejected(
                f"The repository {self.shown} is not at an https:// or ssh:// address. Move it to one; "
                "BYTHEBOOK_GIT_PRIVATE=true allows file:// too."
            )
        if self.limits.private:
            return ("-c", "protocol.file.allow=always")
        host = found["host"] or urlsplit(self.url).hostname or ""
        port = (urlsplit(self.url).port if found["scheme"] else None) or {"http": 80, "https": 443}.get(found["scheme"] or "", 22)
        addresses = await _resolved(host, port)
        if not addresses and not any(PROXY.fullmatch(name) for name in os.environ):
            raise Unavailable(f"The repository {self.shown} cannot be fetched (its host is not found). Check its address.")
        if not all(map(is_public, addresses)):
            raise Rejected(
                f"The repository {self.shown} is at a private address. If you mean that, set BYTHEBOOK_GIT_PRIVATE=true."
            )
        if not addresses or found["scheme"] not in ("http", "https"):
            return ()
        return ("-c", f"http.curloptResolve={host}:{port}:{','.join(addresses)}")

    async def _git(
        self, *arguments: str, watched: bool = False, take: Callable[[asyncio.StreamReader], Awaitable[bool]] | None = None
    ) -> None:
        """Runs git. `watched`: ends it when the folder grows beyond its limit. `take`: reads git's output, and says whether to go
        on."""
        safe = [part for setting in SAFE for part in ("-c", setting)]
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *("git", *safe, *arguments),
                cwd=self.folder,
                env={**_environment(), **QUIET, **self.credentials, "GIT_CEILING_DIRECTORIES": str(self.folder.parent)},
                start_new_session=True,  # so that git's own child processes end with it
                stdin=DEVNULL,
                stdout=PIPE if take else DEVNULL,
                stderr=PIPE,
            )
        )
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                process = await asyncio.shield(starting)
                said = await self._follow(process, watched=watched, take=take)
        except FileNotFoundError as error:
            raise StorageFailure("The program 'git' is not installed, and this book comes from a git repository.") from error
        except TimeoutError as error:
            raise Unavailable(f"The repository {self.shown} does not answer. Check its address and the network.") from error
        finally:
            await _end(starting)
        if process.returncode:
            raise self._failure(said)

    async def _follow(
        self, process: Process, *, watched: bool, take: Callable[[asyncio.StreamReader], Awaitable[bool]] | None
    ) -> str:
        """Waits until git has ended, and returns what it wrote to stderr."""
        assert process.stderr is not None
        complaint = asyncio.create_task(_beginning(process.stderr))
        try:
            if take:
                assert process.stdout is not None
                if not await take(process.stdout):
                    raise _TooLarge
            while watched and not complaint.done():
                await asyncio.wait({complaint}, timeout=LOOK_SECONDS)
                if await asyncio.to_thread(_size_of, self.folder / ".git") > self.limits.bytes:
                    raise _TooLarge
            said = await complaint
            await process.wait()
        finally:
            complaint.cancel()
            await asyncio.wait({complaint})
        return said.decode("utf-8", "replace")

    def _failure(self, said: str) -> Unavailable:
        reason = " ".join(said.replace(self.url, self.shown).split())[:300] or "git gave no reason"
        if any(refusal in said for refusal in REFUSALS):
            return Rejected(
                f"The repository {self.shown} has no branch {self.branch or 'at all'} ({reason}). Check both, and the key."
            )
        return Unavailable(f"The repository {self.shown} cannot be fetched ({reason}). Check its address and the network.")


class _TooLarge(Exception):
    """More was fetched, or would be written, than is allowed."""


async def _end(starting: asyncio.Task[Process]) -> None:
    """Ends git and everything it started, where it has not ended yet: also where the caller left before git had started."""
    await asyncio.wait({starting})
    if starting.exception() is not None or starting.result().returncode is not None:
        return
    process = starting.result()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_SECONDS):  # its pipes are closed when they have been read to their end
            for stream in (process.stdout, process.stderr):
                if stream:
                    await stream.read()


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """The beginning of the stream. The rest is read too and dropped, so that git never blocks on a full pipe."""
    kept = b""
    while block := await stream.read(65_536):
        kept = (kept + block)[:LONGEST_COMPLAINT]
    return kept


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}


async def _resolved(host: str, port: int) -> list[str]:
    """All addresses of the name; none where only the proxy can resolve it."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port)
    except OSError:
        return []
    return sorted({str(address[0]).partition("%")[0] for *_, address in found})


def _size_of(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # it is being renamed
            total += path.lstat().st_size
    return total
