"""A turn's trace in a terminal: what was found, why it was answered or refused, what was drafted and what was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from bythebook.cli.filters import shown_filter
from bythebook.cli.output.console import Console, plain_table

if TYPE_CHECKING:
    from bythebook.answering.trace import FollowUp, Gate, Trace


def print_trace(console: Console, trace: Trace) -> None:
    console.print(f"\n  filters: {shown_filter(trace.query)}", style="dim", markup=False)
    thresholds = f"score {trace.score_threshold:g}, similarity {trace.similarity_threshold:g}, on {trace.score_scale}"
    console.print(f"  thresholds: {thresholds}", style="dim", markup=False)
    if trace.follow_up:
        _print_follow_up(console, trace.follow_up)
    _print_found(console, trace)
    if trace.gate:
        _print_gate(console, trace.gate, trace.score_threshold)
    _print_evidence(console, trace)
    _print_draft(console, trace)
    _print_steps(console, trace)


def _print_follow_up(console: Console, follow_up: FollowUp) -> None:
    made = f"rewritten by the {follow_up.by}" if follow_up.by else "not rewritten"
    note = f" ({follow_up.note})" if follow_up.note else ""
    console.print(f"  follow-up: {made}{note}", style="dim", markup=False)


def _print_found(console: Console, trace: Trace) -> None:
    _print_head(console, "Found")
    table = plain_table("label", "relevance", "cosine", "BM25", "where")
    for one in trace.considered:
        label = f"\\[{one.label}]" if one.label else ""
        where = escape(_place(one.page_title, one.section))
        table.add_row(label, f"{one.relevance:.3f}", f"{one.score:.3f}", f"{one.lexical:.1f}", where)
    console.print(table)


def _print_gate(console: Console, gate: Gate, threshold: float) -> None:
    _print_head(console, "Verdict")
    decided = "answer" if gate.answerable else f"refuse, {gate.reason}: {gate.detail}"
    console.print(_indented(Text(decided, style="green" if gate.answerable else "yellow")))
    figures = [f"best relevance {gate.best:.3f} (needs {threshold:g})", f"average {gate.average:.3f}"]
    if gate.subject is not None:
        figures.append(f"best cosine {gate.top_cosine:.3f} (on the subject from {gate.subject:.3f})")
    if gate.beyond is not None:
        figures.append(f"average without the filters {gate.beyond:.3f}")
    console.print(_indented(Text(", ".join(figures), style="dim")))


def _print_evidence(console: Console, trace: Trace) -> None:
    if not trace.evidence:
        return
    _print_head(console, "Evidence")
    for one in trace.evidence:
        chunks = f"{len(one.chunk_ids)} chunk{'s' if len(one.chunk_ids) != 1 else ''}"
        line = Text(f"[{one.label}] ", style="bold cyan").append(_place(one.page_title, one.section), style="default not bold")
        console.print(_indented(line.append(f"  {chunks}, relevance {one.relevance:.3f}", style="dim not bold")))


def _print_draft(console: Console, trace: Trace) -> None:
    if not trace.draft:
        return
    _print_head(console, "Draft")
    for one in trace.draft:
        mark = Text("✗ ", style="red") if one.dropped else Text("✓ ", style="green")
        labels = "".join(f" [{label}]" for label in one.labels)
        line = mark.append(one.text, style="default").append(labels, style="cyan")
        decided = {"words": "the words rule decided", "judge": "" if one.dropped else "the judge says yes"}.get(one.by, "")
        why = "; ".join(filter(None, (one.dropped, decided, one.note)))
        console.print(_indented(line.append(f"  ({why})" if why else "", style="yellow")))


def _print_steps(console: Console, trace: Trace) -> None:
    """Prints each step once: sentences are checked one by one while the draft is made."""
    seconds: dict[str, float] = {}
    for step in trace.steps:
        seconds[step.name] = seconds.get(step.name, 0.0) + step.seconds
    if seconds:
        _print_head(console, "Time")
        told = " · ".join(f"{name} {1000 * took:.1f} ms" for name, took in seconds.items())
        console.print(_indented(Text(told, style="dim")))


def _print_head(console: Console, title: str) -> None:
    console.print(f"\n  [bold]{title}[/]")


def _place(page_title: str, section: str) -> str:
    return " › ".join(filter(None, (page_title, section)))


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)
