"""XML of a book's file as a tree of plain names. Declarations of entities and types are removed before parsing: no book needs
them, and some expand to gigabytes. What stands for text that only they explain is shown as … and told."""

from __future__ import annotations

import re
from collections.abc import Collection
from html.entities import html5
from typing import Any

from lxml import etree

from bythebook.books.formats.lxml.characters import decoded, without_types
from bythebook.errors import InvalidBook

PROLOG = re.compile(r"^\s*<\?xml[^>]*\?>")
ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;|#)(\w+);")


UNKNOWN = "…"
MOST_NAMED = 3


def parse_xml(raw: bytes, part: str, unknown: set[str] | None = None) -> Any:
    """The root element of a part of a book's file, without namespaces. `unknown` gets the entities that HTML does not have."""
    try:
        text = without_types(PROLOG.sub("", decoded(raw)))
    except InvalidBook as error:
        raise InvalidBook(f"{part} in it is not text: it is damaged or protected; save or download it again") from error
    names = unknown if unknown is not None else set[str]()
    text = ENTITY.sub(lambda match: html5.get(f"{match[1]};") or _unexplained(match[1], names), text)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=True, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(text.encode("utf-8", "replace"), parser) if text.strip() else None
    if root is None:
        raise InvalidBook(f"{part} in it is damaged; save or download it again")
    for element in root.iter():
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = element.tag.rpartition("}")[2].replace(":", "") or "unnamed"  # lxml takes such names only from a file
    return root


def _unexplained(entity: str, unknown: set[str]) -> str:
    unknown.add(entity)
    return UNKNOWN


def entity_warnings(part: str, unknown: Collection[str]) -> tuple[str, ...]:
    """What a reader is told of a part with such entities."""
    if not unknown:
        return ()
    named = ", ".join(f"&{name};" for name in sorted(unknown)[:MOST_NAMED])
    more = f" and {len(unknown) - MOST_NAMED:,} more" if len(unknown) > MOST_NAMED else ""
    return (f"{part} has {named}{more}, which only a declaration explains; … stands instead. Write the text itself there.",)


def value(element: Any | None, name: str = "val") -> str:
    """An attribute by its plain name."""
    if element is None:
        return ""
    return next((str(held) for key, held in element.attrib.items() if key.rpartition("}")[2] == name), "")
