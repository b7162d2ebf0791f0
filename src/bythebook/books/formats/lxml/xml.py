"""XML of a book's file as a tree of plain names. Declarations of entities and types are removed before parsing: no book needs
them, and some expand to gigabytes."""

from __future__ import annotations

import html
import re
from typing import Any

from lxml import etree

from bythebook.books.formats.lxml.characters import decoded, without_types
from bythebook.errors import InvalidBook

PROLOG = re.compile(r"^\s*<\?xml[^>]*\?>")
ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;|#)(\w+);")


def parse_xml(raw: bytes, part: str) -> Any:
    """The root element of a part of a book's file, without namespaces."""
    text = without_types(PROLOG.sub("", decoded(raw)))
    text = ENTITY.sub(lambda match: html.unescape(match[0]) if html.unescape(match[0]) != match[0] else "", text)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=True, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    if root is None:
        raise InvalidBook(f"{part} in it is damaged; save or download it again")
    for element in root.iter():
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = element.tag.rpartition("}")[2]
    return root


def value(element: Any | None, name: str = "val") -> str:
    """An attribute by its plain name."""
    if element is None:
        return ""
    return next((str(held) for key, held in element.attrib.items() if key.rpartition("}")[2] == name), "")
