"""Removes what models put around an answer while it streams: their reasoning, a code fence, JSON, "Answer:", and a tool call that
is written out instead of made. Small models do this, and servers that do not know their tags let it through."""

from __future__ import annotations

import json
import re

from bythebook.drafting.openai_agents.answer_form import StructuredAnswer

TAGGED = re.compile(r"<(?P<tag>think|thinking|reasoning|tool_call)>", re.IGNORECASE)
FENCED = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<language>\w*)[ \t]*\n(?P<inside>.*?)\n[ \t]*(?P=mark)\s*", re.DOTALL)
FENCE = re.compile(r"(?:`{3,}|~{3,})(?P<language>\w*)[ \t]*\n")
WRAPPING = frozenset({"", "json", "markdown", "md", "plaintext", "text", "txt"})
"""Languages of a fence around an answer. Any other fence is part of one."""
LABEL = re.compile(r"[*_#\s]*(?:final\s+)?(?:answer|response)\s*[*_]*:[*_]*\s*", re.IGNORECASE)
MARKED = re.compile(r"\[\d{1,2}\]")
ANSWERS = ("answer", "response", "content", "text")
DECIDED = 24
"""Characters after which an opening is known to be none of these."""


class Unwrapper:
    """One message of a model. `call`: the arguments of a tool call that it wrote out. `declined`: it says in the agreed form that
    the passages do not answer."""

    def __init__(self) -> None:
        self.call: str | None = None
        self.declined = False
        self._held = ""
        self._open = False
        self._json: StructuredAnswer | None = None

    def feed(self, text: str) -> str:
        """Adds text. Returns the new text of the answer. An answer that is wrapped as a whole is returned at the end, unless it
        has the agreed form."""
        self._held += text
        if self._json is not None:
            return self._json.feed(text)
        released = self._release(final=False)
        if not self._open and self._held.startswith("{"):
            self._json = StructuredAnswer()
            return self._json.feed(self._held)
        return released

    def flush(self) -> str:
        if self._json is None:
            return self._release(final=True)
        self._decline(self._json)
        return "" if self._json.gave or self.declined else self._release(final=True)

    def _decline(self, answer: StructuredAnswer) -> None:
        self.declined = answer.declined
        if search := answer.search:
            self.call = json.dumps({"query": search})

    def _release(self, *, final: bool) -> str:
        if not self._open:
            self._held = self._after_tags(self._held.lstrip(), final=final)
            if not final and (len(self._held) < DECIDED or TAGGED.match(self._held) or _may_wrap(self._held)):
                return ""
            self._held = self._unwrapped(self._held)
            self._open = True
        released, self._held = self._held, ""
        return released

    def _after_tags(self, text: str, *, final: bool) -> str:
        """The text without the model's reasoning. Reasoning that has not ended is waited for; at the end it is all there was."""
        while opening := TAGGED.match(text):
            closing = text.casefold().find(f"</{opening['tag'].casefold()}>")
            if closing < 0 and not final:
                break
            inside = text[opening.end() : closing if closing >= 0 else len(text)]
            if opening["tag"].casefold() == "tool_call":
                self._read(inside)
            text = text[closing + len(opening[0]) + 1 :].lstrip() if closing >= 0 else ""
        return text

    def _unwrapped(self, text: str) -> str:
        if text.startswith("{"):
            read = self._read(text)
            return text if read is None else read
        if (fenced := FENCED.fullmatch(text)) and fenced["language"].casefold() in WRAPPING:
            read = self._read(fenced["inside"])
            if read is not None:
                return read
            prose = fenced["language"].casefold() not in ("", "json") or MARKED.search(fenced["inside"])
            return fenced["inside"] if prose else text
        labelled = LABEL.match(text)
        return text[labelled.end() :] if labelled else text

    def _read(self, text: str) -> str | None:
        """The answer in a JSON object; nothing where it holds a call; None where it is neither."""
        try:
            given = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return None
        if not isinstance(given, dict):
            return None
        if isinstance(given.get("name"), str) and isinstance(given.get("arguments"), dict):
            self.call = json.dumps(given["arguments"])
            return ""
        if isinstance(given.get("sentences"), list):
            return self._structured(text)
        return next((given[name] for name in ANSWERS if isinstance(given.get(name), str)), None)

    def _structured(self, text: str) -> str:
        """An answer of the agreed form, with something around it."""
        answer = StructuredAnswer()
        said = answer.feed(text)
        self._decline(answer)
        return said


def _may_wrap(text: str) -> bool:
    opening = FENCE.match(text)
    return text.startswith("{") or (opening is not None and opening["language"].casefold() in WRAPPING)
