"""PDF: what pages show becomes lessons, headings, paragraphs and code; every word knows its page."""

from __future__ import annotations

import time
import tracemalloc
from itertools import chain

import pytest

from bythebook.books.markdown import readable
from bythebook.errors import InvalidBook
from tests.support.made_pdf import Dot, MadePdf, Word, column
from tests.support.readings import placed, read, read_one

LONG = "An elbow bends in one plane and carries the forearm wherever the upper arm goes, and so"
PITCH = 12


def running(number: int) -> list[Word]:
    return [Word("A small book", 72, 760, 9), Word(str(number), 300, 30, 9)]


def chapter(title: str, *words: Word, number: int) -> list[Word]:
    return [*running(number), Word(title, 72, 730, 18, "bold"), *words]


def book() -> MadePdf:
    arms = chapter(
        "1 Arms",
        *column(LONG, "does the weight. A wrist turns. It is an impor-", "tant joint.", top=700),
        Word("1.1 Hidden in no outline", 72, 640, 14, "bold"),
        *column("def bend(angle):", "    return angle ** 2", top=610, x=90, font="code"),
        *column("The end.", top=570),
        number=1,
    )
    legs = chapter("2 Legs", *column("A knee locks when the leg is straight.", top=700), number=2)
    pages = [[Word("A small book", 200, 500, 24, "bold")], arms, legs]
    pages += [[*running(number), *column(f"More of legs: {chr(number + 96) * 9}.")] for number in range(3, 9)]
    return MadePdf(pages, outline=[(0, "Arms", 1), (0, "Legs", 2)], roman_pages=1)


def test_an_outline_gives_lessons_and_teaches_which_other_lines_are_headings() -> None:
    front, arms, legs = read("b/arm.pdf", book().write())
    assert [one.source_file for one in (front, arms, legs)] == [
        "b/arm.pdf/1-front-matter",
        "b/arm.pdf/2-arms",
        "b/arm.pdf/3-legs",
    ]
    assert arms.text == (
        f"# 1 Arms\n\n{LONG} does the weight. A wrist turns. It is an important joint.\n\n"
        "## 1.1 Hidden in no outline\n\n```\ndef bend(angle):\n    return angle ** 2\n```\n\nThe end.\n\n"
    )
    assert legs.text.startswith("# 2 Legs\n\nA knee locks when the leg is straight.\n\nMore of legs: ccccccccc.")
    assert "A small book" not in legs.text


def test_a_page_whose_label_is_no_text_goes_by_its_number() -> None:
    raw = MadePdf([column("A keeper trims the wick every four hours.")], roman_pages=1).write()
    (reading,) = read("a.pdf", raw.replace(b"<</S/r>>", b"<</P<FEFFD8000041>>>"))
    assert {where for _, where in placed(reading)} == {"p. 1"}


def test_every_line_knows_its_page_by_label_and_number() -> None:
    _, arms, legs = read("arm.pdf", book().write())
    assert {where for _, where in placed(arms)} == {"p. 1"}
    assert ("A knee locks when the leg is straight.", "p. 2") in placed(legs)
    assert (legs.marks[0].place.number, legs.marks[0].place.fragment, legs.anchors) == (3, "page=3", ("page=3",))
    assert all(mark.exact for mark in chain(arms.marks, legs.marks))


def test_exponents_stay_and_marks_of_footnotes_go() -> None:
    line = [
        Word("The range is 2", 72, 700),
        Word("31", 129.5, 704, 6),
        Word("and a Fenwick tree", 140, 700),
        Word("2", 217, 704, 6),
    ]
    rest = column("is a structure that keeps sums of a table, and it can be made from nothing else.", top=688)
    note = [Word("2", 72, 104, 5), Word("The binary indexed tree was proposed by Fenwick.", 76, 100, 8)]
    text = read_one("a.pdf", MadePdf([[*line, *rest, *note]]).write()).text
    assert "The range is 2³¹ and a Fenwick tree is a structure that keeps sums" in text
    assert "\n\nThe binary indexed tree was proposed by Fenwick.\n" in text
    short = [Word("Nobody saw it", 72, 700), Word("2", 132, 704, 6), Word("on its 3 cm", 140, 700), Word("2", 184, 704, 6)]
    assert read_one("a.pdf", MadePdf([short]).write()).text.strip() in (
        "Nobody saw it on its 3 cm²",
        "Nobody saw it on its 3 cm ²",
    )


def test_a_prime_of_tex_is_no_nought() -> None:
    words = [Word("The inverse of X", 72, 700), Word("0", 141, 704, 6, "signs"), Word("X is found at once.", 146, 700)]
    assert read_one("a.pdf", MadePdf([words]).write()).text.startswith("The inverse of X <sup>′</sup>X is found")


def test_a_line_set_as_numbered_headings_are_is_no_heading_without_a_number() -> None:
    pages = [
        [
            Word("1.1 Arms", 72, 730, 10, "bold"),
            *column(LONG),
            Word("How an elbow bends", 72, 600, 10, "bold"),
            *column(LONG, top=580),
        ],
        [Word("1.2 Legs", 72, 730, 10, "bold"), *column(LONG), Word("1.3 Feet", 72, 600, 10, "bold"), *column(LONG, top=580)],
    ]
    made = MadePdf(pages, outline=[(0, "Arms", 0), (0, "Legs", 1)]).write()
    text = "".join(one.text for one in read("a.pdf", made))
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# 1.1 Arms", "# 1.2 Legs", "# 1.3 Feet"]


def test_what_is_raised_and_no_number_stays_raised() -> None:
    words = [Word("It is pitched down by 30", 72, 700), Word("o", 168, 704, 6), Word("at most.", 182, 700)]
    reading = read_one("a.pdf", MadePdf([[*words, *column("An elbow bends.", top=660)]]).write())
    assert reading.text.startswith("It is pitched down by 30<sup>o</sup> at most.")
    assert readable(reading.text).startswith("It is pitched down by 30^o at most.")
    assert all(mark.exact for mark in reading.marks)


def test_an_address_that_a_line_broke_is_one_again() -> None:
    lines = column(
        "All about it is at https://robots.example/the/arms/",
        "and-legs/index.html?part=elbow&",
        "page=2. The rest is at https://robots.example/",
        "and in the book that came with the robot on the day that",
        "it was sold; see also https://robots.example/up-",
        "per/arm, the pages of https://robots.example/-",
        "Elbows and the folder robots/-",
        "arms/ beside them.",
    )
    assert read_one("a.pdf", MadePdf([lines]).write()).text.strip() == (
        "All about it is at https://robots.example/the/arms/and-legs/index.html?part=elbow&page=2. The rest is at "
        "https://robots.example/ and in the book that came with the robot on the day that it was sold; see also "
        "https://robots.example/up-per/arm, the pages of https://robots.example/Elbows and the folder robots/arms/ beside them."
    )


def test_a_compound_keeps_its_hyphen_and_a_paragraph_goes_on_overleaf() -> None:
    first = column(
        "This is a well-known rule, and everybody who has read it will agree that it is a well-", "known rule of the trade"
    )
    pages = [first, column("that nobody breaks.")]
    assert "it is a well-known rule of the trade that nobody breaks." in read_one("a.pdf", MadePdf(pages).write()).text


def test_a_compound_is_known_by_others_like_it() -> None:
    lines = column(
        "A non-linear spring of a robot that is user-defined, with a stiffness that is non-",
        "normal and user-",
        "controllable, obeys impor-",
        "tant rules, and its time is machine-dependent or compiler-",
        "dependent. A robot cannot cut-and-",
        "paste, but robots cut",
        "and they paste, as of arm-",
        "8.0.tar.gz.",
    )
    text = read_one("a.pdf", MadePdf([lines]).write()).text
    assert "that is non-normal and user-controllable, obeys important rules" in text
    assert "compiler-dependent. A robot cannot cut-and-paste" in text
    assert "as of arm-8.0.tar.gz." in text


def test_a_word_that_the_book_also_writes_as_a_compound_is_what_it_mostly_is() -> None:
    lines = column(
        "A subframe, a subframe or a sub-frame bears the arm, a multijoint or multijoint leg the",
        "Multi-Joint arm. It is impor-",
        "tant that each sub-",
        "frame bears a Multi-",
        "Joint arm.",
    )
    text = read_one("a.pdf", MadePdf([lines]).write()).text
    assert "important that each subframe bears a Multi-Joint arm." in text


def test_a_word_divided_by_the_end_of_a_page_is_one() -> None:
    lines = column("An elbow obeys important rules, and so do those of the many and impor-")
    pages = [lines, column("tant people who wrote it.")]
    assert "and important people" in read_one("a.pdf", MadePdf(pages).write()).text


def test_a_program_that_divides_no_words_only_breaks_compounds() -> None:
    page = column(*["An elbow bends in one plane and carries the forearm with it."] * 50)
    pages = [page, page, page, page, page, column("It has an open-", "vocabulary detector.")]
    assert "It has an open-vocabulary detector." in read("a.pdf", MadePdf(pages).write())[-1].text


def test_a_letter_under_its_accent_is_one_letter() -> None:
    """TeX's older fonts have no accented letters."""
    words = [
        Word("By Fran", 72, 700),
        Word("¸", 104.2, 700),
        Word("cois and M", 104.3, 700),
        Word("¨", 148.7, 700),
        Word("uller.", 148.8, 700),
    ]
    reading = read_one("a.pdf", MadePdf([[*words, *column("Code has `a` and ´ alone.", top=660)]]).write())
    assert reading.text == "By François and Müller.\n\nCode has \\`a\\` and ´ alone.\n\n"
    assert all(mark.exact for mark in reading.marks)


def test_an_accent_over_a_space_is_a_sign_of_its_own_where_it_is_seen() -> None:
    words = [
        Word("The", 72, 700),
        Word("\N{NO-BREAK SPACE}stable' arm bends.", 92, 700, font="accents"),
        Word("`", 92, 700, font="accents"),
    ]
    reading = read_one("a.pdf", MadePdf([words]).write())
    assert readable(reading.text).strip() == "The `stable' arm bends."
    assert all(mark.exact for mark in reading.marks)


def test_a_running_head_that_names_the_section_is_no_text() -> None:
    def page(number: int, *lines: str) -> list[Word]:
        head = Word(f"CHAPTER 1. ARMS {'LONG ' * number}SECTION", 72, 760, 10, "italic")
        return [head, *column(*lines), Word(str(number), 300, 30)]

    pages = [page(at, "An elbow bends.", f"It is joint {at} of", "the arm, and", f"carries {at} kg.") for at in range(1, 6)]
    assert "SECTION" not in "".join(one.text for one in read("a.pdf", MadePdf(pages).write()))


@pytest.mark.parametrize("lines", [1, 3, 6])
def test_pages_that_are_all_alike_are_text(lines: int) -> None:
    """As in copies of one form. Their lines stand where running heads do."""
    said = ["An elbow bends in one plane.", "A wrist turns.", "A knee locks.", "A hip swings.", "A toe lifts.", "An ankle rolls."]
    text = read_one("a.pdf", MadePdf([[*column(*said[:lines]), Word(str(at), 300, 30)] for at in range(1, 5)]).write()).text
    assert text.count(said[0]) == 4
    assert "4" not in text


def test_a_pdf_with_only_page_numbers_is_named() -> None:
    with pytest.raises(InvalidBook, match="no text but page numbers"):
        read("a.pdf", MadePdf([[Word(str(at), 300, 30)] for at in range(1, 5)]).write())


def test_the_lines_of_a_table_of_contents_go_however_few_their_dots() -> None:
    entries = [f"{at} Joint {at} {'.' * 20} {at}" for at in range(1, 5)]
    contents = column("Contents", *entries, "5 A title that leaves no room.. 43")
    text = read_one(
        "a.pdf", MadePdf([[*contents, *column("The angles are 1, 2 ... 9", top=500)], column("An arm.. 43")]).write()
    ).text
    assert "Joint" not in text
    assert "no room" not in text
    assert "An arm.. 43" in text


def test_of_a_printed_index_only_its_heading_is_read() -> None:
    index = column("Index", top=740, size=16, font="bold") + column(
        "&", "call . . . . . . . 7", "A", "arm . . . . . . . 2, 31", "ash . . . . . . . 4", "B"
    )
    text = read("a.pdf", MadePdf([column("An arm bends."), index], outline=[(0, "Index", 1)]).write())[-1].text
    assert text == "# Index\n\n"


def test_a_term_above_its_explanation_is_no_beginning_of_it() -> None:
    """Manuals by Texinfo and Sphinx list commands so: "exec [ -a name ] The command is run" was a sentence."""
    full = column(LONG, top=700)
    terms = [*column("bend [ angle ]", top=670), *column("The elbow turns by the angle that is", "given.", top=658, x=108)]
    assert read_one("a.pdf", MadePdf([[*full, *terms]]).write()).text == (
        f"{LONG}\n\nbend [ angle ]\n\nThe elbow turns by the angle that is given.\n\n"
    )
    beside = [Word("A keeper trims", 72, 640), Word("the wick every four hours.", 172, 640)]
    assert "A keeper trims the wick" in " ".join(read_one("a.pdf", MadePdf([[*full, *beside]]).write()).text.split())


def test_the_number_of_a_footnote_on_a_line_of_its_own_goes() -> None:
    body = column(*["An elbow bends in one plane and carries the forearm with it."] * 5)
    note = [Word("2", 72, 106, 5), *column("It was proposed by Fenwick.", "He was right.", top=94, size=8)]
    text = read_one("a.pdf", MadePdf([[*body, *note]]).write()).text
    assert text.endswith("with it.\n\nIt was proposed by Fenwick. He was right.\n\n")


def test_bullets_that_a_browser_drew_are_items() -> None:
    words = column("The joints are:", "An elbow bends in", "one plane.", "A wrist turns.", x=90)
    page: list[Word | Dot] = [*words, Dot(80, 690), Dot(80, 666)]
    assert read_one("a.pdf", MadePdf([page]).write()).text.endswith("- An elbow bends in one plane.\n\n- A wrist turns.\n\n")


def test_a_bullet_in_larger_type_marks_the_line_beside_it() -> None:
    words = [
        *column("The joints are:", x=72),
        Word("*", 80, 683, 13),
        Word("An elbow bends in", 90, 688),
        Word("one plane.", 90, 676),
    ]
    assert read_one("a.pdf", MadePdf([words]).write()).text == "The joints are:\n\n- An elbow bends in one plane.\n\n"


def test_an_accent_over_the_space_that_begins_a_line_stands_before_its_word() -> None:
    """PDFium leaves out such a space, and gives the accent at the end of the line or with spaces of its own."""
    words = column("It can be either", top=720)
    words += [Word("\N{NO-BREAK SPACE}", 72, 700, font="accents"), Word("start',", 75, 700)]
    words += [Word("\N{NO-BREAK SPACE}stop'.", 120, 700, font="accents")]
    words += [Word("`", x, 701.7, font="accents") for x in (72, 120)]
    reading = read_one("a.pdf", MadePdf([words]).write())
    assert " ".join(readable(reading.text).split()) == "It can be either `start', `stop'."
    assert all(mark.exact for mark in reading.marks)


def test_what_programs_set_apart_is_read_as_it_was_meant() -> None:
    """TeX's dots, and signs that stand alone on each of two lines."""
    page = column(
        "It joins arg 1, arg 2, . . . , and levels, which", "cost $5 or more and are made of `steel',", "or $6 and `tin'."
    )
    reading = read_one("a.pdf", MadePdf([page]).write())
    said = "It joins arg 1, arg 2, …, and levels, which cost $5 or more and are made of `steel', or $6 and `tin'."
    assert readable(reading.text).strip() == said
    assert all(mark.exact for mark in reading.marks)


def test_code_that_a_browser_drew_last_stands_where_it_is_seen() -> None:
    words = [*column("The arm is bent so:", top=700), *column("It waits for the end of the move.", top=640)]
    code = column("bend(arm)", "wait(2)", top=670, font="code")
    text = "The arm is bent so:\n\n```\nbend(arm)\nwait(2)\n```\n\nIt waits for the end of the move.\n\n"
    assert read_one("a.pdf", MadePdf([[*words, *code]]).write()).text == text


def test_two_columns_are_read_one_after_the_other() -> None:
    left, right = (column(f"The {side} one begins", "and ends here.", x=x) for side, x in (("left", 72), ("right", 320)))
    text = read_one("a.pdf", MadePdf([[*left, *right]]).write()).text
    assert text.index("left") < text.index("ends here") < text.index("right")


def test_code_in_a_font_that_does_not_say_so_is_known_by_its_widths() -> None:
    lines = column("if (arm.bends) {", "    wait(2);", "}", top=650, font="typed")
    page = [*column("The code below bends the arm once and waits for it.", top=700), *lines]
    assert "```\nif (arm.bends) {\n    wait(2);\n}\n```" in read_one("a.pdf", MadePdf([page]).write()).text


def test_bullets_are_items_and_the_lines_of_a_table_stay_lines() -> None:
    items = [
        *column("• An elbow bends in", top=700, x=84),
        *column("one plane.", top=688, x=92),
        *column("• A wrist turns.", top=676, x=84),
    ]
    rows = [Word("Arm", 72, 640), Word("Load", 200, 640), Word("left", 72, 628), Word("2 kg", 200, 628)]
    text = read_one("a.pdf", MadePdf([[*column("These are the joints of a robot:", top=712), *items, *rows]]).write()).text
    assert "- An elbow bends in one plane.\n\n- A wrist turns.\n" in text
    assert "Arm Load left" not in text.replace("\n", " ")


def chapters(changed: int | None = None, *, count: int, pages: int) -> MadePdf:
    """Each of `pages` pages of its own."""
    made = [
        column(
            *(
                f"Line {line} of page {page} {'now ' * (page // pages == changed)}says what arm {page} carries."
                for line in range(9)
            )
        )
        for page in range(count * pages)
    ]
    return MadePdf(made, outline=[(0, f"Chapter {number}", number * pages) for number in range(count)])


def test_an_edit_of_one_chapter_changes_the_words_of_that_chapter_alone() -> None:
    before, after = (read("a.pdf", chapters(changed, count=4, pages=3).write()) for changed in (None, 2))
    assert [one.text == other.text for one, other in zip(before, after, strict=True)] == [True, True, False, True]


@pytest.mark.soak
def test_two_thousand_pages_are_read_within_the_limit() -> None:
    started = time.process_time()
    assert len(read("a.pdf", chapters(count=100, pages=20).write())) == 100
    assert time.process_time() - started < 200


def test_a_long_book_is_held_in_little_memory() -> None:
    """A manual of 1,151 pages took 867 MB, and one of 3,000 would have had more than a reader gets."""
    pages = [column(*(f"{number} {line} {'an elbow bends, a wrist turns, ' * 2}" for line in range(50))) for number in range(30)]
    raw = MadePdf(pages).write()
    tracemalloc.start()
    characters = sum(len(one.text) for one in read("a.pdf", raw))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert characters > 90_000
    assert most / characters < 130


def test_pages_that_are_pictures_are_named_with_the_remedy() -> None:
    made = MadePdf([column("Words of the first page."), [], column("Words of the last.")], pictured=[1])
    (warning,) = read_one("a.pdf", made.write()).warnings
    assert warning.startswith("page 2 of the PDF is without text")
    assert "ocrmypdf in.pdf out.pdf" in warning
    made = MadePdf([column("Words of the first page."), [], []], pictured=[1, 2])
    (several,) = read_one("a.pdf", made.write()).warnings
    assert several.startswith("pages 2, 3 of the PDF are without text")


def test_a_damaged_page_is_named_and_the_others_are_read() -> None:
    made = MadePdf([column("Words of the first page."), column("Lost."), column("Words of the last.")]).write()
    first, second, rest = made.split(b"<</Type/Page/", 2)
    reading = read_one("a.pdf", first + b"<</Type/Page/" + second + b"(/Type/Page/ " + rest)
    assert [text for text, _ in placed(reading)] == ["Words of the first page.", "Words of the last."]
    (warning,) = reading.warnings
    assert "page 2 of the PDF is damaged" in warning


def test_an_outline_that_goes_in_a_circle_is_read_as_far_as_it_goes() -> None:
    made = book()
    made.circular = True
    assert [one.title for one in read("a.pdf", made.write())] == ["Front matter", "Arms", "Legs"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"%PDF-1.7 and nothing else", "it is damaged or no PDF at all; save or download it again"),
        (book().write()[:300], "it is damaged or no PDF at all"),
        (MadePdf([column("x")], locked=True).write(), "it is locked with a password; save a copy without one"),
        (MadePdf([[], []], pictured=[0, 1]).write(), "it has no text, only pictures of 2 pages; run text recognition"),
        (MadePdf([[]] * 5001).write(), "it has 5,001 pages, more than 5,000; split it"),
    ],
    ids=["no PDF", "truncated", "locked", "pictures", "long"],
)
def test_what_cannot_be_read_is_said_in_a_sentence(raw: bytes, says: str) -> None:
    with pytest.raises(InvalidBook) as said:
        read("a.pdf", raw)
    assert says in str(said.value)
