"""An answer as Markdown, and read back from a client that sends it again."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import pytest
from markdown_it import MarkdownIt

from bythebook.answering.answer import Answer, Sentence
from bythebook.answering.markdown import read_exchange, to_markdown
from bythebook.texts import texts
from tests.support.made_turns import NEAREST, answer, citation

REFUSED = replace(
    answer(), refused=True, reason="not_in_book", answer="I do not know.", sentences=(), citations=(), nearest=(NEAREST,)
)


def test_an_answer_ends_with_its_sources() -> None:
    assert to_markdown(answer()) == (
        "The keeper trims the wick every four hours. [1]\n\n**Sources**\n\n"
        "1. [Wicks and oil › Trimming](https://light.example/wicks#trimming): "
        "“The keeper trims the wick every four hours.”, line 3"
    )


def test_a_refusal_begins_with_its_reason_and_ends_with_the_nearest_sections() -> None:
    assert to_markdown(REFUSED) == (
        "**Not in the book**\n\nI do not know.\n\n**Nearest sections**\n\n"
        "- [Wicks and oil › Wicks and oil › Trimming](https://light.example/wicks)"
    )


@pytest.mark.parametrize(
    "told",
    [
        answer(),
        answer(disclaimer=texts("en").disclaimer),
        answer(disclaimer=texts("zh").disclaimer, language="zh"),
        answer(citations=(citation(), citation(2, "c2", title="Oil [a] \\ b", section=""))),
        answer(citations=(replace(citation(), source_url="wicks.md#trimming"),)),
        REFUSED,
        replace(REFUSED, nearest=()),
    ],
)
def test_what_a_client_sends_back_is_the_turn_it_was(told: Answer) -> None:
    for sent in (to_markdown(told), to_markdown(told).replace("\n", "\r\n") + "\n"):
        read = read_exchange("How often?", sent)
        assert read.answer == told.answer
        assert read.refused == told.refused
        assert read.sources == tuple(" › ".join(filter(None, (one.page_title, one.section))) for one in told.citations)


def test_a_quote_brings_no_tag_and_no_link_that_is_not_a_web_address() -> None:
    hostile = replace(citation(), quote="See <b onclick=x>[this](javascript:alert(1))</b>", source_url="https://a.example/a b(c)")
    told = to_markdown(answer(citations=(hostile,)))
    assert "<b" not in told
    assert "](javascript" not in told
    assert "](https://a.example/a%20b%28c%29)" in told


def test_what_a_book_spells_out_stays_text_in_a_sentence() -> None:
    """In a renderer that lets tags and every address through. A sentence is plain text; its quote is the book's Markdown."""
    spelt = "The tag <img src=x onerror=alert(1)> and [this](javascript:alert(1)) call __init__ and `__new__ <b>`."
    told = answer(sentences=(Sentence(text=spelt, kind="sentence", citations=(citation(),)),))
    lenient = MarkdownIt("commonmark", {"html": True})
    lenient.validateLink = lambda url: True  # type: ignore[method-assign]
    html = lenient.render(to_markdown(told).partition("\n")[0])
    plain = escape(spelt.replace("`", "")).replace("__new__ &lt;b&gt;", "<code>__new__ &lt;b&gt;</code>")
    assert html == f"<p>{plain} [1]</p>\n"
    assert read_exchange("How?", to_markdown(told)).answer == f"{spelt} [1]"


def test_a_text_of_another_program_is_kept_whole() -> None:
    assert read_exchange("q", "Anything.\n\nSources: none").answer == "Anything.\n\nSources: none"
