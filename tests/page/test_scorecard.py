"""The evaluation's page in a real browser: it asks nobody for anything, fits a phone, and axe objects to nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from bythebook.evaluation.cases import Remark
from bythebook.evaluation.compare import compare
from bythebook.evaluation.figures import figures
from bythebook.evaluation.html.page import page as scorecard
from bythebook.evaluation.marks import Mark, Retrieved
from bythebook.evaluation.report import Report
from bythebook.evaluation.times import Times
from tests.evaluation.test_figures import MARKS
from tests.page.conftest import PHONE, WIDE
from tests.support.page import violations

FOUND = Retrieved(
    rank=1,
    source_file="module-1-light/chapter-1-lamp/01-wicks.md",
    page_title="Wicks",
    heading_path=("Trimming",),
    source_url="",
    score=0.8,
    relevance=0.9,
    right=True,
)


def report(marks: list[Mark]) -> Report:
    return Report(
        book_id="light",
        title="Keeping a Lighthouse",
        model="extractive",
        embedder="small",
        questions_file="questions.jsonl",
        version="1",
        held_out=figures(marks),
        fitted=figures(marks[:4]),
        remarks=(Remark(line=4, id="", message="left out: it is not JSON"),),
        marks=tuple(marks),
        times=Times(created_at="2026-11-15T12:00:00+00:00", at_once=4, held_out=(), fitted=(), questions={}),
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With everything that a page can have: wrong questions, what was retrieved, what has changed, remarks."""
    marks = [replace(mark, retrieved=(FOUND,), searched=mark.question, detail="near, and not there") for mark in MARKS]
    before = [replace(mark, answered=True, reason=None) for mark in marks]
    path = tmp_path_factory.mktemp("scorecard") / "scorecard.html"
    path.write_text(scorecard(report(marks), compare(report(before), report(marks))), "utf-8")
    return path


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_scorecard_can_be_put_on_a_site(browser: Browser, written: Path, size: dict[str, int]) -> None:
    context = browser.new_context(viewport=size)  # type: ignore[arg-type]
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(written.as_uri())
    for heading in (
        "Does it know what it knows?",
        "Answered or refused",
        "What has changed",
        "Every figure",
        "Not handled right",
    ):
        page.get_by_role("heading", name=heading).wait_for()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert asked == [written.as_uri()]
    context.close()
