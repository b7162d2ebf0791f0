"""Document D's QdrantPayload, our own fields beside it, and the way back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.books.model import LAYERS, PROFICIENCIES, Chunk, ChunkSection, Span
from bythebook.index.payload import INDEXES, from_payload, to_payload
from bythebook.index.vectors import IndexedChunk
from tests.support.made_chunks import NOON, chunk, indexed

D_FIELDS = {
    "book_id", "module", "chapter", "lesson", "hardware_tier", "proficiency_level", "layer", "parent_doc_id", "content_hash",
    "source_file_hash", "text", "section_title", "source_file", "chunk_index", "total_chunks", "prev_chunk_id",
    "next_chunk_id", "word_count", "token_count", "version", "created_at", "updated_at",
}  # fmt: skip
OUR_FIELDS = {
    "char_count", "preface", "page_title", "chapter_title", "heading_path", "anchor", "source_url", "span_start", "span_end",
    "first_line", "last_line", "embedding_model", "embedded_at", "sections",
}  # fmt: skip

words = st.text(max_size=30)
numbers = st.integers(0, 10_000)
moments = st.datetimes(min_value=datetime(1990, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
chunks = st.builds(
    Chunk,
    id=st.uuids().map(str),
    section_title=st.none() | words,
    proficiency_level=st.sampled_from(PROFICIENCIES),
    layer=st.sampled_from(LAYERS),
    prev_chunk_id=st.none() | words,
    next_chunk_id=st.none() | words,
    heading_path=st.lists(words, max_size=4).map(tuple),
    sections=st.lists(
        st.builds(ChunkSection, start=numbers, heading_path=st.lists(words, max_size=4).map(tuple), source_url=words), max_size=3
    ).map(tuple),
    span=st.builds(Span, start=numbers, end=numbers, first_line=numbers, last_line=numbers),
    **dict.fromkeys(("chapter", "lesson", "hardware_tier", "chunk_index", "total_chunks"), numbers),
    **dict.fromkeys(
        (
            *(
                "text",
                "preface",
                "book_id",
                "module",
                "source_file",
                "parent_doc_id",
                "content_hash",
                "source_file_hash",
            ),
            *("page_title", "chapter_title", "anchor", "source_url"),
        ),
        words,
    ),
)
stored = st.builds(
    IndexedChunk,
    chunk=chunks,
    version=numbers,
    created_at=moments,
    updated_at=moments,
    embedding_model=words,
    embedded_at=moments,
    embedding=st.none(),
    terms=st.none(),
)


@given(stored)
def test_a_chunk_survives_the_payload_and_json(one: IndexedChunk) -> None:
    payload = json.loads(json.dumps(to_payload(one)))
    assert from_payload(one.chunk.id, payload) == one


def test_the_payload_has_the_fields_of_document_d_and_ours() -> None:
    assert to_payload(indexed(chunk("a hip"))).keys() == D_FIELDS | OUR_FIELDS


def test_the_payload_is_flat_and_its_values_are_what_d_says() -> None:
    payload = to_payload(indexed(chunk("a hip turns well", section_title=None)))
    assert payload["created_at"] == NOON.isoformat() == "2026-03-01T12:00:00.123456+00:00"
    assert (payload["word_count"], payload["token_count"], payload["char_count"]) == (4, 5, 16)
    assert payload["section_title"] is None
    assert not any(isinstance(value, dict) for value in payload.values())


def test_a_record_that_lacks_a_field_is_not_guessed_at() -> None:
    payload = to_payload(indexed(chunk("a hip")))
    del payload["span_end"]
    with pytest.raises(KeyError, match="span_end"):
        from_payload("x", payload)


def test_document_d_fields_are_indexed_as_it_says() -> None:
    keywords = {name for name, index in INDEXES.items() if index.kind == "keyword"}
    in_d = {"book_id", "module", "proficiency_level", "layer", "parent_doc_id", "content_hash", "source_file_hash"}
    assert keywords == in_d | {"source_file", "source_url"}
    assert INDEXES.keys() - keywords == {"chapter", "lesson", "hardware_tier"}
    assert [name for name, index in INDEXES.items() if index.tenant] == ["book_id"]
    assert {name for name, index in INDEXES.items() if index.prefix} == {"source_file", "source_url"}
    assert INDEXES.keys() <= D_FIELDS | OUR_FIELDS


def test_a_chunk_that_an_earlier_version_stored_has_the_section_it_was_stored_under() -> None:
    payload = to_payload(indexed(chunk("Knees bend. Ankles turn.")))
    del payload["sections"]
    read = from_payload("6ba7b810-9dad-51d1-80b4-00c04fd430c8", payload).chunk
    assert read.section_at(12).heading_path == read.heading_path
    assert read.section_at(12).source_url == read.source_url
