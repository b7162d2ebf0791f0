"""A heading as each site builder reads it before it makes an anchor. Not what a person is shown: that is `markdown.heading_text`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bythebook.books.inline import Reader
from bythebook.books.markdown import HEADING_ID
from bythebook.books.model import SiteStyle

GIVEN_ID = re.compile(r"(?<![^\s{:])#([^\s{}]++)")
HYPHENS = re.compile(r"-{2,}")


def explicit_id(site: SiteStyle, heading: str) -> str | None:
    """The id an author gave a heading: `{#id}`, `{: #id }`, `{ .class #id }`, `{/* #id */}`."""
    _, attributes = _split(site, heading)
    given = GIVEN_ID.findall(attributes)
    return given[-1] if given else None


def anchor_text(site: SiteStyle, heading: str) -> str:
    """The words of a heading with all the spaces between them. Tags, and what is written in them, count for nothing."""
    words, _ = _split(site, heading)
    return _AnchorReader(words, site=site).read().strip()


def _split(site: SiteStyle, heading: str) -> tuple[str, str]:
    """The heading's words, and its attributes in braces. For MkDocs braces without a space before them are text, or an inline mark's."""
    heading = heading.strip()
    match = HEADING_ID.search(heading)
    if not match:
        return heading, ""
    words = heading[: match.start()]
    if site == "mkdocs" and words[-1:] not in ("", " "):
        return (words, "") if words[-1] in "`)*_" else (heading, "")
    return words.rstrip(), match[0]


@dataclass(slots=True)
class _AnchorReader(Reader):
    site: SiteStyle = "plain"

    def _words(self, words: str) -> None:
        """mdBook makes typographic dashes, which no anchor keeps, of hyphens in a row."""
        self.out.append(HYPHENS.sub("\N{EN DASH}", words) if self.site == "mdbook" else words)

    def _tag_words(self, tag: str) -> None:
        pass

    def _braces(self, start: int, mark: str) -> int:
        self.out.append(mark)
        return start + len(mark)

    def _link(self, opener: int, end: int) -> int:
        """Only Docusaurus counts an image's alternative text; only MkDocs knows attributes after a link."""
        if self.out[opener] == "![" and self.site != "docusaurus":
            del self.out[opener + 1 :]
            for places in self.emphasis.values():
                while places and places[-1] > opener:
                    places.pop()
        after = Reader._link(self, opener, end)
        return after if self.site == "mkdocs" else end
