"""Writes short formulas in a sentence as a person would type them: "640 · 480", not "640 \\cdot 480". The rest stays LaTeX."""

from __future__ import annotations

import re

INLINE = re.compile(r"(?<![\\$`])\$(?=[^\s$])([^$\n]{0,300}?[^\s$\\])\$(?![\d$])")
COMMAND = re.compile(r"\\([A-Za-z]+|[^A-Za-z])")
GROUP = r"\{([^{}]*)\}"
SIGNS = {
    "cdot": "·", "times": "×", "div": "÷", "pm": "±", "approx": "≈", "sim": "~", "ne": "≠", "neq": "≠", "le": "≤", "leq": "≤",
    "ge": "≥", "geq": "≥", "ll": "≪", "gg": "≫", "to": "→", "rightarrow": "→", "leftarrow": "←", "infty": "∞", "circ": "°",
    "in": "∈", "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "propto": "∝", "dots": "…", "ldots": "…",
    "cdots": "…", "left": "", "right": "", "quad": " ", "qquad": " ", "sin": "sin", "cos": "cos", "tan": "tan", "log": "log",
    "ln": "ln", "exp": "exp", "min": "min", "max": "max", "arg": "arg", "lVert": "‖", "rVert": "‖", "mid": "|", "top": "ᵀ",
    ",": " ", ";": " ", ":": " ", " ": " ", "!": "", "%": "%", "$": "$", "#": "#", "&": "&", "_": "_", "{": "{", "}": "}",
    "|": "‖",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
    "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
SPACED = frozenset("·×÷±≈≠≤≥≪≫→←∈∝|")
RAISED = str.maketrans("0123456789+-\N{MINUS SIGN}n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
RAISABLE = re.compile(r"[0-9+\-\N{MINUS SIGN}n]{1,6}")
ORDINALS = frozenset({"st", "nd", "rd", "th"})


def with_plain_formulas(markdown: str) -> str:
    """Returns `markdown` with its inline formulas in plain text. They keep their dollar signs, so that nothing in them is read
    as Markdown."""
    return INLINE.sub(lambda match: f"${plain(match[1])}$", markdown) if "$" in markdown else markdown


def plain(formula: str) -> str:
    """Returns the formula in plain characters, or unchanged if something in it has none."""
    text = formula.replace("{,}", ",")
    text = re.sub(rf"\\(?:text|mathrm|mathbf|mathit|mathsf|operatorname|boldsymbol|vec)\s*{GROUP}", r"\1", text)
    text = re.sub(rf"\\sqrt\s*{GROUP}", lambda match: f"√{_bracketed(match[1])}", text)
    text = re.sub(rf"\\[dt]?frac\s*{GROUP}\s*{GROUP}", lambda match: f"{_bracketed(match[1])}/{_bracketed(match[2])}", text)
    text = re.sub(r"\^\s*(?:\{\\circ\}|\\circ)", "°", text)
    if any(match[1] not in SIGNS for match in COMMAND.finditer(text)):
        return formula
    text = COMMAND.sub(_sign, text)
    text = re.sub(rf"\^\s*(?:{GROUP}|(\w))", lambda match: raised(match[1] or match[2] or ""), text)
    text = re.sub(rf"_\s*{GROUP}", r"_\1", text)
    return " ".join(text.split()) if "{" not in text else formula


def _sign(match: re.Match[str]) -> str:
    sign = SIGNS[match[1]]
    return f" {sign} " if sign in SPACED else sign


def raised(power: str) -> str:
    """A superscript in plain characters, so that no exponent reads as more digits of its base. An ordinal's ending is a word."""
    if power in ORDINALS or not power.strip():
        return power
    return power.translate(RAISED) if RAISABLE.fullmatch(power) else f"^{_bracketed(power)}"


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"\\?[\w.]+", part) else f"({part})"
