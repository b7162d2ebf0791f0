"""A heading as each site builder reads it before it makes an anchor. What a person is shown is `markdown.heading_text`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bythebook.books.inline import InlineReader
from bythebook.books.markdown import HEADING_ID
from bythebook.books.model import SiteStyle

GIVEN_ID = re.compile(r"(?<![^\s{:])#([^\s{}]++)")
HYPHENS = re.compile(r"-{2,}")
DIRECTIVE = re.compile(r"(?<!:):[A-Za-z](?:[\w-]*[A-Za-z0-9])?+(?![\w:-])", re.ASCII)


def explicit_id(site: SiteStyle, heading: str) -> str | None:
    """Returns the id that an author gave a heading: `{#id}`, `{: #id }`, `{ .class #id }`, `{/* #id */}`."""
    _, attributes = _split(site, heading)
    given = GIVEN_ID.findall(attributes)
    return given[-1] if given else None


def anchor_text(site: SiteStyle, heading: str) -> str:
    """Returns the words of a heading with all the spaces between them. Tags and their attributes are ignored."""
    words, _ = _split(site, heading)
    text = _AnchorReader(words, site=site).read()
    return text if site == "docusaurus" else text.strip()


def _split(site: SiteStyle, heading: str) -> tuple[str, str]:
    """Splits a heading into its words and its attributes in braces."""
    heading = heading.strip()
    # Docusaurus looks for `{#id}` at the end of the text, whatever marks stand around it.
    match = HEADING_ID.search(heading.rstrip("`*_") if site == "docusaurus" else heading)
    if not match:
        return heading, ""
    words = heading[: match.start()]
    if site == "mkdocs" and words[-1:] not in ("", " "):
        # Braces without a space before them belong to an inline mark, or are text.
        return (words, "") if words[-1] in "`)*_" else (heading, "")
    return words.rstrip(), match[0]


@dataclass(slots=True)
class _AnchorReader(InlineReader):
    site: SiteStyle = "plain"

    def _words(self, words: str) -> None:
        """mdBook turns hyphens in a row into dashes, which no anchor keeps. To Docusaurus `:name` is a directive."""
        if self.site == "mdbook":
            words = HYPHENS.sub("\N{EN DASH}", words)
        self.out.append(DIRECTIVE.sub("", words) if self.site == "docusaurus" else words)

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
        after = InlineReader._link(self, opener, end)
        return after if self.site == "mkdocs" else end
