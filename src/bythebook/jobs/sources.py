"""Where a job's book comes from: a folder on this machine, or the newest commit of a git branch. Runs git, reads no book."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bythebook.errors import InvalidInput, NotFound, Rejected, StorageFailure, Unavailable
from bythebook.jobs.model import Folder, Repository, Source

GIT_TIMEOUT_SECONDS = 600.0
REFUSALS = (
    *("Authentication failed", "could not read Username", "Permission denied"),
    *("not found", "does not exist", "couldn't find", "does not appear to be a git repository"),
)
QUIET_GIT = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "LC_ALL": "C"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """`checkouts`: where repositories are kept between jobs, so that the next fetch brings only what is new. `addresses`: those
    of the settings, with the names and passwords that no job keeps."""

    checkouts: Path
    addresses: tuple[str, ...] = ()

    async def fetch(self, source: Source) -> Path:
        """The folder to read the book from."""
        if isinstance(source, Folder):
            return source.path
        checkout = self.checkouts / sha256(f"{without_password(source.url)}\0{source.branch}".encode()).hexdigest()[:16]
        await self._bring_up_to_date(checkout, source)
        root = checkout / source.folder
        if not await asyncio.to_thread(_is_inside, root, checkout):
            raise NotFound(f"The repository {shown(source.url)} has no folder '{source.folder}' on branch {source.branch}.")
        return root

    async def _bring_up_to_date(self, checkout: Path, source: Repository) -> None:
        """Fetched by itself and then switched to, whatever happened to the branch meanwhile: it may have been force-pushed."""
        if not (checkout / ".git").exists():
            await asyncio.to_thread(checkout.mkdir, parents=True, exist_ok=True)
            await self._git(checkout, source, "init", "--quiet")
        await asyncio.to_thread((checkout / ".git" / "index.lock").unlink, missing_ok=True)  # left by a worker that was killed
        branch = f"refs/heads/{source.branch}"
        url = without_password(source.url)
        await self._git(checkout, source, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, branch)
        await self._git(checkout, source, "reset", "--quiet", "--hard", "FETCH_HEAD")
        await self._git(checkout, source, "clean", "--quiet", "-ffdx")

    async def _git(self, checkout: Path, source: Repository, *arguments: str) -> None:
        command = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", *arguments)
        starting = asyncio.create_task(
            asyncio.create_subprocess_exec(
                *command,
                cwd=checkout,
                env={**os.environ, **QUIET_GIT, **self._credentials(source)},
                start_new_session=True,  # so that what git starts ends with it
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        )
        try:
            async with asyncio.timeout(GIT_TIMEOUT_SECONDS):
                process = await asyncio.shield(starting)
                _, said = await process.communicate()
        except FileNotFoundError as error:
            raise StorageFailure("The program 'git' is not installed, and this book comes from a git repository.") from error
        except TimeoutError as error:
            raise Unavailable(
                f"The repository {shown(source.url)} does not answer. Check its address and the network."
            ) from error
        finally:
            await _end(starting)
        if process.returncode:
            raise _failure(source, said.decode("utf-8", "replace"))

    def _credentials(self, source: Repository) -> dict[str, str]:
        """Name and password for git, by its environment: what stands in a command is for all users of the machine to read."""
        known = [url for url in self.addresses if without_password(url) == without_password(source.url)]
        address = urlsplit(next(iter(known), source.url))
        if address.scheme not in ("http", "https") or not address.username:
            return {}
        said = f"{unquote(address.username)}:{unquote(address.password or '')}"
        return {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{without_password(source.url)}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {b64encode(said.encode()).decode()}",
        }


async def _end(starting: asyncio.Task[Process]) -> None:
    """Ends git and all it has started, where it has not ended: also where nobody waited until it had begun."""
    await asyncio.wait({starting})
    if starting.exception() is None and starting.result().returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(starting.result().pid, signal.SIGKILL)
        await starting.result().wait()


def without_password(url: str) -> str:
    """As it is stored and given to git: over HTTP without name and password, over SSH as it is."""
    return shown(url) if url.startswith(("http://", "https://")) else url


def under_roots(path: str, roots: Sequence[Path], own: Sequence[Path] | None = None) -> Path:
    """The folder that a request names, if it lies in one of the configured roots, links followed. Relative: to any root.
    `own`: and in one of these, too."""
    for root in roots:
        try:
            candidate = (root / path).resolve()
            mine = own is None or any(candidate.is_relative_to(one.resolve()) for one in own)
            if mine and candidate.is_relative_to(root.resolve()) and (candidate.is_dir() or candidate.is_file()):
                return candidate
        except (OSError, RuntimeError):  # a name longer than any, a link in a circle
            continue
    raise InvalidInput(
        f"'{path}' is no folder under the source roots of this service. Put the book there, or add its folder to "
        "BYTHEBOOK_SOURCE_ROOTS."
    )


def same_repository(one: str, other: str) -> bool:
    return _plain(one) == _plain(other)


def shown(url: str) -> str:
    """The address without a name and password that may be in it."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if separator else url


def _plain(url: str) -> str:
    """git@host:owner/name.git, ssh://git@host/owner/name and https://host/owner/name are one repository."""
    rest = url.partition("://")[2] or url.replace(":", "/", 1)
    return rest.rpartition("@")[2].removesuffix("/").removesuffix(".git").lower()


def _is_inside(root: Path, checkout: Path) -> bool:
    return root.is_dir() and root.resolve().is_relative_to(checkout.resolve())


def _failure(source: Repository, said: str) -> Unavailable:
    reason = " ".join(said.replace(source.url, shown(source.url)).split())[:300] or "git gave no reason"
    if any(refusal in said for refusal in REFUSALS):
        return Rejected(
            f"The repository {shown(source.url)} gives no branch {source.branch} ({reason}). Check both, and the key."
        )
    return Unavailable(f"The repository {shown(source.url)} cannot be fetched ({reason}). Check its address and the network.")
