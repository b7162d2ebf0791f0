"""The report as one HTML file that needs nothing else: no script, no font, no picture, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from itertools import groupby

from bythebook.evaluation.breakdowns import by_chapter, confusion, judged, operating_point, reliability, risk_coverage
from bythebook.evaluation.compare import Comparison
from bythebook.evaluation.figures import Figure, by_name
from bythebook.evaluation.html.plots import interval_bar, reliability_plot, risk_coverage_plot
from bythebook.evaluation.html.questions import changes, remarks, words, wrong_questions
from bythebook.evaluation.marks import Mark
from bythebook.evaluation.report import Report

HEADLINES = {
    "decision_accuracy": "of the questions rightly answered or rightly refused",
    "recall_at_5": "of the time the right lesson is among five results",
    "citation_recall": "of the answers cite the right lesson",
    "quote_exactness": "of the quotes stand in the book, character for character",
}


def page(report: Report, comparison: Comparison | None = None) -> str:
    style = (files("bythebook.evaluation.html") / "page.css").read_text("utf-8")
    title = f"{escape(report.title)}: how good its tutor is"
    parts = [_opening(report), _headline(report), changes(comparison) if comparison else "", _confidence(report.scored)]
    parts += [
        _decisions(report.scored),
        _chapters(report.scored),
        _figures(report),
        wrong_questions(report.scored),
        remarks(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n{_closing(report)}\n</main>\n</body>\n</html>\n"
    )


def _opening(report: Report) -> str:
    fitted = len(report.marks) - len(report.scored)
    apart = f" {fitted:,} more were used to fit relevance to this book and are scored apart." if fitted else ""
    return (
        f'<header><p class="eyebrow">By the Book · scorecard</p><h1>{escape(report.title)}</h1>'
        "<p>This tutor answers only from the book, shows the passage for every sentence, and says so when the book has no "
        f"answer. Here is how well it does, measured by {len(report.scored):,} questions with known answers.{apart}</p>"
        f"{_in_words(report.scored)}"
        f'<p class="caption">{escape(report.times.created_at[:10])} · answers by {escape(_drafter(report.model))} · '
        f"embedded by {escape(report.embedder)} · questions from <code>{escape(report.questions_file)}</code></p></header>"
    )


def _in_words(marks: Sequence[Mark]) -> str:
    """The result in words, before any percentage. Left out where only one kind of question was asked."""
    asked = [mark for mark in marks if not mark.failure]
    yes, no = ([mark for mark in asked if mark.expected is side] for side in (True, False))
    quotes, inexact = sum(mark.quotes for mark in asked), sum(len(mark.inexact) for mark in asked)
    if not yes or not no or not quotes:
        return ""
    answered, refused = sum(mark.answered for mark in yes), sum(not mark.answered for mark in no)
    exact = f"All {quotes:,}" if not inexact else f"{quotes - inexact:,} of its {quotes:,}"
    return (
        f'<p class="lead">It answered <strong>{answered:,} of the {len(yes):,}</strong> questions that the book answers, and '
        f"refused <strong>{refused:,} of the {len(no):,}</strong> that it does not. {exact} quotes stand in the book, character "
        "for character.</p>"
    )


def _drafter(model: str) -> str:
    return "the book’s own sentences (extractive)" if model == "extractive" else model


def _headline(report: Report) -> str:
    known = by_name(report.held_out)
    cards = [_card(known[name], meaning) for name, meaning in HEADLINES.items() if name in known]
    return f'<section class="headline" aria-label="In short">{"".join(cards)}</section>'


def _card(figure: Figure, meaning: str) -> str:
    return (
        f'<div><div class="big">{figure.shown}</div>{interval_bar(figure.value, figure.low or 0.0, figure.high or 0.0)}'
        f'<div>{escape(meaning)}</div><div class="caption">{figure.interval} · n&nbsp;=&nbsp;{figure.count:,}</div></div>'
    )


def _confidence(marks: Sequence[Mark]) -> str:
    points, shares = risk_coverage(marks), reliability(marks)
    if not points:
        return ""
    return (
        "<h2>Does it know what it knows?</h2>"
        "<p>A tutor that may refuse is as good as its sense of when. Questions asked under filters are not in these drawings: "
        "another rule decides there.</p>"
        '<div class="plots">'
        f"<figure>{risk_coverage_plot(points, operating_point(marks))}<figcaption><strong>Risk and coverage</strong>"
        f"All {len(judged(marks)):,} questions from the surest to the least sure. Further right, more is answered; further up, "
        "more of it should have been refused. The dotted line is the best any order could do.</figcaption></figure>"
        f"<figure>{reliability_plot(shares)}<figcaption><strong>Calibration</strong>"
        "How often the book answers questions of a given confidence, with 95% intervals. The surer the tutor, the higher it "
        "should be.</figcaption></figure></div>"
    )


def _decisions(marks: Sequence[Mark]) -> str:
    table = confusion(marks)
    if not table:
        return ""
    columns = list(dict.fromkeys([*table, *(name for row in table.values() for name in row)]))
    head = "".join(f'<th scope="col">{words(name)}</th>' for name in columns)
    rows = ""
    for wanted, given in table.items():
        cells = "".join(_cell(wanted, column, given[column], sum(given.values())) for column in columns)
        rows += f'<tr><th scope="row">{words(wanted)}</th>{cells}</tr>'
    return (
        "<h2>Answered or refused</h2><p>Each row is what should have happened, each column what did. A refusal also says why.</p>"
        '<div class="wide" role="region" aria-label="Answered or refused" tabindex="0"><table class="matrix"><thead><tr>'
        f'<th scope="col">should be ↓ &nbsp; was →</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(wanted: str, given: str, count: int, total: int) -> str:
    if not count:
        return '<td class="none">·</td>'
    right = wanted == given or (wanted == "refused" and given != "answered")
    return f'<td class="{"yes" if right else "no"}" style="--share:{count / total:.3f}">{count:,}</td>'


def _chapters(marks: Sequence[Mark]) -> str:
    shares = by_chapter(marks)
    if len(shares) < 2:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(share.label)}</th><td class="line">{interval_bar(share.value, *share.interval)}</td>'
        f'<td class="number">{share.right:,} of {share.count:,}</td></tr>'
        for share in shares
    )
    return (
        "<h2>Chapter by chapter</h2><p>Handled right in every respect: rightly decided, from the right lesson, every quote "
        "exact. Questions about no lesson of the book are not counted here.</p>"
        f"<table><tbody>{rows}</tbody></table>"
    )


def _figures(report: Report) -> str:
    fitted = by_name((*report.fitted, *report.times.fitted))
    rows = ""
    for group, some in groupby((*report.held_out, *report.times.held_out), key=lambda figure: figure.group):
        rows += f'<tr class="group"><th scope="rowgroup" colspan="6">{group.capitalize()}</th></tr>'
        rows += "".join(_row(figure, fitted.get(figure.name), with_fitted=bool(fitted)) for figure in some)
    last = '<th scope="col">fitted</th>' if fitted else ""
    note = " “Fitted” are the questions that relevance was fitted by: not to be believed, only compared." if fitted else ""
    return (
        f"<h2>Every figure</h2><p>With the interval that holds the true value in 95 of 100 such measurements.{note}</p>"
        '<table class="figures"><thead><tr><td></td><td></td><th scope="col">value</th><th scope="col">95% interval</th>'
        f'<th scope="col">n</th>{last}</tr></thead><tbody>{rows}</tbody></table>'
    )


def _row(figure: Figure, fitted: Figure | None, *, with_fitted: bool) -> str:
    bar = "" if figure.low is None or figure.high is None else interval_bar(figure.value, figure.low, figure.high)
    last = f'<td class="number quiet">{fitted.shown if fitted else ""}</td>' if with_fitted else ""
    return (
        f'<tr><th scope="row">{escape(figure.label)}<br><code>{figure.name}</code></th><td class="line">{bar}</td>'
        f'<td class="number">{figure.shown}</td><td class="number quiet interval">{figure.interval}</td>'
        f'<td class="number quiet">{figure.count:,}</td>{last}</tr>'
    )


def _closing(report: Report) -> str:
    latency = f" Latency was measured with {report.times.at_once} questions at once." if report.times.at_once > 1 else ""
    return (
        "<footer><p>Retrieval figures as trec_eval defines them; a result is right when it is from the expected lesson. Rates "
        "have Wilson’s interval, means a bootstrap’s. Quotes were looked up in the source text again and sentences checked "
        f"again, not taken from what the tutor says of itself.{latency}</p><p>Made by By the Book {escape(report.version)}: "
        f"<code>bythebook evaluate {escape(report.questions_file)} --html</code></p></footer>"
    )
