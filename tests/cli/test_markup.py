"""Answers show words: no mark of Markdown, HTML or a site generator but tables and code, which every surface renders."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scripts.count_markup import MARK
from tests.cli.conftest import Cli
from tests.support.small_book import write

JOINTS = """\
# Joints

## Which joint bends how far

| Joint | **Bends** up to | See |
|:------|-----------------|-----|
| [Elbow](../arm.md#elbow){.external} | **150 degrees** &amp; no more | {ref}`the arm <arm-elbow>` |
| <a id="KNEE"></a>[Knee](leg.md) | <strong>135</strong>&nbsp;degrees | ![leg](leg.png) a \\| b |

## How a servo is turned

> The servo of a joint is turned by this call of the library:
>
> ```{.python .input}
> %%tab pytorch
> servo.turn(joint, degrees=90)
> ```

## Why a shoulder is a ball joint

As discussed in :numref:`sec_arm`, a shoulder is a ball joint because it turns on three axes (:numref:`fig_ball`).
:numref:`fig_ball` shows the socket of the shoulder, and :eqref:`eq_torque` gives its torque :cite:`Bones.1998`.
"""
QUESTIONS = {
    "Which joint bends how far, the elbow or the knee?": "| Knee | 135 degrees | leg a \\| b |",
    "How is the servo of a joint turned by a call of the library?": "```python\nservo.turn(joint, degrees=90)\n```",
    "Why is a shoulder a ball joint?": "As discussed in the section, a shoulder is a ball joint because it turns on three axes.",
    "What shows the socket of the shoulder?": "The figure shows the socket of the shoulder, and the equation gives its torque.",
}


def test_no_answer_shows_a_mark(cli: Cli, folder: Path) -> None:
    book = folder / "joints"
    write(book, "joints.md", JOINTS)
    assert cli("ingest", book).code == 0
    for question, told in QUESTIONS.items():
        answer = json.loads(cli("ask", question, "--threshold", "0", "--no-gate", "--format", "json").out)["answer"]
        assert told in answer, answer
        prose = re.sub(r"```.*?```|\\\|", "", answer, flags=re.DOTALL)
        assert not MARK.search(prose), answer
