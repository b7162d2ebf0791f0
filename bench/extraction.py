"""How much of a book survives its format: one book in two formats, one of them taken as the truth.

    python -m bench.extraction policy.epub policy.pdf

Sentences count as found where they stand character for character in the other reading, spaces aside. Formulas within them are
compared as a reader sees them, and formulas on lines of their own not at all: one format has their TeX, another their letters.
Straight and curved quotation marks are alike: the program that sets a book chooses them.
"""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from bythebook.books.formats.readers import format_of, read_file
from bythebook.books.inline import with_plain_formulas
from bythebook.books.markdown import HEADING, readable, sentences
from bythebook.books.model import Reading, fold

SHORTEST = 25
"""Characters of a sentence that is looked for: a shorter one may stand anywhere."""
NUMBERING = re.compile(r"(?:(?:[Cc]hapter|[Aa]ppendix|[Pp]art)\s+)?(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)+)[.:]?\s+")
MATHS = "$$"
QUOTES = str.maketrans("‘’`´“”„", "''''\"\"\"")
FENCE = re.compile(r"(\s*(?:(?:[-*]|\d+\.)\s+)*)(`{3,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionScore:
    sentences: float
    headings_found: float
    headings_right: float
    code_lines: float
    code_indented: float
    rows: float
    words_exact: float
    cpu_seconds: float
    peak_megabytes: float


def readings_of(path: Path) -> list[Reading]:
    """Of a file, or of all files in a folder."""
    files = sorted(one for one in path.rglob("*") if format_of(one.name)) if path.is_dir() else [path]
    found: list[Reading] = []
    for file in files:
        kind = format_of(file.name)
        if kind:
            found += read_file(kind, file.name, file.read_bytes())
    return found


def compare(truth: Path, other: Path) -> ExtractionScore:
    wanted = readings_of(truth)
    before = time.process_time()
    read = readings_of(other)
    seconds = time.process_time() - before
    prose, code, rows = _parts(wanted)
    text = _compared(_shown("".join(one.text for one in read)))
    _, read_code, _ = _parts(read)
    stripped = {line.strip() for line in read_code}
    heads, read_heads = _headings(wanted), _headings(read)
    indented = [line for line in code if line[0] == " "]
    marks = [(mark.exact, mark.end - mark.start) for one in read for mark in one.marks]
    return ExtractionScore(
        sentences=_share(_compared(one) in text for one in prose),
        headings_found=_share(one in read_heads for one in heads),
        headings_right=_share(one in heads for one in read_heads),
        code_lines=_share(line.strip() in stripped for line in code),
        code_indented=_share(line in set(read_code) for line in indented),
        rows=_share(_compared(row) in text for row in rows),
        words_exact=sum(size for exact, size in marks if exact) / max(1, sum(size for _, size in marks)),
        cpu_seconds=seconds,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )


def _shown(markdown: str) -> str:
    return readable(with_plain_formulas(markdown))


def _compared(text: str) -> str:
    """An index in a formula has its sign in some formats."""
    return fold(text).replace("_", "").translate(QUOTES)


def _share(outcomes: Iterable[bool]) -> float:
    found = list(outcomes)
    return sum(found) / len(found) if found else 1.0


def _parts(readings: list[Reading]) -> tuple[list[str], list[str], list[str]]:
    """Sentences of prose, lines of code and rows of tables."""
    prose: list[str] = []
    code: list[str] = []
    rows: list[str] = []
    for one in readings:
        fence, indent = "", 0
        for line in one.text.split("\n"):
            bare = line.strip()
            if fence:
                code += [line[indent:]] if bare and bare != fence and MATHS not in fence else []
                fence = "" if bare == fence else fence
            elif opened := FENCE.match(line):
                indent, fence = len(opened[1]), opened[2]
            elif bare.lstrip("> ") == MATHS:
                fence = bare
            elif bare.startswith("|"):
                rows += [_shown(bare)] if not set(bare) <= set("|- :") else []
            elif bare and not HEADING.match(bare):
                paragraph = _shown(bare)
                prose += [paragraph[start:end] for start, end in sentences(paragraph) if end - start >= SHORTEST]
    return prose, code, rows


def _headings(readings: list[Reading]) -> set[str]:
    found = set()
    for one in readings:
        fence = ""
        for line in one.text.split("\n"):
            if fence:
                fence = "" if line.strip() == fence else fence
            elif opened := FENCE.match(line):
                fence = opened[2]
            elif re.match(r"#{1,6} ", line):
                words = NUMBERING.sub("", readable(line).strip(), count=1)
                found.add(_compared(words).casefold())
    return found - {""}


if __name__ == "__main__":
    for name, value in asdict(compare(Path(sys.argv[1]), Path(sys.argv[2]))).items():
        print(f"{name:>16}  {value:.3f}")
