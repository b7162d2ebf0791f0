"""Hostile repositories: what they bring is files, within limits, and nothing of them is run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bythebook.books.discovery import discover
from bythebook.errors import NotFound, Rejected, Unavailable
from bythebook.jobs import model
from bythebook.jobs.git import GitLimits
from bythebook.jobs.sources import Sources
from bythebook.jobs.store import Jobs
from tests.support.library import open_library
from tests.support.repository import Repository
from tests.support.small_book import write

HERE = GitLimits(private=True)


def fetch(folder: Path, url: str, limits: GitLimits = HERE, subfolder: str = "") -> Path:
    source = model.Repository(url=url, branch="main", folder=subfolder)
    return asyncio.run(Sources(folder=folder, limits=limits).fetch(source)).root


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc",
        "/etc",
        "ext::sh -c touch%20ran",
        "--upload-pack=touch ran",
        "git://git.example/book",
        "http://127.0.0.1:1/book",
        "http://localhost:1/book",
        "https://[::1]/book",
        "https://[::ffff:10.0.0.1]/book",
        "http://169.254.169.254/latest/meta-data",
        "http://0x7f.1/book",
        "https://me:secret@192.168.1.1/book",
        "ssh://git@10.0.0.1/book",
        "git@172.16.0.1:book.git",
    ],
)
def test_this_machine_and_private_networks_are_not_asked(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Rejected, match="BYTHEBOOK_GIT_PRIVATE=true") as refused:
        fetch(tmp_path, url, GitLimits())
    assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_only_git_could_find_is_not_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has rules of its own for names, and where they lead could not be checked."""
    fake = write(tmp_path, "bin/git", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(Unavailable, match="its host is not found"):
        fetch(tmp_path, "https://nowhere.invalid/book", GitLimits())
    assert not (tmp_path / "ran").exists()


@contextmanager
def answering(location: str | None) -> Iterator[tuple[str, list[str]]]:
    """A server that sends whoever asks to another place, or nowhere; and what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302 if location else 404)
            self.send_header("Location", f"{location}{self.path}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with answering(None) as (inner, secrets), answering(inner) as (outer, asked):
        with pytest.raises(Rejected):
            fetch(tmp_path, f"{outer}/book")
        assert (bool(asked), secrets) == (True, [])


def test_nothing_of_a_repository_is_run_or_fetched_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks, filters that the machine knows, and submodules."""
    ran, other = tmp_path / "ran", Repository(tmp_path / "other")
    (tmp_path / "gitconfig").write_text(
        f'[filter "evil"]\n\tsmudge = touch {ran}\n\trequired = true\n[protocol "file"]\n\tallow = always\n'
    )
    repository = Repository(tmp_path / "origin")
    write(repository.work, ".gitattributes", "*.md filter=evil text eol=crlf\n")
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub"], cwd=repository.work, check=True)
    write(repository.work, ".gitmodules", f'[submodule "sub"]\n\tpath = sub\n\turl = {other.url}\n')
    repository.git("add", ".gitattributes", ".gitmodules")
    repository.git("commit", "--quiet", "--message", "hostile")
    repository.push()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    root = fetch(tmp_path, repository.url)
    hook = write(root, ".git/hooks/post-index-change", f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    fetch(tmp_path, repository.url)
    assert not ran.exists()
    assert (root / "glossary.md").read_bytes() == (repository.work / "glossary.md").read_bytes()
    assert list((root / "sub").iterdir()) == []


def test_git_is_told_none_of_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = write(tmp_path, "bin/git", f"#!/bin/sh\nenv >> {tmp_path}/told\nmkdir -p .git\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("OPENAI_API_KEY", "DATABASE_URL", "BYTHEBOOK_FIRST_KEY", "GITHUB_WEBHOOK_SECRET", "GIT_DIR"):
        monkeypatch.setenv(name, f"value of {name}")
    fetch(tmp_path, "https://host.example/book")
    assert "value of" not in (tmp_path / "told").read_text()
    assert "PATH=" in (tmp_path / "told").read_text()


def bomb(repository: Repository) -> None:
    """A kilobyte or two that would become a million files."""

    def run(*arguments: str, given: str = "") -> str:
        return subprocess.run(
            ["git", *arguments], cwd=repository.work, input=given, check=True, capture_output=True, text=True
        ).stdout.strip()

    tree = run("mktree", given=f"100644 blob {run('hash-object', '-w', '--stdin', given='x')}\tf.md\n")
    for _ in range(6):
        tree = run("mktree", given="".join(f"040000 tree {tree}\td{number}\n" for number in range(10)))
    repository.git("reset", "--quiet", "--soft", run("commit-tree", tree, "-m", "bomb"))
    repository.push()


def test_a_repository_that_would_become_too_much_is_refused(tmp_path: Path) -> None:
    many, large = Repository(tmp_path / "many"), Repository(tmp_path / "large")
    bomb(many)
    large.edit("zeros.md", "0" * 3_000_000)  # a few kilobytes as they are sent
    for repository, limits in ((many, HERE), (large, GitLimits(private=True, bytes=2_000_000))):
        with pytest.raises(Rejected, match=r"larger than .* or 200,000 files"):
            fetch(tmp_path, repository.url, limits)
        assert checkouts(tmp_path / "checkouts") == []


def test_what_many_fetches_have_left_counts_until_it_is_too_much_and_then_goes(tmp_path: Path) -> None:
    repository, limits = Repository(tmp_path / "origin"), GitLimits(private=True, bytes=200_000)
    for number in range(3):
        repository.edit("noise.md", os.urandom(80_000).hex()[: 150_000 + number])
        root = fetch(tmp_path, repository.url, limits)
        assert (root / "noise.md").stat().st_size == 150_000 + number
        assert sum(path.stat().st_size for path in (root / ".git").rglob("*")) < limits.bytes
    repository.edit("noise.md", os.urandom(300_000).hex())
    with pytest.raises(Rejected, match="larger than 200,000 bytes"):
        fetch(tmp_path, repository.url, limits)


def test_links_lead_nowhere_outside(tmp_path: Path) -> None:
    write(tmp_path, "secret/secret.md", "# Secret\n")
    repository = Repository(tmp_path / "origin")
    for name, target in (("secret.md", "secret/secret.md"), ("out", "secret"), ("docs", "secret")):
        (repository.work / name).symlink_to(tmp_path / target)
    repository.commit("links")
    repository.push()
    files, warnings = discover(fetch(tmp_path, repository.url))
    assert "secret.md" not in {Path(file.path).name for file in files}
    assert {warning.source_file for warning in warnings} == {"secret.md", "out", "docs"}
    with pytest.raises(NotFound, match="has no folder 'docs'"):
        fetch(tmp_path, repository.url, subfolder="docs")


def test_the_checkouts_of_books_that_are_gone_go(tmp_path: Path) -> None:
    kept, gone = Repository(tmp_path / "kept"), Repository(tmp_path / "gone")
    sources = Sources(folder=tmp_path, limits=HERE)

    async def story() -> None:
        async with open_library(tmp_path / "data") as library:
            jobs = Jobs(library.database)
            wanted = model.Repository(url=kept.url, branch="main", folder="module-1-arms")
            root = (await sources.fetch(wanted)).root
            await sources.fetch(model.Repository(url=gone.url, branch="main"))
            await jobs.queue(model.Order(book_id="kept", source=wanted))
            sources.sweep(await jobs.sources())
            assert checkouts(sources.checkouts) == [root.parent]
            assert len(list(sources.checkouts.iterdir())) == 2  # with its lock

    asyncio.run(story())


def checkouts(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()]
