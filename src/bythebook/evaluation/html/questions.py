"""The parts of the report that list questions: those not handled right, those that changed, and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bythebook.evaluation.breakdowns import worst
from bythebook.evaluation.compare import Change, Comparison, Shift
from bythebook.evaluation.figures import percent
from bythebook.evaluation.marks import Mark
from bythebook.evaluation.report import Report

OPENED = 1
"""How many wrong questions are shown open, as an example; the others open at a click."""


def wrong_questions(marks: Sequence[Mark]) -> str:
    wrong = worst(marks)
    if not wrong:
        return "<h2>Not handled right</h2><p>None.</p>" if any(mark.right is not None for mark in marks) else ""
    items = "".join(_question(mark, opened=place < OPENED) for place, mark in enumerate(wrong))
    return (
        f"<h2>Not handled right</h2><p>All {len(wrong):,}, the most confident mistake first, with what was retrieved and why it "
        f"ended so.</p>{items}"
    )


def _question(mark: Mark, *, opened: bool) -> str:
    ending = "answered" if mark.answered else f"refused: {words(mark.reason or 'unknown')}"
    facts = [("ended", f"{ending}, confidence {mark.confidence:.2f} ({escape(mark.level)})")]
    facts += [("because", escape(mark.detail))] if mark.detail else []
    facts += [("searched for", escape(mark.searched))] if mark.searched and mark.searched != mark.question else []
    facts += [("expected", ", ".join(f"<code>{escape(path)}</code>" for path in mark.gold))] if mark.gold else []
    facts += [("said", escape(mark.text))] if mark.answered else []
    rows = "".join(
        f"<tr><td>{one.rank}</td><td>{escape(' › '.join((one.page_title, *one.heading_path)))}"
        f"{' <span class=right>expected</span>' if one.right else ''}<br><code>{escape(one.source_file)}</code></td>"
        f'<td class="number">{one.relevance:.2f}</td></tr>'
        for one in mark.retrieved
    )
    retrieved = (
        f'<table><thead><tr><td></td><th scope="col">retrieved</th><th scope="col">relevance</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        if rows
        else ""
    )
    listed = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    return (
        f'<details class="wrong"{" open" if opened else ""}><summary><strong>{escape(mark.question)}</strong> '
        f'<code>{escape(mark.id)}</code><span class="fault">{escape("; ".join(mark.faults))}</span></summary>'
        f"<dl>{listed}</dl>{retrieved}</details>"
    )


def changes(comparison: Comparison) -> str:
    rows = "".join(map(_shift, comparison.shifts))
    listed = "".join(
        f"<h3>{len(some):,} {name}</h3><ul>{''.join(map(_change, some))}</ul>"
        for name, some in (("better", comparison.better), ("worse", comparison.worse), ("different", comparison.otherwise))
        if some
    )
    return (
        f"<h2>What has changed</h2><p>Compared with {escape(comparison.before)}; {comparison.same:,} questions end the same.</p>"
        '<table><thead><tr><td></td><th scope="col">before</th><th scope="col">now</th><th scope="col">points</th><td></td></tr>'
        f"</thead><tbody>{rows}</tbody></table>{listed}"
    )


def _shift(shift: Shift) -> str:
    way = "better" if shift.now > shift.before else "worse" if shift.now < shift.before else "quiet"
    sure = "" if shift.now == shift.before else "beyond chance" if shift.certain else "may be chance"
    return (
        f'<tr><th scope="row">{escape(shift.label)}</th><td class="number">{percent(shift.before)}</td>'
        f'<td class="number">{percent(shift.now)}</td><td class="number {way}">{100 * (shift.now - shift.before):+.1f}</td>'
        f'<td class="quiet">{sure}</td></tr>'
    )


def _change(change: Change) -> str:
    return (
        f"<li>{escape(change.question)} <code>{escape(change.id)}</code><br>"
        f'<span class="quiet">{escape(change.before)} → {escape(change.now)}</span></li>'
    )


def remarks(report: Report) -> str:
    if not report.remarks:
        return ""
    items = "".join(
        f"<li>{f'Line {remark.line}: ' if remark.line else ''}{escape(remark.message)}</li>" for remark in report.remarks
    )
    return f"<h2>About the questions</h2><ul>{items}</ul>"


def words(name: str) -> str:
    return escape(name.replace("_", " "))
