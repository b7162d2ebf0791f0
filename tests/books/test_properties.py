"""What holds for every lesson whatever an author wrote: generated Markdown, and the real books where they are at hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bythebook.books.chunker import CAP, SMALL, cut, embedded_text, size
from bythebook.books.frontmatter import read_frontmatter
from bythebook.books.lesson import decode, read_claim, read_lesson
from bythebook.books.markdown import readable, sentences
from bythebook.books.model import SITE_STYLES, Book, Lesson

REAL_BOOKS = Path(__file__).parents[3] / "shared" / "data" / "books"
WORDS = [
    *["robot", "torque", "the", "a", "joint-space", "e.g.", "Fig.", "3.5", "m", "don't", "Stop."],
    *["مرحبا", "机器人控制", "été", "e\u0301a", "🤖", "\u200f"],
    *["`code`", "$x_1$", "**bold**", "[link](a.md)", "<b>x</b>", "{#id}", "::", "|"],
]

word = st.sampled_from(WORDS)
sentence = st.lists(word, min_size=1, max_size=30).map(" ".join)
paragraph = st.lists(sentence, min_size=1, max_size=12).map(lambda parts: ". ".join(parts) + ".")
heading = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 6), sentence)
setext = st.builds(lambda text, mark: f"{text}\n{mark}", sentence, st.sampled_from(["===", "---"]))
code_line = st.sampled_from(["# not a heading", "x = 1", "", "    return y", "~~~", "| a |", "y" * 300])
fence = st.builds(
    lambda mark, lines, close: "\n".join([mark + "python", *lines, mark if close else ""]),
    st.sampled_from(["```", "~~~~"]),
    st.lists(code_line, max_size=120),
    st.sampled_from([True, True, True, False]),
)
table = st.builds(
    lambda rows: "\n".join(["| a | b |", "|---|:-:|", *(f"| {row} | x |" for row in rows)]),
    st.lists(sentence, max_size=40),
)
items = st.lists(sentence, min_size=1, max_size=40).map(lambda parts: "\n".join(f"- {part}" for part in parts))
nested = st.lists(sentence, min_size=1, max_size=20).map(
    lambda parts: "\n".join(f"{'  ' * (i % 4)}- {p}" for i, p in enumerate(parts))
)
admonition = st.builds(lambda text: f":::note[Title]\n\n{text}\n\n:::", paragraph)
component = st.builds(lambda text: f'<Tabs>\n<TabItem label="A" value={{{{a: 1}}}}>\n\n{text}\n\n</TabItem>\n</Tabs>', paragraph)
quote = paragraph.map(lambda text: "> " + text.replace(". ", ".\n> "))
oddity = st.sampled_from(
    [
        "import A from 'b';",
        "<!-- c\n# c\n-->",
        "{/* c */}",
        "$$\nx\n$$",
        "$$ open",
        "<A",
        "{{< x >}}",
        "---",
        "    code",
        "y" * 5000,
    ]
)
anything = st.text(max_size=200).map(lambda text: text.replace("\x00", ""))
block = st.one_of(
    heading, heading, paragraph, setext, fence, table, items, nested, admonition, component, quote, oddity, anything
)
front = st.sampled_from(
    ["", "", "---\ntitle: T\nchapter: 3\n---\n", "---\nnot yaml: [\n---\n", "+++\ntitle = 'x'\n+++\n", "---\n"]
)
body = st.lists(block, max_size=14).map("\n\n".join)
source_text = st.builds(
    lambda head, text, newline: (head + text).replace("\n", newline), front, body, st.sampled_from(["\n", "\n", "\r\n"])
)
relaxed = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def lesson_of(source: str, *, site: int = 0, path: str = "module-1-x/chapter-2-y/03-z.mdx") -> Lesson:
    book = Book(book_id="b", title="B", site=SITE_STYLES[site], base_url="https://b.example")
    claim = read_claim(book, path, source)
    return read_lesson(book, path, source, file_hash="h", claim=claim, id_base=path, chapter_title="Y")


def check_partition(source: str, lesson: Lesson) -> None:
    at = read_frontmatter(source).body_start
    for chunk in lesson.chunks:
        assert source[at : chunk.span.start].strip() == ""
        assert chunk.text == source[chunk.span.start : chunk.span.end] == chunk.text.strip()
        assert chunk.text
        at = chunk.span.end
    assert source[at:].strip() == ""


def check_sizes(source: str, lesson: Lesson) -> None:
    for chunk in lesson.chunks:
        assert size(chunk.text) <= CAP
        assert size(chunk.text) >= len(chunk.text.split()) * 1.3
    for left, right in zip(lesson.chunks, lesson.chunks[1:], strict=False):
        if min(size(left.text), size(right.text)) < SMALL:
            together = size(source[left.span.start : right.span.end]) + size(left.preface)
            assert together > CAP, "a small chunk must join its neighbour where both fit"


def check_chain(lesson: Lesson) -> None:
    ids = [chunk.id for chunk in lesson.chunks]
    assert len(set(ids)) == len(ids)
    assert [chunk.prev_chunk_id for chunk in lesson.chunks] == [None, *ids[:-1]][: len(ids)]
    assert [chunk.next_chunk_id for chunk in lesson.chunks] == [*ids[1:], None][: len(ids)]
    assert [chunk.chunk_index for chunk in lesson.chunks] == list(range(len(ids)))
    assert {chunk.total_chunks for chunk in lesson.chunks} <= {len(ids)}
    assert {chunk.parent_doc_id for chunk in lesson.chunks} <= {lesson.parent_doc_id}


def check_places(source: str, lesson: Lesson) -> None:
    plain = source.replace("\r\n", " \n").replace("\r", "\n")
    for chunk in lesson.chunks:
        assert chunk.span.first_line == plain.count("\n", 0, chunk.span.start) + 1
        assert chunk.span.last_line == plain.count("\n", 0, chunk.span.end - 1) + 1
        assert chunk.section_title == (chunk.heading_path[-1] if chunk.heading_path else None)
        assert chunk.source_url.startswith("https://b.example")
        assert ("#" in chunk.source_url) == bool(chunk.anchor)
        assert embedded_text(chunk)


def check_all(source: str, lesson: Lesson) -> None:
    check_partition(source, lesson)
    check_sizes(source, lesson)
    check_chain(lesson)
    check_places(source, lesson)


@relaxed
@given(source_text, st.integers(0, 3))
def test_every_lesson_is_partitioned_sized_chained_and_placed(source: str, site: int) -> None:
    check_all(source, lesson_of(source, site=site))


@relaxed
@given(source_text)
def test_cutting_twice_gives_the_same(source: str) -> None:
    assert lesson_of(source) == lesson_of(source)


@relaxed
@given(st.one_of(source_text, st.text(max_size=500)))
def test_sentences_are_ordered_and_hold_all_that_is_not_space(text: str) -> None:
    at = 0
    for start, end in sentences(text):
        assert at <= start < end
        assert text[at:start].strip() == ""
        assert text[start:end] == text[start:end].strip()
        at = end
    assert text[at:].strip() == ""


@relaxed
@given(st.one_of(source_text, st.text(alphabet="[]()<>{}*_`~$|#:!&;\\/\"'= a\n", max_size=300)))
def test_readable_never_raises_and_keeps_plain_words(text: str) -> None:
    assert isinstance(readable(text), str)
    assert "plainword" in readable(text + "\n\n```\n\n~~~\n\nplainword\n")


@pytest.mark.skipif(not REAL_BOOKS.is_dir(), reason="the real books are not at hand")
@pytest.mark.parametrize("name", ["physical-ai-curriculum", "docusaurus-docs"])
def test_real_books_hold_to_the_same(name: str) -> None:
    paths = sorted(path for path in (REAL_BOOKS / name).rglob("*") if path.suffix in (".md", ".mdx"))
    assert paths
    for path in paths:
        source = decode(path.read_bytes(), path.name)
        check_all(source, lesson_of(source, path=path.relative_to(REAL_BOOKS).as_posix()))


ADVERSARIES: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n,
    "closed brackets": lambda n: "[a](" * (n // 4),
    "images": lambda n: "![" * (n // 2),
    "stars": lambda n: "*" * n,
    "emphasis": lambda n: "*a _b " * (n // 6),
    "tags": lambda n: "<a " * (n // 3),
    "short tags": lambda n: "<b> " * (n // 4),
    "tags then text": lambda n: "<b><i> x\n" * (n // 9),
    "tags with braces": lambda n: "<a {\n" * (n // 5),
    "tags with quotes": lambda n: '<a b="\n' * (n // 7),
    "colons": lambda n: ":" * n,
    "colon lines": lambda n: ":::a\n" * (n // 5),
    "backticks": lambda n: "".join("`" * (i % 40 + 1) + " " for i in range(n // 21)),
    "fences": lambda n: "```\n" * (n // 4),
    "quotes": lambda n: "> " * (n // 2),
    "quote lines": lambda n: ">>>> a\n" * (n // 7),
    "nested lists": lambda n: "".join(" " * (2 * (i % 30)) + "- a\n" for i in range(n // 33)),
    "dollars": lambda n: "$$ a\n\n" * (n // 6),
    "comments": lambda n: "{/* <!-- \n" * (n // 10),
    "shortcodes": lambda n: "{{< " * (n // 4),
    "dots": lambda n: "." * n,
    "numbered stops": lambda n: "1. " * (n // 3),
    "spaces after marks": lambda n: "# [a](" + " " * n + "b",
    "spaces after colons": lambda n: ":::" + " " * n + "b",
    "spaces after a fence": lambda n: "```" + " " * n + "`",
    "spaces after a bar": lambda n: "|" + " " * n + "b\n{" + " " * n,
    "stops": lambda n: "A. " * (n // 3),
    "one word": lambda n: "a" * n,
    "blank lines": lambda n: "\n" * n,
    "spaces": lambda n: " " * n + "a",
    "table": lambda n: "|a|\n|-|\n" + "|b|\n" * (n // 4),
    "wide table": lambda n: "|a" * (n // 2) + "\n" + "|-" * (n // 2),
    "headings": lambda n: "# a\n" * (n // 4),
    "frontmatter": lambda n: "---\n" + "a: b\n" * (n // 5),
}


@pytest.mark.parametrize("name", ADVERSARIES)
def test_time_grows_no_faster_than_the_text(name: str) -> None:
    def seconds(length: int) -> float:
        source = ADVERSARIES[name](length)
        began = time.process_time()
        cut(source, body_start=read_frontmatter(source).body_start, mdx=True)
        readable(source)
        sentences(source)
        return time.process_time() - began

    seconds(1000)  # the parsers are built and the caches filled
    small, large = (min(seconds(length) for _ in range(2)) for length in (5_000, 20_000))
    assert large < 9 * small + 0.05, f"four times the text took {large / small:.1f} times as long"
