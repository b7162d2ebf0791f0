"""Readings as a test looks at them, and small files of other formats to read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from bythebook.books.formats.readers import format_of, read_file
from bythebook.books.model import Reading, where


def read(path: str, raw: bytes | str) -> tuple[Reading, ...]:
    kind = format_of(path)
    assert kind
    return read_file(kind, path, raw.encode() if isinstance(raw, str) else raw)


def read_one(path: str, raw: bytes | str) -> Reading:
    (reading,) = read(path, raw)
    return reading


def placed(reading: Reading) -> list[tuple[str, str]]:
    """Each piece that is marked, and where it stands."""
    return [(reading.text[mark.start : mark.end], where(mark.place, exact=mark.exact)) for mark in reading.marks]


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return written.getvalue()


CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'


def epub(pages: Mapping[str, str], *, contents: str = "", more: Mapping[str, bytes | str] | None = None) -> bytes:
    """An EPUB of these XHTML bodies, in their order; `contents` is the list in its navigation page."""
    items = "".join(f'<item id="i{at}" href="{name}" media-type="application/xhtml+xml"/>' for at, name in enumerate(pages))
    spine = "".join(f'<itemref idref="i{at}"/>' for at in range(len(pages)))
    nav = '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    opf = f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}{nav}</manifest><spine>{spine}</spine></package>'
    xhtml = '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OPS/book.opf": opf,
            "OPS/nav.xhtml": xhtml.format(f"<nav>{contents}</nav>"),
            **{f"OPS/{name}": xhtml.format(body) for name, body in pages.items()},
            **(more or {}),
        }
    )
