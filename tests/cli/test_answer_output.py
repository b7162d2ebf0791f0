"""An answer in a terminal of 80 columns: no mark of Markdown, no broken word, no broken address."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from bythebook.answering.answer import Answer, Sentence
from bythebook.cli.output.answer import print_answer, print_passages, print_sentence
from bythebook.cli.output.console import Console
from tests.support.made_turns import NEAREST, answer, citation, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = "| Lamp | Burns |\n|:---|---:|\n| **Argand** | [colza](https://oil.example) oil |\n| Arc | carbon \\| tungsten |"
CODE = "```bash\nsudo systemctl restart the-very-long-name-of-the-service-that-turns-the-lens.service --now\n```"
WORDS = "The **keeper** trims the \\_wick\\_ with `scissors`, as the [rules](https://rules.example) say: {ref}`never wet <wet>`, "


def shown(write: Callable[[Console], None]) -> str:
    file = io.StringIO()
    write(Console(file=file, width=80, highlight=False))
    return file.getvalue()


def made(*sentences: tuple[str, str, str]) -> Answer:
    """Of text, kind and quote each."""
    said = tuple(Sentence(text=text, kind=kind, citations=(replace(citation(), quote=quote),)) for text, kind, quote in sentences)
    return replace(answer(), sentences=said)


def printed(whole: Answer) -> str:
    def write(console: Console) -> None:
        for number, sentence in enumerate(whole.sentences):
            print_sentence(console, sentence, first=not number)
        print_answer(console, whole)

    return shown(write)


def test_a_table_stands_in_columns_and_its_quote_is_not_printed_twice() -> None:
    out = printed(made((TABLE, "table", TABLE)))
    rows = [line.split() for line in out.splitlines() if line.strip()][:3]
    assert rows == [["Lamp", "Burns"], ["Argand", "colza", "oil"], ["Arc", "carbon", "|", "tungsten"]]
    assert "the table above  line 3" in out
    assert out.count("Argand") == 1


def test_the_places_of_one_table_stand_on_one_line() -> None:
    row = replace(citation(), quote="| Arc | carbon |", where="line 5")
    head = replace(citation(), quote="| Lamp | Burns |", where="line 3")
    told = printed(replace(answer(), sentences=(Sentence(text=TABLE, kind="table", citations=(head, row)),)))
    assert [line.strip() for line in told.splitlines() if "above" in line] == ["the table above  line 3, line 5"]


def test_code_is_printed_as_it_is_typed() -> None:
    out = printed(made((CODE, "code", CODE)))
    (command,) = [line.strip() for line in out.splitlines() if "sudo" in line]
    assert command == CODE.splitlines()[1]
    assert "```" not in out
    assert "the code above  line 3" in out


def test_options_of_a_directive_are_no_code() -> None:
    out = printed(made(("```{code-block} sh\n:linenos:\n:emphasize-lines: 3\n\n$ trim --all\n```", "code", CODE)))
    assert out.startswith("    $ trim --all\n")


def test_a_place_that_is_the_link_is_printed_once() -> None:
    page = replace(citation(), source_url="lamp.html#wick", where="lamp.html#wick")
    out = printed(replace(answer(), sentences=(Sentence(text="It burns.", kind="sentence", citations=(page,)),)))
    assert out.count("lamp.html#wick") == 1


def test_a_quote_has_no_marks_and_its_place_is_in_one_piece() -> None:
    for more in range(60):
        out = printed(made(("The keeper trims the wick.", "sentence", WORDS + "x" * more)))
        quote = "“The keeper trims the _wick_ with scissors, as the rules say: never wet, "
        assert quote.replace(" ", "") in "".join(out.split())
        assert "line 3" in [line.strip() for line in out.splitlines()] or "  line 3" in out


def test_items_and_sections_hang_below_their_first_word() -> None:
    item = "It is a long item " + "of many words " * 12
    out = printed(made((item, "item", "It is.")))
    first, second = out.splitlines()[:2]
    assert first.startswith("  • It is")
    assert second.startswith("    ")
    far = replace(NEAREST, heading_path=("The first of the headings on the way", "And a second one that is long as well"))
    lines = shown(lambda console: print_answer(console, refusal(nearest=(far,)))).splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("  · Wicks"))
    assert lines[begin + 1].startswith("    ")
    assert all(len(line) <= 80 for line in lines)


def test_a_passage_is_shown_whole() -> None:
    passage = "Before it.\n\nThe keeper trims the wick\nevery four hours.\n\n## After it\n"
    out = shown(lambda console: print_passages(console, answer(), {"c1": passage}))
    for part in ("[1] Wicks and oil › Trimming", "Before it.", "every four hours.", "After it", "https://light.example/wicks"):
        assert part in out
    assert "##" not in out
