"""A small book to ingest: two modules, three chapters, a page outside the hierarchy."""

from __future__ import annotations

from pathlib import Path

BOOK_TOML = """\
book_id = "small"
title = "A small book"
base_url = "https://small.example/docs"
site = "docusaurus"

[modules]
"module-1-arms" = "arms"
"module-2-legs" = "legs"
"""

SUBJECTS = {
    "module-1-arms/chapter-1-joints/01-elbows.md": "An elbow bends in one plane and carries the forearm.",
    "module-1-arms/chapter-1-joints/02-wrists.md": "A wrist turns in three axes and holds the hand steady.",
    "module-1-arms/chapter-2-grips/01-fingers.md": "Fingers close around a cup and feel its weight slip.",
    "module-2-legs/chapter-3-walking/01-balance.md": "Balance keeps the centre of mass above the feet.",
    "module-2-legs/chapter-3-walking/02-stairs.md": "Stairs ask a robot to lift its knee before the toe.",
}
CHAPTER_PAGE = "module-1-arms/chapter-1-joints/index.md"


def lesson(title: str, subject: str, *, sections: int = 3, front: str = "") -> str:
    """About 120 words in a section, so that each section becomes a chunk."""
    head = f"---\n{front}---\n\n" if front else ""
    parts = [f"## Part {number} of {title.lower()}\n\n{paragraph(subject, number)}\n" for number in range(1, sections + 1)]
    return f"{head}# {title}\n\n{subject}\n\n" + "\n".join(parts)


def paragraph(subject: str, number: int) -> str:
    return " ".join(f"{subject} Remark {number}.{turn} says it in other words, slowly and again." for turn in range(1, 8))


def write(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def write_small_book(root: Path, *, book_id: str = "small") -> Path:
    write(root, "book.toml", BOOK_TOML.replace('"small"', f'"{book_id}"'))
    for path, subject in SUBJECTS.items():
        write(root, path, lesson(path.rpartition("-")[2].removesuffix(".md").title(), subject))
    write(root, CHAPTER_PAGE, "# Joints and how they turn\n\nThis chapter is about joints of every kind.\n")
    write(root, "glossary.md", "# Glossary\n\nActuator: what moves a joint. Encoder: what measures how far it has moved.\n")
    return root
