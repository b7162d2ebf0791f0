"""Questions for readers over HTTP: the author's where there are some, drafts where there are none."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from bythebook.evaluation.question_store import WHOLE_BOOK
from tests.support.processes import wait_for
from tests.support.serving import BOOK, ask, problem, running

PARTS = """# Parts

| Part | Usual material |
| --- | --- |
| Impeller | cast bronze, hand filed |
| Shaft | stainless steel, ground |
| Seal | |
"""
LESSONS = {
    "01-valves.md": "# Valves\n\nA **check valve** is a valve that lets water pass one way.\n",
    "02-shafts.md": "# Shafts\n\nA **shaft** is a rod that turns the impeller.\n",
    "03-seals.md": "# Seals\n\nA **seal** is a ring that keeps the water in.\n",
}
Rows = dict[str, tuple[str, list[dict[str, Any]]]]
"""Of each lesson: a digest of what its questions were found in, and these."""
EARLIER = Path(__file__).parents[1] / "earlier_data" / "schema-0008.tar.xz"
"""Where nothing was found yet: a book about a lighthouse."""
TOPICS = "module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md"


def test_questions_worth_asking_are_answered_and_have_the_sentence_that_answers_them(client: httpx.Client) -> None:
    questions = client.get(f"/books/{BOOK}/questions", params={"lesson": TOPICS, "limit": 2}).json()["questions"]
    assert [one["by"] for one in questions] == ["author", "author"]
    for one in questions:
        assert one["source_file"] == TOPICS
        assert ask(client, one["question"], similarity_threshold=0)["confidence_level"] in ("high", "medium")
    whole = client.get(f"/books/{BOOK}/questions", params={"purpose": "learn", "limit": 30}).json()["questions"]
    assert len(whole) == 30
    assert len({one["id"] for one in whole}) == 30
    problem(client.get("/books/another/questions"), 404, "not_found")
    problem(client.get(f"/books/{BOOK}/questions", params={"limit": 51}), 422, "invalid_input")
    assert client.get(f"/books/{BOOK}/questions", params={"lesson": "no/such.md"}).json() == {"questions": []}


def test_of_several_lessons_each_gives_its_first_questions(client: httpx.Client) -> None:
    services = TOPICS.replace("02-topics-and-messages.md", "03-services-and-actions.mdx")
    asked: dict[str, Any] = {"lesson": [TOPICS, services, "no/such.md"], "limit": 4}
    questions = client.get(f"/books/{BOOK}/questions", params=asked).json()["questions"]
    assert [one["source_file"] for one in questions] == [TOPICS, TOPICS, services, services]


def test_without_an_author_they_are_drafted_from_definitions_and_tables(folder: Path) -> None:
    book = folder / "pumps"
    book.mkdir()
    (book / "book.toml").write_text('book_id = "pumps"\n', "utf-8")
    (book / "01-valves.md").write_text("# Valves\n\nA **check valve** is a valve that lets water pass one way.\n", "utf-8")
    (book / "03-parts.md").write_text(PARTS, "utf-8")
    (book / "02-walks.md").write_text("# Walks\n\nWe walked along the river and looked at the boats.\n", "utf-8")
    with running(folder / "data", source_roots=str(folder)) as service, service.client() as client:
        job = client.post("/books/pumps/jobs", json={"source": {"folder": str(book)}}).json()
        assert '"completed"' in client.get(f"/jobs/{job['job_id']}/events").text
        drafted, first, second = client.get("/books/pumps/questions", params={"purpose": "learn"}).json()["questions"]
        asked = "In “Parts”: what is the usual material of “Impeller”?"
        row = next(one for one in (first, second) if one["question"] == asked)
        assert row["quote"] == "| Impeller | cast bronze, hand filed |"
        assert "<th>Usual material</th>" in row["html"]
        assert "<td>cast bronze, hand filed</td>" in row["html"]
        assert {first["question"], second["question"]} == {asked, "In “Parts”: what is the usual material of “Shaft”?"}
        assert (drafted["question"], drafted["by"]) == ("What is a check valve?", "draft")
        assert "<strong>check valve</strong>" in drafted["html"]
        nothing = client.get("/books/pumps/questions", params={"purpose": "learn", "lesson": "02-walks.md"})
        assert nothing.json() == {"questions": []}


def test_headings_that_are_instructions_are_worth_asking_and_no_card_to_learn(client: httpx.Client) -> None:
    lesson = "module-1-ros2/chapter-2-a-robot-you-can-run/02-frames-tf2-and-urdf.md"
    asked, learned = (
        client.get(f"/books/{BOOK}/questions", params={"lesson": lesson, "limit": 20, "purpose": purpose}).json()["questions"]
        for purpose in ("ask", "learn")
    )
    question = "How do I describe the body with URDF?"
    (found,) = [one for one in asked if one["question"] == question]
    assert (found["by"], found["source_file"]) == ("draft", lesson)
    assert ask(client, question, similarity_threshold=0)["confidence_level"] in ("high", "medium")
    assert question not in [one["question"] for one in learned]


def test_a_sentence_that_answers_by_itself_is_worth_asking_and_no_card_to_learn(client: httpx.Client) -> None:
    lesson = "module-1-ros2/chapter-2-a-robot-you-can-run/03-quality-of-service-and-lifecycle-nodes.mdx"
    asked, learned = (
        client.get(f"/books/{BOOK}/questions", params={"lesson": lesson, "limit": 30, "purpose": purpose}).json()["questions"]
        for purpose in ("ask", "learn")
    )
    question = "What happens if the detector starts before the camera has been opened?"
    (found,) = [one for one in asked if one["question"] == question]
    assert (found["by"], found["source_file"]) == ("draft", lesson)
    assert ask(client, question, similarity_threshold=0)["confidence_level"] in ("high", "medium")
    assert question not in [one["question"] for one in learned]


def test_questions_worth_asking_are_found_after_an_ingestion_and_stored_until_the_lesson_changes(folder: Path) -> None:
    book = folder / "pumps"
    book.mkdir()
    (book / "book.toml").write_text('book_id = "pumps"\n', "utf-8")
    valve, shaft = "A **check valve** is a valve that lets water pass one way.", "A **shaft** is a rod that turns the impeller."
    for name, text in (
        ("01-valves.md", valve),
        ("02-shafts.md", shaft),
        ("03-seals.md", "A **seal** is a ring that keeps water in."),
    ):
        (book / name).write_text(f"# {name[3:-3].title()}\n\n{text}\n", "utf-8")
    with running(folder / "data", source_roots=str(folder), prepare_questions=True) as service, service.client() as client:
        ingest(client, book)
        before = prepared(folder, {WHOLE_BOOK, *LESSONS})
        (book / "01-valves.md").write_text("# Valves\n\nA **gate valve** is a valve with a sliding plate.\n", "utf-8")
        (book / "03-seals.md").unlink()
        ingest(client, book)
        after = prepared(folder, {WHOLE_BOOK, "01-valves.md", "02-shafts.md"})
        assert after["02-shafts.md"] == before["02-shafts.md"]
        assert after["01-valves.md"][0] != before["01-valves.md"][0]
        assert client.get("/books/pumps/questions", params={"lesson": "no/such.md"}).json() == {"questions": []}
        assert "no/such.md" not in stored(folder)


def test_questions_are_found_in_a_library_that_an_earlier_version_made(folder: Path) -> None:
    with tarfile.open(EARLIER) as packed:
        packed.extractall(folder, filter="data")
    with running(folder / "data", prepare_questions=True) as service, service.client(service.key()) as client:
        wait_for(lambda: WHOLE_BOOK in stored(folder))
        asked = client.get("/books/light/questions").json()["questions"]
    assert [one["question"] for one in asked] == [one["question"] for one in stored(folder)[WHOLE_BOOK][1]]
    assert "What is a Fresnel lens?" in [one["question"] for one in asked]


def ingest(client: httpx.Client, book: Path) -> None:
    order = {"source": {"folder": str(book)}, "yes": True}
    job = client.post("/books/pumps/jobs", json=order).json()
    assert '"completed"' in client.get(f"/jobs/{job['job_id']}/events").text


def prepared(folder: Path, lessons: set[str]) -> Rows:
    """The rows, once there are those of these lessons and no others."""
    wait_for(lambda: stored(folder).keys() == lessons)
    return stored(folder)


def stored(folder: Path) -> Rows:
    with closing(sqlite3.connect(folder / "data" / "bythebook.db")) as database:
        rows = database.execute("SELECT source_file, found_in, questions FROM worth_asking").fetchall()
    return {lesson: (found_in, json.loads(questions)) for lesson, found_in, questions in rows}
