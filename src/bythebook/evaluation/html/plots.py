"""The report's drawings, as SVG that takes its colours from the page around it. No script, no font, no file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bythebook.evaluation.breakdowns import Point, Share

WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, TOP, BOTTOM = 66, 24, 14, 46
NOTE_WIDTH, NOTE_HEIGHT = 52, 14
TOPS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
"""Values at which an axis may end, so that five steps to it are round numbers."""


def risk_coverage_plot(points: Sequence[Point], now: Point | None) -> str:
    """The curve, the best curve that any order of these questions could give, and the tutor's point."""
    top = next(end for end in TOPS if end >= max(point.risk for point in points))
    answerable = 1 - points[-1].risk
    best = [(0.0, 0.0), (answerable, 0.0)]
    best += [(share, (share - answerable) / share) for share in _steps(answerable, 1.0) if share > 0]
    curve = [(point.coverage, point.risk) for point in points]
    lines = _line(best, top, "ideal") + _line([(0.0, curve[0][1]), *curve], top, "curve")
    if now:
        x, y = _x(now.coverage), _y(now.risk, top)
        anchor, shift = ("end", -10) if now.coverage > 0.5 else ("start", 10)
        words = f"answers {now.coverage:.0%}, wrongly {now.risk:.1%}"
        lines += f'<circle class="now" cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>'
        lines += f'<text class="note" x="{x + shift:.1f}" y="{y - 12:.1f}" text-anchor="{anchor}">{words}</text>'
    axes = _axes(top, "share of the questions answered", "of those, not in the book")
    return _svg(axes + lines, "Risk against coverage")


def reliability_plot(shares: Sequence[Share]) -> str:
    """Each band of confidence, with how often the book answers it."""
    parts = [f'<line class="ideal" x1="{_x(0):.1f}" y1="{_y(0):.1f}" x2="{_x(1):.1f}" y2="{_y(1):.1f}"/>']
    last_x, last_y = float("-inf"), 0.0
    for share in shares:
        low, high = share.interval
        x = _x(share.at)
        parts.append(f'<line class="whisker" x1="{x:.1f}" y1="{_y(low):.1f}" x2="{x:.1f}" y2="{_y(high):.1f}"/>')
        radius = 4 + min(6.0, share.count**0.5 / 2)
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{_y(share.value):.1f}" r="{radius:.1f}"/>')
        y, line = _y(share.value) + radius + 15, NOTE_HEIGHT
        if share.value <= 0.5:
            y, line = _y(share.value) - radius - 7, -NOTE_HEIGHT
        if x - last_x < NOTE_WIDTH and abs(y - last_y) < NOTE_HEIGHT:  # two notes would overlap
            y = last_y + line
        parts.append(f'<text class="note" x="{x - 6:.1f}" y="{y:.1f}" text-anchor="end">{share.right}/{share.count}</text>')
        last_x, last_y = x, y
    return _svg(_axes(1.0, "confidence the tutor had", "answered by the book") + "".join(parts), "Reliability of confidence")


def interval_bar(value: float, low: float, high: float) -> str:
    """A rate on a line from 0 to 1 with its interval, for use in a table."""
    return (
        '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" x="0" y="4.5" width="100" height="3"/>'
        f'<rect class="reach" x="{100 * low:.2f}" y="3" width="{max(0.6, 100 * (high - low)):.2f}" height="6"/>'
        f'<rect class="mark" x="{min(98.6, max(0.0, 100 * value - 0.7)):.2f}" y="0" width="1.4" height="12"/></svg>'
    )


def _axes(top: float, below: str, beside: str) -> str:
    parts = []
    for step in range(6):
        share = step / 5
        x, y = _x(share), _y(share * top, top)
        parts.append(f'<line class="grid" x1="{_x(0):.1f}" y1="{y:.1f}" x2="{_x(1):.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{_x(0) - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{_percent(share * top)}</text>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{share:.0%}</text>')
    middle = (_x(0) + _x(1)) / 2
    parts.append(f'<text class="axis" x="{middle:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(below)}</text>')
    parts.append(
        f'<text class="axis" x="12" y="{(HEIGHT - BOTTOM + TOP) / 2:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 12 {(HEIGHT - BOTTOM + TOP) / 2:.1f})">{escape(beside)}</text>'
    )
    return "".join(parts)


def _percent(share: float) -> str:
    return f"{share:.0%}" if abs(share * 100 - round(share * 100)) < 0.01 else f"{share:.1%}"


def _line(points: Sequence[tuple[float, float]], top: float, name: str) -> str:
    where = " ".join(f"{_x(x):.1f},{_y(y, top):.1f}" for x, y in points)
    return f'<polyline class="{name}" points="{where}"/>'


def _steps(start: float, end: float) -> list[float]:
    return [start + (end - start) * step / 24 for step in range(25)]


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float, top: float = 1.0) -> float:
    return HEIGHT - BOTTOM - share / top * (HEIGHT - TOP - BOTTOM)


def _svg(inside: str, name: str) -> str:
    return f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(name)}">{inside}</svg>'
