"""Request bodies: documents E's ChatRequest and D's SearchQuery as pydantic models, checked before anything else reads them."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import (
    UUID4,
    UUID5,
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from bythebook.answering.assessment import ALL_BOOKS, MOST_BOOKS
from bythebook.answering.question import MAX_QUESTION, UNREADABLE
from bythebook.books.model import Layer, Proficiency
from bythebook.errors import InvalidInput
from bythebook.retrieval.query import MAX_LIMIT, MAX_TEXT, MIN_TEXT, Scope, SearchQuery
from bythebook.settings import Settings
from bythebook.threads.conversation import Asked
from bythebook.threads.model import MAX_TITLE, check_metadata

MAX_SELECTION = 2000
BOOK_ID = re.compile(r"^[a-z0-9][a-z0-9._-]{0,99}$")
LARGEST_NUMBER = 1_000_000
"""The largest chapter or lesson number that can be asked for."""


def _readable(text: str) -> str:
    if any(unicodedata.category(letter) in UNREADABLE and letter not in "\n\t\r" for letter in text):
        raise ValueError("holds control characters; leave them out")
    return text


def _book_name(name: str) -> str:
    if name != ALL_BOOKS and not BOOK_ID.fullmatch(name):
        raise ValueError('must be the id of a book, such as my-book, or "*" for all')
    return name


def _stripped(text: object) -> object:
    return text.strip() if isinstance(text, str) else text


BookId = Annotated[str, StringConstraints(pattern=BOOK_ID)]
BookName = Annotated[str, AfterValidator(_book_name)]
Readable = Annotated[str, AfterValidator(_readable)]
Name = Annotated[Readable, StringConstraints(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]
Tier = Annotated[int, Field(ge=1, le=4)]
Question = Annotated[Readable, BeforeValidator(_stripped), StringConstraints(min_length=1, max_length=MAX_QUESTION)]
SearchText = Annotated[Readable, BeforeValidator(_stripped), StringConstraints(min_length=MIN_TEXT, max_length=MAX_TEXT)]
Levels = Annotated[tuple[Proficiency, ...], Field(max_length=6)]
Threshold = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


def _metadata(given: dict[str, Any]) -> dict[str, Any]:
    try:
        check_metadata(given)
    except InvalidInput as error:
        raise ValueError(str(error).removeprefix("A thread's metadata ").rstrip(".")) from error
    return given


Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]


Included = Literal["retrieval", "query_embedding", "grounding_context", "assembled_context", "retrieval_context"]
"""`query_embedding` adds the vector to `retrieval`."""


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ChatFilters(_Request):
    """Which lessons may be used. All filters that are set must match; none is set by default."""

    module: Name | None = None
    hardware_tier: Tier | None = None
    proficiency_levels: Levels | None = None
    chapter_min: Number | None = None
    chapter_max: Number | None = None
    lesson: Number | None = None
    layer: Layer | None = None
    prefix: Annotated[Readable, StringConstraints(min_length=1, max_length=500)] | None = None


class Selection(_Request):
    """Words that a reader selected in a lesson."""

    text: Annotated[Readable, BeforeValidator(_stripped), StringConstraints(min_length=2, max_length=MAX_SELECTION)]
    source_file: Annotated[Readable, StringConstraints(min_length=1, max_length=1000)] | None = Field(
        None, description="The lesson's path."
    )
    page_url: Annotated[Readable, StringConstraints(min_length=1, max_length=2000)] | None = Field(
        None, validate_default=True, description="Or the lesson's address on the book's site."
    )

    @field_validator("page_url")
    @classmethod
    def _one_place(cls, page_url: str | None, info: ValidationInfo) -> str | None:
        if (page_url is None) == (info.data.get("source_file") is None):
            raise ValueError("must be sent in place of source_file: one of the two says where the words stand")
        return page_url


class ChatRequest(_Request):
    """Document E's ChatRequest, and which book and which part of it to use."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"message": "How do ROS 2 nodes communicate?", "top_k": 5, "similarity_threshold": 0.7}]}
    )

    message: Question = Field(description="The question, 1 to 1,000 characters.")
    session_id: UUID4 | None = Field(None, description="The thread to go on with. Without one, a new thread begins.")
    stream: bool = Field(False, description="Answer as server-sent events, as /chat/stream always does.")
    top_k: int = Field(5, ge=1, le=10, description="How many passages to look at.")
    similarity_threshold: Threshold = Field(0.7, description="Passages less relevant than this are left out.")
    gate: bool = Field(True, description="Whether confidence decides, too. `false`: the thresholds decide alone.")
    book_id: BookId | None = Field(None, description="Default: the key's book, or the only one there is.")
    filters: ChatFilters = ChatFilters()
    score_scale: Literal["relevance", "cosine"] | None = Field(None, description="`cosine` takes the thresholds literally.")
    render: bool = Field(False, description="Add safe HTML beside the texts.")
    include: tuple[Included, ...] = Field((), max_length=5, description="What the answer was made from, under these names.")
    metadata: Metadata = Field({}, description="Kept with the thread and returned with it: user_id, tags. At most 4,096 bytes.")
    page_url: Annotated[Readable, StringConstraints(max_length=2000)] | None = Field(
        None, description="The page of the book the reader is on."
    )
    selection: Selection | None = Field(None, description="Words of the book that the question is about; they must stand there.")
    books: tuple[BookName, ...] | None = Field(
        None,
        min_length=1,
        max_length=MOST_BOOKS,
        description='In place of `book_id`: ask these books, or all ("*"). The best grounded one answers, in a new thread.',
    )

    @field_validator("books")
    @classmethod
    def _alone(cls, books: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        """A thread and a selection belong to one book, so neither goes with several."""
        for name in ("book_id", "session_id", "selection"):
            if books is not None and info.data.get(name) is not None:
                raise ValueError(f"cannot be sent with {name}; leave out one of the two")
        return books

    def asked(self, book_id: str, key_id: str | None, settings: Settings) -> Asked:
        return Asked(
            text=self.message,
            scope=Scope.of(book_id, limit=self.top_k, **self.filters.model_dump()),
            key_id=key_id,
            thread_id=str(self.session_id) if self.session_id else None,
            score_threshold=settings.agent_score_threshold,
            similarity_threshold=self.similarity_threshold,
            gate=self.gate,
            score_scale=self.score_scale or settings.score_scale,
            metadata={**self.metadata, **({"page_url": self.page_url} if self.page_url else {})},
            selection=self.selection.text if self.selection else "",
        )


class SearchRequest(_Request):
    """Document D's SearchQuery, and C's prefix."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "publish and subscribe", "hardware_tier_filter": 2, "limit": 5}]}
    )

    text: SearchText = Field(description="What to look for, 3 to 1,000 characters.")
    book_id: BookId | None = Field(None, description="Default: the key's book, or the only one there is.")
    hardware_tier_filter: Tier = Field(1, description="Lessons for this tier and lower.")
    module_filter: Name | None = None
    chapter_min: Number | None = None
    chapter_max: Number | None = None
    lesson_filter: Number | None = None
    proficiency_levels: Levels | None = None
    layer_filter: Layer | None = None
    parent_doc_id: UUID5 | None = Field(None, description="Only the lesson with this id.")
    prefix_filter: Annotated[Readable, StringConstraints(min_length=1, max_length=500)] | None = None
    similarity_threshold: Threshold = Field(0.0, description="Passages less relevant than this are left out.")
    limit: int = Field(5, ge=1, le=MAX_LIMIT)

    def query(self, book_id: str) -> SearchQuery:
        parent = str(self.parent_doc_id) if self.parent_doc_id else None
        return SearchQuery(**{**self.model_dump(), "book_id": book_id, "parent_doc_id": parent})


class ThreadChange(_Request):
    """A new title for a thread."""

    title: Annotated[Readable, BeforeValidator(_stripped), StringConstraints(min_length=1, max_length=MAX_TITLE)]
