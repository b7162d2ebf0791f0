"""Whether a book's format decides its answers: the same questions to one book in several formats.

    python -m bench.formats questions.txt book/ book.epub book.docx book.pdf

The questions stand one on a line. Two formats decide alike where both answer or both refuse.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.table import verdict
from bythebook import Book

ALIKE_TARGET = 0.95


async def decisions(source: Path, questions: Sequence[str], data_dir: Path) -> list[bool]:
    """Whether each question is answered."""
    report = await Book.ingest(source, data_dir=data_dir)
    async with Book.open(report.book_id, data_dir=data_dir) as book:
        return [not (await book.ask(question)).refused for question in questions]


async def compare(questions: Sequence[str], sources: Sequence[Path]) -> float:
    """The share of questions that all formats decide alike; prints the others."""
    made = []
    for source in sources:
        with TemporaryDirectory() as folder:
            made.append(await decisions(source, questions, Path(folder)))
        print(f"{source.name:>24}  {sum(made[-1])} of {len(questions)} answered")
    alike = 0
    for question, *answered in zip(questions, *made, strict=True):
        alike += len(set(answered)) == 1
        if len(set(answered)) > 1:
            refused = [source.name for source, one in zip(sources, answered, strict=True) if not one]
            print(f"  refused in {', '.join(refused)}: {question}")
    share = alike / len(questions)
    print(f"alike: {alike} of {len(questions)} ({share:.1%}), target {ALIKE_TARGET:.0%}: {verdict(share >= ALIKE_TARGET)}")
    return share


if __name__ == "__main__":
    asked = [line.strip() for line in Path(sys.argv[1]).read_text("utf-8").splitlines() if line.strip()]
    asyncio.run(compare(asked, [Path(name) for name in sys.argv[2:]]))
