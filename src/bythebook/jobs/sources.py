"""Where a job's book comes from: a folder on this machine, the newest commit of a git branch, the pages of a site."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
import time
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bythebook.errors import InvalidInput, NotFound
from bythebook.jobs.git import LOCK, Checkout, GitLimits
from bythebook.jobs.model import Folder, Repository, Source, Website
from bythebook.retry import without_login

ADDRESS = re.compile(r"(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+:", re.IGNORECASE)
PAGE = re.compile(
    r"(?P<repository>https?://[^/]+/[^/]+/(?:[^/]+/)*?[^/]+)/(?:-/)?(?:tree|src/branch)/(?P<branch>[^/]+)(?P<folder>/.*)?"
)
"""A folder of a branch on GitHub, GitLab or Forgejo."""

MOST_PROBLEMS = 100
NEW_SECONDS = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedSource:
    """The folder to read the book from, and what could not be fetched of it."""

    root: Path
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Fetches books. `folder`: where repositories and pages are kept between jobs, so that the next fetch brings only what is
    new. `addresses`: those of the settings, with the names and passwords that no job stores."""

    folder: Path
    addresses: tuple[str, ...] = ()
    limits: GitLimits = field(default_factory=GitLimits)

    @property
    def checkouts(self) -> Path:
        return self.folder / "checkouts"

    @property
    def sites(self) -> Path:
        return self.folder / "sites"

    async def fetch(self, source: Source) -> FetchedSource:
        if isinstance(source, Folder):
            return FetchedSource(root=source.path)
        if isinstance(source, Website):
            return await self._pages(source)
        url = without_password(source.url)
        folder = self.checkouts / _folder_name(source)
        checkout = Checkout(
            folder=folder,
            url=url,
            branch=source.branch,
            shown=without_login(url),
            credentials=self._credentials(source),
            limits=self.limits,
        )
        await checkout.bring_up_to_date()
        root = folder / source.folder
        if not await asyncio.to_thread(_is_inside, root, folder):
            where = f" on branch {source.branch}" if source.branch else ""
            raise NotFound(f"The repository {without_login(url)} has no folder '{source.folder}'{where}.")
        return FetchedSource(root=root)

    async def _pages(self, source: Website) -> FetchedSource:
        """Fetches the pages in a thread, which ends soon after the job does."""
        from bythebook.ingestion.website import fetch_site  # it brings what reads a book's files, and few books are sites

        over = threading.Event()
        try:
            private = self.limits.private
            found = await asyncio.to_thread(fetch_site, source.url, self.sites, over=over, private=private)
        finally:
            over.set()
        return FetchedSource(root=found.root, problems=tuple(dict.fromkeys(found.problems))[:MOST_PROBLEMS])

    def sweep(self, wanted: Iterable[Source]) -> None:
        """Removes checkouts and pages that belong to none of these sources. The checkout of a whole repository may be what an
        earlier version read a book of one of its folders from. Pages that a command fetches are there before the job that reads
        them, so new ones stay."""
        wanted = list(wanted)
        repositories = [source for source in wanted if isinstance(source, Repository)]
        kept = {name(source) for source in repositories for name in (_folder_name, _shared_name)}
        for path in _inside(self.checkouts):
            if path.suffix == LOCK and path.stem not in kept:
                path.unlink(missing_ok=True)
            elif path.suffix != LOCK and path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)
        sites = {_site_folder(self.sites, source) for source in wanted if isinstance(source, Website)}
        sites |= {source.path for source in wanted if isinstance(source, Folder)}
        for path in _inside(self.sites):
            if path not in sites and path.stat().st_mtime < time.time() - NEW_SECONDS:
                shutil.rmtree(path, ignore_errors=True)

    def _credentials(self, source: Repository) -> dict[str, str]:
        """Name and password for git, in its environment: every user of the machine can read the arguments of a command."""
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


def repository_at(address: str) -> Repository | None:
    """The repository, branch and folder that an address names, as a browser shows it or as git takes it; None for a path."""
    if not ADDRESS.match(address):
        return None
    page = PAGE.fullmatch(address)
    if page is None:
        return Repository(url=address, branch="")
    return Repository(url=page["repository"], branch=unquote(page["branch"]), folder=unquote(page["folder"] or "").strip("/"))


def _inside(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _site_folder(sites: Path, source: Website) -> Path:
    from bythebook.ingestion.website import site_folder  # few books are sites

    return site_folder(sites, source.url)


def _folder_name(source: Repository) -> str:
    """Each folder of a repository has a checkout of its own: a job that fetches must not change the files that another book's job
    is reading."""
    shared = _shared_name(source)
    return f"{shared}-{sha256(source.folder.encode()).hexdigest()[:8]}" if source.folder else shared


def _shared_name(source: Repository) -> str:
    return sha256(f"{without_password(source.url)}\0{source.branch}".encode()).hexdigest()[:16]


def without_password(url: str) -> str:
    """The address as it is stored and given to git: over HTTP without name and password, over SSH unchanged."""
    return without_login(url) if url.startswith(("http://", "https://")) else url


def under_roots(path: str, roots: Sequence[Path], own: Sequence[Path] | None = None) -> Path:
    """The folder that a request names, if it lies in one of the configured roots once links are resolved. A relative path may be
    below any root. `own`: it must also lie in one of these."""
    for root in roots:
        try:
            candidate = (root / path).resolve()
            mine = own is None or any(candidate.is_relative_to(one.resolve()) for one in own)
            if mine and candidate.is_relative_to(root.resolve()) and (candidate.is_dir() or candidate.is_file()):
                return candidate
        except (OSError, RuntimeError):  # a name that is too long, or a link in a circle
            continue
    raise InvalidInput(
        f"'{path}' is no folder under the source roots of this service. Put the book there, or add its folder to "
        "BYTHEBOOK_SOURCE_ROOTS."
    )


def same_repository(one: str, other: str) -> bool:
    return _plain(one) == _plain(other)


def _plain(url: str) -> str:
    """git@host:owner/name.git, ssh://git@host/owner/name and https://host/owner/name are one repository."""
    rest = without_login(url).partition("://")[2] or url.rpartition("@")[2].replace(":", "/", 1)
    return rest.removesuffix("/").removesuffix(".git").lower()


def _is_inside(root: Path, checkout: Path) -> bool:
    return root.is_dir() and root.resolve().is_relative_to(checkout.resolve())
