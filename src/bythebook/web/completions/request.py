"""What OpenAI's clients send. They send much that a tutor does not need, and the whole conversation each time: unknown fields are
ignored, and the messages are the thread."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from bythebook.answering.markdown import read_exchange
from bythebook.drafting.draft import Exchange
from bythebook.web.problems import InvalidField

TASK = "### Task:"
"""Open WebUI sends tasks of its own to the model of the chat: a title, tags, what to ask next, what to search for."""
CHORES: dict[str, list[str] | str | None] = {"title": None, "tags": [], "follow_ups": [], "queries": [], "text": "", "prompt": ""}
"""The response to each of these tasks, by the name of the field it asks for. A title is the reader's first question."""
FIRST_QUESTION = re.compile(r"^(?:USER|user|User):\s*(.+)$", re.MULTILINE)
LONGEST_TITLE = 60
LONGEST_READ = 20_000
"""How many characters of an earlier message are read. An answer of ours with its sources has fewer."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ContentPart(_Lenient):
    """A part of a message: text, or something else, which is refused."""

    type: str = "text"
    text: str | None = None


class CompletionMessage(_Lenient):
    """A message of the conversation. Those of the roles `system`, `developer` and `tool` are ignored."""

    role: str
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text" and part.text)
        return self.content or ""

    @property
    def other_parts(self) -> list[str]:
        """The kinds of parts that are not text."""
        return [part.type for part in self.content if part.type != "text"] if isinstance(self.content, list) else []


class StreamOptions(_Lenient):
    """OpenAI's options of a stream."""

    include_usage: bool | None = None


class CompletionRequest(_Lenient):
    """OpenAI's chat completion request."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model": "physical-ai-robotics", "messages": [{"role": "user", "content": "What is a node?"}]}]
        }
    )

    model: str = Field(description="A book's id, as /v1/models lists them.")
    messages: list[CompletionMessage] = Field(description="The conversation so far; the last message is the question.")
    stream: bool | None = Field(None, description="Answer as server-sent events.")
    stream_options: StreamOptions | None = None
    user: str | None = Field(None, max_length=200, description="Who asks, as `user_id` of /chat/run.")
    n: int | None = Field(None, description="Only 1 is possible.")
    logprobs: bool | int | None = Field(None, description="There are none.")
    tool_choice: str | dict[str, object] | None = Field(None, description="The client's tools are never called.")
    response_format: dict[str, object] | None = Field(None, description="Only `text` is possible.")

    def check(self) -> None:
        """Raises for what a client requires and this server cannot do. What a client only offers, such as tools, is ignored."""
        if self.n is not None and self.n != 1:
            raise InvalidField("n", f"n is {self.n}, and a question has one answer here: leave n out.")
        if self.logprobs:
            raise InvalidField("logprobs", "There are no logprobs: sentences are chosen and checked whole. Leave logprobs out.")
        if isinstance(self.tool_choice, dict) or self.tool_choice == "required":
            raise InvalidField("tool_choice", "The book answers by itself and calls no tools of a client: leave tool_choice out.")
        if self.response_format is not None and self.response_format.get("type", "text") != "text" and self.chore() is None:
            raise InvalidField("response_format", "A book answers in sentences, not in JSON: leave response_format out.")

    def conversation(self) -> tuple[str, tuple[Exchange, ...]]:
        """The question, and the exchanges before it."""
        spoken = [message for message in self.messages if message.role in ("user", "assistant")]
        if not spoken:
            raise InvalidField("messages", "There is no question: send at least one message with the role 'user'.")
        *earlier, last = spoken
        if last.role != "user":
            raise InvalidField("messages", "The last message is the assistant's: end with the reader's question, role 'user'.")
        if last.other_parts and not last.text.strip():
            raise InvalidField("messages", f"The question is of the kind '{last.other_parts[0]}', and only text can be read.")
        if last.other_parts:
            raise InvalidField("messages", f"Only text can be read: leave out the part of the kind '{last.other_parts[0]}'.")
        return _typed(last.text), _exchanges(earlier)

    def chore(self) -> str | None:
        """The response to a client's own task; None for a reader's question."""
        text = self.messages[-1].text if self.messages else ""
        if not text.lstrip().startswith(TASK):
            return None
        wanted = text.partition("<chat_history>")[0]  # the history may contain anything
        asked = [name for name in CHORES if re.search(rf'"{name}"\s*:', wanted)]
        if not asked:
            return None
        value = _title(text) if asked[0] == "title" else CHORES[asked[0]]
        return json.dumps({asked[0]: value}, ensure_ascii=False)


def _typed(text: str) -> str:
    """What the reader typed. With a file in the chat, Open WebUI puts a task and the file's text before it, which are left out:
    only the book answers."""
    return text.rpartition("</context>")[2].strip() if text.lstrip().startswith(TASK) else text


def _exchanges(messages: Sequence[CompletionMessage]) -> tuple[Exchange, ...]:
    """Each question with its answer. Questions that were never answered are left out."""
    made = []
    question = ""
    for message in messages:
        if message.role == "user":
            question = _typed(message.text)[:LONGEST_READ]
        elif question.strip() and message.text.strip():
            made.append(read_exchange(question, message.text[:LONGEST_READ]))
            question = ""
    return tuple(made)


def _title(prompt: str) -> str:
    found = FIRST_QUESTION.search(prompt)
    line = " ".join(found[1].split()) if found else "A question to the book"
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"
