"""`bythebook evaluate` and `bythebook questions`: the scorecard on the terminal, for programs, as a page, and as a gate in CI."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Cli
from tests.support.fakes.small_embedder import SmallEmbedder
from tests.support.lighthouse import LAMP, TRIMMED, copy_published, make_embedder
from tests.support.questions import QUESTIONS, write_questions
from tests.support.small_book import write

EXAMPLE = Path(__file__).parents[2] / "examples" / "evaluate-on-every-change.yml"


@pytest.fixture
def small_embedder() -> SmallEmbedder:
    return make_embedder()


@pytest.fixture
def shelf(cli: Cli, folder: Path) -> Cli:
    copy_published(folder)
    write_questions(folder / "questions.jsonl")
    return cli


def but_times(printed: str) -> str:
    """The report's text as far as its times, which stand last."""
    told, times, _ = printed.partition('"times": {')
    assert times
    return told


def test_the_summary_shows_figures_intervals_and_what_went_wrong(shelf: Cli) -> None:
    outcome = shelf("evaluate", "questions.jsonl")
    assert (outcome.code, outcome.err) == (0, "")
    text = " ".join(outcome.out.split())
    assert "Keeping a Lighthouse light · extractive" in text
    assert re.search(r"rightly answered or refused \d+(\.\d)?% \S+ [\d.]+% to [\d.]+% 8", text)
    assert "quotes exact in the source 100%" in text
    assert "--at-once 1" in text


def test_programs_get_everything_and_the_same_on_every_run(shelf: Cli) -> None:
    printed, again = (shelf("evaluate", "questions.jsonl", "--json", *more).out for more in ((), ("--at-once", "1")))
    assert but_times(printed) == but_times(again)
    first = json.loads(printed)
    assert first["times"]["questions"].keys() == {row["id"] for row in QUESTIONS}
    marks = {mark["id"]: mark for mark in first["marks"]}
    assert list(marks) == [row["id"] for row in QUESTIONS]
    assert marks["wick"]["right"] is True
    assert marks["wick"]["quote_cited"] is True
    assert marks["arc"]["reason"] == "outside_filters"
    assert marks["bank"]["reason"] == "off_topic"
    assert marks["open"]["right"] is None
    assert marks["often"]["searched"] != marks["often"]["question"]
    names = {figure["name"] for figure in first["held_out"]}
    assert names >= {"right", "recall_at_5", "mrr_at_10", "ndcg_at_10", "decision_accuracy", "refusal_recall_outside_filters"}
    assert names >= {"citation_precision", "citation_recall", "quote_exactness", "sentence_support", "follow_up_success"}
    for figure in first["held_out"]:
        if figure["low"] is not None:
            assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1


def test_questions_that_relevance_was_fitted_by_are_scored_apart(shelf: Cli, folder: Path) -> None:
    foreign = {"id": "dough", "question": "How long should bread dough rise before baking?", "kind": "foreign"}
    write_questions(folder / "more.jsonl", [*QUESTIONS, foreign])
    report = json.loads(shelf("evaluate", "more.jsonl", "--json").out)
    assert [mark["id"] for mark in report["marks"] if mark["fitted"]] == ["dough"]
    held_out = {figure["name"]: figure["count"] for figure in report["held_out"]}
    fitted = {figure["name"]: figure["count"] for figure in report["fitted"]}
    assert (held_out["decision_accuracy"], fitted["decision_accuracy"]) == (8, 1)


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, text: str) -> None:
        self.text += text


def test_the_page_stands_alone_and_shows_it_all(shelf: Cli, folder: Path) -> None:
    strange = {"id": "<b>", "question": "<script>alert('wick')</script> trimming?", "lesson": "02-lenses"}
    write_questions(folder / "strange.jsonl", [*QUESTIONS, strange])
    assert shelf("evaluate", "strange.jsonl", "--html", "report.html").code == 0
    written = (folder / "report.html").read_text("utf-8")
    page = Page()
    page.feed(written)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "b"}
    assert not [attributes for _, attributes in page.tags if "src" in attributes or "href" in attributes]
    assert "url(" not in written
    assert "@import" not in written
    assert names >= {"svg", "table", "details", "figure"}
    for part in ("Keeping a Lighthouse", "Risk and coverage", "Calibration", "Answered or refused", "Chapter by chapter"):
        assert part in page.text
    assert "<script>alert('wick')</script>" in page.text


@pytest.mark.parametrize(
    ("gate", "code"),
    [("quote_exactness=1", 0), ("right=0%", 0), ("refusal_recall_nothing_found=0.5", 1), ("answer_recall=0.2", 0)],
)
def test_a_gate_decides_the_exit_code(shelf: Cli, gate: str, code: int) -> None:
    assert shelf("evaluate", "questions.jsonl", "--fail-under", gate).code == code


def commands(workflow: dict[str, Any]) -> list[list[str]]:
    """What the example runs of ours, in order, with its variables put in."""
    scripts = "\n".join(step.get("run", "") for step in workflow["jobs"]["evaluate"]["steps"]).replace("\\\n", " ")
    for name, value in workflow["env"].items():
        scripts = scripts.replace(f"${name}", value)
    return [shlex.split(line)[1:] for line in scripts.splitlines() if line.startswith("bythebook ")]


def test_an_edit_that_makes_an_answer_wrong_fails_the_example(shelf: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of examples/evaluate-on-every-change.yml, on a book whose lesson was edited."""
    repository = folder / "repository"
    shutil.copytree(folder / "book", folder / "before" / "book")
    shutil.move(folder / "book", repository / "book")
    write_questions(repository / "book" / "questions.jsonl", QUESTIONS[:4])
    monkeypatch.chdir(repository)
    ingest_before, evaluate_before, ingest_now, evaluate_now = commands(yaml.safe_load(EXAMPLE.read_text("utf-8")))
    assert shelf(*ingest_before).code == 0
    assert shelf(*evaluate_before).code == 0
    assert shelf(*ingest_now).code == 0
    assert shelf(*evaluate_now).code == 0

    lesson = repository / "book" / LAMP / "01-wicks.md"
    lesson.write_text(lesson.read_text("utf-8").replace(TRIMMED, "The keeper trims the wick every nine hours."), "utf-8")
    assert shelf(*ingest_now).code == 0
    outcome = shelf(*evaluate_now)
    assert outcome.code == 1
    text = " ".join(outcome.out.split())
    assert "1 worse" in text
    assert re.search("quote no longer stands in its lesson; .*does not say", text)
    assert f"its quote does not stand in {LAMP}/01-wicks.md" in text


def test_what_has_changed_is_told_question_by_question(shelf: Cli, folder: Path) -> None:
    assert shelf("evaluate", "questions.jsonl", "-o", "before.json").code == 0
    rows = [{**row, "lesson": f"{LAMP}/02-lenses.md"} if row["id"] == "wick" else row for row in QUESTIONS]
    write_questions(
        folder / "questions.jsonl", [*rows[:-1], {"id": "new", "question": "What is the log book?", "answerable": True}]
    )
    report = json.loads(shelf("evaluate", "questions.jsonl", "--compare", "before.json", "--json").out)
    comparison = report["comparison"]
    assert [change["id"] for change in comparison["worse"]] == ["wick"]
    assert comparison["better"] == []
    assert (comparison["only_before"], comparison["only_now"]) == (["open"], ["new"])
    shifts = {shift["name"]: shift for shift in comparison["shifts"]}
    assert shifts["right"]["now"] < shifts["right"]["before"]
    assert shifts["right"]["chance"] == 1.0  # one question may be chance
    assert shifts["decision_accuracy"]["now"] == shifts["decision_accuracy"]["before"]
    (folder / "after.json").write_text(json.dumps(report), "utf-8")
    assert shelf("evaluate", "questions.jsonl", "--compare", "after.json", "--fail-on-worse", "--html", "page.html").code == 0
    assert "What has changed" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("none.jsonl",), 2, "cannot be read (No such file or directory)"),
        (("empty.jsonl",), 2, "holds no question that can be asked"),
        (("questions.jsonl", "--book", "third"), 1, "There is no book 'third'"),
        (("questions.jsonl", "--fail-under", "speed=1"), 2, "There is no metric 'speed'"),
        (("questions.jsonl", "--fail-under", "right=7"), 2, "from 0 to 1"),
        (("questions.jsonl", "--compare", "none.json"), 2, "The report none.json cannot be read"),
        (("questions.jsonl", "--compare", "questions.jsonl"), 2, "is not a report of"),
        (("questions.jsonl", "--fail-on-worse"), 2, "needs an earlier report"),
        (("questions.jsonl", "--output", "."), 2, "The report cannot be written to ."),
        (("questions.jsonl", "--html", "no/such/page.html"), 2, "There is no folder no/such to write"),
    ],
)
def test_bad_input_is_one_sentence(shelf: Cli, folder: Path, arguments: tuple[str, ...], code: int, complaint: str) -> None:
    (folder / "empty.jsonl").write_text("", "utf-8")
    outcome = shelf("evaluate", *arguments)
    assert outcome.code == code
    assert complaint in outcome.sentence()


def test_a_book_that_is_not_ingested(cli: Cli, folder: Path) -> None:
    write_questions(folder / "questions.jsonl")
    outcome = cli("evaluate", "questions.jsonl")
    assert outcome.code == 1
    assert "There is no book yet" in outcome.sentence()


def test_remarks_name_the_lines_and_the_rest_is_evaluated(shelf: Cli, folder: Path) -> None:
    lines = [json.dumps(row) for row in QUESTIONS[:2]]
    wrong = json.dumps({"question": "Where do they sleep?", "lesson": "09-beds.md"})
    (folder / "some.jsonl").write_text("\n".join([lines[0], "{oops", lines[1], lines[0], wrong]), "utf-8")
    outcome = shelf("evaluate", "some.jsonl")
    assert outcome.code == 0
    text = " ".join(outcome.out.split())
    for remark in (
        "line 2 left out: it is not JSON",
        "line 4 left out: the same question as on line 1",
        "no lesson '09-beds.md'",
    ):
        assert remark in text
    assert "3 questions of some.jsonl" in text


def test_drafts_can_be_asked_as_they_are(shelf: Cli, folder: Path) -> None:
    printed = shelf("questions", "draft", "--count", "14")
    assert printed.code == 0
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert len(rows) == 14
    assert sum(not row["answerable"] for row in rows) == 3
    assert {row["checked"] for row in rows} == {False}
    for row in rows:
        if row["answerable"]:
            assert row["quote"] in (folder / "book" / row["lesson"]).read_text("utf-8")
    assert "What is a Fresnel lens?" in {row["question"] for row in rows}
    assert shelf("questions", "draft", "--count", "14").out == printed.out
    assert shelf("questions", "draft", "--count", "14", "-o", "drafts.jsonl").code == 0
    outcome = shelf("evaluate", "drafts.jsonl")
    assert outcome.code == 0
    assert "14 of 14 questions are drafts that nobody has checked" in " ".join(outcome.out.split())


def test_drafts_replace_nobodys_questions(shelf: Cli) -> None:
    outcome = shelf("questions", "draft", "-o", "questions.jsonl")
    assert outcome.code == 2
    assert "exists already" in outcome.sentence()


def test_drafts_spread_over_the_book_and_hold_near_misses(cli: Cli, folder: Path) -> None:
    book = folder / "things"
    for number, thing in enumerate(
        ("anchor", "bollard", "capstan", "davit", "fender", "grapnel", "halyard", "jib", "keel", "lanyard")
    ):
        text = f"# On board {number}\n\nA {thing} is a part of a ship that every sailor knows. She is a friend to all who sail.\n"
        priced = "\nA lanyard costs four shillings.\n" if thing == "lanyard" else ""
        write(book, f"{number:02}-{thing}.md", text + priced)
    assert cli("ingest", book).code == 0
    drafts = [json.loads(line) for line in cli("questions", "draft", "--count", "5").out.splitlines()]
    lessons = [draft["lesson"] for draft in drafts if draft["answerable"]]
    assert lessons == sorted(lessons)
    assert lessons[0] < "02" < "06" < lessons[-1]
    drafts = [json.loads(line) for line in cli("questions", "draft", "--count", "100").out.splitlines()]
    asked = {draft["question"]: draft["kind"] for draft in drafts}
    assert asked["What is a capstan?"] == "answerable"
    assert not [question for question in asked if " she" in question.lower()]
    near = [question for question, kind in asked.items() if kind == "near"]
    assert near
    assert "How much does a lanyard cost?" not in near
