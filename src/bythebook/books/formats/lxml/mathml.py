"""Converts MathML to TeX, for formulas that come without TeX: an exponent must stay an exponent."""

from __future__ import annotations

from typing import Any

TWO = {"msup": "{0}^{{{1}}}", "msub": "{0}_{{{1}}}", "mfrac": r"\frac{{{0}}}{{{1}}}", "mover": "{0}", "munder": "{0}_{{{1}}}"}
THREE = {"msubsup": "{0}_{{{1}}}^{{{2}}}", "munderover": "{0}_{{{1}}}^{{{2}}}"}


def to_tex(element: Any) -> str:
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if name in ("annotation", "annotation-xml", ""):
        return ""
    parts = [to_tex(child) for child in element]
    if not parts:
        return _leaf(name, (element.text or "").strip())
    if name in TWO and len(parts) == 2:
        return TWO[name].format(*parts)
    if name in THREE and len(parts) == 3:
        return THREE[name].format(*parts)
    if name == "msqrt":
        return rf"\sqrt{{{''.join(parts)}}}"
    if name == "mtr":
        return " & ".join(parts)
    if name == "mtable":
        return r" \\ ".join(parts)
    if name == "mfenced":
        return f"{element.get('open', '(')}{', '.join(parts)}{element.get('close', ')')}"
    return "".join(parts)


def _leaf(name: str, text: str) -> str:
    if name == "mtext":
        return rf"\text{{{text}}}" if text else " "
    if name == "mo" and len(text) == 1 and text in "=<>≤≥≠→∈+−±×·":
        return f" {text} "
    return " " if name == "mspace" else text
