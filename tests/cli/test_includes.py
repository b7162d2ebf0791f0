"""Lessons that include other files, in the way of each generator: what is included is asked for and cited in its own file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.conftest import Cli
from tests.support.small_book import write

ELBOW = "An elbow bends in one plane and carries the forearm."
QUESTION = "How does an elbow bend in one plane and carry the forearm?"
KNEE = "A knee locks when the leg is straight and bears the weight."
BEFORE = "Joints are where two bones meet and move against each other.\n"
SECRET = "The password of the house is swordfish."
SOURCE = f"""\
// ANCHOR: unused
fn unused() {{}}
// ANCHOR_END: unused
// ANCHOR: elbow
fn bend(angle: f32) {{}} // {ELBOW}
// ANCHOR_END: elbow
"""
PYTHON = (
    'import os\n\n\nclass Elbow:\n    """Bends."""\n\n    def bend(self):\n        return "hinge joint"\n\n\nprint(Elbow())\n'
)
LESSONS = {
    "mdbook.md": "# mdBook\n\n{{#include parts/joints.inc:5:}}\n\n```rust\n{{#rustdoc_include parts/arm.rs:elbow}}\n```\n",
    "escaped.md": "# Escaped\n\nWrite \\{{#include parts/joints.inc}} to take in a file of the book.\n",
    "myst.md": "# MyST\n\n```{include} /parts/joints.inc\n:start-line: 4\n```\n\n"
    "````md\n```{include} parts/joints.inc\n```\n````\n",
    "code.md": "# Code\n\n```{literalinclude} parts/arm.py\n:pyobject: Elbow\n:caption: An elbow\n```\n",
    "mkdocs/snippets.md": '# Snippets\n\n!!! note\n    --8<-- "parts/joints.inc:5:5"\n\n'
    "--8<--\nparts/knee.inc\n; parts/gone.md\n--8<--\n",
    "mkdocs/fastapi.md": "# FastAPI\n\n{* parts/arm.py ln[4:5] hl[4] *}\n",
    "mkdocs/include.md": "# Include\n\n- Of knees:\n\n    ```text\n    {!> ../parts/knee.inc!}\n    ```\n",
    "quarto.qmd": "# Quarto\n\n{{< include parts/knee.inc >}}\n",
    "vitepress.md": "# VitePress\n\n<!--@include: ./parts/joints.inc{5,5}-->\n\n<<< @/parts/arm.py{2}\n",
    "rst.rst": "RST\n===\n\n.. include:: parts/knee.inc\n\n"
    ".. literalinclude:: parts/arm.py\n   :lines: 4-5\n   :language: python\n",
    "circle.md": "# Circle\n\nBefore.\n\n{{#include parts/circle.inc}}\n",
    "hostile.md": "# Hostile\n\n{{#include ../outside.md}}\n{{#include parts/link.inc}}\n{{#include .env}}\n"
    "{{#include https://x.example/a}}\n",
}
PARTS = {
    "parts/joints.inc": f"---\ntitle: Joints\n---\n{BEFORE}{ELBOW}\n",
    "parts/knee.inc": f"{KNEE}\n",
    "parts/arm.rs": SOURCE,
    "parts/arm.py": PYTHON,
    "parts/circle.inc": "Within.\n\n{{#include circle.inc}}\n",
    ".env": SECRET,
}


def test_what_lessons_include_is_asked_cited_and_checked_in_its_own_file(cli: Cli, folder: Path) -> None:
    book = folder / "joints"
    for path, text in {**LESSONS, **PARTS}.items():
        write(book, path, text)
    (folder / "outside.md").write_text(SECRET)
    (book / "parts" / "link.inc").symlink_to(folder / "outside.md")
    told = cli("ingest", book)
    assert told.code == 0, told.err
    said = " ".join(told.out.split())
    assert re.search(r"parts/circle.inc:3 circle.inc .* \(and 4 more, in 2 files\)", said), told.out

    lessons = {path: cli("lesson", path).out for path in LESSONS}
    for path in ("mdbook.md", "myst.md", "mkdocs/snippets.md", "vitepress.md"):
        assert ELBOW in lessons[path], path
        assert BEFORE.strip() not in lessons[path], path
    for path in ("mkdocs/snippets.md", "mkdocs/include.md", "quarto.qmd", "rst.rst"):
        assert KNEE in lessons[path], path
    for path in ("code.md", "mkdocs/fastapi.md", "vitepress.md", "rst.rst"):
        assert "class Elbow:" in lessons[path], path
    assert "print(Elbow())" not in lessons["code.md"] + lessons["mkdocs/fastapi.md"] + lessons["rst.rst"]
    assert "hinge joint" not in lessons["mkdocs/fastapi.md"]
    assert "unused" not in lessons["mdbook.md"]
    assert ELBOW not in lessons["escaped.md"]
    assert "Within." in lessons["circle.md"]
    assert SECRET not in "".join(lessons.values())

    for path, place in (("mdbook.md", "parts/joints.inc, line 5"), ("rst.rst", "parts/knee.inc, line 1")):
        asked = QUESTION if path == "mdbook.md" else "When does a knee lock and bear the weight?"
        answer = json.loads(cli("ask", asked, "--threshold", "0", "--no-gate", "--prefix", path, "--format", "json").out)
        cited = answer["citations"][0]
        assert (cited["quote"], cited["where"], cited["source_file"]) == (ELBOW if "elbow" in asked else KNEE, place, path)
    options = ("Which code has the class Elbow that can bend?", "--threshold", "0", "--no-gate", "--prefix", "mkdocs/fastapi.md")
    answer = json.loads(cli("ask", *options, "--format", "json").out)
    assert [one["where"] for one in answer["citations"]] == ["parts/arm.py, line 4"], answer["answer"]
    checked = cli("check")
    assert checked.code == 0, checked.out
    assert "every invariant holds" in checked.out


def test_a_lesson_is_read_again_when_what_it_includes_has_changed(cli: Cli, folder: Path) -> None:
    """Also where that lies above the book's folder, in the same repository."""
    book = folder / "repository" / "docs"
    (folder / "repository" / ".git").mkdir(parents=True)
    write(book, "one.md", "# One\n\n{{#include ../code/arm.txt}}\n")
    write(book, "two.md", f"# Two\n\n{BEFORE}")
    write(folder / "repository", "code/arm.txt", f"{ELBOW}\n")
    assert cli("ingest", book).code == 0
    assert ELBOW in cli("lesson", "one.md").out
    write(folder / "repository", "code/arm.txt", f"{KNEE}\n")
    assert "has changed since it was ingested" in cli("check").out
    assert "(0 new, 1 changed, 0 removed, 1 unchanged)" in cli("ingest", book).out
    shown = cli("lesson", "one.md").out
    assert (KNEE in shown, ELBOW in shown) == (True, False)
    assert "every invariant holds" in cli("check").out


def test_what_a_page_of_docusaurus_imports_is_read_there_and_is_no_page_of_its_own(cli: Cli, folder: Path) -> None:
    book = folder / "joints"
    config = 'export default {title: "Joints", url: "https://joints.example", baseUrl: "/", presets: [["classic", {}]]};\n'
    write(book, "docusaurus.config.js", config)
    page = "import Elbow, {toc} from './_elbow.mdx';\n\n# Arms\n\nAn arm is moved by its muscles.\n\n"
    page += "<Tabs>\n  <Elbow side=\"left\" />\n</Tabs>\n\n```jsx\nimport Knee from './_knee.mdx';\n\n<Knee />\n```\n\n<Knee />\n"
    write(book, "docs/arms.mdx", page)
    write(book, "docs/_elbow.mdx", f"## Elbow\n\n{ELBOW}\n")
    write(book, "docs/_knee.mdx", f"## Knee\n\n{KNEE}\n")
    told = cli("ingest", book)
    assert told.code == 0, told.err
    assert "docs/_elbow.mdx Docusaurus makes no page of a name that begins with _ (and 1 more)" in " ".join(told.out.split())
    assert [one["source_file"] for one in json.loads(cli("lessons", "--json").out)] == ["docs/arms.mdx"]
    assert KNEE not in cli("lesson", "docs/arms.mdx").out
    (citation,) = json.loads(cli("ask", QUESTION, "--threshold", "0", "--format", "json").out)["citations"]
    assert (citation["quote"], citation["where"]) == (ELBOW, "docs/_elbow.mdx, line 3")
    assert citation["source_url"] == "https://joints.example/docs/arms#elbow"
