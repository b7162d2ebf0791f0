"""A page of a PDF as a picture, with quoted characters marked in it. Runs in the child process that reads lessons."""

from __future__ import annotations

import ctypes
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
from numpy.typing import NDArray
from pypdfium2 import raw as pdfium

from bythebook.books.model import Chunk, SourceMark
from bythebook.errors import InvalidBook

DOTS_PER_INCH = 110
MOST_PIXELS = 12_000_000
MARKER = np.array([255, 232, 128], dtype=np.uint16)
"""The yellow of a highlighter over black on white."""
ESCAPE = re.compile(r"\\(?=[^\w\s])")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedCharacters:
    """Characters [first, last) of a page; of those that are no space, the first `skipped` are left out and `taken` marked."""

    first: int
    last: int
    skipped: int
    taken: int


def quoted_characters(chunk: Chunk, quotes: Sequence[tuple[int, int]]) -> tuple[SourceMark | None, list[MarkedCharacters]]:
    """The place of these stretches of a chunk's text on a page: the mark of the first, and what to mark on its page."""
    leading: SourceMark | None = None
    found = []
    for start, end in quotes:
        for mark in chunk.marks:
            if mark.place.kind != "page" or mark.end <= start or mark.start >= end:
                continue
            leading = leading or mark
            if mark.place.number != leading.place.number:
                continue
            text = chunk.text[mark.start : mark.end]
            before, within = text[: max(0, start - mark.start)], text[max(0, start - mark.start) : end - mark.start]
            found.append(
                MarkedCharacters(first=mark.place.first, last=mark.place.last, skipped=_solid(before), taken=_solid(within))
            )
    return leading, found


def _solid(text: str) -> int:
    return sum(1 for char in ESCAPE.sub("", text) if not char.isspace())


def page_picture(file: Path, number: int, marked: Sequence[MarkedCharacters]) -> bytes:
    """Page `number`, counted from 1, as a PNG."""
    try:
        document = pypdfium2.PdfDocument(file)
        page = document[number - 1]
    except (pypdfium2.PdfiumError, FileNotFoundError, IndexError) as error:
        raise InvalidBook("its page cannot be shown; it is gone or has changed since it was ingested") from error
    width, height = page.get_size()
    scale = min(DOTS_PER_INCH / 72, (MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    pixels = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False).to_numpy()
    picture = np.ascontiguousarray(pixels[:, :, :3] if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2))
    text = page.get_textpage()
    for left, top, right, bottom in _boxes(page, text, marked, picture.shape[1], picture.shape[0]):
        area = picture[top:bottom, left:right].astype(np.uint16)
        picture[top:bottom, left:right] = (area * MARKER // 255).astype(np.uint8)
    return _png(picture)


def _boxes(
    page: Any, text: Any, marked: Sequence[MarkedCharacters], width: int, height: int
) -> Iterator[tuple[int, int, int, int]]:
    """The characters of each line as one box in pixels."""
    for one in marked:
        boxes = []
        seen = 0
        for index in range(one.first, min(one.last, text.count_chars())):
            if not chr(pdfium.FPDFText_GetUnicode(text, index)).strip("\x02\ufffe\r\n\t "):
                continue
            if one.skipped <= seen < one.skipped + one.taken:
                boxes.append(_box(page, text, index, width, height))
            seen += 1
        if boxes:
            left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
            right, bottom = max(box[2] for box in boxes), max(box[3] for box in boxes)
            yield max(0, left - 1), max(0, top), min(width, right + 1), min(height, bottom)


def _box(page: Any, text: Any, index: int, width: int, height: int) -> tuple[int, int, int, int]:
    box, x, y = pdfium.FS_RECTF(), ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFText_GetLooseCharBox(text, index, box)
    corners = []
    for across, up in ((box.left, box.top), (box.right, box.bottom)):
        pdfium.FPDF_PageToDevice(page, 0, 0, width, height, 0, across, up, x, y)
        corners.append((x.value, y.value))
    (one, high), (other, low) = corners
    return min(one, other), min(high, low), max(one, other), max(high, low)


def _png(picture: NDArray[np.uint8]) -> bytes:
    height, width, _ = picture.shape
    rows = np.concatenate([np.zeros((height, 1), dtype=np.uint8), picture.reshape(height, width * 3)], axis=1)
    parts = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(rows.tobytes(), 6),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts.items()
    )
