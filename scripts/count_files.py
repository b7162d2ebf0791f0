"""How many files of the package a question and a lesson pass through: those in which a function ran, other than while importing.

    python -m scripts.count_files

Runs `bythebook ingest` and `bythebook ask` as programs of their own, with the child process that reads lessons, and has every
Python process write down each file of ours the first time one of its functions is called.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "bythebook"
NAMES = ("wick", "lamp", "lens", "burner", "mantle", "chimney", "reservoir", "gallery", "shutter", "prism", "clockwork", "buoy")
LESSON = """# The {name}

A {name} is a part of the light that a keeper trims every {hours} hours. It smokes where nobody does so.

## Why the {name} is cleaned

The soot of a night darkens the {name}, and ships see a weaker light.
"""
QUESTION = "Why is the wick cleaned?"
CHECKER = "grounding/checker.py"
"""What checks the sentences of an answer: a refusal has none."""
RECORDER = """
import os, sys, threading

PACKAGE, TOUCHED = os.environ["COUNTED_PACKAGE"], os.environ["COUNTED_IN"]
FUNCTION = 0x3  # locals of its own: neither a module nor a class body
seen = set()

def record(frame, event, _):
    code = frame.f_code
    if event != "call" or code.co_filename in seen or not code.co_filename.startswith(PACKAGE):
        return
    if code.co_flags & FUNCTION != FUNCTION or code.co_filename.endswith("__init__.py") or importing(frame):
        return
    seen.add(code.co_filename)
    with open(TOUCHED, "a") as file:
        file.write(code.co_filename[len(PACKAGE) + 1 :] + "\\n")

def importing(frame):
    while frame := frame.f_back:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(PACKAGE):
            return True
    return False

threading.setprofile(record)
sys.setprofile(record)
"""


def touched(folder: Path, *command: str) -> list[str]:
    """The files that a command of `bythebook` passes through, its data being in `folder`."""
    (folder / "recorder").mkdir(exist_ok=True)
    (folder / "recorder" / "sitecustomize.py").write_text(RECORDER)
    found = folder / "touched.txt"
    found.write_text("")
    paths = os.pathsep.join([str(folder / "recorder"), str(PACKAGE.parent)])
    environment = {**os.environ, "PYTHONPATH": paths, "COUNTED_PACKAGE": str(PACKAGE), "COUNTED_IN": str(found)}
    program = [sys.executable, "-c", "from bythebook.cli import main; main()", *command, "--data-dir", str(folder / "data")]
    subprocess.run(program, check=True, env=environment, stdout=subprocess.DEVNULL)
    return sorted(set(found.read_text().split()))


def write_book(folder: Path, *, lessons: int) -> Path:
    """A book of one lesson is too small to be calibrated, so that its ingestion is an ingestion and nothing else."""
    book = folder / f"book-of-{lessons}"
    book.mkdir()
    for number, name in enumerate(NAMES[:lessons]):
        (book / f"{number}-{name}.md").write_text(LESSON.format(name=name, hours=number + 4))
    return book


def count() -> dict[str, list[str]]:
    """The files by what passes through them: a question to a calibrated book, and an edited lesson."""
    with tempfile.TemporaryDirectory() as large, tempfile.TemporaryDirectory() as small:
        touched(Path(large), "ingest", str(write_book(Path(large), lessons=len(NAMES))))
        book = write_book(Path(small), lessons=1)
        touched(Path(small), "ingest", str(book))
        (book / f"0-{NAMES[0]}.md").write_text(LESSON.format(name=NAMES[0], hours=9))
        asked = touched(Path(large), "ask", QUESTION)
        if CHECKER not in asked:
            raise RuntimeError(f"The question '{QUESTION}' was refused, and a refusal passes through fewer files: ask another.")
        return {"a question": asked, "a lesson": touched(Path(small), "ingest", str(book))}


def main() -> None:
    for what, files in count().items():
        print(f"{what} passes through {len(files)} files:")
        print("".join(f"  {file}\n" for file in files))


if __name__ == "__main__":
    main()
