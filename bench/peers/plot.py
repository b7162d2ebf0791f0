"""Shares of several libraries as bars, in an SVG that reads in light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, LEFT, RIGHT = 760, 250, 60
BAR, GAP, GROUP_GAP = 13, 3, 20
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.title{font-weight:600}.bar{fill:#b9c0c8}.ours{fill:#1a6f5a}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.bar{fill:#59616b}.ours{fill:#5cc4a7}}"
)


def bars(groups: Sequence[tuple[str, dict[str, float]]]) -> str:
    """Each group is a figure from 0 to 1 of every library; the first library of a group is ours."""
    parts, y = [], 24
    for title, figures in groups:
        parts.append(f'<text class="title" x="0" y="{y}">{escape(title)}</text>')
        for number, (name, share) in enumerate(figures.items()):
            y += BAR + GAP
            length = (WIDTH - LEFT - RIGHT) * share
            kind = "ours" if number == 0 else "bar"
            parts.append(f'<text x="{LEFT - 8}" y="{y + BAR - 3}" text-anchor="end">{escape(name)}</text>')
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>')
            parts.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + BAR - 2}">{share:.3f}</text>')
        y += BAR + GROUP_GAP + 10
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" aria-label="Libraries side by side">'
    return f"{head}<style>{STYLE}</style>{''.join(parts)}</svg>\n"
