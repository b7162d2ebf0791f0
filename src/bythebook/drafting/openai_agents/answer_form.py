"""The form in which a model gives an answer: each sentence with the words of the book that support it, or that there is none.

A server with structured output is asked for JSON, any other for lines: a line that begins with "> " quotes, the next one is the
sentence. JSON is turned into such lines as it streams, so that all later steps read one form.
"""

from __future__ import annotations

import json
import re
from typing import Any

END = "\x1e"
"""Ends a sentence that came as JSON: nothing that follows belongs to it."""
LONGEST = 40_000
"""Characters after which a model's output is cut off: no answer takes a tenth of that."""

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["opening", "sentences", "search"],
    "properties": {
        # First, so that a reader waits for nothing else: what is copied needs no quote and no judge.
        "opening": {
            "type": "string",
            "description": "The one sentence of the results that answers best, copied word for word; empty where none does",
        },
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["label", "quote", "text"],
                "properties": {
                    "label": {"type": "integer", "description": "The label of the result that the sentence rests on"},
                    "quote": {"type": "string", "description": "Words of that result, copied, that say what the text says"},
                    "text": {"type": "string", "description": "One sentence that says no more than the quote"},
                },
            },
        },
        "search": {"type": "string", "description": "Other words to search the book for, where there is no sentence; else empty"},
    },
}
OPENING = re.compile(r'\s*\{\s*"opening"\s*:\s*("(?:[^"\\]|\\.)*+")', re.DOTALL)
LONGEST_OPENING = 6000


def response_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The request for structured output."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def as_lines(sentence: Any) -> str:
    """One sentence of a structured answer in the line form; nothing where it is not one."""
    if not isinstance(sentence, dict) or not isinstance(sentence.get("text"), str) or not sentence["text"].strip():
        return ""
    quote = sentence.get("quote") if isinstance(sentence.get("quote"), str) else ""
    labels = sentence.get("labels", sentence.get("label"))
    numbers = [str(one) for one in (labels if isinstance(labels, list) else [labels]) if re.fullmatch(r"\d{1,3}", str(one))]
    markers = "".join(f"[{one}]" for one in numbers)
    opening = f"> {' '.join(str(quote).split())}\n" if quote and str(quote).strip() else ""
    return f"{opening}{sentence['text'].strip()} {markers}".replace(END, " ").rstrip() + f"\n{END}"


class ObjectStream:
    """JSON as it streams: each object in a list of the outermost one is returned as soon as it is complete. Each character is
    read once."""

    def __init__(self) -> None:
        self._object: list[str] = []
        self._depth = 0
        self._in_string = self._escaped = False

    def feed(self, text: str) -> list[Any]:
        """Adds text. Returns the objects that are complete now."""
        return [found for character in text if (found := self._next(character)) is not None]

    def _next(self, character: str) -> Any:
        """The object that this character completes inside a list of the outermost one; else None."""
        inside = self._depth >= 3
        if self._in_string:
            self._in_string = character != '"' or self._escaped
            self._escaped = character == "\\" and not self._escaped
        elif character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
        if inside or self._depth >= 3:
            self._object.append(character)
        if not inside or self._depth >= 3:
            return None
        written, self._object = "".join(self._object), []
        return _loaded(written)


class StructuredAnswer:
    """An answer as it streams: its opening comes as soon as its string is complete, each sentence as soon as its object is."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._objects = ObjectStream()
        self._head: str | None = ""
        """The beginning, until its first string has ended; then None."""
        self.gave = False

    def feed(self, text: str) -> str:
        """Adds text. Returns the sentences that are complete now, as lines."""
        self._text.append(text)
        said = self._opening(text) + "".join(as_lines(found) for found in self._objects.feed(text))
        self.gave = self.gave or bool(said)
        return said

    def _opening(self, text: str) -> str:
        if self._head is None:
            return ""
        self._head += text
        found = OPENING.match(self._head) if '"' in text else None
        if found or len(self._head) > LONGEST_OPENING or not "opening".startswith(self._first_key[:7]):
            self._head = None
        return as_lines({"text": _loaded(found[1])}) if found else ""

    @property
    def _first_key(self) -> str:
        return (self._head or "").lstrip().removeprefix("{").lstrip().removeprefix('"')

    @property
    def declined(self) -> bool:
        """Whether the whole message says that the passages do not answer."""
        return not self.gave and (self._whole.get("answered") is False or self._whole.get("sentences") == [])

    @property
    def search(self) -> str:
        """The words to search for instead, if the model asks for a search."""
        search = self._whole.get("search") if self.declined else ""
        return search.strip() if isinstance(search, str) else ""

    @property
    def _whole(self) -> dict[str, Any]:
        whole = _loaded("".join(self._text))
        return whole if isinstance(whole, dict) else {}


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
