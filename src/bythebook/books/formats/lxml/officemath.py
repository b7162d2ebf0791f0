"""Converts the formulas of Word and PowerPoint to TeX: brackets, indices, fractions, sums and matrices are kept."""

from __future__ import annotations

from typing import Any

from bythebook.books.formats.lxml.xml import value

PATTERNS = {
    "sSup": "{e}^{{{sup}}}",
    "sSub": "{e}_{{{sub}}}",
    "sSubSup": "{e}_{{{sub}}}^{{{sup}}}",
    "limUpp": "{e}^{{{lim}}}",
    "limLow": "{e}_{{{lim}}}",
    "f": r"\frac{{{num}}}{{{den}}}",
    "rad": r"\sqrt{{{e}}}",
    "func": "{fName} {e}",
}
PARTS = ("e", "sup", "sub", "lim", "num", "den", "deg", "fName")


def formula(element: Any) -> str:
    """The formula as TeX; of unknown elements only their characters."""
    tag = element.tag
    if tag == "t":
        return element.text or ""
    if tag == "d":
        within = _sign(element, "sepChr", "|").join(formula(one) for one in element.iterchildren("e"))
        return f"{_sign(element, 'begChr', '(')}{within}{_sign(element, 'endChr', ')')}"
    if tag == "m":
        rows = element.iterchildren("mr")
        return r" \\ ".join(" & ".join(formula(one) for one in row.iterchildren("e")) for row in rows)
    if tag in PATTERNS or tag in ("nary", "acc"):
        return _filled(element, {name: "".join(map(formula, element.iterchildren(name))) for name in PARTS})
    return "".join(map(formula, element))


def _filled(element: Any, parts: dict[str, str]) -> str:
    if element.tag == "nary":
        limits = "".join(f"{mark}{{{parts[name]}}}" for mark, name in (("_", "sub"), ("^", "sup")) if parts[name])
        return f"{_sign(element, 'chr', '∫')}{limits} {parts['e']}"
    if element.tag == "acc":
        return f"{parts['e']}{_sign(element, 'chr', chr(0x302))}"
    if element.tag == "rad" and parts["deg"]:
        return rf"\sqrt[{parts['deg']}]{{{parts['e']}}}"
    return PATTERNS[element.tag].format(**parts)


def _sign(element: Any, name: str, default: str) -> str:
    """The character that the formula names; nothing where it is empty."""
    found = element.find(f"{element.tag}Pr/{name}")
    return default if found is None else value(found)
