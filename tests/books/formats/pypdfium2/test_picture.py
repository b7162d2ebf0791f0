"""The picture of a page: the quoted characters are marked in it, and no others."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bythebook.books.formats.pypdfium2.picture import MarkedCharacters, page_picture, quoted_characters
from bythebook.books.lesson import read_claim, read_lesson
from bythebook.books.model import Book
from bythebook.errors import InvalidBook
from tests.support.made_pdf import MadePdf, column
from tests.support.readings import read_one

WORDS = "An elbow bends. A wrist turns in three axes. The knee locks."
PDF = MadePdf([column(WORDS, top=400)]).write()
SCALE = 110 / 72


def pixels(png: bytes) -> NDArray[np.uint8]:
    width, height = struct.unpack(">II", png[16:24])
    size = struct.unpack(">I", png[33:37])[0]
    rows = np.frombuffer(zlib.decompress(png[41 : 41 + size]), dtype=np.uint8).reshape(height, 1 + 3 * width)
    return rows[:, 1:].reshape(height, width, 3)


def test_a_quote_is_marked_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    book, reading = Book(book_id="b", title="B"), read_one("a.pdf", PDF)
    claim = read_claim(book, "a.pdf", reading.text)
    (chunk,) = read_lesson(
        book, "a.pdf", reading.text, file_hash="", claim=claim, id_base="a", chapter_title="", reading=reading
    ).chunks
    start = chunk.text.index("A wrist")
    leading, marked = quoted_characters(chunk, [(start, chunk.text.index(" The knee"))])
    assert leading
    picture = pixels(page_picture(tmp_path / "a.pdf", leading.place.number, marked))
    yellow = np.argwhere((picture[:, :, 2] < 140) & (picture[:, :, 0] > 240))
    (top, left), (bottom, right) = yellow.min(axis=0).tolist(), yellow.max(axis=0).tolist()
    baseline = (792 - 400) * SCALE
    assert top < baseline - 5
    assert bottom < baseline + 8
    assert (72 + 60) * SCALE < left < (72 + 75) * SCALE
    assert (72 + 160) * SCALE < right < (72 + 205) * SCALE


def test_a_file_that_is_gone_or_shorter_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(PDF)
    for file, number in (("none.pdf", 1), ("a.pdf", 9)):
        with pytest.raises(InvalidBook, match="is gone or has changed since it was ingested"):
            page_picture(tmp_path / file, number, [MarkedCharacters(first=0, last=9, skipped=0, taken=9)])
