"""What a thread is about, in a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bythebook.drafting.draft import Exchange
from bythebook.threads.summary import summarise


def exchange(*sources: str, question: str = "Why?") -> Exchange:
    return Exchange(question=question, answer="Because.", sources=sources)


def test_nothing_before_five_exchanges() -> None:
    told = [exchange("Wicks › Trimming")] * 4
    assert summarise(told) is None
    assert summarise([*told, exchange()]) == "Wicks (Trimming)"


def test_the_most_cited_come_first() -> None:
    told = [
        exchange("Lenses › Cleaning"),
        exchange("Wicks › Trimming", "Wicks › Trimming", "Lenses › Cleaning"),
        exchange("Wicks › Filling"),
        exchange("Wicks › Trimming", "Fog"),
        exchange("Wicks › Oil", "Wicks › Wicks"),
    ]
    assert summarise(told) == "Wicks (Trimming, Filling); Lenses (Cleaning); Fog"


def test_a_thread_the_book_did_not_answer() -> None:
    told = [exchange(question=f"What is\n{thing}?") for thing in ("a bank", "a loan", "interest", "money", "gold")]
    assert summarise(told) == (
        "Not answered by the book: What is a bank?; What is a loan?; What is interest?; What is money?; What is gold?"
    )


@given(
    st.lists(
        st.builds(Exchange, question=st.text(min_size=1), answer=st.text(), sources=st.lists(st.text()).map(tuple)), min_size=5
    )
)
def test_200_characters_at_most_and_one_line(exchanges: list[Exchange]) -> None:
    summary = summarise(exchanges)
    assert summary is not None
    assert len(summary) <= 200
    assert "\n" not in summary


def test_long_titles_are_cut() -> None:
    assert summarise([exchange("x" * 300)] * 5) == "x" * 199 + "…"
