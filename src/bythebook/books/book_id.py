"""What a book is called by programs when nobody says: the folder's name where that tells something, else the repository's, the
title's, or the name of the folder above."""

from __future__ import annotations

import configparser
import re
import unicodedata
from pathlib import Path

FOLDERS = "docs doc documentation src source sources content contents book books text texts pages site website lessons chapters"
BRANCHES = "public main master trunk latest current stable repo repository checkout"
LANGUAGES = "en de fr es pt zh ja ko ru it nl pl tr ar fa ur hi id vi uk cs sv da fi nb he el hu ro th en-us en-gb pt-br zh-cn"
SAY_NOTHING = frozenset(f"{FOLDERS} {BRANCHES} {LANGUAGES}".split())
"""Names of folders that stand in nearly every repository."""
CHECKOUT = re.compile(r"[0-9a-f]{16}")
"""What the checkout of a repository is called."""


def default_id(root: Path, title: str) -> str:
    root = root.resolve()
    own = slug(root.name)
    if tells(own):
        return own
    above = (slug(folder.name) for folder in root.parents)
    candidates = (_repository(root), slug(title), next((name for name in above if tells(name)), ""), own)
    return next((name for name in candidates if tells(name)), own or "book")


def slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("._-")[:100]


def tells(name: str) -> bool:
    return bool(name) and name.replace("_", "-") not in SAY_NOTHING and not CHECKOUT.fullmatch(name)


def _repository(root: Path) -> str:
    """Of the git repository that the folder lies in: by its origin's address, else by its folder. Git is not run."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is None:
        return ""
    address = _origin(top / ".git" / "config")
    named = slug(address.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2])
    return named if tells(named) else slug(top.name)


def _origin(file: Path) -> str:
    config = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        config.read_string(file.read_text("utf-8", "replace"))
        return config.get('remote "origin"', "url", fallback="") or ""
    except (OSError, configparser.Error):  # none, a link to another folder, or written by nobody's git
        return ""
