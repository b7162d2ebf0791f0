"""What a book is called and how it is read: from the command line, from `book.toml`, from the configuration of its site, or from
its folder.

`book.toml` is optional. mdBook has a file of that name, too: beside one, ours is called `book.bythebook.toml`. Where no id is
given, it is the folder's name if that is distinctive, else the repository's name, the title, or the name of the folder above.
Where no title is given, it comes from the front page, or from the book's only file.
"""

from __future__ import annotations

import configparser
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from bythebook.books.discovery import read_beside, require_book
from bythebook.books.frontmatter import LONGEST_TOML
from bythebook.books.links import PATTERN_FIELDS
from bythebook.books.model import BOOK_ID, SITE_STYLES, Book, BookOptions, BookWarning, SiteStyle
from bythebook.books.sites.generators import is_mdbook
from bythebook.books.sites.site import Site
from bythebook.books.titles import file_title, front_title
from bythebook.errors import InvalidBook, InvalidInput

FILE_NAME = "book.toml"
FILE_NAMES = ("book.bythebook.toml", FILE_NAME)
LARGEST = LONGEST_TOML
"""Bytes; enough for three hundred modules."""
TEXT_KEYS = ("book_id", "title", "language", "base_url", "site", "pages")
NUMBER_KEYS = ("max_chapter", "max_lesson")
KEYS = (*TEXT_KEYS, *NUMBER_KEYS, "modules")
ISO_639_1 = """aa ab af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it
    iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms
    mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si
    sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo
    xh yi yo za zh zu"""
LANGUAGE_CODES = frozenset(ISO_639_1.split())

FOLDERS = "docs doc documentation src source sources content contents book books text texts pages site website lessons chapters"
BUILDS = "html dirhtml singlehtml rst output out web"
BRANCHES = "public main master trunk latest current stable repo repository checkout"
LANGUAGES = "en de fr es pt zh ja ko ru it nl pl tr ar fa ur hi id vi uk cs sv da fi nb he el hu ro th en-us en-gb pt-br zh-cn"
SAY_NOTHING = frozenset(f"{FOLDERS} {BUILDS} {BRANCHES} {LANGUAGES}".split())
"""Names of folders that stand in nearly every repository."""
CHECKOUT = re.compile(r"[0-9a-f]{16}")
"""The name of the folder that a repository is checked out into."""


def read_book(root: Path, *, book_id: str | None = None, site: Site | None = None) -> tuple[Book, tuple[BookWarning, ...]]:
    """Returns the book in the folder `root`. What `book.toml` does not say comes from the book's site, and then from the folder
    itself."""
    require_book(root)
    values = _declared(root)
    book = _single_file(root) if root.is_file() else (values or _Values(root / FILE_NAME, "")).book(root, site)
    if book_id is not None:
        book = replace(book, book_id=book_id)
    if not BOOK_ID.fullmatch(book.book_id):
        place = f"{values.path}{values.line('book_id')}" if values and book_id is None else "The book_id given"
        raise InvalidBook(
            f"{place}: book_id '{book.book_id}' must be 1 to 100 of a-z, 0-9, '.', '_' and '-', and start with a letter or digit."
        )
    return book, (*_missing_modules(root, book, values), *_unknown_language(book, values))


def _declared(root: Path) -> _Values | None:
    """What the author wrote for us. A `book.toml` of mdBook's does not count."""
    for name in FILE_NAMES if root.is_dir() else ():
        source = _source(root, name)
        if source is not None and not (name == FILE_NAME and _is_mdbook(source)):
            return _Values(root / name, source)
    return None


def _is_mdbook(source: str) -> bool:
    try:
        return is_mdbook(tomllib.loads(source))
    except (ValueError, RecursionError):
        return False


def _source(root: Path, name: str) -> str | None:
    raw = read_beside(root, name, limit_bytes=LARGEST)
    try:
        return None if raw is None else raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidBook(f"{root / name} is not UTF-8 (byte {error.start}); save it as UTF-8.") from error


def check_options(options: BookOptions) -> None:
    """Raises InvalidInput for values that cannot be used. An empty text removes what an earlier run set."""
    if options.site and options.site not in SITE_STYLES:
        raise InvalidInput(f"The site (--site) must be one of {', '.join(SITE_STYLES)}, not '{options.site}'.")
    if options.base_url and (reason := _no_address(options.base_url)):
        raise InvalidInput(f"The address of the site (--base-url) {reason}.")
    if options.pages and (reason := _no_pattern(options.pages)):
        raise InvalidInput(f"The pattern of its pages (--pages) {reason}.")
    if options.language and not re.fullmatch(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})?", options.language):
        raise InvalidInput(f"The language (--language) must be a code such as en or pt-BR, not '{options.language}'.")


def with_options(book: Book, options: BookOptions) -> Book:
    """The book with what the person who ingests it says about it."""
    check_options(options)
    style = next((style for style in SITE_STYLES if style == options.site), book.site)
    return replace(
        book,
        title=options.title or book.title,
        language=options.language or book.language,
        base_url=book.base_url if options.base_url is None else _address(options.base_url),
        site=style,
        pages=("" if style != book.site else book.pages) if options.pages is None else options.pages,
    )


def _no_address(value: str) -> str:
    right = re.match(r"(https?://[^\s/]|/)[^\s?#]*$", value)
    return "" if right else f"must begin with http://, https:// or / and hold no space, ? or #, not '{value}'"


def _address(value: str) -> str:
    return value.rstrip("/") if value != "/" else value


def _no_pattern(value: str) -> str:
    fields = re.findall(r"\{([^{}]*)\}", value)
    right = any(field in ("path", "name", "file") for field in fields) and set(fields) <= set(PATTERN_FIELDS)
    allowed = ", ".join(f"{{{field}}}" for field in PATTERN_FIELDS)
    if right and not re.search(r"[\s?#]", value):
        return ""
    return f"must be made of {allowed}, such as '{{path}}.html', not '{value}'"


class _Values:
    """The values of one `book.toml`, each checked when it is read."""

    def __init__(self, path: Path, source: str) -> None:
        self.path = path
        self.source = source
        try:
            self.values: Mapping[str, Any] = tomllib.loads(source)
        except ValueError as error:  # also for a number too long to be read
            last_line = f"at line {source.rstrip().count(chr(10)) + 1}"
            reason = str(error).replace("at end of document", last_line)
            raise InvalidBook(f"{path} is not valid TOML: {reason}.") from error
        except RecursionError as error:
            raise InvalidBook(f"{path} is nested too deeply; a book needs no more than [modules].") from error
        unknown = sorted(set(self.values) - set(KEYS))
        if unknown:
            raise self.wrong(unknown[0], f"is not a key of a book; the keys are {', '.join(KEYS)}")

    def line(self, key: str) -> str:
        match = re.search(rf"^[ \t]*+\[?[ \t]*+[\"']?{re.escape(key)}[\"']?[ \t]*[\]=.]", self.source, re.MULTILINE)
        return f", line {self.source.count(chr(10), 0, match.start()) + 1}" if match else ""

    def wrong(self, key: str, what: str) -> InvalidBook:
        return InvalidBook(f"{self.path}{self.line(key)}: '{key}' {what}.")

    def text(self, key: str, default: str) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, f"must be text in quotes, not {shortened(value)}")
        return value.strip()

    def number(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, f"must be a whole number from 0, not {shortened(value)}")
        return value

    def site(self, default: SiteStyle) -> SiteStyle:
        value = self.text("site", default)
        if value not in SITE_STYLES:
            raise self.wrong("site", f"must be one of {', '.join(SITE_STYLES)}, not '{value}'")
        return value

    def base_url(self, default: str) -> str:
        value = self.text("base_url", default)
        if value and (reason := _no_address(value)):
            raise self.wrong("base_url", reason)
        return _address(value)

    def pages(self, default: str) -> str:
        value = self.text("pages", default)
        if value != default and value and (reason := _no_pattern(value)):
            raise self.wrong("pages", reason)
        return value

    def modules(self) -> Mapping[str, str]:
        value = self.values.get("modules", {})
        if not isinstance(value, dict):
            raise self.wrong("modules", "must be a table of folder = module")
        for folder, module in value.items():
            if not isinstance(module, str) or not BOOK_ID.fullmatch(module):
                raise self.wrong(folder, f"must name a module (a-z, 0-9, '.', '_', '-'), not {shortened(module)}")
        return value

    def book(self, root: Path, site: Site | None) -> Book:
        """Where an address or another site style is given here, pages are addressed by their path in the book's folder."""
        style = self.site(site.style if site else "plain")
        found = site if site and site.style == style and "base_url" not in self.values else None
        title = self.text("title", "") or (site.title if site else "") or front_title(root) or folder_title(root)
        return Book(
            book_id=self.text("book_id", "") or default_id(root, title),
            title=title,
            language=self.text("language", "") or (site.language if site else "") or "en",
            base_url=self.base_url(found.base_url if found else ""),
            site=style,
            pages=self.pages(found.pages if found else ""),
            content=found.content if found else "",
            within=found.within if found else "",
            modules=self.modules(),
            max_chapter=self.number("max_chapter"),
            max_lesson=self.number("max_lesson"),
        )


def _unknown_language(book: Book, values: _Values | None) -> tuple[BookWarning, ...]:
    code = re.split(r"[-_]", book.language.lower(), maxsplit=1)[0]
    if code in LANGUAGE_CODES:
        return ()
    line = int(values.line("language").rpartition(" ")[2] or 0) if values else 0
    message = f"'{book.language}' is no code of a language (en, de, pt-BR …), so words of one stem are taken for different ones."
    return (BookWarning(source_file=values.path.name if values else "", line=line, field="language", message=message),)


def _missing_modules(root: Path, book: Book, values: _Values | None) -> tuple[BookWarning, ...]:
    if values is None:
        return ()
    missing = [folder for folder in book.modules if not (root / folder).is_dir()]
    lines = {folder: int(values.line(folder).rpartition(" ")[2] or 0) for folder in missing}
    return tuple(
        BookWarning(
            source_file=values.path.name,
            line=lines[folder],
            field="modules",
            message=f"There is no folder '{folder}' for module '{book.modules[folder]}'.",
        )
        for folder in missing
    )


def _single_file(path: Path) -> Book:
    return Book(book_id=slug(path.stem) or "book", title=file_title(path))


def declares_id(root: Path) -> bool:
    """Whether the book itself declares its id, so that its folder's name does not count."""
    values = _declared(root)
    return values is not None and bool(values.text("book_id", ""))


def default_id(root: Path, title: str) -> str:
    own = slug(root.resolve().name)
    names = (own, _repository(root.resolve()), slug(title), slug(folder_title(root)))
    return next((name for name in names if tells(name)), own or "book")


def folder_title(root: Path) -> str:
    """The folder's name; of a folder called `docs`, the name of its repository or of the next folder above that tells more."""
    root = root.resolve()
    above = [folder.name for folder in root.parents]
    names = (root.name, _repository(root), *above)
    return next((name for name in names if tells(slug(name))), root.name or "Book")


def slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._-]+", "-", plain).strip("._-")[:100]


def tells(name: str) -> bool:
    return bool(name) and name.replace("_", "-") not in SAY_NOTHING and not CHECKOUT.fullmatch(name)


def _repository(root: Path) -> str:
    """The name of the git repository that holds the folder: from its origin's address, else from its folder. Git is not run."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is None:
        return ""
    address = _origin(top / ".git" / "config")
    named = slug(address.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2])
    return named if tells(named) else slug(top.name)


def _origin(file: Path) -> str:
    config = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        config.read_string(file.read_text("utf-8", "replace"))
        return config.get('remote "origin"', "url", fallback="") or ""
    except (OSError, configparser.Error):  # missing, a link to another folder, or not a valid file
        return ""
