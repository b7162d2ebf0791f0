"""An answer as a notebook shows it: each sentence with its markers, and the quotes below. No script, no style sheet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby

from bythebook.answering.answer import Answer, Section, Sentence
from bythebook.answering.markdown import place_of_quote, quotes_of, title_of_source, web_address
from bythebook.grounding.citations import Citation
from bythebook.texts import texts

QUOTE = "margin:0.2em 0 0.6em 1.6em;padding-left:0.8em;border-left:3px solid #8aa;opacity:0.85"
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
"""The bullet or number of a list item."""
CODE = re.compile(r"`([^`\n]+)`")


def to_html(answer: Answer) -> str:
    if answer.refused:
        places = "".join(f"<li>{_link(' › '.join((one.page_title, *one.heading_path)), one)}</li>" for one in answer.nearest)
        nearest = f"<p>{escape(texts(answer.language).nearest)}</p><ul>{places}</ul>" if places else ""
        body = f"<p><b>{escape(answer.headline)}</b></p><p>{escape(answer.answer)}</p>{nearest}"
    else:
        body = _text(answer.sentences) + "".join(_source(one, answer) for one in answer.citations)
    disclaimer = f"<p><i>{escape(answer.disclaimer)}</i></p>" if answer.disclaimer else ""
    level = f"confidence {answer.confidence.confidence_level} · {answer.model} · {answer.total_time_ms:.0f} ms"
    return f'<div dir="auto">{body}{disclaimer}<p style="opacity:0.6"><small>{escape(level)}</small></p></div>'


def _text(sentences: Sequence[Sentence]) -> str:
    """Sentences follow each other, items become a list, blocks stand alone."""
    parts = []
    for kind, group in groupby(sentences, key=lambda one: one.kind):
        said = [_sentence(one) for one in group]
        if kind == "sentence":
            parts.append(f"<p>{' '.join(said)}</p>")
        elif kind == "item":
            parts.append(f"<ul>{''.join(f'<li>{one}</li>' for one in said)}</ul>")
        else:
            parts += said
    return "".join(parts)


def _sentence(sentence: Sentence) -> str:
    marks = "".join(f" <sup>[{label}]</sup>" for label in sentence.labels)
    if sentence.kind in {"code", "table", "maths"}:
        return f"<pre>{escape(sentence.text)}</pre><p>{marks}</p>"
    return CODE.sub(r"<code>\1</code>", escape(ITEM.sub("", sentence.text))) + marks


def _source(citation: Citation, answer: Answer) -> str:
    quotes = "".join(
        f'<blockquote style="{QUOTE}">{escape(one.quote)} <small>({place_of_quote(one)})</small></blockquote>'
        for one in quotes_of(answer, citation.label)
    )
    return f"<p style='margin-bottom:0'>[{citation.label}] {_link(title_of_source(citation), citation)}</p>{quotes}"


def _link(title: str, place: Citation | Section) -> str:
    address = web_address(place)
    return f'<a href="{escape(address)}">{escape(title)}</a>' if address else escape(title)
