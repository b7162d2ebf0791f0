"""The configuration of each site generator, read as data: MkDocs, Docusaurus, mdBook, VitePress, Hugo and Jekyll.

A file that cannot be read as what its name says is ignored; the generator itself will report it to the author.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from bythebook.books.discovery import read_beside
from bythebook.books.frontmatter import LONGEST_TOML, load_yaml
from bythebook.books.sites.javascript import Literal, literals
from bythebook.books.sites.site import Site
from bythebook.errors import InvalidBook

LARGEST = 64_000
SCRIPTS = ("js", "ts", "mjs", "mts", "cjs", "cts")
SUMMARY = "SUMMARY.md"
SUMMARY_LINK = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\[[^\]\n]*\]\(\s*+<?([^)\s>#]++)[^)\n]*+\)[ \t]*$", re.MULTILINE)
MDBOOK_TABLES = ("book", "output", "build", "preprocessor", "rust")


def mkdocs(folder: Path) -> Site | None:
    for name in ("mkdocs.yml", "mkdocs.yaml"):
        values = read_yaml(folder, name)
        if values is None:
            continue
        values = {**_inherited(folder, text_of(values, "INHERIT")), **values}
        theme = values.get("theme")
        return Site(
            style="mkdocs",
            config=name,
            folder=folder / (text_of(values, "docs_dir") or "docs"),
            title=text_of(values, "site_name"),
            language=text_of(theme, "language") if isinstance(theme, dict) else "",
            base_url=text_of(values, "site_url"),
            pages="{path}.html" if text_of(values, "use_directory_urls").lower() == "false" else "",
            entries=tuple(leaves(values.get("nav"))),
        )
    return None


def _inherited(folder: Path, path: str) -> dict[str, Any]:
    """The configuration of a translation, which adds to that of the book in its first language, beside it."""
    beside = path.removeprefix("../")
    return (read_yaml(folder.parent if beside != path else folder, beside) or {}) if path else {}


def docusaurus(folder: Path) -> Site | None:
    name, config = _script(folder, "docusaurus.config")
    if config is None:
        return None
    values = dict(reversed([(path, value) for path, value in config if len(path) == 1]))
    docs = {path[-1]: value for path, value in reversed(config) if path[-2:-1] == ("docs",) and path[0] in ("presets", "plugins")}
    docs = docs or dict(_docs_plugin(config))
    address = f"{values.get(('url',), '').rstrip('/')}/{values.get(('baseUrl',), '/').strip('/')}".rstrip("/")
    route = docs.get("routeBasePath", "docs").strip("/")
    locales = [value for path, value in config if path == ("i18n", "defaultLocale")]
    _, sidebars = _script(folder, posixpath.splitext(docs.get("sidebarPath", "").strip("./"))[0] or "sidebars")
    return Site(
        style="docusaurus",
        config=name,
        folder=folder / docs.get("path", "docs"),
        title=values.get(("title",), ""),
        language=locales[0] if locales else "",
        base_url=f"{address}/{route}" if route else address,
        entries=tuple(_sidebar(sidebars or [])),
    )


def _docs_plugin(config: list[Literal]) -> Iterator[tuple[str, str]]:
    """The options of the docs where they are a plugin by itself: `plugins: [["@docusaurus/plugin-content-docs", {…}]]`."""
    named = False
    for path, value in config:
        if path == ("plugins", ""):
            if named:
                return
            named = value.endswith("plugin-content-docs")
        elif named and path[:2] == ("plugins", "") and len(path) == 4:
            yield path[-1], value


def _sidebar(config: list[Literal]) -> Iterator[str]:
    """Ids of lessons, and folders whose lessons are all listed."""
    for path, value in config:
        if path and path[-1] == "dirName":
            yield f"{value.rstrip('/')}/"
        elif not path or path[-1] not in ("type", "label", "description", "title", "href", "className", "slug"):
            yield value


def mdbook(folder: Path) -> Site | None:
    values = _toml(folder, "book.toml")
    if values is None or not is_mdbook(values):
        return None
    book = values.get("book")
    book = book if isinstance(book, dict) else {}
    output = values.get("output")
    html = output.get("html") if isinstance(output, dict) else None
    return Site(
        style="mdbook",
        config="book.toml",
        folder=folder / (text_of(book, "src") or "src"),
        title=text_of(book, "title"),
        language=text_of(book, "language"),
        base_url=text_of(html, "site-url").rstrip("/") if isinstance(html, dict) else "",
    )


def is_mdbook(values: Mapping[str, Any]) -> bool:
    """Whether a `book.toml` is mdBook's own: ours has no table of such a name."""
    return any(isinstance(values.get(table), dict) for table in MDBOOK_TABLES)


def vitepress(folder: Path) -> Site | None:
    name, config = _script(folder, ".vitepress/config")
    if config is None:
        name, config = _script(folder, ".vitepress/config/index")
    if config is None:
        return None
    values = dict(reversed(config))
    host, base = values.get(("sitemap", "hostname"), "").rstrip("/"), values.get(("base",), "/").strip("/")
    return Site(
        style="vitepress",
        config=name,
        folder=folder / values.get(("srcDir",), "."),
        title=values.get(("title",), ""),
        language=values.get(("lang",), ""),
        base_url=f"{host}/{base}".rstrip("/") if base and not host.endswith(f"/{base}") else host,
        pages="{path}" if values.get(("cleanUrls",)) == "true" else "",
        entries=tuple(value.rstrip("/") for path, value in config if path and path[-1] == "link" and "sidebar" in path),
    )


def hugo(folder: Path) -> Site | None:
    for stem in ("hugo", "config", "config/_default/hugo", "config/_default/config"):
        for name, read in (
            (f"{stem}.toml", _toml),
            (f"{stem}.yaml", read_yaml),
            (f"{stem}.yml", read_yaml),
            (f"{stem}.json", _json),
        ):
            raw = read(folder, name)
            if raw is None:
                continue
            values = {str(key).lower(): value for key, value in raw.items()}
            if stem.endswith("config") and not ("baseurl" in values and (folder / "content").is_dir()):
                continue
            default = text_of(values, "defaultcontentlanguage")
            own = _lowered(_lowered(values.get("languages")).get(default.lower()))
            lessons = text_of(own, "contentdir") or text_of(values, "contentdir") or "content"
            language = default or text_of(values, "locale") or text_of(values, "languagecode")
            return Site(
                style="hugo",
                config=name,
                folder=folder / lessons,
                title=text_of(own, "title") or text_of(values, "title"),
                language=language,
                base_url=text_of(values, "baseurl").rstrip("/"),
                pages=_hugo_pages(values),
            )
    return None


PERMALINK_TOKEN = re.compile(r":(\w+)")
HUGO_TOKENS = {
    "section": "{section}", "sections": "{folder}", "slug": "{slug_or_title}", "title": "{title}", "filename": "{name}",
    "contentbasename": "{name}", "slugorfilename": "{name}", "slugorcontentbasename": "{name}",
    "year": "{year}", "month": "{month}", "day": "{day}",
}  # fmt: skip
JEKYLL_TOKENS = {
    "collection": "{section}", "path": "{below}", "name": "{name}", "title": "{slug}", "slug": "{slug}", "output_ext": ".html",
}  # fmt: skip


def _hugo_pages(values: dict[str, Any]) -> str:
    """The patterns of `[permalinks]` for pages, each for one section, and the one for all others."""
    patterns = _lowered(values.get("permalinks"))
    patterns = {**patterns, **_lowered(patterns.get("page"))}
    given = [_section_pattern(section, pattern, HUGO_TOKENS) for section, pattern in patterns.items()]
    others = "{path}.html" if text_of(values, "uglyurls").lower() == "true" else "{path}/"
    found = [one for one in given if one]
    return " ".join([*found, others]) if found or others != "{path}/" else ""


def _section_pattern(section: str, pattern: object, tokens: Mapping[str, str]) -> str:
    """`section/=pattern`, as `links.page_url` reads it; nothing where the pattern has a part that is not known here."""
    known = isinstance(pattern, str) and not re.search(r"[\s{}]", section + pattern)
    if not known or any(token not in tokens for token in PERMALINK_TOKEN.findall(str(pattern))):
        return ""
    return f"{section}/=" + PERMALINK_TOKEN.sub(lambda match: tokens[match[1]], str(pattern)).lstrip("/")


JEKYLL_PERMALINKS = {
    "pretty": "{path}/",
    "/:path/": "{path}/",
    "/:path": "{path}",
    "/:path.html": "{path}.html",
    "/:path:output_ext": "{path}.html",
}
"""Patterns of all pages. Those with dates and categories are for posts, and do not affect pages."""


def jekyll(folder: Path) -> Site | None:
    """Reads Jekyll's `_config.yml`. Jupyter Book has a file of the same name, and a `_toc.yml` beside it."""
    values = read_yaml(folder, "_config.yml")
    if values is None or (folder / "_toc.yml").exists() or (folder / "_toc.yaml").exists():
        return None
    base = text_of(values, "baseurl").strip("/")
    address = f"{text_of(values, 'url').rstrip('/')}/{base}".rstrip("/")
    return Site(
        style="jekyll",
        config="_config.yml",
        folder=folder / (text_of(values, "source") or "."),
        title=text_of(values, "title"),
        language=text_of(values, "lang") or text_of(values, "locale"),
        base_url=address,
        pages=_jekyll_pages(values),
    )


def _jekyll_pages(values: dict[str, Any]) -> str:
    """The pattern of all pages, and before it those of collections, which are in folders that begin with an underscore."""
    everywhere = JEKYLL_PERMALINKS.get(text_of(values, "permalink"), "")
    collections, defaults = values.get("collections"), values.get("defaults")
    given = {name: text_of(one, "permalink") for name, one in collections.items()} if isinstance(collections, dict) else {}
    for one in defaults if isinstance(defaults, list) else ():
        scope, own = (_lowered(one.get(key)) for key in ("scope", "values")) if isinstance(one, dict) else ({}, {})
        if text_of(scope, "type") in given and text_of(own, "permalink"):
            given[text_of(scope, "type")] = text_of(own, "permalink")
    ended = {name: "/:collection/:path/" if pattern == "pretty" else pattern for name, pattern in given.items()}
    found = [_section_pattern(str(name), pattern, JEKYLL_TOKENS) for name, pattern in ended.items() if pattern]
    found = [one for one in found if one]
    return " ".join([*found, everywhere or "{path}.html"]) if found else everywhere


def summary(folder: Path) -> tuple[str, ...]:
    """The lessons in the order of a `SUMMARY.md`: those that it links to and that exist."""
    raw = _raw(folder, SUMMARY) or b""
    found = SUMMARY_LINK.findall(raw.decode("utf-8-sig", "replace"))
    named = [posixpath.normpath(path.removeprefix("./")) for path in found]
    return tuple(path for path in named if not path.startswith("..") and _is_file(folder / path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for any file
        return False


def leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for value in nav.values():
            yield from leaves(value)
    elif isinstance(nav, list):
        for value in nav:
            yield from leaves(value)


def _lowered(value: Any) -> dict[str, Any]:
    return {str(key).lower(): inner for key, inner in value.items()} if isinstance(value, dict) else {}


def text_of(values: Any, key: str) -> str:
    value = values.get(key) if isinstance(values, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return value.strip() if isinstance(value, str) else ""


def _raw(folder: Path, name: str) -> bytes | None:
    try:
        return read_beside(folder, name, limit_bytes=LARGEST)
    except (InvalidBook, ValueError, OSError):  # a link out of the folder, a name with a NUL in it or too long for any file
        return None


def read_text(folder: Path, name: str) -> str | None:
    raw = _raw(folder, name)
    return None if raw is None else raw.decode("utf-8-sig", "replace")


def _script(folder: Path, stem: str) -> tuple[str, list[Literal] | None]:
    for name in (f"{stem}.{suffix}" for suffix in SCRIPTS):
        if (source := read_text(folder, name)) is not None:
            return name, list(literals(source))
    return "", None


def read_yaml(folder: Path, name: str) -> dict[str, Any] | None:
    return _loaded(read_text(folder, name), load_yaml, yaml.YAMLError)


def _toml(folder: Path, name: str) -> dict[str, Any] | None:
    source = read_text(folder, name)
    return _loaded(source if source is None or len(source) <= LONGEST_TOML else "", tomllib.loads, ValueError)


def _json(folder: Path, name: str) -> dict[str, Any] | None:
    return _loaded(read_text(folder, name), json.loads, ValueError)


def _loaded(source: str | None, load: Callable[[str], Any], wrong: type[Exception]) -> dict[str, Any] | None:
    try:
        value = load(source) if source else None
    except (wrong, RecursionError):
        return None
    return value if isinstance(value, dict) else None
