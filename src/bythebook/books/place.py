"""The place of a lesson, read from its path and overridden by its frontmatter; questionable values become warnings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from bythebook.books.frontmatter import Frontmatter
from bythebook.books.links import EXTENSION
from bythebook.books.model import (
    HARDWARE_TIERS,
    LAYERS,
    PROFICIENCIES,
    Book,
    BookWarning,
    Layer,
    Place,
    Proficiency,
)

MODULE_FOLDER = re.compile(r"(?:module|mod)[-_ ]?(\d+)(?:[-_ .]+(.+))?", re.IGNORECASE)
CHAPTER_FOLDER = re.compile(r"(?:chapter|chap|ch)[-_ ]?(\d+)(?:[-_ .]+(.+))?", re.IGNORECASE)
LESSON_FILE = re.compile(r"(?:(?:lesson|les)[-_ ]?)?(\d{1,3})(?:[-_ .]+(.*))?", re.IGNORECASE)
NUMBERED = re.compile(r"(\d{1,3})[-_ .]+(.+)")
DATE = re.compile(r"\d+[-_.]\d+")
MODULE = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
INDEX_NAMES = ("index", "readme")
HIGHEST_NUMBER = 2**31 - 1

Choice = TypeVar("Choice", int, str)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlace:
    """What a path says about a lesson's place. None means that it does not say."""

    module: str = ""
    module_folder: str | None = None
    chapter: int | None = None
    chapter_folder: str | None = None
    lesson: int | None = None


def is_index(path: str) -> bool:
    return EXTENSION.sub("", path).rpartition("/")[2].lower() in INDEX_NAMES


def read_path(book: Book, path: str) -> PathPlace:
    """Reads `module-N-name/chapter-N-name/NN-lesson.md`, and the other forms that real books use."""
    *folders, name = EXTENSION.sub("", path).split("/")
    place = PathPlace()
    numbered: list[tuple[str, re.Match[str]]] = []
    for depth, folder in enumerate(folders):
        so_far = "/".join(folders[: depth + 1])
        declared = book.modules.get(so_far) or book.modules.get(folder)
        module, chapter = MODULE_FOLDER.fullmatch(folder), CHAPTER_FOLDER.fullmatch(folder)
        plain = None if DATE.match(folder) else NUMBERED.fullmatch(folder)
        if declared or module:
            place = replace(place, module=declared or _module_name(module), module_folder=so_far)
        elif chapter:
            place = replace(place, chapter=_number(chapter[1]), chapter_folder=so_far)
        elif plain:
            numbered.append((so_far, plain))
    return _with_lesson(_with_numbered(place, numbered), name, in_root=not folders)


def _module_name(folder: re.Match[str] | None) -> str:
    return (_slug(folder[2] or "") or f"module-{_number(folder[1])}") if folder else ""


def _with_numbered(place: PathPlace, numbered: list[tuple[str, re.Match[str]]]) -> PathPlace:
    """`01-name` is a chapter; where one such folder is inside another and nothing else names a module, the outer one is the
    module."""
    if len(numbered) > 1 and not place.module:
        folder, match = numbered.pop(0)
        place = replace(place, module=_slug(match[2]) or f"module-{_number(match[1])}", module_folder=folder)
    if numbered and place.chapter is None:
        folder, match = numbered[0]
        place = replace(place, chapter=_number(match[1]), chapter_folder=folder)
    return place


def _with_lesson(place: PathPlace, name: str, *, in_root: bool) -> PathPlace:
    """A number before a file's name is the lesson's, except deep in folders that are not part of the hierarchy."""
    lesson = None if DATE.match(name) else LESSON_FILE.fullmatch(name)
    in_hierarchy = bool(place.module) or place.chapter is not None
    if lesson and (in_hierarchy or in_root or not name[0].isdigit()):
        return replace(place, lesson=_number(lesson[1]))
    return place


def _number(digits: str) -> int:
    return min(int(digits[:12]), HIGHEST_NUMBER)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("._-")[:100]


class PlaceReader:
    """Reads one lesson's place and collects warnings."""

    def __init__(self, book: Book, path: str, front: Frontmatter) -> None:
        self.book, self.path, self.front = book, path, front
        self.warnings: list[BookWarning] = []

    def read(self) -> Place:
        given = read_path(self.book, self.path)
        place = Place(
            module=self._module(given.module),
            chapter=self._count("chapter", given.chapter or 0),
            lesson=self._count("lesson", given.lesson or 0),
            hardware_tier=self._choice("hardware_tier", HARDWARE_TIERS, Place().hardware_tier, _tier),
            proficiency_level=cast(
                Proficiency, self._choice("proficiency_level", PROFICIENCIES, Place().proficiency_level, str.upper)
            ),
            layer=cast(Layer, self._choice("layer", LAYERS, Place().layer, str.upper)),
        )
        self._beyond("chapter", place.chapter, self.book.max_chapter)
        self._beyond("lesson", place.lesson, self.book.max_lesson)
        if place.module and self.book.modules and place.module not in self.book.modules.values():
            self.warn("module", f"module '{place.module}' is not declared under [modules] in book.toml")
        return place

    def warn(self, field: str, message: str, line: int | None = None) -> None:
        at = line if line is not None else self.front.lines.get(field, 0)
        self.warnings.append(BookWarning(source_file=self.path, line=at, field=field, message=f"{message}."))

    def _value(self, field: str) -> str | None:
        value = self.front.values.get(field)
        if value is None or isinstance(value, str):
            return self.front.text(field)
        self.warn(field, f"{field} must be one value, not a list or map")
        return None

    def _module(self, fallback: str) -> str:
        value = self._value("module")
        if value is None:
            return fallback
        slug = self.book.modules.get(value) or _slug(value)
        if MODULE.fullmatch(slug):
            return slug
        self.warn("module", f"module '{_short(value)}' is not a name of letters and digits; '{fallback}' is used")
        return fallback

    def _count(self, field: str, fallback: int) -> int:
        value = self._value(field)
        if value is None:
            return fallback
        if re.fullmatch(r"\d{1,9}(?:\.0+)?", value) and value.isascii():
            return int(value.partition(".")[0])
        if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})+", value) and value.isascii() and int(value.rpartition(".")[2]) == fallback:
            return fallback  # "4.7": the path has the same number in another form
        self.warn(field, f"{field} '{_short(value)}' is not a whole number from 0; {fallback} is used")
        return fallback

    def _choice(self, field: str, choices: tuple[Choice, ...], default: Choice, read: Callable[[str], object]) -> Choice:
        key = "proficiency" if field == "proficiency_level" and field not in self.front.values else field
        value = self._value(key)
        if value is None:
            return default
        for choice in choices:
            if choice == read(value):
                return choice
        self.warn(key, f"{key} '{_short(value)}' is not one of {', '.join(map(str, choices))}; {default} is used")
        return default

    def _beyond(self, field: str, number: int, limit: int | None) -> None:
        if limit is not None and number > limit:
            self.warn(field, f"{field} {number} is beyond the book's max_{field} {limit}")


def _tier(value: str) -> object:
    return int(value) if re.fullmatch(r"[0-9]{1,3}", value) else None


def _short(value: str) -> str:
    return value if len(value) <= 40 else value[:39] + "…"
