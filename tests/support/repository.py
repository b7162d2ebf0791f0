"""A git repository with a book in it, and an author who pushes to it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.small_book import write, write_small_book

AUTHOR = ("-c", "user.name=Author", "-c", "user.email=author@book.example", "-c", "commit.gpgsign=false")


class Repository:
    """`url` is where it is fetched from: a bare repository on this disk, reached by git's own file protocol."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.bare = folder / "book.git"
        self.work.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        write_small_book(self.work)
        self.commit("first")
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        self.push()

    @property
    def url(self) -> str:
        return self.bare.as_uri()

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *AUTHOR, *arguments], cwd=self.work, check=True, capture_output=True)

    def commit(self, message: str, *options: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, *options)

    def push(self, branch: str = "main") -> None:
        self.git("push", "--quiet", "--force", str(self.bare), f"HEAD:refs/heads/{branch}")

    def edit(self, path: str, text: str, *, force: bool = False) -> None:
        """Commit a change and push it; with `force` in place of the last commit."""
        write(self.work, path, text)
        self.commit("edit", *(["--amend"] if force else []))
        self.push()
