"""Which evidence a sentence without a label is taken to rest on."""

from __future__ import annotations

from bythebook.drafting.openai_agents.labels import nearest_labels
from bythebook.retrieval.evidence import Evidence
from tests.support.made_chunks import chunk

TEXTS = {2: "A node is one process of a robot. It sends messages on topics.", 5: "A timer calls its function every 100 ms."}
EVIDENCE = [Evidence(label=label, passages=(chunk(text),), score=0.7, relevance=0.8) for label, text in TEXTS.items()]


def test_the_evidence_that_shares_most_words() -> None:
    assert nearest_labels("A node sends its messages on topics.", EVIDENCE, "en") == (2,)
    assert nearest_labels("Every 100 ms, the timer calls the function.", EVIDENCE, "en") == (5,)


def test_none_where_too_little_is_shared() -> None:
    assert nearest_labels("The Peace of Westphalia ended that war in 1648.", EVIDENCE, "en") == ()
    assert nearest_labels("I don't have information about that in the book content", EVIDENCE, "en") == ()
    assert nearest_labels("A node sends messages.", [], "en") == ()


def test_none_for_a_sentence_of_two_words() -> None:
    assert nearest_labels("A node sends.", EVIDENCE, "en") == ()


def test_of_two_that_share_as_much_the_first() -> None:
    twice = [Evidence(label=label, passages=(chunk(TEXTS[2]),), score=0.7, relevance=0.8) for label in (4, 3)]
    assert nearest_labels("A node sends messages on topics.", twice, "en") == (3,)
