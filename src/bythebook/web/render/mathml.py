"""Renders formulas as MathML, which browsers show by themselves.

latex2mathml does not escape what is in `\\text{}`, and passes on `\\href`, `\\style` and `\\class`. A book's text is not trusted,
so its tree is written out here: known tags and attributes, everything else as text or not at all.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml import exceptions
from latex2mathml.converter import convert_to_element

LONGEST = 2000
TAGS = re.compile(
    "math|menclose|mfrac|mi|mmultiscripts|mn|mo|mover|mpadded|mphantom|mprescripts|mroot|mrow|ms|mspace|msqrt|mstyle|msub|msubsup"
    "|msup|mtable|mtd|mtext|mtr|munder|munderover|none|semantics"
)
ATTRIBUTES = re.compile(
    "accent|accentunder|columnalign|columnlines|columnspacing|depth|display|displaystyle|fence|form|height|largeop|linebreak"
    "|linethickness|lspace|mathvariant|maxsize|minsize|movablelimits|notation|rowlines|rowspacing|rspace|scriptlevel|separator"
    "|stretchy|symmetric|voffset|width"
)
PLAIN_VALUE = re.compile(r"[\w .%+-]{0,60}")
ALIGNED = re.compile(r"\\(begin|end)\{aligned\}")
FAULTS: tuple[type[Exception], ...] = (
    *(fault for fault in vars(exceptions).values() if isinstance(fault, type) and issubclass(fault, Exception)),
    IndexError,
    KeyError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)
"""The errors of latex2mathml on what is not LaTeX: its own, which have no common root, and those of its bugs."""


@lru_cache(maxsize=1024)
def render_formula(latex: str, *, display: bool) -> str:
    """MathML that is safe to show, or the source where it is not LaTeX."""
    source = f'<code class="formula">{escape(latex)}</code>'
    if len(latex) > LONGEST:
        return source
    try:
        tree = convert_to_element(ALIGNED.sub(r"\\\1{align*}", latex), display="block" if display else "inline")
    except FAULTS:
        return source
    return "".join(_written(tree))


def _written(element: Element) -> list[str]:
    inner = [escape(unescape(element.text or "")), *(part for child in element for part in _written(child))]
    if not TAGS.fullmatch(element.tag):
        return inner
    given = [(name, value) for name, value in element.items() if ATTRIBUTES.fullmatch(name) and PLAIN_VALUE.fullmatch(value)]
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in given)
    return [f"<{element.tag}{attributes}>", *inner, f"</{element.tag}>"]
