"""Where a job's book comes from: folders a request may name, and repositories whatever happens to their branches."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path

import pytest

from bythebook.errors import InvalidInput, NotFound, Rejected
from bythebook.jobs import model
from bythebook.jobs.git import GitLimits
from bythebook.jobs.sources import Sources, repository_at, same_repository, under_roots, without_password
from tests.support.processes import runs, wait_for
from tests.support.repository import Repository
from tests.support.site_server import serving_site
from tests.support.small_book import BOOK_TOML, write

HERE = GitLimits(private=True)
"""The tests' repositories are on this machine."""


def fetch(folder: Path, url: str, branch: str = "main", subfolder: str = "", limits: GitLimits = HERE) -> Path:
    source = model.Repository(url=url, branch=branch, folder=subfolder)
    return asyncio.run(Sources(folder=folder, limits=limits).fetch(source)).root


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_a_folder_is_read_where_it_is(tmp_path: Path) -> None:
    assert asyncio.run(Sources(folder=tmp_path).fetch(model.Folder(path=tmp_path))).root == tmp_path


def test_a_repository_is_fetched_and_followed_through_edits_and_force_pushes(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    root = fetch(tmp_path, repository.url)
    assert files(root) == files(repository.work)
    repository.edit("glossary.md", "# Glossary\n\nActuator: what moves.\n")
    (root / "left-behind.md").write_text("by nobody")
    assert files(fetch(tmp_path, repository.url)) == files(repository.work)
    (repository.work / "glossary.md").unlink()
    repository.edit("new.md", "# New\n\nIn place of the edit.\n", force=True)
    assert files(fetch(tmp_path, repository.url)) == files(repository.work)
    assert "glossary.md" not in files(root)


def test_a_worker_killed_while_it_fetched_is_no_trouble(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    root = fetch(tmp_path, repository.url)
    (root / ".git" / "index.lock").touch()
    (root / "book.toml").unlink()
    assert files(fetch(tmp_path, repository.url)) == files(repository.work)


def test_a_book_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    repository.edit("docs/book.toml", BOOK_TOML)
    assert files(fetch(tmp_path, repository.url, subfolder="docs")) == {"docs/book.toml"[5:]: BOOK_TOML.encode()}
    for odd in ("nowhere", "../..", "book.toml"):
        with pytest.raises(NotFound, match="has no folder"):
            fetch(tmp_path, repository.url, subfolder=odd)


def test_what_one_book_of_a_repository_fetches_changes_nothing_under_another(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    for name in ("one", "two"):
        repository.edit(f"{name}/page.md", "# Before\n")
    whole, one = fetch(tmp_path, repository.url), fetch(tmp_path, repository.url, subfolder="one")
    for name in ("one", "two"):
        repository.edit(f"{name}/page.md", "# After\n")
    assert (fetch(tmp_path, repository.url, subfolder="two") / "page.md").read_text() == "# After\n"
    assert (whole / "one" / "page.md").read_text() == (one / "page.md").read_text() == "# Before\n"


def test_many_who_fetch_the_same_at_once_all_have_it(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    sources = Sources(folder=tmp_path, limits=HERE)
    source = model.Repository(url=repository.url, branch="main")

    async def story() -> None:
        for fetched in await asyncio.gather(*(sources.fetch(source) for _ in range(4))):
            assert files(fetched.root) == files(repository.work)

    asyncio.run(story())


def test_branches_are_kept_apart(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "origin")
    main = fetch(tmp_path, repository.url)
    before = files(main)
    write(repository.work, "draft.md", "# Draft\n")
    repository.commit("draft")
    repository.push("draft")
    assert "draft.md" in files(fetch(tmp_path, repository.url, branch="draft"))
    assert files(main) == before


@pytest.mark.parametrize(("name", "branch"), [("book.git", "nowhere"), ("nothing.git", "main")])
def test_what_is_not_there_is_told_and_not_tried_again(tmp_path: Path, name: str, branch: str) -> None:
    Repository(tmp_path / "origin")
    with pytest.raises(Rejected, match=f"has no branch {branch}"):
        fetch(tmp_path, (tmp_path / "origin" / name).as_uri(), branch)


def test_a_request_may_name_folders_under_the_roots_and_no_others(tmp_path: Path) -> None:
    inside = tmp_path / "roots" / "books" / "one"
    inside.mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "roots" / "books" / "way-out").symlink_to(tmp_path / "secret")
    roots = (tmp_path / "elsewhere", tmp_path / "roots" / "books")
    assert under_roots("one", roots) == under_roots(str(inside), roots) == inside
    for odd in ("../../secret", str(tmp_path / "secret"), "way-out", "two", "/"):
        with pytest.raises(InvalidInput, match="BYTHEBOOK_SOURCE_ROOTS"):
            under_roots(odd, roots)
    with pytest.raises(InvalidInput):
        under_roots("one", ())


def test_one_repository_has_many_addresses() -> None:
    addresses = [
        "https://git.example/me/Book.git",
        "git@git.example:me/book.git",
        "ssh://git@git.example/me/book",
        "https://x:y@git.example/me/book/",
    ]
    assert all(same_repository(addresses[0], other) for other in addresses)
    assert not same_repository(addresses[0], "https://git.example/me/book-2")
    assert not same_repository("https://git.example/@me/book", "https://other.example/@me/book")


def test_git_gets_a_password_by_its_environment_and_no_command_shows_it(tmp_path: Path) -> None:
    """A git of our own says what it was started with; over HTTP it would be sent as a header."""
    said = tmp_path / "said"
    fake = write(
        tmp_path,
        "bin/git",
        f'#!/bin/sh\necho "$@" >> {said}\necho "$GIT_CONFIG_VALUE_0 $GIT_CONFIG_KEY_0" >> {said}.env\nmkdir -p .git\n',
    )
    fake.chmod(0o755)
    source = model.Repository(url="https://host.example/me/book", branch="main")
    addresses = ("https://me:s%40cret@host.example/me/book",)
    sources = Sources(folder=tmp_path, addresses=addresses, limits=HERE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
        asyncio.run(sources.fetch(source))
    assert "https://host.example/me/book refs/heads/main" in said.read_text()
    assert "s%40cret" not in said.read_text()
    header = "Authorization: Basic " + base64.b64encode(b"me:s@cret").decode()
    assert f"{header} http.https://host.example/me/book.extraHeader" in Path(f"{said}.env").read_text()


def test_what_git_started_ends_when_the_job_is_cancelled(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    fake = write(tmp_path, "bin/git", f"#!/bin/sh\nsleep 1000 &\necho $! > {pipe}\nwait\n")
    fake.chmod(0o755)

    async def story() -> int:
        source = model.Repository(url="https://host.example/x", branch="main")
        fetching = asyncio.create_task(Sources(folder=tmp_path, limits=HERE).fetch(source))
        pid = int(await asyncio.to_thread(pipe.read_text))
        fetching.cancel()
        await asyncio.wait({fetching})
        return pid

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
        pid = asyncio.run(story())
    wait_for(lambda: not runs(pid))


@pytest.mark.parametrize(
    ("url", "stored"),
    [("https://me:secret@host.example/b", "https://host.example/b"), ("ssh://git@host.example/b", "ssh://git@host.example/b")],
)
def test_what_a_job_keeps_of_an_address(url: str, stored: str) -> None:
    assert without_password(url) == stored


@pytest.mark.parametrize(
    ("address", "url", "branch", "folder"),
    [
        ("https://github.com/o/r", "https://github.com/o/r", "", ""),
        ("https://github.com/o/r.git", "https://github.com/o/r.git", "", ""),
        ("https://github.com/o/r/tree/main", "https://github.com/o/r", "main", ""),
        ("https://github.com/o/r/tree/v2/docs/en/", "https://github.com/o/r", "v2", "docs/en"),
        ("https://gitlab.com/g/sub/r/-/tree/main/a%20b", "https://gitlab.com/g/sub/r", "main", "a b"),
        ("https://codeberg.org/o/r/src/branch/main/docs", "https://codeberg.org/o/r", "main", "docs"),
        ("git@github.com:o/r.git", "git@github.com:o/r.git", "", ""),
    ],
)
def test_an_address_as_a_browser_shows_it(address: str, url: str, branch: str, folder: str) -> None:
    assert repository_at(address) == model.Repository(url=url, branch=branch, folder=folder)


@pytest.mark.parametrize("path", ["docs", "./a:b", "/tmp/x@y", "C:\\books", "tree/main"])
def test_a_path_is_no_address(path: str) -> None:
    assert repository_at(path) is None


def test_a_site_inside_a_private_network_is_not_fetched_by_a_job(tmp_path: Path) -> None:
    with serving_site() as site:
        with pytest.raises(InvalidInput, match="BYTHEBOOK_GIT_PRIVATE=true"):
            asyncio.run(Sources(folder=tmp_path).fetch(model.Website(url=f"{site.url}/book/")))
        assert site.asked == []


def test_a_cancelled_job_asks_a_busy_site_for_nothing_more(tmp_path: Path) -> None:
    with serving_site() as site:
        site.pages["/robots.txt"] = (429, {"Retry-After": "60"})

        async def story() -> None:
            fetching = asyncio.create_task(Sources(folder=tmp_path, limits=HERE).fetch(model.Website(url=f"{site.url}/book/")))
            assert await asyncio.to_thread(site.was_asked.wait, 120)
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching

        asyncio.run(story())  # ends when the thread has ended
        assert site.asked == ["/robots.txt"]


def test_the_pages_of_a_site_go_when_no_book_comes_from_them(tmp_path: Path) -> None:
    sources = Sources(folder=tmp_path, limits=HERE)
    with serving_site() as site:
        for book in ("one", "two", "three"):
            site.page(f"/{book}/", "The arm bends.")
            asyncio.run(sources.fetch(model.Website(url=f"{site.url}/{book}/")))
    (one, three, two) = sorted(sources.sites.iterdir())
    wanted: list[model.Source] = [model.Website(url=f"{site.url}/one/"), model.Folder(path=two)]
    sources.sweep(wanted)
    assert sorted(sources.sites.iterdir()) == [one, three, two]
    for folder in (one, three, two):
        os.utime(folder, (0, 0))
    sources.sweep(wanted)
    assert sorted(sources.sites.iterdir()) == [one, two]
