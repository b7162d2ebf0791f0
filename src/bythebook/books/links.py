"""The addresses of a lesson and its sections on the real site: page addresses and heading anchors, by each site generator's own
rules. A heading is read as each of them reads it; people are shown `markdown.heading_text`."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from bythebook.books.inline import ROLE, InlineReader
from bythebook.books.markdown import HEADING_ID
from bythebook.books.model import Book, SiteStyle

UNRESERVED = "!$&'()*+,;=:@~"
EXTENSION = re.compile(r"\.(?:md|mdx|markdown|qmd|rmd|ipynb|x?html?|rst|adoc|asciidoc|docx|pptx|epub|pdf)$", re.IGNORECASE)
AS_IT_IS = (".html", ".htm", ".xhtml", ".pdf", ".epub", ".docx", ".pptx")
"""Files that a site generator publishes unchanged."""
VERSION_OR_DATE = re.compile(r"[0-9]+[-_.][0-9]+")
NUMBER_PREFIX = re.compile(r"[0-9]+\s*[-_.]+\s*([^-_.\s].*)")
DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
PYTHON_COUNT = re.compile(r"(.*)_([0-9]+)", re.DOTALL)


def page_url(book: Book, path: str, frontmatter: Mapping[str, Any]) -> str:
    """Returns the lesson's address. Without a base_url it is relative to the site's root."""
    path = on_site(path, content=book.content, within=book.within)
    stem = EXTENSION.sub("", path)
    folder, _, name = stem.rpartition("/")
    if path.lower().endswith(AS_IT_IS):
        return _join(book, path)
    if book.site == "docusaurus":
        return _join(book, _docusaurus(folder, name, frontmatter))
    given = _value(frontmatter, "url" if book.site == "hugo" else "permalink") if book.site in ("hugo", "jekyll") else None
    if given and ":" not in given:
        return _join(book, given.lstrip("/"))
    if book.site == "hugo":
        stem, folder, name = _hugo(stem, frontmatter)
    elif book.site == "jekyll":
        stem, folder = stem.removeprefix("_"), folder.removeprefix("_")
    pattern = _pattern_for(stem, book.pages or PAGES[book.site])
    if name in FRONT_PAGES[book.site]:
        named = "index.html" if _names_index(book, pattern) else ""
        return _join(book, posixpath.join(folder, named) if folder else named)
    return _join(book, page_path(pattern, path, stem, frontmatter) or page_path(PAGES[book.site], path, stem))


PAGES: Mapping[SiteStyle, str] = {
    "mkdocs": "{path}/",
    "mdbook": "{path}.html",
    "vitepress": "{path}.html",
    "hugo": "{path}/",
    "jekyll": "{path}.html",
    "quarto": "{path}.html",
    "jupyterbook": "{path}.html",
    "sphinx": "{path}.html",
    "plain": "{file}",
}
FRONT_PAGES: Mapping[SiteStyle, tuple[str, ...]] = {
    "mkdocs": ("index", "README"),
    "mdbook": ("index", "README", "readme", "Readme"),
    "vitepress": ("index",),
    "hugo": ("index", "_index"),
    "jekyll": ("index", "README"),
    "quarto": ("index",),
    "jupyterbook": (),
    "sphinx": (),
    "plain": (),
}
SPHINX_STYLES = ("jupyterbook", "sphinx")
PATTERN_FIELDS = ("path", "folder", "name", "file")


def _pattern_for(stem: str, patterns: str) -> str:
    """`docs/={name}/ {path}/`: of several patterns, the one for the lesson's outermost folder, or the last, which is for all
    others."""
    *sections, others = patterns.split(" ") if "/=" in patterns else [patterns]
    own = (one.partition("=")[2] for one in sections if stem.startswith(one.partition("=")[0]))
    return next(own, others)


def page_path(pattern: str, path: str, stem: str, frontmatter: Mapping[str, Any] | None = None) -> str:
    """The path of a page by a pattern: "{path}" is the folder and the name, "{file}" has the suffix too, "{below}" is the path
    within the outermost folder, "{section}". Empty where the pattern asks for a date that the lesson does not have."""
    folder, _, name = stem.rpartition("/")
    front = frontmatter or {}
    fields = {"path": stem, "folder": folder, "name": name, "file": path}
    fields |= {"section": stem.partition("/")[0], "below": stem.partition("/")[2] or stem, "slug": _value(front, "slug") or name}
    fields["title"] = _urlized(_value(front, "title") or name)
    fields["slug_or_title"] = _value(front, "slug") or fields["title"]
    if date := DATE.match(_value(front, "date") or ""):
        fields |= {"year": date[1], "month": date[2], "day": date[3]}
    elif any(f"{{{part}}}" in pattern for part in ("year", "month", "day")):
        return ""
    made = re.sub(r"\{(\w+)\}", lambda match: fields.get(match[1], match[0]), pattern)
    return re.sub(r"/{2,}", "/", made).lstrip("/")


def _urlized(title: str) -> str:
    """Words as Hugo writes them in an address."""
    return re.sub(r"-{2,}", "-", re.sub(r"\s+", "-", re.sub(r"[^\w\s.-]", "", title.lower()))).strip("-")


def _names_index(book: Book, pattern: str) -> bool:
    """Whether the front page of a folder is addressed by its file: in mdBook, and in MkDocs where its pages are files."""
    return book.site == "mdbook" or (book.site == "mkdocs" and pattern.endswith(".html"))


def on_site(path: str, *, content: str, within: str) -> str:
    """A lesson's path below the folder that the site shows."""
    if within:
        return f"{within}/{path}"
    return path.removeprefix(f"{content}/") if content else path


def _hugo(stem: str, frontmatter: Mapping[str, Any]) -> tuple[str, str, str]:
    """In lower case, with hyphens for spaces; a slug replaces the name."""
    folder, _, name = re.sub(r"\s+", "-", stem.lower()).rpartition("/")
    if name == "index" and folder:  # the page of a folder with its pictures
        folder, _, own = folder.rpartition("/")
        name = (_value(frontmatter, "slug") or own).lower()
    elif name != "_index":
        name = (_value(frontmatter, "slug") or name).lower()
    return posixpath.join(folder, name), folder, name


def _join(book: Book, path: str) -> str:
    encoded = quote(path, safe=f"/{UNRESERVED}")
    if not book.base_url:
        return encoded or "./"
    base = book.base_url.rstrip("/")
    return f"{base}/{encoded}" if encoded or book.site != "docusaurus" or base.count("/") == 2 else base


def _docusaurus(folder: str, name: str, frontmatter: Mapping[str, Any]) -> str:
    """Never with a slash at the end: that form is served whatever the site's `trailingSlash` says."""
    slug = _value(frontmatter, "slug")
    if slug is not None and slug.startswith("/"):
        return unquote(slug).strip("/")
    numbered = _value(frontmatter, "parse_number_prefixes") == "false"
    folders = [part if numbered else without_number(part) for part in folder.split("/") if part]
    own_folder = folder.rpartition("/")[2].lower()
    if slug is None and name.lower() in ("index", "readme", own_folder):
        return "/".join(folders)
    last = unquote(slug) if slug is not None else _value(frontmatter, "id") or (name if numbered else without_number(name))
    return posixpath.normpath(posixpath.join("/", *folders, last)).strip("/")


def without_number(name: str) -> str:
    if VERSION_OR_DATE.match(name):
        return name
    match = NUMBER_PREFIX.fullmatch(name)
    return match[1] if match else name


def _value(frontmatter: Mapping[str, Any], key: str) -> str | None:
    value = frontmatter.get(key)
    return value.strip() if isinstance(value, str) and value.strip() else None


def slugify(site: SiteStyle, heading: str) -> str:
    """Returns the anchor of a heading's words, before repeats are numbered. mdBook before 0.5 kept capitals beyond ASCII."""
    if site == "mkdocs":
        ascii_only = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
    if site == "vitepress":
        plain = CONTROL_OR_ACCENT.sub("", unicodedata.normalize("NFKD", heading))
        return re.sub(r"^(?=[0-9])", "_", VITEPRESS_SPECIAL.sub("-", plain).strip("-")).lower()
    if site == "quarto":  # pandoc's rule: from the first letter on, and with full stops
        kept = (char for char in heading.lower() if char.isalnum() or char in "_-. ")
        return re.sub(r"^[\W\d_]+", "", "".join(kept).strip()).replace(" ", "-") or "section"
    if site in SPHINX_STYLES:  # docutils' rule
        ascii_only = unicodedata.normalize("NFKD", heading.lower().translate(DOCUTILS_LETTERS)).encode("ascii", "ignore").decode()
        return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", ascii_only))
    if site == "hugo":
        kept = (char for char in heading.strip() if char in "- _" or char.isalpha() or unicodedata.category(char) == "Nd")
        return "".join("-" if char == " " else char.lower() for char in kept)
    if site == "mdbook":
        kept = (char for char in heading.lower() if _alphanumeric(char) or char in "_-" or char.isspace())
        return "".join("-" if char.isspace() else char for char in kept)
    return "".join(char for char in heading.lower() if char in "- " or _github_keeps(char)).replace(" ", "-")


DOCUTILS_LETTERS = str.maketrans({"ß": "sz", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "ŧ": "t"})
CONTROL_OR_ACCENT = re.compile(r"[\u0000-\u001f\u0300-\u036f]")
VITEPRESS_SPECIAL = re.compile(r"""[\s~`!@#$%^&*()\-_+=\[\]{}|\\;:"'\u201c\u201d\u2018\u2019<>,.?/]+""")


def _github_keeps(char: str) -> bool:
    """Letters, marks, decimal digits, letter numbers, connectors such as `_`, and circled letters."""
    category = unicodedata.category(char)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or _circled_letter(ord(char))


def _circled_letter(code: int) -> bool:
    return 0x24B6 <= code <= 0x24E9 or (0x1F130 <= code <= 0x1F189 and code not in range(0x1F14A, 0x1F150))


def _alphanumeric(char: str) -> bool:
    """Rust's `is_alphanumeric`, which counts vowel signs as letters but no accent, virama or variation selector."""
    if char.isalnum() or _circled_letter(ord(char)):
        return True
    if unicodedata.category(char) not in ("Mn", "Mc"):
        return False
    order = unicodedata.combining(char)
    return (order == 0 and not 0xFE00 <= ord(char) <= 0xFE0F) or 10 <= order <= 35


class Anchors:
    """Gives the headings of one page their anchors, in order. An anchor of "" is the page itself."""

    def __init__(self, site: SiteStyle, headings: Iterable[str] = ()) -> None:
        """`headings`: all of the page's, as written. MkDocs sets aside every explicit id before it counts."""
        self.site = site
        self.counts: dict[str, int] = {}
        self.used = {given for heading in headings if (given := explicit_id(site, heading))} if site == "mkdocs" else set()

    def take(self, heading: str, level: int) -> str:
        """The anchor of the next heading. Docusaurus renders a level-one heading without its id, but counts it."""
        given = explicit_id(self.site, heading)
        if given is not None:
            return "" if self.site == "docusaurus" and level == 1 else given
        slug = slugify(self.site, anchor_text(self.site, heading))
        if self.site in SPHINX_STYLES:
            return self._docutils(slug)
        if self.site == "jekyll":
            return self._kramdown(slug)
        anchor = self._python(slug) if self.site == "mkdocs" else self._counted(slug)
        return "" if self.site == "docusaurus" and level == 1 else anchor

    def _counted(self, slug: str) -> str:
        anchor = slug
        while anchor in self.counts:
            self.counts[slug] += 1
            anchor = f"{slug}-{self.counts[slug]}"
        self.counts[anchor] = 0
        return anchor

    def _kramdown(self, slug: str) -> str:
        """Numbers headings of the same words, without checking whether another heading has the numbered words."""
        if slug not in self.counts:
            self.counts[slug] = 0
            return slug
        self.counts[slug] += 1
        return f"{slug}-{self.counts[slug]}"

    def _docutils(self, slug: str) -> str:
        """An anchor that is taken already, or has no letter, becomes id1, id2 and so on."""
        if slug and slug not in self.counts:
            self.counts[slug] = 0
            return slug
        self.counts[""] = self.counts.get("", 0) + 1
        return f"id{self.counts['']}"

    def _python(self, slug: str) -> str:
        while slug in self.used or not slug:
            match = PYTHON_COUNT.fullmatch(slug)
            slug = f"{match[1]}_{int(match[2]) + 1}" if match else f"{slug}_1"
        self.used.add(slug)
        return slug


GIVEN_ID = re.compile(r"(?<![^\s{:])#([^\s{}]++)")
DASHES = ("mdbook", "hugo", "jekyll")
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
        """Some generators turn consecutive hyphens into dashes, which no anchor keeps. To Docusaurus `:name` is a directive."""
        if self.site in DASHES:
            words = HYPHENS.sub("\N{EN DASH}", words)
        self.out.append(DIRECTIVE.sub("", words) if self.site == "docusaurus" else words)

    def _tag_words(self, tag: str) -> None:
        pass

    def _braces(self, start: int, mark: str) -> int:
        if self.site in SPHINX_STYLES and ROLE.fullmatch(mark):
            return InlineReader._braces(self, start, mark)
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
