"""Figures of several libraries as bars, in an SVG that reads in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT = 760, 132, 84
TITLE, BAR, GAP, GROUP_GAP = 26, 16, 5, 26
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#3c444c}.title{font-size:14px;font-weight:600;fill:#1c2329}.track{fill:#eceae4}"
    ".bar{fill:#a9b1b9}.ours{fill:#0b6e7f}.own{font-weight:600;fill:#1c2329}"
    "@media(prefers-color-scheme:dark){text{fill:#b4bcc3}.title,.own{fill:#f0eee9}.track{fill:#262d33}.bar{fill:#66707a}.ours{fill:#5cc3d3}}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """One figure of every library; the first library is ours. The longest bar is `most`, or the largest figure."""

    title: str
    figures: Mapping[str, float]
    shown: Callable[[float], str]
    most: float | None = None


def picture(groups: Sequence[Bars], name: str) -> str:
    parts, y = [], 0
    for group in groups:
        parts.append(f'<text class="title" x="0" y="{y + 14}">{escape(group.title)}</text>')
        y += TITLE
        most = group.most or max(group.figures.values()) or 1.0
        for place, (library, figure) in enumerate(group.figures.items()):
            parts.append(_bar(library, group.shown(figure), figure / most, y, ours=place == 0))
            y += BAR + GAP
        y += GROUP_GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - GROUP_GAP}" role="img" aria-label="{escape(name)}">'
    )
    return f"{head}<style>{STYLE}</style>{''.join(parts)}</svg>\n"


def _bar(library: str, shown: str, share: float, y: int, *, ours: bool) -> str:
    room = WIDTH - LEFT - RIGHT
    words, kind = (' class="own"', "ours") if ours else ("", "bar")
    return (
        f'<text{words} x="{LEFT - 10}" y="{y + 12}" text-anchor="end">{escape(library)}</text>'
        f'<rect class="track" x="{LEFT}" y="{y}" width="{room}" height="{BAR}" rx="3"/>'
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{max(2.0, room * share):.1f}" height="{BAR}" rx="3"/>'
        f'<text{words} x="{WIDTH - RIGHT + 10}" y="{y + 12}">{escape(shown)}</text>'
    )
