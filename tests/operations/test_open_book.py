"""`from bythebook import Book`: what docs/python.md shows works as shown, with the real embedder."""

from __future__ import annotations

import ast
import asyncio
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from inspect import CO_COROUTINE
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import bythebook
from bythebook import Book
from bythebook.answering.answer import Answer, Answered, Sentence
from bythebook.errors import InvalidInput, InvalidSettings, NotFound
from tests.support import made_turns
from tests.support.lighthouse import BOOK, LESSONS
from tests.support.small_book import write

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The library that the page's example makes, and what its names stand for then."""
    folder = tmp_path_factory.mktemp("python")
    write(folder / "my-course", "book.toml", BOOK)
    for path in (next(path for path in LESSONS if "lamp" in path), next(path for path in LESSONS if "rock" in path)):
        write(folder / "my-course", path, LESSONS[path])
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    code = compile(example, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert code.co_flags & CO_COROUTINE
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BYTHEBOOK_DATA_DIR", str(folder / "data"))
        asyncio.run(FunctionType(code, names)())
    return folder / "data", names


def test_the_example_works_as_printed(shown: tuple[Path, dict[str, Any]]) -> None:
    _, names = shown
    answer = names["answer"]
    assert isinstance(answer, Answer)
    assert "every four hours" in answer.answer
    assert str(answer).startswith("The keeper trims the wick every four hours. [1]")
    assert "1. [Wicks and oil › Trimming the wick](https://light.example/" in str(answer)
    assert names["found"].results[0].section_title == "Trimming the wick"
    assert names["report"].book_id == "light"


def test_a_follow_up_the_events_and_the_filters(shown: tuple[Path, dict[str, Any]]) -> None:
    async def story() -> None:
        async with Book.open("light", data_dir=shown[0]) as book:
            first = await book.ask("What is a wick?")
            events = [event async for event in book.follow("How often is it trimmed?", after=[first])]
            assert any(isinstance(event, Sentence) for event in events)
            ended = events[-1]
            assert isinstance(ended, Answered)
            assert "wick" in ended.answer.question
            elsewhere = await book.ask("How often is the wick trimmed?", module="rock")
            assert elsewhere.reason == "outside_filters"
            chunks = await book.lesson("module-1-lamp/chapter-1-the-light/01-wicks.md")
            assert (await book.context(chunks[0].id)).prev is None

    asyncio.run(story())


def test_what_cannot_be_had_is_one_sentence(shown: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    async def opened(**given: Any) -> None:
        async with Book.open(**given) as book:
            await book.ask(" ")

    with pytest.raises(InvalidInput, match="1 to 1,000 characters"):
        asyncio.run(opened(data_dir=shown[0]))
    with pytest.raises(NotFound, match="no book 'heavy'"):
        asyncio.run(opened(book_id="heavy", data_dir=shown[0]))
    with pytest.raises(NotFound, match="There is no book yet"):
        asyncio.run(opened(data_dir=tmp_path))
    with pytest.raises(InvalidSettings, match="'surprise' is not a setting"):
        asyncio.run(opened(surprise=1))
    with pytest.raises(AttributeError, match="no attribute 'Books'"):
        _ = bythebook.Books


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def shown_as(answer: Answer) -> Tags:
    read = Tags()
    read.feed(answer._repr_html_())
    return read


def test_a_notebook_shows_the_quotes_and_nothing_of_a_book_comes_alive(
    shown: tuple[Path, dict[str, Any]],
) -> None:
    read = shown_as(shown[1]["answer"])
    assert "The keeper trims the wick every four hours." in read.text
    assert "blockquote" in read.tags
    assert "a" in read.tags
    steps = [Sentence(text=f"- Step {number}", kind="item", citations=(made_turns.citation(),)) for number in (1, 2)]
    assert shown_as(made_turns.answer(sentences=tuple(steps))).tags[:4] == ["div", "ul", "li", "sup"]
    script = "<script>alert(1)</script>"
    quoted = replace(made_turns.citation(), quote=script, page_title=script, source_url="javascript:alert(1)")
    said = Sentence(text=f"{script} `{script}`", kind="code", citations=(quoted,))
    nearest = replace(made_turns.NEAREST, page_title=script, source_url="javascript:alert(1)")
    hostile = made_turns.answer(sentences=(said, replace(said, kind="sentence")), citations=(quoted,))
    refused = replace(hostile, refused=True, reason="not_in_book", answer=script, nearest=(nearest,))
    for answer in (hostile, refused):
        read = shown_as(answer)
        assert script in read.text
        assert not {"script", "a"} & set(read.tags)


def test_importing_it_imports_nothing_until_it_is_asked_for() -> None:
    program = (
        "import sys, bythebook; print(bythebook.__version__, 'bythebook.operations' in sys.modules, bythebook.Book.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == [bythebook.__version__, "False", "OpenBook"]
