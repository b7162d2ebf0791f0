"""`bythebook ask`: an answer with the book's own words beside it, or a refusal that says why; for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bythebook.texts import texts
from tests.cli.conftest import Cli
from tests.support.fakes.openai_server import ChatServer, Fails, Says, running
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import ARC, FOREIGN, LAMP, NEAR, TRIMMED, WICK, copy_published, make_embedder
from tests.support.small_book import lesson, write

KEY = "sk-test-4815162342"
A_RESPONSE = {"answer", "citations", "query", "grounded", "refused", "retrieval_time_ms", "generation_time_ms", "tool_calls"}
C_RESPONSE = {"content", "sources", "model", "tokens_used", "retrieval_count", "created_at"}
OURS = {"reason", "detail", "confidence", "nearest", "filter_applied", "total_time_ms", "retrieval_history", "disclaimer"}


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture
def shelf(cli: Cli, folder: Path) -> Cli:
    """A library with the lighthouse book in it."""
    copy_published(folder)
    return cli


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    with running(ChatServer(key=KEY)) as started:
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield started


def read(cli: Cli, *arguments: str) -> Any:
    outcome = cli("ask", *arguments, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_an_answer_shows_which_sentence_of_which_lesson_says_so(shelf: Cli) -> None:
    outcome = shelf("ask", WICK)
    assert (outcome.code, outcome.err) == (0, "")
    for shown in (
        f"{TRIMMED} [1]",
        "[1] Wicks and oil › Trimming the wick",
        f"“{TRIMMED}”  line 5",
        "https://light.example/module-1-lamp/chapter-1-the-light/wicks#trimming-the-wick",
        "confidence high",
        "extractive",
    ):
        assert shown in outcome.out


def test_of_several_books_the_best_grounded_one_answers_and_says_so(shelf: Cli, folder: Path) -> None:
    write(folder / "boats", "01-hulls.md", "# Hulls\n\nA hull is the body of a boat. It is painted with copper every spring.\n")
    assert shelf("ingest", folder / "boats").code == 0
    for named in (("--book", "*"), ("--book", "boats", "--book", "light")):
        told = shelf("ask", WICK, *named)
        assert (told.code, told.err) == (0, "")
        assert f"{TRIMMED} [1]" in told.out
        assert "from “Keeping a Lighthouse” (--book light)" in told.out
        assert "no answer in “Hulls”" in told.out
    answer = read(shelf, WICK, "--book", "*")
    assert [(one["book_id"], one["answers"]) for one in answer["books"]] == [("light", True), ("boats", False)]
    missing = shelf("ask", WICK, "--book", "boats", "--book", "trains")
    assert missing.code == 1
    assert re.search("no book 'trains'.*boats, light", missing.sentence())


def test_a_refusal_says_why_and_where_to_look_and_is_no_failure(shelf: Cli) -> None:
    outcome = shelf("ask", FOREIGN)
    assert (outcome.code, outcome.err) == (0, "")
    text = " ".join(outcome.out.split())
    assert "Not what this book is about" in text
    assert "This question appears to be outside the scope of the Keeping a Lighthouse textbook." in text
    assert "Nearest sections" in text
    assert "https://light.example/" in text
    assert "Not in the book" in shelf("ask", NEAR).out


def test_links_are_whole_however_narrow(shelf: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for text in (WICK, NEAR):
        links = [word for word in shelf("ask", text).out.split() if "https://" in word]
        found = read(shelf, text)
        assert links[:1] == [place["source_url"] for place in (found["citations"] or found["nearest"])][:1]


def test_json_has_the_names_of_documents_a_and_c(shelf: Cli) -> None:
    found = read(shelf, WICK)
    assert found.keys() >= A_RESPONSE | C_RESPONSE | OURS
    assert found["tool_calls"] == ["search_textbook"]
    assert found["content"] == found["answer"] == f"{TRIMMED} [1]"
    assert found["total_time_ms"] == found["retrieval_time_ms"] + found["generation_time_ms"]
    (citation,) = found["citations"]
    assert citation.keys() >= {"source_url", "chapter", "section", "score", "chunk_index", "quote", "span"}
    (source,) = found["sources"]
    assert (source["rank"], source["score"], source["source_url"]) == (1, citation["score"], citation["source_url"])
    assert (source["quote"], TRIMMED in source["content"]) == (TRIMMED, True)
    assert found["confidence"]["confidence_level"] == "high"
    refusal = read(shelf, NEAR)
    assert (refusal["grounded"], refusal["refused"], refusal["reason"], refusal["citations"]) == (False, True, "not_in_book", [])
    assert refusal["content"].startswith("I cannot answer this question with confidence.")


def test_verbose_tells_how_it_came_about(shelf: Cli) -> None:
    out = shelf("ask", NEAR, "--verbose").out
    for told in ("reason: not_in_book, ", "searched for: ", "relevance of 5 results", "search_textbook: ", "0 tokens"):
        assert told in out


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ((), False),
        (("--tier", "3"), False),
        (("--tier", "1"), True),
        (("--module", "rock"), True),
        (("--chapter-min", "2"), True),
        (("--chapter-max", "1"), False),
        (("--lesson", "4"), False),
        (("--level", "a1"), True),
        (("--level", "a1", "--level", "B2"), False),
        (("--layer", "l3"), False),
        (("--layer", "L1"), True),
        (("--prefix", LAMP), False),
        (("--prefix", "https://light.example/module-2"), True),
    ],
)
def test_every_filter_is_an_option(shelf: Cli, options: tuple[str, ...], refused: bool) -> None:
    found = read(shelf, ARC, *options)
    assert found["reason"] == ("outside_filters" if refused else None)
    assert found["filter_applied"] == (options[1] if options[:1] == ("--prefix",) else None)


def test_what_lies_beyond_the_filters_is_pointed_to(shelf: Cli) -> None:
    out = shelf("ask", ARC, "--tier", "1").out
    for shown in ("Outside your filters", "Look here", "The electric lamp › Carbon arc lamps", "chapter 1, tier 3, B2, L3"):
        assert shown in out


def test_k_and_threshold(shelf: Cli) -> None:
    assert read(shelf, WICK, "--k", "3")["retrieval_count"] == 3
    assert read(shelf, WICK, "--k", "8")["retrieval_count"] == 8
    assert read(shelf, "Why is the lens heavy?", "--threshold", "1.0")["refused"]
    assert not read(shelf, WICK, "--threshold", "0")["refused"]


def test_the_documents_variables(shelf: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TOP_K", "4")
    assert read(shelf, WICK)["retrieval_count"] == 4
    monkeypatch.setenv("AGENT_TOP_K", "20")  # the tool's range is wider than this command's
    outcome = shelf("ask", WICK)
    assert outcome.code == 2
    assert re.search("--k.*AGENT_TOP_K.*3-8, got 20", outcome.sentence())
    assert read(shelf, WICK, "--k", "8")["retrieval_count"] == 8
    monkeypatch.setenv("AGENT_TOP_K", "5")
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", "1")
    assert read(shelf, "Why is the lens heavy?")["refused"]
    monkeypatch.setenv("BYTHEBOOK_TOOL_NAME", "retrieve_documentation")
    assert read(shelf, WICK)["tool_calls"] == ["retrieve_documentation"]


def test_the_literal_scale_is_a_setting(shelf: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BYTHEBOOK_SCORE_SCALE", "cosine")
    found = read(shelf, WICK)
    assert (found["refused"], found["reason"]) == (True, "not_in_book")
    assert found["confidence"]["max_similarity"] < 0.85


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("",), "A question takes 1 to 1,000 characters; this one has 0."),
        ((" \n ",), "this one has 0."),
        (("w" * 1001,), "this one has 1,001."),
        (("wick\x07",), "control characters; type it again"),
        (("wick\udcff",), "control characters; type it again"),
        ((WICK, "--k", "2"), "K must be 3-8, got 2."),
        ((WICK, "--k", "9"), "K must be 3-8, got 9."),
        ((WICK, "--threshold", "1.5"), "The score threshold must be from 0.0 to 1.0, not 1.5."),
        ((WICK, "--threshold", "-0.1"), "must be from 0.0 to 1.0, not -0.1."),
        ((WICK, "--tier", "5"), "The hardware tier must be from 1 to 4, not 5."),
        ((WICK, "--level", "D1"), "must be one of A1, A2"),
    ],
)
def test_what_cannot_be_asked_like_that(shelf: Cli, arguments: tuple[str, ...], told: str) -> None:
    outcome = shelf("ask", *arguments)
    assert outcome.code == 2
    assert told in outcome.sentence()


@pytest.mark.parametrize(
    ("name", "value"),
    [("AGENT_TOP_K", "0"), ("AGENT_SCORE_THRESHOLD", "1.5"), ("BYTHEBOOK_TEMPERATURE", "2.5"), ("BYTHEBOOK_TOOL_CHOICE", "maybe"),
     ("BYTHEBOOK_SYSTEM_PROMPT", "  "), ("BYTHEBOOK_SCORE_SCALE", "feeling")],
)  # fmt: skip
def test_a_setting_out_of_range_is_named(shelf: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    outcome = shelf("ask", WICK)
    assert outcome.code == 2
    assert name in outcome.sentence()
    assert value in outcome.sentence()


def test_an_unknown_book(shelf: Cli) -> None:
    outcome = shelf("ask", WICK, "--book", "third")
    assert outcome.code == 1
    assert "no book 'third'" in outcome.sentence()


def test_no_book_yet(cli: Cli) -> None:
    outcome = cli("ask", WICK)
    assert outcome.code == 1
    assert "bythebook demo" in outcome.sentence()


def test_brackets_in_a_question_are_shown_as_they_are(shelf: Cli) -> None:
    outcome = shelf("ask", "What does [/red] in [bold]wick[/bold] mean?")
    assert outcome.code == 0
    assert "Traceback" not in outcome.err


def test_a_question_in_another_language(shelf: Cli) -> None:
    outcome = shelf("ask", "Wie oft wird der Docht beschnitten?")
    assert outcome.code == 0
    assert "it is written in English" in " ".join(outcome.out.split())


def test_a_models_sentences_are_shown_only_when_the_book_says_so(shelf: Cli, server: ChatServer) -> None:
    server.turns.append(Says(text=f"{TRIMMED[:-1]} [1]. It uses a silver knife [1]. The king ordered it [9]."))
    found = read(shelf, WICK)
    assert found["answer"] == f"{TRIMMED} [1]"
    assert found["model"] == "gpt-4o-mini"
    assert found["tokens_used"] > 0
    assert len(found["dropped"]) == 2


def test_that_a_judge_failed_is_told_to_whoever_asks_how_the_answer_was_made(shelf: Cli, server: ChatServer) -> None:
    server.turns.extend([Says(text=f"> {TRIMMED}\nThe wick is trimmed by the keeper every four hours [1]."), Fails(status=500)])
    outcome = shelf("ask", WICK, "--verbose")
    told = " ".join(outcome.out.split())
    assert "The wick is trimmed by the keeper every four hours." in told
    assert "words decided in the judge's place: no judge: The model at 127.0.0.1 does not answer" in told


def test_a_refusal_asks_no_model(shelf: Cli, server: ChatServer) -> None:
    assert read(shelf, FOREIGN)["refused"]
    assert (server.bodies, server.refused) == ([], [])


def test_a_model_that_says_no(shelf: Cli, server: ChatServer) -> None:
    server.turns.append(Fails(status=401, message="Incorrect API key provided", code="invalid_api_key"))
    outcome = shelf("ask", WICK)
    assert outcome.code == 1
    assert "OPENAI_API_KEY" in outcome.sentence()
    assert KEY not in outcome.err + outcome.out


def test_a_model_that_is_down(shelf: Cli, closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{closed_port}/v1")
    outcome = shelf("ask", WICK)
    assert outcome.code == 1
    assert "127.0.0.1 does not answer" in outcome.sentence()
    assert "check OPENAI_BASE_URL" in outcome.sentence()
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert TRIMMED in shelf("ask", WICK).out  # and the book answers without it


@pytest.mark.parametrize("key", ["sk-short", "x" * 60])
def test_a_keys_shape_is_checked_against_openai_alone(
    shelf: Cli, closed_port: int, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    outcome = shelf("ask", WICK)
    assert outcome.code == 2
    assert re.search("OPENAI_API_KEY.*'sk-'.* 40 characters", outcome.sentence())
    assert key not in outcome.err
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{closed_port}/v1")
    assert "does not answer" in shelf("ask", WICK).sentence()


def test_a_high_temperature_is_warned_of(shelf: Cli, server: ChatServer, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    assert read(shelf, FOREIGN)["refused"]
    assert caplog.records == []
    monkeypatch.setenv("BYTHEBOOK_TEMPERATURE", "1.5")
    assert shelf("ask", FOREIGN).code == 0
    assert [(record.levelname, "1.5 is above 1" in record.getMessage()) for record in caplog.records] == [("WARNING", True)]


@pytest.fixture
def german(cli: Cli, folder: Path) -> Cli:
    book = folder / "buch"
    write(book, "book.toml", 'book_id = "licht"\ntitle = "Das Leuchtfeuer"\nlanguage = "de"\n')
    write(book, "docht.md", lesson("Docht und Öl", "Der Wärter kürzt den Docht alle vier Stunden mit einer Schere."))
    assert cli("ingest", book).code == 0
    return cli


def test_a_german_book_refuses_in_german_and_an_english_question_in_english(german: Cli) -> None:
    refused = german("ask", "Welcher Wein passt zu gegrilltem Fisch?")
    text = " ".join(refused.out.split())
    said = texts("de")
    assert any(headline in text for headline in said.headlines.values())
    assert said.nearest in text
    assert "durchsucht" in text
    asked = json.loads(german("ask", "Which wine goes with a grilled fish?", "--json").out)
    assert (asked["refused"], asked["language"]) == (True, "en")
    assert "it is written in German" in asked["answer"]
