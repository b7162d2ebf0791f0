"""Names, code and negations, held by the program in both directions."""

from __future__ import annotations

import pytest

from bythebook.grounding.citations import Checker, Doubtful, Supported, Unsupported
from bythebook.retrieval.evidence import Evidence
from tests.support.checker_cases import Draft
from tests.support.made_chunks import chunk

SOURCE = """\
Call `engine.start(level=2)` before anything else; the flag `--dry-run` shows what would happen. The settings lie in
`/etc/pump/main.toml`. The valve is not opened by software alone. Pressure never falls below the limit.

```console
$ pump check --dry-run
```
"""
EVIDENCE = [Evidence(label=1, passages=(chunk(SOURCE),), score=0.8, relevance=0.8)]


def weighed(text: str, kind: str = "sentence", basis: str = "") -> Supported | Unsupported | Doubtful:
    return Checker(EVIDENCE, "en").weigh(Draft(text=text, labels=(1,), kind=kind, basis=basis))


@pytest.mark.parametrize(
    "text",
    [
        "Before all other calls comes `engine.start(level=2)`.",
        "What would happen is shown with `--dry-run`.",
        "Its settings can be found in `/etc/pump/main.toml`.",
        "No: software on its own does not open the valve.",
        "Try it first:\n```console\n$ pump check --dry-run\n```",
        "The pressure doesn't ever fall below the limit.",
    ],
)
def test_what_is_true_does_not_fall(text: str) -> None:
    assert not isinstance(weighed(text), Unsupported)


@pytest.mark.parametrize(
    "text",
    [
        "Before all other calls comes `engine.start(level=3)`.",
        "What would happen is shown with `--dryrun`.",
        "Its settings can be found in `/etc/pump/pump.toml`.",
        "Try it first:\n```console\n$ pump check --force\n```",
        "The valve is opened by software alone.",
        "Pressure falls below the limit.",
        "The settings do not lie in a file.",
        "The engine is a Stirling one, started before anything else.",
    ],
)
def test_what_is_changed_falls(text: str) -> None:
    assert isinstance(weighed(text), Unsupported)


def test_a_code_block_whose_line_stands_in_the_text_is_supported() -> None:
    assert isinstance(weighed("```sh\npump check --dry-run\n```", kind="code"), Supported)
    assert isinstance(weighed("```sh\npump check --wet-run\n```", kind="code"), Unsupported)


def test_a_sentence_in_words_of_its_own_is_to_be_judged_and_shows_what_it_rests_on() -> None:
    one = weighed("Software by itself has no power over the valve.", basis="The valve is not opened by software alone.")
    assert isinstance(one, Doubtful)
    assert [citation.quote for citation in one.supported.citations] == ["The valve is not opened by software alone."]
    assert SOURCE.strip() in one.passages[0]
