"""Counts marks of Markdown, HTML and site generators in what answers are made of: a book's statements as readers see them.

    python -m scripts.count_markup FOLDER …

Prints for each book how many statements it has, how many of them show a mark, and some of these.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from bythebook.books.booktoml import read_book
from bythebook.books.discovery import discover, file_hash, read_source
from bythebook.books.lesson import decode, read_lesson
from bythebook.books.model import Chunk
from bythebook.books.sites.detection import find_site
from bythebook.books.statements import Statement, statements
from bythebook.errors import BookError
from bythebook.ingestion.plan import make_plan

SHOWN = 5
LIMIT_BYTES = 10_000_000
SAID = ("sentence", "item", "row", "heading")
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\$[^$\n]+\$", re.DOTALL)
MARK = re.compile(
    r"^:{3,}|^!{3}[ ]|^\?{3}|^/{3}[ ]|^\.\. [\w-]+::|--8<--"  # blocks of generators
    r"|\{[a-z][\w:-]*\}`|\{\{[<%#]|\{%|\{\*[ ]"  # roles, shortcodes, variables
    r"|!\[|\]\(|\]\[|\*\*\w|\w\*\*|^#{1,6}[ ]|\{[#:.][\w:. -]+\}"  # Markdown
    r"|</?(?:a|abbr|b|br|code|details|div|em|figure|hr|i|img|kbd|li|p|span|strong|sub|summary|sup|table|td|th|tr|ul)\b[^<>]*>"
    r"|\\[_*\[\]#`~]",
    re.MULTILINE,
)


def marked(chunk: Chunk) -> Iterator[tuple[Statement, str]]:
    """Statements of a chunk that show a mark which does not stand in code, each with that mark."""
    for one in statements(chunk.preface, chunk.text):
        found = MARK.search(one.readable) if one.kind in SAID else None
        if found and found.group() in CODE.sub("", (chunk.preface + chunk.text)[one.start : one.end] or chunk.text):
            yield one, found.group()


def read_chunks(root: Path) -> Iterator[Chunk]:
    """Of the lessons in Markdown; what cannot be read is left out."""
    site = find_site(root, discover(root)[0])
    book, warnings = read_book(root, book_id="counted", site=site)
    plan = make_plan(root, book, {}, book_warnings=warnings, limit_bytes=LIMIT_BYTES, site=site)
    for page in plan.pages:
        raw = read_source(root, page.path)
        try:
            text = decode(raw, page.path)
        except BookError:
            continue
        lesson = read_lesson(
            plan.book,
            page.path,
            text,
            file_hash=file_hash(raw),
            claim=page.claim,
            id_base=page.id_base,
            chapter_title=page.chapter_title,
        )
        yield from lesson.chunks


def main() -> None:
    for folder in map(Path, sys.argv[1:]):
        chunks = list(read_chunks(folder))
        total = sum(one.kind in SAID for chunk in chunks for one in statements(chunk.preface, chunk.text))
        shown = [(chunk.source_file, mark, one.readable) for chunk in chunks for one, mark in marked(chunk)]
        print(f"{folder.name}: {total:,} statements, {len(shown):,} with a mark")
        for file, mark, text in shown[:SHOWN]:
            print(f"    {mark!r} in {file}: {text[:120]!r}")


if __name__ == "__main__":
    main()
