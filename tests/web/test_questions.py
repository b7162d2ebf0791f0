"""Questions for readers over HTTP: the author's where there are some, drafts where there are none."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.support.serving import BOOK, ask, problem, running

PARTS = """# Parts

| Part | Usual material |
| --- | --- |
| Impeller | cast bronze, hand filed |
| Shaft | stainless steel, ground |
| Seal | |
"""
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
