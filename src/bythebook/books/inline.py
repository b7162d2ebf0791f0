"""Inline Markdown, HTML, JSX, roles and shortcodes to plain text. One pass over the marks,
each looked at a bounded number of times.

Short formulas are written as a person would type them: "640 · 480", not "640 \\cdot 480". Longer ones stay LaTeX.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field

from bythebook.books.blocks import FORMULAS
from bythebook.books.jsx import NEVER_ENDS, tag_end

ROLE = re.compile(r"\{([A-Za-z][\w:+.-]*)\}|:([A-Za-z][\w+.-]*):")
ROLE_MARK = r"\{[A-Za-z][\w:+.-]*\}(?=`)|(?<![\w:]):[A-Za-z][\w+.-]*:(?=`)"
"""A role's name, where its text in backticks follows."""
ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[a-z0-9][a-z0-9-]{0,80}:")
"""A picture of MkDocs by its name."""
SILENT = re.compile(r"(?:cite.*|eqlabel|label|width|height|index|octicon|fa[bsr]?|material.*|bdg.*|tab|begin_tab|end_tab)\Z")
"""Roles whose text names a source, a place or a picture, and is not read."""
TEXTUAL = frozenset({"citet", "cite:t", "cite:ts", "cite:ct", "cite:cts"})
"""Roles that name a source as a part of the sentence, often as its subject: "Polyak (1964) proposed it"."""
CITED = re.compile(r"(?P<names>[^\W\d_]+(?:[.\-_:+ ]*[^\W\d_]+)*?)[.\-_:+ ]*(?P<year>(?:1[5-9]|20)\d\d)(?!\d)")
OTHERS = frozenset({"ea", "etal", "al", "others"})
NUMBERED = frozenset({"numref", "eqref"})
"""Roles that a build shows as the number of a figure, table, section or equation; that number is not known here."""
LABEL_KINDS = {
    "chap": "the chapter", "eq": "the equation", "fig": "the figure", "figure": "the figure", "img": "the figure",
    "sec": "the section", "subsec": "the section", "subsubsec": "the section", "tab": "the table", "table": "the table",
}  # fmt: skip
"""What a label names, by the prefix that authors give it."""
REFERENCES = frozenset(LABEL_KINDS.values())
LABEL = re.compile(r"([a-z]+)[_:-]")
TITLED = re.compile(r"(.*?)\s*<[^<>]*>\s*\Z", re.DOTALL)
MARK = re.compile(
    r"\\.|`+|\$+|<|!?\[|\]|\*+|_+|~~+|\{\{|\{/\*|\{\*|\{%|\{[\"'`]|\n[ \t]*\n|&[#\w]+;"
    rf"|{ROLE_MARK}|{ICON.pattern}",
    re.DOTALL,
)
TARGET = re.compile(r"""\([ \t\n]*+(?:<[^<>\n]*+>|(?:[^()\s<>]|\([^()\s]*+\))*+)(?:[ \t\n]++(?:"[^"]*+"|'[^']*+'))?[ \t\n]*+\)""")
REFERENCE = re.compile(r"\[[^\[\]\n]{0,200}\]")
ATTRIBUTES = re.compile(r"\{:?[ \t]*[.#\w][^{}\n]{0,200}\}")
CLASSES = re.compile(r"\{:?[ \t]*[.#][A-Za-z][^{}\n]{0,200}\}")
AUTOLINK = re.compile(r"<((?:https?://|mailto:|ftp://)[^<>\s]*|[\w.+-]+@[\w-]+\.[\w.-]+)>")
KEPT = re.compile(r"""\b(label|title|alt|caption|summary)\s*+[=:]\s*+\{?\s*+(?:"([^"]*)"|'([^']*)'|`([^`]*)`)""")
INLINE_TAGS = re.compile(
    r"a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr"
)
CELLS = frozenset({"td", "th"})
CLOSING = {"{/*": "*/}", "{*": "*}", "{%": "%}"}
VARIABLE = re.compile(r"\{\{\s*[A-Za-z_$][^{}<>\n]*\Z")
"""A name in braces: the site's value for it is not known here, so the name is kept."""
TICKS = re.compile(r"`+")
PARTED = re.compile(r"(?<=[^\W_])[-_]+(?=[^\W_])")
DEEPEST_INDENT = 80
LONGEST = 2000
"""Characters a formula, a shortcode or a string in braces may have."""
FORMULA = re.compile(r"(?<![\\$`])\$(?=[^\s$])([^$\n]{0,300}?[^\s$\\])\$(?![\d$])")
COMMAND = re.compile(r"\\([A-Za-z]+|[^A-Za-z])")
GROUP = r"\{([^{}]*)\}"
SIGNS = {
    "cdot": "·", "times": "×", "div": "÷", "pm": "±", "approx": "≈", "sim": "~", "ne": "≠", "neq": "≠", "le": "≤", "leq": "≤",
    "ge": "≥", "geq": "≥", "ll": "≪", "gg": "≫", "to": "→", "rightarrow": "→", "leftarrow": "←", "infty": "∞", "circ": "°",
    "in": "∈", "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "propto": "∝", "dots": "…", "ldots": "…",
    "cdots": "…", "left": "", "right": "", "quad": " ", "qquad": " ", "sin": "sin", "cos": "cos", "tan": "tan", "log": "log",
    "ln": "ln", "exp": "exp", "min": "min", "max": "max", "arg": "arg", "lVert": "‖", "rVert": "‖", "mid": " | ", "top": "ᵀ",
    "ell": "ℓ", "prime": "′", "cup": "∪", "cap": "∩", "subset": "⊂", "subseteq": "⊆", "notin": "∉", "setminus": "∖",
    "emptyset": "∅", "forall": "∀", "exists": "∃", "neg": "¬", "equiv": "≡", "perp": "⊥", "odot": "⊙", "oplus": "⊕",
    "otimes": "⊗", "mapsto": "↦", "Rightarrow": "⇒", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈",
    "rceil": "⌉", "lvert": "|", "rvert": "|", "tanh": "tanh", "lim": "lim", "dim": "dim", "det": "det", "sup": "sup",
    "inf": "inf", "Pr": "Pr", "ast": "*",
    ",": " ", ";": " ", ":": " ", " ": " ", "!": "", "%": "%", "$": "$", "#": "#", "&": "&", "_": "_", "|": "‖",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π",
    "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ",
    "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
SPACED = frozenset("·×÷±≈≠≤≥≪≫→←∈∝∪∩⊂⊆∉≡⊙⊕⊗↦⇒")
FONTS = "text|textrm|textbf|textit|mbox|mathrm|mathbf|mathbb|mathcal|mathit|mathsf|operatorname|boldsymbol|vec"
ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "dot": "\u0307"}
SHOWN_BRACES = {r"\{": "\ue000", r"\}": "\ue001"}
"""Stand-ins for braces that a formula shows, while the braces that group its parts are read."""
RAISED = str.maketrans("0123456789+-\N{MINUS SIGN}n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ⁿ")
RAISABLE = re.compile(r"[0-9+\-\N{MINUS SIGN}n]{1,6}")
ORDINALS = frozenset({"st", "nd", "rd", "th"})


def readable_inline(text: str) -> str:
    """Returns `text` without its markup. Never raises; what is not well formed is left as it is."""
    return InlineReader(text).read()


@dataclass(slots=True)
class InlineReader:
    """Reads one text once. A subclass for headings decides otherwise about some marks."""

    text: str
    out: list[str] = field(default_factory=list)
    brackets: list[int] = field(default_factory=list)
    emphasis: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    ticks: dict[int, list[int]] = field(default_factory=dict)
    cells: bool = False
    raised: int | None = None
    closed: dict[str, bool] = field(default_factory=lambda: defaultdict(lambda: True))

    def read(self) -> str:
        for run in reversed(list(re.finditer(r"`+", self.text))):
            self.ticks.setdefault(len(run[0]), []).append(run.start())
        at = 0
        while match := MARK.search(self.text, at):
            self._words(self.text[at : match.start()])
            at = self._mark(match)
        self._words(self.text[at:])
        text = "".join(self.out)
        return "\n".join(line.strip(" \t|") for line in text.split("\n")) if self.cells else text

    def _after_classes(self, at: int) -> int:
        """Behind what says how the words before `at` look, if that stands there."""
        classes = CLASSES.match(self.text, at)
        return classes.end() if classes else at

    def _words(self, words: str) -> None:
        self.out.append(words)

    def _mark(self, match: re.Match[str]) -> int:
        """Writes what the mark stands for and returns where to continue."""
        mark, start, end = match[0], match.start(), match.end()
        first = mark[0]
        if first == "\\":
            self.out.append(mark[1] if not mark[1].isalnum() and not mark[1].isspace() else mark)
            return end
        if first == "`":
            return self._code(start, len(mark))
        if first == "$":
            return self._maths(start, mark)
        if first == "<":
            return self._tag(start)
        if first in "{:":
            return self._braces(start, mark)
        if first in "*_~":
            self._emphasis(mark, start, end)
            return self._after_classes(end)
        if first == "\n":
            self.brackets.clear()
            self.emphasis.clear()
        elif first == "&":
            self.out.append(html.unescape(mark))
            return end
        elif first == "]":
            return self._close_bracket(end)
        else:
            return self._open_bracket(mark, start, end)
        self.out.append(mark)
        return end

    def _until(self, closing: str, start: int) -> int:
        """The next position of `closing`, or -1; a mark that was found to be missing is not searched for again."""
        if not self.closed[closing]:
            return -1
        at = self.text.find(closing, start)
        self.closed[closing] = at >= 0
        return at

    def _code(self, start: int, length: int) -> int:
        places = self.ticks.get(length, [])  # none, where the first of them was escaped: the run was longer then
        while places and places[-1] <= start:
            places.pop()
        if not places:
            self.out.append("`" * length)
            return start + length
        code = self.text[start + length : places[-1]].replace("\n", " ")
        self.out.append(code[1:-1] if code.strip() and code[0] == code[-1] == " " else code)
        return places[-1] + length

    def _role(self, name: str, start: int, end: int) -> int:
        """A role and the text in backticks after it. Where the backticks never end, all of it is text."""
        before = len(self.out)
        after = self._code(end, len(TICKS.match(self.text, end)[0]))  # type: ignore[index]  # the mark ends before one
        said = self.out.pop()
        del self.out[before:]
        if set(said) == {"`"}:
            self.out.append(self.text[start:end])
            return end
        shown = role_text(name, said)
        before_it = self.text[max(0, start - DEEPEST_INDENT) : start].rstrip()
        if shown in REFERENCES and before_it.endswith("(") and self.text[after : after + 1] == ")":
            self.out[-1] = self.out[-1].rstrip()[:-1].rstrip()  # the brackets around a bare reference are removed with it
            return after + 1
        if shown in REFERENCES and (not before_it or before_it.endswith((".", "!", "?"))):
            shown = shown[0].upper() + shown[1:]
        if not shown and self.out and self.text[after : after + 1] in (*".,;:!?)", ""):
            self.out[-1] = self.out[-1].rstrip(" ")
        self.out.append(shown)
        return after

    def _maths(self, start: int, mark: str) -> int:
        end = start + len(mark)
        close = self._until(mark, end) if len(mark) <= 2 else -1
        source = self.text[end:close] if 0 <= close <= end + LONGEST else ""
        inline = source and not source[0].isspace() and not source[-1].isspace() and "\n\n" not in source
        if source.strip() and (len(mark) == 2 or (inline and not self.text[close + 1 : close + 2].isdigit())):
            self.out.append(source.strip() if len(mark) == 2 else source)
            return close + len(mark)
        self.out.append(mark)
        return end

    def _tag(self, start: int) -> int:
        if self.text.startswith("<!--", start):
            close = self._until("-->", start)
            if close >= 0:
                return close + 3
            if not self.text[max(0, start - DEEPEST_INDENT) : start].rpartition("\n")[2].strip():
                return len(self.text)  # it began on a line of its own and ends in another chunk
        link = AUTOLINK.match(self.text, start)
        if link:
            self.out.append(link[1])
            return link.end()
        end = tag_end(self.text, start, len(self.text), braces=self.closed["tag"])
        if end < 0:
            self.closed["tag"] = self.closed["tag"] and end != NEVER_ENDS
            self.out.append("<")
            return start + 1
        self._tag_words(self.text[start:end])
        return end

    def _tag_words(self, tag: str) -> None:
        name = re.match(r"</?([\w.:-]*)", tag)
        word = name[1] if name else ""
        if word == "sup":
            self._superscript(tag)
        elif tag.startswith("</") and word in CELLS:
            self.cells = True
            self.out.append(" | ")
        elif word == "br":
            self.out.append("\n")
        elif not INLINE_TAGS.fullmatch(word) and word not in CELLS and self.out and not self.out[-1].endswith(("\n", " ")):
            self.out.append("\n" if word[:1].islower() else " ")
        kept = _kept(tag) if not INLINE_TAGS.fullmatch(word) else []
        if kept:
            self.out.append(" ".join(kept) + ("" if word == "img" else "\n"))

    def _superscript(self, tag: str) -> None:
        """An exponent is written as one: 2<sup>31</sup> must not read as 231."""
        if not tag.startswith("</"):
            self.raised = len(self.out)
        elif self.raised is not None:
            self.out[self.raised :] = [raised("".join(self.out[self.raised :]))]
            self.raised = None

    def _braces(self, start: int, mark: str) -> int:
        if ICON.fullmatch(mark):
            after = self._after_classes(start + len(mark))
            return after + (self.text[after : after + 1] == " ")
        if role := ROLE.fullmatch(mark):
            return self._role(role[1] or role[2], start, start + len(mark))
        if mark in CLOSING:
            close = self._until(CLOSING[mark], start)
            if mark == "{/*" and close >= 0:
                return close + 3
            if 0 <= close <= start + LONGEST and "\n\n" not in self.text[start:close]:
                return close + 2
        elif mark == "{{":
            close = self._until("}}", start)
            if 0 <= close <= start + LONGEST and "\n\n" not in self.text[start:close]:
                unknown = VARIABLE.match(self.text, start, close)
                self.out.append("\N{HORIZONTAL ELLIPSIS}" if unknown else " ".join(_kept(self.text[start:close])))
                return close + 2
        else:
            close = self._until(mark[1] + "}", start + 2)
            if 0 <= close <= start + LONGEST and "\n" not in self.text[start:close]:
                self.out.append(self.text[start + 2 : close])
                return close + 2
        self.out.append(mark)
        return start + len(mark)

    def _emphasis(self, mark: str, start: int, end: int) -> None:
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        opens, closes = bool(after.strip()), bool(before.strip())
        if mark[0] == "_":
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        openers = self.emphasis[mark]
        self.out.append(mark)
        if closes and openers:
            self.out[openers.pop()] = ""
            self.out[-1] = ""
        elif opens:
            openers.append(len(self.out) - 1)

    def _open_bracket(self, mark: str, start: int, end: int) -> int:
        if mark == "[" and self.text.startswith("^", end):
            note = REFERENCE.match(self.text, start)
            if note and " " not in note[0]:
                return note.end()
        self.out.append(mark)
        self.brackets.append(len(self.out) - 1)
        return end

    def _close_bracket(self, end: int) -> int:
        opener = self.brackets.pop() if self.brackets else None
        if opener is not None:
            target = TARGET.match(self.text, end)
            inside = self.out[opener - 1][-1:] if opener else ""
            if not target and not inside.isalnum():
                target = REFERENCE.match(self.text, end)
            if target:
                if self.out[opener] == "[" and not "".join(self.out[opener + 1 :]).strip():
                    self.out.append(_untitled(target[0]))
                return self._link(opener, target.end())
        self.out.append("]")
        return end

    def _link(self, opener: int, end: int) -> int:
        """`out[opener]` is the bracket that opened the link or image. Its words stay; what follows at `end` may belong to it."""
        self.out[opener] = ""
        attributes = ATTRIBUTES.match(self.text, end)
        return attributes.end() if attributes else end


def _untitled(target: str) -> str:
    """What a link without words of its own says: a build shows the title of its target, whose name is all that is known here."""
    path, _, place = target.strip("()[]<> \t\n").partition("#")
    label = LABEL.match(place)
    if label and label[1] in LABEL_KINDS:
        return LABEL_KINDS[label[1]]
    name = place or re.sub(r"\.\w{1,5}\Z", "", path.rstrip("/").removesuffix("/index").rpartition("/")[2])
    return PARTED.sub(" ", name.rpartition(":")[2])


def _kept(tag: str) -> list[str]:
    """Returns the words that a tag or shortcode shows: labels, titles, alternative texts."""
    return [match[2] or match[3] or match[4] or "" for match in KEPT.finditer(tag)]


def role_text(role: str, content: str) -> str:
    """What a role shows: `text <target>` shows the text."""
    if role in FORMULAS:
        return plain_formula(content)
    if role.lower() in TEXTUAL:
        return cited_words(content)
    if SILENT.match(role.lower()):
        return ""
    titled = TITLED.match(content)
    if titled and titled[1].strip():
        return titled[1].strip("!~ ").replace("%s", "\N{HORIZONTAL ELLIPSIS}")
    if role.lower() in NUMBERED:
        label = LABEL.match(content)
        other = "the equation" if role.lower() == "eqref" else "\N{HORIZONTAL ELLIPSIS}"
        return LABEL_KINDS.get(label[1], other) if label else other
    return target_words(role, content)


def cited_words(keys: str) -> str:
    """Author and year, from the keys of a bibliography: "Kingma and Ba (2014)" for Kingma.Ba.2014; nothing for other keys."""
    said = []
    for key in keys.split(","):
        if found := CITED.match(key.strip()):
            names = [name for name in re.split(r"[.\-_:+ ]+", found["names"]) if name]
            known = [name[0].upper() + name[1:] for name in names if name.lower() not in OTHERS]
            more = " et al." if len(known) > 2 or len(known) < len(names) else ""
            said.append(f"{known[0] if more else ' and '.join(known)}{more} ({found['year']})" if known else "")
    return ", ".join(filter(None, said))


def target_words(role: str, target: str) -> str:
    """The words of a role without a text of its own: the last part of a page's path, a label's words, or the name as it is."""
    kind = role.rpartition(":")[2].lower()
    if kind == "doc":
        page = target.removesuffix("/index").rpartition("/")[2]
        return PARTED.sub(" ", page.strip(".")) or "index"
    return PARTED.sub(" ", target) if kind == "ref" else target.lstrip("!~")


def with_plain_formulas(markdown: str) -> str:
    """Returns `markdown` with its inline formulas in plain text. They keep their dollar signs, so that nothing in them is read
    as Markdown."""
    return FORMULA.sub(lambda match: f"${plain_formula(match[1])}$", markdown) if "$" in markdown else markdown


def plain_formula(formula: str) -> str:
    """Returns the formula in plain characters, or unchanged if something in it has none."""
    text = formula.replace("{,}", ",")
    for written, sign in SHOWN_BRACES.items():
        text = text.replace(written, sign)
    text = re.sub(rf"\\(?:{FONTS})\s*{GROUP}", r"\1", text)
    text = re.sub(r"\\(hat|bar|tilde|dot)\s*(?:\{(\w)\}|(?<=\s)(\w))", _accented, text)
    text = re.sub(rf"\\sqrt\s*{GROUP}", lambda match: f"√{_bracketed(match[1])}", text)
    text = re.sub(rf"\\[dt]?frac\s*{GROUP}\s*{GROUP}", lambda match: f"{_bracketed(match[1])}/{_bracketed(match[2])}", text)
    text = re.sub(r"\^\s*(?:\{\\circ\}|\\circ)", "°", text)
    if any(match[1] not in SIGNS for match in COMMAND.finditer(text)):
        return formula
    text = COMMAND.sub(_sign, text)
    text = re.sub(rf"\^\s*(?:{GROUP}|(\w))", lambda match: raised(match[1] or match[2] or ""), text)
    text = re.sub(rf"_\s*{GROUP}", lambda match: f"_({match[1]})" if re.search(r"\w\s*[-+]", match[1]) else f"_{match[1]}", text)
    if "{" in text:
        return formula
    return " ".join(text.replace("\ue000", "{").replace("\ue001", "}").split())


def _accented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", (match[2] or match[3]) + ACCENTS[match[1]])


def _sign(match: re.Match[str]) -> str:
    sign = SIGNS[match[1]]
    return f" {sign} " if sign in SPACED else sign


def raised(power: str) -> str:
    """A superscript in plain characters, so that no exponent reads as more digits of its base. An ordinal's ending is a word."""
    if power in ORDINALS or not power.strip():
        return power
    return power.translate(RAISED) if RAISABLE.fullmatch(power) else f"^{_bracketed(power)}"


def _bracketed(part: str) -> str:
    return part if re.fullmatch(r"\\?[\w.]+|\([^()]*\)", part) else f"({part})"
