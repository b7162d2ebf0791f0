"""Notebooks: every cell is read, and every line of it is found again in the file."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from bythebook.books.formats.notebook import attachment, read
from bythebook.books.formats.readers import FORMATS, format_of, read_file
from bythebook.books.model import Reading, where
from bythebook.errors import InvalidBook

NOTEBOOK = format_of("a.ipynb") or FORMATS[0]


def cell(kind: str, text: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": {}, **more}


def notebook(*cells: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}).encode()


def one(raw: bytes) -> Reading:
    (reading,) = read_file(NOTEBOOK, "a/ch2.ipynb", raw)
    return reading


def test_cells_become_markdown_and_know_their_lines() -> None:
    reading = one(
        notebook(
            cell("markdown", "# Arms\n\nAn *elbow* bends in one plane.", id="intro"),
            cell("code", "import arm\narm.bend(2 * 3 * 4)", outputs=[{"text": "not read"}]),
            cell("markdown", ""),
            cell("raw", "kept as it is"),
        )
    )
    assert reading.text == (
        "# Arms\n\nAn *elbow* bends in one plane.\n\n```python\nimport arm\narm.bend(2 * 3 * 4)\n```\n\n"
        "```\nkept as it is\n```\n\n"
    )
    placed = [(reading.text[mark.start : mark.end], where(mark.place, exact=mark.exact)) for mark in reading.marks]
    assert placed == [
        ("# Arms", "cell 1, line 1"),
        ("An *elbow* bends in one plane.", "cell 1, line 3"),
        ("import arm", "cell 2, line 1"),
        ("arm.bend(2 * 3 * 4)", "cell 2, line 2"),
        ("kept as it is", "cell 4, line 1"),
    ]
    assert reading.marks[0].place.label == "intro"


def test_the_language_of_the_code_is_the_kernel_s() -> None:
    raw = notebook(cell("code", "x <- 1"), metadata={"language_info": {"name": "R"}})
    assert one(raw).text == "```R\nx <- 1\n```\n\n"


def test_a_fence_that_a_cell_leaves_open_ends_with_the_cell() -> None:
    reading = one(notebook(cell("markdown", "```text\nopen"), cell("markdown", "## Next"), cell("code", "s = '''\n```\n'''")))
    assert reading.text == "```text\nopen\n```\n\n## Next\n\n````python\ns = '''\n```\n'''\n````\n\n"


def test_version_3_has_worksheets_and_heading_cells() -> None:
    sheet = {"cells": [{"cell_type": "heading", "level": 2, "source": ["Legs"]}, {"cell_type": "code", "input": "walk()"}]}
    reading = one(json.dumps({"worksheets": [sheet], "nbformat": 3, "metadata": {}}).encode())
    assert reading.text == "## Legs\n\n```python\nwalk()\n```\n\n"
    assert [where(mark.place) for mark in reading.marks] == ["cell 1, line 1", "cell 2, line 1"]
    assert all(mark.exact for mark in reading.marks)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (
            b'{"cells": [\n  oops',
            "it is not valid JSON (line 2: Expecting value); repair that line, or restore a copy that opens",
        ),
        (b'{"cells": [{"source": "An el', "it ends too early, as half of a file does; save or download it again, or restore"),
        (b'{"cells": [\n<<<<<<< HEAD\n', "git left a conflict in line 2; resolve it, or restore a copy that opens in Jupyter"),
        (b"\n", "it is empty; write in it, or take it out of the book"),
        (b"[]", "it is JSON, but not a notebook with cells"),
        (b"\xff\xfe", "it is not UTF-8 (byte 0)"),
        (notebook(cell("code", "  \n")), "it has no cell with text"),
        (b'{"nbformat": 3, "worksheets": [{"cells": 1}]}', "it has no cell with text"),
    ],
)
def test_what_is_no_notebook_is_said_in_a_sentence(raw: bytes, says: str) -> None:
    with pytest.raises(InvalidBook) as said:
        read("a.ipynb", raw)
    assert says in str(said.value)


def test_signs_that_no_text_has_do_not_fail_the_whole_book() -> None:
    """JSON can name half a pair of surrogates, and NUL. No index and no database stores them."""
    reading = one(notebook(cell("markdown", "An elbow \ud800 bends\x00 once.", id="\udfff")))
    assert reading.text.encode() == "An elbow \ufffd bends\ufffd once.\n\n".encode()
    assert (reading.marks[0].exact, reading.marks[0].place.label) == (True, "\ufffd")


def test_a_picture_that_a_cell_keeps_is_found_by_its_name_if_that_says_which() -> None:
    def kept(name: str, said: bytes, media_type: str = "image/png") -> dict[str, Any]:
        return cell("markdown", f"![]({name})", attachments={name: {media_type: b64encode(said).decode()}})

    raw = notebook(
        kept("arm.png", b"an arm"),
        kept("arm.png", b"an arm"),
        kept("image.png", b"one"),
        kept("image.png", b"another"),
        kept("page.png", b"<html>", "text/html"),
        cell("markdown", "", attachments=[1]),
        cell("markdown", "", attachments={"odd.png": {"image/png": "?"}, "odder.png": 1}),
    )
    assert attachment(raw, "arm.png", "image/png") == b"an arm"
    for name in ("image.png", "page.png", "odder.png", "gone.png"):
        assert attachment(raw, name, "image/png") is None
    assert not attachment(raw, "odd.png", "image/png")
