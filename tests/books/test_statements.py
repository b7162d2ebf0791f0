"""What can be quoted of a chunk: exact stretches, each readable, none with marks of the page around it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given

from bythebook.books.chunker import cut
from bythebook.books.frontmatter import read_frontmatter
from bythebook.books.inline import plain_formula
from bythebook.books.markdown import readable
from bythebook.books.statements import Statement, statements
from bythebook.cli.demo import sample_book
from tests.books.test_properties import REAL_BOOKS, body, relaxed


def kinds(text: str, preface: str = "") -> list[tuple[str, str]]:
    return [(one.kind, one.readable) for one in statements(preface, text)]


def quotes(text: str) -> list[str]:
    return [text[one.start : one.end] for one in statements("", text)]


def test_a_wrapped_sentence_in_an_indented_note_is_whole() -> None:
    text = """!!! note
    The field is optional, but it tells which part of the form is a file. If the field was given, `Upload`
    is made for the file, otherwise that part of the form is read as a
    string.

    pip install robots
    pip install wheels
"""
    assert kinds(text) == [
        ("sentence", "The field is optional, but it tells which part of the form is a file."),
        (
            "sentence",
            "If the field was given, Upload is made for the file, otherwise that part of the form is read as a string.",
        ),
        ("sentence", "pip install robots"),
        ("sentence", "pip install wheels"),
    ]


def test_a_definition_follows_its_term_and_a_comment_says_nothing() -> None:
    assert kinds("% for authors\n\nA `node`\n: Does one job. It has a name.") == [
        ("sentence", "A node: Does one job."),
        ("sentence", "It has a name."),
    ]


def test_a_paragraph_gives_its_sentences() -> None:
    text = "A **node** does one job, e.g. reading a sensor. It has a `name`.\nThe name is [unique](names.md)."
    assert kinds(text) == [
        ("sentence", "A node does one job, e.g. reading a sensor."),
        ("sentence", "It has a name."),
        ("sentence", "The name is unique."),
    ]
    assert quotes(text) == [
        "A **node** does one job, e.g. reading a sensor.",
        "It has a `name`.",
        "The name is [unique](names.md).",
    ]


def test_headings_titles_and_pictures_are_known_and_say_nothing() -> None:
    text = "## Joints {#joints}\n\n![An elbow](elbow.svg)\n\n:::tip[Take care]\nFingers get caught.\n:::"
    assert kinds(text) == [
        ("heading", "Joints"),
        ("heading", "An elbow"),
        ("heading", "Take care"),
        ("sentence", "Fingers get caught."),
    ]


def test_rows_without_their_head_are_items_of_their_cells() -> None:
    """The head stands in another chunk, or blank lines cut the table."""
    rows = "| Elbow | ≤&nbsp;150 ([its limit](limits.md)) | - |\n| Knee | 135 \\| 140 | |\n"
    assert kinds(rows) == [("item", "Elbow (≤ 150 (its limit))"), ("item", "Knee (135 | 140)")]
    assert quotes(rows)[1] == "| Knee | 135 \\| 140 | |"
    tags = "<tr><th colspan=2>Joints</th></tr>\n\n  <tr><td>Elbow</td><td>bends in <b>one</b> plane</td></tr>\n"
    assert kinds(tags) == [("heading", "Joints"), ("item", "Elbow (bends in one plane)")]
    sizes = "|x| is how long x is, and |y| is how long y is, in metres.\nBoth are lengths.\n"
    assert [kind for kind, _ in kinds(sizes)] == ["sentence", "sentence"]


@pytest.mark.parametrize("mark", ['--8<-- "gone.py"', "{!> ../gone.py !}", "{{#include gone.rs:2:5}}"])
def test_code_that_was_to_be_included_and_is_not_there_is_nothing_to_quote(mark: str) -> None:
    assert kinds(f"So it bends:\n\n```python\n{mark}\n```\n") == [("sentence", "So it bends:")]
    assert kinds(f"```python\n{mark}\nbend(90)\n```\n") == [("code", f"{mark}\nbend(90)")]
    assert kinds(f"- Joints:\n\n    - Elbows:\n\n        {mark}\n") == [("item", "Joints:"), ("item", "Elbows:")]


def test_a_picture_whose_address_is_long_is_no_sentence() -> None:
    badge = f"[![](https://badges.example/v1?label=I%20want.%20It&logo={'a1.B' * 300})](https://lab.example/x.y)"
    assert [kind for kind, _ in kinds(f"{badge} The lamp burns. It is lit.\n")][-2:] == ["sentence", "sentence"]
    assert not any("badges.example" in words for _, words in kinds(f"{badge} The lamp burns. It is lit.\n"))


def test_list_items_stand_without_their_marks() -> None:
    text = "Three things follow:\n\n1. **First.** Stop.\n2. Look around.\n   - a nested one\n- [ ] a task"
    assert kinds(text) == [
        ("sentence", "Three things follow:"),
        ("item", "First. Stop."),
        ("item", "Look around."),
        ("item", "a nested one"),
        ("item", "a task"),
    ]
    assert quotes(text)[1:3] == ["**First.** Stop.", "Look around."]


def test_items_of_one_list_share_a_block() -> None:
    found = statements("", "Before.\n\n- one\n- two\n\nAfter.")
    assert found[1].block == found[2].block
    assert len({one.block for one in found}) == 3


def test_a_long_item_is_cut_into_sentences() -> None:
    text = "- " + "This sentence is one of very many in the item. " * 10
    assert [one.kind for one in statements("", text)] == ["item"] * 10


def test_a_table_comes_whole_and_by_rows() -> None:
    text = "| Name | To the robot | Note |\n|---|---|---|\n| Shadow | by hand | |\n| Twin | `auto` | both ways |"
    whole, *rows = statements("", text)
    assert (whole.kind, text[whole.start : whole.end]) == ("table", text)
    assert [row.readable for row in rows] == ["Shadow (To the robot: by hand)", "Twin (To the robot: auto; Note: both ways)"]
    assert text[rows[1].start : rows[1].end] == "| Twin | `auto` | both ways |"


def test_the_rest_of_a_split_table_is_read_with_its_header() -> None:
    text = "| Twin | both ways |\n\nAfter it."
    whole, row, after = statements("| Name | Data |\n|---|---|", text)
    assert text[whole.start : whole.end] == "| Twin | both ways |" == text[row.start : row.end]
    assert (row.kind, row.readable) == ("row", "Twin (Data: both ways)")
    assert (after.kind, text[after.start : after.end]) == ("sentence", "After it.")


def test_the_rest_of_a_split_fence_is_code() -> None:
    text = "# not a heading\nx = 1\n```\n\nAfter it."
    assert kinds(text, "```python") == [("code", "# not a heading\nx = 1"), ("sentence", "After it.")]
    assert statements("```python", text)[0].start == 0


def test_code_and_display_maths_are_one_statement_each() -> None:
    text = "Run it:\n\n```bash\nexport A=1\n\npython3 a.py\n```\n\n$$\np = 7400 + 250\\,d\n$$\n\nwhere $d$ is the domain."
    assert [(one.kind, text[one.start : one.end]) for one in statements("", text)] == [
        ("sentence", "Run it:"),
        ("code", "```bash\nexport A=1\n\npython3 a.py\n```"),
        ("maths", "$$\np = 7400 + 250\\,d\n$$"),
        ("sentence", "where $d$ is the domain."),
    ]


@pytest.mark.parametrize(
    "written",
    [
        "```{math}\n:label: port\np = 7400 + 250 d\n```",
        "~~~{math}\n---\nlabel: port\n---\np = 7400 + 250 d\n~~~",
        "```{math} p = 7400 + 250 d\n```",
        "```math\np = 7400 + 250 d\n```",
        ":::{math}\np = 7400 + 250 d\n:::",
        "````{note}\n```{math}\np = 7400 + 250 d\n```\n````",
    ],
)
def test_a_fence_of_maths_is_a_formula_without_its_options(written: str) -> None:
    found = kinds(f"The port is\n\n{written}\n\nwhere {{math}}`d^2` is the domain.")
    assert found == [("sentence", "The port is"), ("maths", "p = 7400 + 250 d"), ("sentence", "where d² is the domain.")]


def test_a_run_in_heading_is_read_with_its_sentence() -> None:
    assert kinds("**Reward hacking.** The robot stands still. It is paid for it.") == [
        ("sentence", "Reward hacking. The robot stands still."),
        ("sentence", "It is paid for it."),
    ]


def test_no_sentence_ends_inside_a_mark() -> None:
    assert kinds("Press `a. B` or read [No. Never](x.md) first. Then go.") == [
        ("sentence", "Press a. B or read No. Never first."),
        ("sentence", "Then go."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import Tabs from '@theme/Tabs';\n\n<Tabs>\n<TabItem value=\"a\">\n\nWords stay.\n\n</TabItem>\n</Tabs>",
        "!!! note\n    Words stay.",
        "> [!NOTE]\n> Words stay.",
        ":::note\n\nWords stay.\n\n:::",
        "<!-- a comment.\nOf lines. -->\n\nWords stay.",
        "{/* a comment */}\n\nWords stay.\n\n---",
        "[link]: https://example.com/a\n\nWords stay.",
    ],
)
def test_marks_around_words_belong_to_no_statement(text: str) -> None:
    assert kinds(text) == [("sentence", "Words stay.")]
    assert quotes(text) == ["Words stay."]


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (r"0.99^{100} \approx 37\,\%", "0.99¹⁰⁰ ≈ 37 %"),
        (r"640 \cdot 480 = 307{,}200", "640 · 480 = 307,200"),
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"x_{\mathrm{foot}}^2", "x_foot²"),
        (r"\sqrt{n}", "√n"),
        (r"\mbox{IoU Threshold} = 0.5", "IoU Threshold = 0.5"),
        (r"\sigma^2 = \frac{2}{n_\textrm{in} + n_\textrm{out}}", "σ² = 2/(n_in + n_out)"),
        (r"\hat{y}^{(i)} \in \mathcal{Y}", "ŷ^(i) ∈ Y"),
        (r"s_{t-1} + g_t^2", "s_(t-1) + g_t²"),
        (r"\{1, 2\} \cup \{n_{k}\}", "{1, 2} ∪ {n_k}"),
        (r"\ell_2", "ℓ_2"),
        (r"\overbrace{x}", r"\overbrace{x}"),
        ("d", "d"),
    ],
)
def test_formulas_in_a_sentence_are_typed_plainly(formula: str, shown: str) -> None:
    assert plain_formula(formula) == shown
    assert kinds(f"It is ${formula}$ long.") == [("sentence", f"It is {shown} long.")]


def check(preface: str, text: str) -> tuple[Statement, ...]:
    found = statements(preface, text)
    end, table_end = 0, 0
    for one in found:
        assert one.readable.strip()
        assert 0 <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == text[one.start : one.end].strip()
        if one.kind == "row":
            assert one.end <= table_end
        else:
            assert one.start >= end
        end = one.start if one.kind == "table" else max(end, one.end)
        table_end = one.end if one.kind == "table" else table_end
    return found


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]{2,}", text))


@relaxed
@given(body)
def test_statements_of_anything_are_ordered_and_exact(text: str) -> None:
    for piece in cut(text, body_start=0, mdx=True):
        check(piece.preface, text[piece.span.start : piece.span.end])


def lessons() -> list[Path]:
    pages = [*sample_book().rglob("*.md"), *sample_book().rglob("*.mdx")]
    if REAL_BOOKS.is_dir():
        pages += sorted(page for page in REAL_BOOKS.rglob("*") if page.suffix in {".md", ".mdx"})[::9]
    return pages


def test_statements_hold_every_word_a_reader_sees() -> None:
    """Of the sample book, and of every ninth page of the real ones where they are at hand."""
    seen = missing = 0
    for page in lessons():
        source = page.read_text(encoding="utf-8")
        start = read_frontmatter(source).body_start
        for piece in cut(source, body_start=start, mdx=page.suffix == ".mdx"):
            text = source[piece.span.start : piece.span.end]
            shown = words(readable(text))
            said = words(" ".join(f"{one.readable} {text[one.start : one.end]}" for one in check(piece.preface, text)))
            seen += len(shown)
            missing += len(shown - said)
    assert seen > 5000
    assert missing <= seen / 2000


GENERATORS = {
    "MkDocs": """
/// tip | Read first
The keeper trims the wick every four hours.
///

{* ../../docs_src/lamp.py hl[3] *}

//// tab | Linux

The <abbr title="light-emitting diode">LED</abbr> burns all night.

////

![The lamp. It is red.](a.png){ width="300" }
The glass is cleaned with spirit.

--8<-- "more.md"
""",
    "MyST": """
(lamp-care)=
## Care

```{note}
:class: dropdown
The keeper trims the wick every four hours.
```

The {term}`LED<diode>` burns all night {cite:p}`knuth84`.

:::{admonition} Glass
:class: tip
The glass is cleaned with spirit.
:::

```{figure} ../a.png
---
name: fig-lamp
alt: A lamp
---
```
""",
    "Hugo and Jekyll": """
{{< hint info >}}
The keeper trims the wick every four hours.
{{< /hint >}}

{% include note.html %}
The LED burns all night.
{: .note }

{{#include lamp.rs}}

The glass is cleaned with spirit.
""",
}


@pytest.mark.parametrize("generator", GENERATORS)
def test_nothing_of_a_generators_marks_is_a_statement(generator: str) -> None:
    found = [one.readable for one in statements("", GENERATORS[generator]) if one.kind not in ("heading", "code")]
    assert found == [
        "The keeper trims the wick every four hours.",
        "The LED burns all night.",
        "The glass is cleaned with spirit.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"**It is so. {'Again and again. ' * 20}And so on.** It ends.", ["It is so.", "And so on.", "It ends."]),
        ("Pass `**options` on. **All** of them.", ["Pass **options on.", "All of them."]),
    ],
)
def test_bold_type_over_several_sentences_leaves_no_mark(text: str, expected: list[str]) -> None:
    said = [one.readable for one in statements("", text)]
    assert [one for one in said if one != "Again and again."] == expected
