"""Questions out of files: what can be read is taken, the rest is named."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bythebook.cli.demo import sample_book
from bythebook.drafting.draft import Exchange
from bythebook.errors import InvalidInput
from bythebook.evaluation.files import read_cases
from tests.support.questions import QUESTIONS, write_questions


def test_the_sample_books_questions_are_all_read() -> None:
    found = read_cases(sample_book() / "questions.jsonl")
    assert len(found.cases) == 376
    assert found.remarks == ()
    reasons = {case.kind: case.reason for case in found.cases}
    assert reasons == {"answerable": None, "near": "not_in_book", "foreign": "off_topic", "beyond_filter": "outside_filters"}


def test_every_field_arrives(tmp_path: Path) -> None:
    found = {case.id: case for case in read_cases(write_questions(tmp_path / "questions.jsonl")).cases}
    assert found["wick"].lessons == (QUESTIONS[0]["lesson"],)
    assert (found["wick"].quote, found["wick"].keywords) == (QUESTIONS[0]["quote"], ("four hours",))
    assert found["arc"].filters == {"hardware_tier_filter": 1}
    assert found["often"].history == (
        Exchange(
            question="What is the fog signal?",
            answer="The fog signal is an explosive charge fired from a jib above the gallery.",
        ),
    )
    assert {id: case.answerable for id, case in found.items()} == {
        "wick": True, "lens": True, "reservoir": True, "fog": True, "often": True, "arc": False, "salary": False, "bank": False,
        "open": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ('{"question": ""}', "it has no question"),
        ('{"question": 7}', "it has no question"),
        (json.dumps({"question": "x" * 1001}), "1 to 1,000 characters"),
        ('{"question": "Why?", "reason": "tired"}', "its reason must be one of"),
        ('{"question": "Why?", "answerable": "perhaps"}', "its answerable must be true or false"),
        ('{"question": "Why?", "quote": 7}', "its quote must be a text"),
        ('{"question": "Why?", "keywords": [1]}', "its keywords must be a text or a list of texts"),
        ('{"question": "Why?", "filters": []}', "line"),
        ('{"question": "Why?", "filters": [1]}', "its filters must be an object"),
        ('{"question": "Why?", "filters": {"colour": "red"}}', "it has a filter 'colour'"),
        ('{"question": "Why?", "filters": {"hardware_tier": 9}}', "hardware tier must be from 1 to 4"),
        ('{"question": "Why?", "filters": {"hardware_tier": "2"}}', "its filter 'hardware_tier' cannot be '2'"),
        ('{"question": "Why?", "history": [{"role": "user", "content": "x"}]}', "its history must alternate"),
        ('{"question": "Why?", "history": "before"}', "its history must alternate"),
        ("[" * 100_000, "it is"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_rest_taken(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        f'{{"id": "good", "question": "What is it?"}}\n\n{line}\n{{"id": "last", "question": "And then?"}}\n', "utf-8"
    )
    found = read_cases(path)
    kept = [case.id for case in found.cases]
    if complaint == "line":  # an empty list is no filter at all
        assert kept == ["good", "q2", "last"]
        return
    assert kept == ["good", "last"]
    (remark,) = found.remarks
    assert remark.line == 3
    assert remark.message.startswith("left out: ")
    assert complaint in remark.message


def test_a_question_twice_is_asked_once(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "question": "What is a wick?"},
        {"id": "b", "question": "what is a wick?"},
        {"id": "a", "question": "What is oil?"},
        {"id": "c", "question": "What is a wick?", "filters": {"hardware_tier": 1}},
    ]
    found = read_cases(write_questions(tmp_path / "questions.jsonl", rows))
    assert [case.id for case in found.cases] == ["a", "c"]
    assert [(one.line, one.message) for one in found.remarks] == [
        (2, "left out: the same question as on line 1"),
        (3, "left out: the same id 'a' as on line 1"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("questions.jsonl", "", "holds no question"),
        ("questions.jsonl", "\n\n", "holds no question"),
        ("questions.jsonl", "nonsense\n", "line 1 is no question, it is not JSON"),
        ("questions.json", "nonsense", "is not JSON"),
        ("questions.json", '{"version": 2}', "neither SQuAD"),
        ("questions.json", '{"data": []}', "holds no question"),
        ("questions.csv", 'question,lesson\n"Why?,x\n', "line 2 is no question, it is not CSV"),
        ("questions.csv", "", "names its columns"),
        ("questions.csv", "a,b\n1,2\n", "one of them must be 'question'"),
    ],
)
def test_a_file_without_questions(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=complaint):
        read_cases(tmp_path / name)


def test_a_file_that_is_not_there_is_a_folder_or_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes('{"question": "Où?"}'.encode("latin-1"))
    for path, complaint in (("none.jsonl", "cannot be read"), (".", "cannot be read"), ("latin.jsonl", "not UTF-8")):
        with pytest.raises(InvalidInput, match=complaint):
            read_cases(tmp_path / path)


def test_squad(tmp_path: Path) -> None:
    paragraph = {
        "context": "A wick is a braid of cotton.",
        "qas": [
            {
                "id": "1",
                "question": "What is a wick?",
                "is_impossible": False,
                "answers": [{"text": "a braid"}, {"text": "a braid"}],
            },
            {"id": "2", "question": "Who wove it?", "is_impossible": True, "answers": []},
            "no question",
        ],
    }
    path = tmp_path / "dev.json"
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "Wicks", "paragraphs": [paragraph]}, 3]}), "utf-8")
    found = read_cases(path)
    first, second = found.cases
    assert (first.answerable, first.answers, first.passage) == (True, ("a braid",), "A wick is a braid of cotton.")
    assert (second.answerable, second.reason, second.passage) == (False, "not_in_book", None)
    assert [remark.line for remark in found.remarks] == [3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(tmp_path: Path, delimiter: str) -> None:
    rows = [
        ["question", "lesson", "keywords", "answerable", "hardware_tier", "proficiency_levels"],
        ['"What is a wick, then?"', "wicks.md", '"cotton;oil"', "", "2", '"A1;A2"'],
        ["Who pays?", "", "", "no", "", ""],
        ["Too many", "", "", "", "", "", "cells"],
    ]
    path = tmp_path / ("questions.tsv" if delimiter == "\t" else "questions.csv")
    path.write_text("\ufeff" + "\n".join(delimiter.join(row) for row in rows), "utf-8")
    found = read_cases(path)
    first, second = found.cases
    assert (first.question, first.lessons, first.keywords, first.answerable) == (
        "What is a wick, then?", ("wicks.md",), ("cotton", "oil"), True,
    )  # fmt: skip
    assert first.filters == {"hardware_tier_filter": 2, "proficiency_levels": ("A1", "A2")}
    assert (second.answerable, second.line) == (False, 3)
    (remark,) = found.remarks
    assert remark.line == 4
    assert remark.message.startswith("left out: it has more cells")


def test_only_the_first_so_many(tmp_path: Path) -> None:
    assert [case.id for case in read_cases(write_questions(tmp_path / "q.jsonl"), limit=2).cases] == ["wick", "lens"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    text=st.lists(
        st.text(max_size=40)
        | st.dictionaries(
            st.sampled_from(["question", "id", "lesson", "quote", "filters", "history", "answerable", "keywords"]),
            st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=10), lambda one: st.lists(one, max_size=3)),
        ).map(json.dumps),
        max_size=6,
    ),
    suffix=st.sampled_from(["jsonl", "json", "csv"]),
)
def test_whatever_stands_there_is_read_or_refused_in_words(tmp_path: Path, text: list[str], suffix: str) -> None:
    path = tmp_path / f"any.{suffix}"
    path.write_text("\n".join(text), "utf-8", "replace")
    with suppress(InvalidInput):  # and nothing else
        assert read_cases(path).cases
