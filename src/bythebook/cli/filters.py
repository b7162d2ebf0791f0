"""A reader's filters, as typed in a chat: `tier=2 chapter=1-3 level=B1,B2`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bythebook.errors import InvalidInput

if TYPE_CHECKING:
    from bythebook.retrieval.query import Scope


def shown_filter(scope: Scope) -> str:
    """Describes a scope's filters in words."""
    filters = {
        "tier": scope.hardware_tier_filter,
        "module": scope.module_filter,
        "from chapter": scope.chapter_min,
        "to chapter": scope.chapter_max,
        "lesson": scope.lesson_filter,
        "level": ",".join(scope.proficiency_levels) if scope.proficiency_levels else None,
        "layer": scope.layer_filter,
        "prefix": scope.prefix_filter,
    }
    set_ones = (f"{name} {value}" for name, value in filters.items() if value is not None)
    return ", ".join(set_ones) or "No filter: the whole book."


def parse_filter(text: str) -> dict[str, Any]:
    """Parses `tier=2 chapter=1-3 level=B1,B2` into fields of a Scope."""
    changes: dict[str, Any] = {}
    for part in text.split():
        name, _, value = part.partition("=")
        match name:
            case "tier":
                changes["hardware_tier_filter"] = _number(name, value)
            case "lesson":
                changes["lesson_filter"] = _number(name, value)
            case "chapter":
                first, _, last = value.partition("-")
                changes |= {"chapter_min": _number(name, first), "chapter_max": _number(name, last or first)}
            case "level":
                changes["proficiency_levels"] = tuple(value.upper().split(","))
            case "layer":
                changes["layer_filter"] = value.upper()
            case "module" | "prefix":
                changes[f"{name}_filter"] = value
            case _:
                raise InvalidInput(
                    f"There is no filter '{name}'. There are tier, module, chapter, lesson, level, layer and prefix."
                )
    return changes


def _number(name: str, value: str) -> int:
    if not value.isdecimal():
        raise InvalidInput(f"The {name} must be a number, not '{value}'.")
    return int(value)
