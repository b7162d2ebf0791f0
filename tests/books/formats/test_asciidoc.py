"""AsciiDoc: its blocks as Markdown, each found again at its line, with Asciidoctor's own ids."""

from __future__ import annotations

import time

import pytest

from tests.support.readings import placed, read, read_one

SOURCE = """\
= Arms and legs
:toc:

An *elbow* bends in _one plane_; see https://a.example[the site], <<legs,legs>> and `code_x`. 2^31^ is large.footnote:[A note.]

== Elbow, bent

// a comment
.A listing
[source,python]
----
def f(x):  # <1>
    return x ** 2
----
<1> The call.

* item one
goes on
** inner

NOTE: Careful here.

[[legs]]
=== Legs

include::other.adoc[]

|===
|Arm |Load

|left |2 kg
|===

term:: Its meaning.

Underlined
----------

The end.
"""
MARKDOWN = """\
# Arms and legs

An elbow bends in one plane; see the site, legs and `code_x`. 2³¹ is large.

## Elbow, bent

**A listing**

```python
def f(x):
    return x ** 2
```

1. The call.

- item one goes on

  - inner

Careful here.

### Legs

| Arm | Load |
| --- | --- |
| left | 2 kg |

**term**

Its meaning.

## Underlined

The end."""


def test_a_file_becomes_markdown() -> None:
    reading = read_one("a/arms.adoc", SOURCE)
    assert reading.text.strip() == MARKDOWN
    assert reading.anchors == ("_arms_and_legs", "_elbow_bent", "legs", "_underlined")


def test_blocks_are_found_at_their_lines() -> None:
    found = dict(placed(read_one("arms.adoc", SOURCE)))
    assert found["item one goes on"] == "line 17"
    assert found["Careful here."] == "line 21"
    assert found["| left | 2 kg |"] == f"line {SOURCE.splitlines().index('|left |2 kg') + 1}"
    assert found["The end."] == f"line {len(SOURCE.splitlines())}"


@pytest.mark.parametrize("source", ["", "// only a comment\n", "----\nnever closed", "|===\n|a", "[source", "* ", "=== "])
def test_odd_files_are_read_to_their_end(source: str) -> None:
    assert len(read("a.adoc", source)) < 2


def test_a_plus_sign_that_is_the_code_stays_and_a_callout_is_a_mark() -> None:
    reading = read_one(
        "a.adoc", "Note the `+` sign, `+=`, `+{passed}+`, `C++` and linkgit:git-log[1].\n\n----\n$ git init <1>\n----\n"
    )
    assert reading.text == "Note the `+` sign, `+=`, `{passed}`, `C++` and git-log(1).\n\n```\n$ git init\n```\n\n"
    assert all(mark.exact for mark in reading.marks)


@pytest.mark.parametrize("begins", ["[", "[#a.", " ", "a ", "----\na ", "x `+"])
def test_a_long_line_that_never_ends_as_it_began_is_read_at_once(begins: str) -> None:
    filler = "a" if begins[-1] in "[+." else " "
    started = time.process_time()
    read_one("a.adoc", begins + filler * 40_000 + "b")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(("code", "shown"), [("++a++", "a"), ("+++a+", "+a"), ("+a", "+a"), ("++", "++"), ("+a b+", "a b")])
def test_plus_signs_around_code_pass_it_through(code: str, shown: str) -> None:
    assert read_one("a.adoc", f"Call `{code}` now.").text == f"Call `{shown}` now.\n\n"


def test_attributes_whose_names_have_spaces_are_no_text() -> None:
    """A manual page has some: they were a paragraph below its title."""
    source = "= keeper(1)\n:doctype: manpage\n:man source: keeper\n:man manual: Lamps\n:!toc:\n\nA keeper trims the wick."
    assert read_one("a.adoc", source).text == "# keeper(1)\n\nA keeper trims the wick.\n\n"
