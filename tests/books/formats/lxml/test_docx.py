"""Word files: headings by style, lists, code and tables; tracked changes as they would be accepted."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from bythebook.errors import InvalidBook
from tests.support.readings import placed, read, read_one, zipped

NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
STYLES = f"""<w:styles {NAMESPACE}>
<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Own"><w:name w:val="HeadB"/><w:basedOn w:val="H2"/></w:style>
<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Src"><w:name w:val="Source Code"/></w:style></w:styles>"""
NUMBERING = f"""<w:numbering {NAMESPACE}><w:abstractNum w:abstractNumId="7">
<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>
<w:num w:numId="3"><w:abstractNumId w:val="7"/></w:num></w:numbering>"""


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, style: str = "", list_id: str = "") -> str:
    listed = f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{list_id}"/></w:numPr>' if list_id else ""
    styled = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{styled}{listed}</w:pPr>{''.join(one if one.startswith('<') else run(one) for one in runs)}</w:p>"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"


def docx(*blocks: str, more: Mapping[str, str] | None = None) -> bytes:
    body = f"<w:document {NAMESPACE}><w:body>{''.join(blocks)}</w:body></w:document>"
    return zipped({"word/document.xml": body, "word/styles.xml": STYLES, "word/numbering.xml": NUMBERING, **(more or {})})


BLOCKS = (
    paragraph("Arms", style="H1"),
    paragraph("The range ends at 2", run("31", '<w:vertAlign w:val="superscript"/>'), "."),
    paragraph("It bends ", "<w:del>" + run("twice") + "</w:del>", "<w:ins>" + run("once") + "</w:ins>", "."),
    paragraph("Elbow", style="Own"),
    paragraph("First.", list_id="3"),
    paragraph("Second.", list_id="3"),
    paragraph("def f(x):", style="Src"),
    paragraph("    return x", style="Src"),
    f"<w:tbl>{row('Arm', 'Load')}{row('left', '2 kg')}</w:tbl>",
    paragraph("The end."),
)
MARKDOWN = """\
# Arms

The range ends at 2³¹.

It bends once.

## Elbow

1. First.

2. Second.

```
def f(x):
    return x
```

| Arm | Load |
| --- | --- |
| left | 2 kg |

The end."""


def test_paragraphs_become_what_their_styles_say() -> None:
    reading = read_one("arms.docx", docx(*BLOCKS))
    assert reading.text.strip() == MARKDOWN
    assert reading.title == "Arms"


def test_every_piece_is_found_at_its_paragraph() -> None:
    found = dict(placed(read_one("arms.docx", docx(*BLOCKS))))
    assert found["It bends once."] == "paragraph 3"
    assert found["| left | 2 kg |"] == "paragraph 11"
    assert found["The end."] == "paragraph 13"
    assert not [where for where in found.values() if where.startswith("near")]


def test_headings_of_the_first_level_begin_lessons() -> None:
    blocks = [paragraph("Arms", style="H1"), paragraph("Bend."), paragraph("Legs", style="H1"), paragraph("Walk.")]
    assert [(one.source_file, one.title) for one in read("b/robot.docx", docx(*blocks))] == [
        ("b/robot.docx/1-arms", "Arms"),
        ("b/robot.docx/2-legs", "Legs"),
    ]


def test_the_number_of_a_note_goes_and_an_exponent_stays() -> None:
    raised = '<w:vertAlign w:val="superscript"/>'
    linked = f"<w:hyperlink>{run('[3]', raised)}</w:hyperlink>"
    reading = read_one("a.docx", docx(paragraph("It ends at 2", run("31", raised), ".", linked, " So it is.")))
    assert placed(reading) == [("It ends at 2³¹. So it is.", "paragraph 1")]


def test_a_deleted_end_of_a_paragraph_joins_it_to_the_next_and_a_deleted_row_goes() -> None:
    ends = '<w:p><w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>' + run("It bends ") + "</w:p>"
    gone = row("old", "3 kg").replace("<w:tr>", '<w:tr><w:trPr><w:del w:id="2"/></w:trPr>')
    table = f"<w:tbl>{row('Arm', 'Load')}{gone}{row('left', '2 kg')}</w:tbl>"
    reading = read_one("a.docx", docx(ends, paragraph("once."), table))
    assert reading.text == "It bends once.\n\n| Arm | Load |\n| --- | --- |\n| left | 2 kg |\n\n"
    assert all(mark.exact for mark in reading.marks)


def test_an_entity_that_only_a_declaration_explains_is_told() -> None:
    first, second = read(
        "a.docx", docx(paragraph("Arms", style="H1"), paragraph("It &bends; &eacute;."), paragraph("Legs", style="H1"))
    )
    assert "It … é." in first.text
    explains = "which only a declaration explains; … stands instead. Write the text itself there."
    assert (first.warnings, second.warnings) == ((f"word/document.xml has &bends;, {explains}",), ())


def test_thousands_of_paragraphs_whose_ends_are_deleted_are_joined_at_once() -> None:
    joined = "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>" * 8_000
    started = time.process_time()
    assert read_one("a.docx", docx(joined + paragraph(" b."))).text == "a" * 8_000 + " b.\n\n"
    assert time.process_time() - started < 5


NOTE = "<w:footnotes {}><w:footnote w:id='1'>{}</w:footnote></w:footnotes>"


def test_a_note_that_is_referred_to_again_and_again_is_read_once() -> None:
    again = "<w:r><w:footnoteReference w:id='1'/></w:r>"
    note = NOTE.format("xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'", paragraph("It is steel."))
    body = paragraph("An elbow bends.") + f"<w:p><w:r><w:t>It carries.</w:t></w:r>{again * 2_000}</w:p>" * 2
    started = time.process_time()
    reading = read_one("a.docx", docx(body, more={"word/footnotes.xml": note}))
    assert time.process_time() - started < 5
    assert reading.text == "An elbow bends.\n\nIt carries.\n\nIt is steel.\n\nIt carries.\n\n"
    assert all(mark.exact for mark in reading.marks)


def test_runs_that_a_program_cut_are_one_word() -> None:
    fixed = '<w:rFonts w:ascii="Courier New"/>'
    reading = read_one("a.docx", docx(paragraph("Call ", run("st", fixed), run("op", fixed), " in a_", "b_c.")))
    assert placed(reading) == [("Call `stop` in a_b_c.", "paragraph 1")]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\xd0\xcf\x11\xe0 an old .doc", "it is a Word file from before 2007"),
        (b"not a zip", "it is damaged or no Word file at all"),
        (docx(paragraph("Arms"))[20:], "word/document.xml in it cannot be unpacked"),
        (
            docx(paragraph("Arms"), more={"word/footnotes.xml": "no XML"}),
            "word/footnotes.xml in it is damaged; save or download it again",
        ),
        (docx(paragraph("Arms"), more={"word/footnotes.xml": " "}), "word/footnotes.xml in it is damaged"),
        (zipped({"x": "y"}), "it is not a Word file (word/document.xml is missing in it)"),
        (docx(paragraph("")), "it has no paragraph with text"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(raw: bytes, says: str) -> None:
    with pytest.raises(InvalidBook) as said:
        read("a.docx", raw)
    assert says in str(said.value)


def maths(formula: str) -> str:
    return f'<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">{formula}</m:oMath>'


def of(tag: str, **parts: str) -> str:
    return f"<m:{tag}>{''.join(f'<m:{name}>{letters(part)}</m:{name}>' for name, part in parts.items())}</m:{tag}>"


def letters(text: str) -> str:
    return text if text.startswith("<") else f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("formula", "tex"),
    [
        (of("sSup", e=of("d", e="a+b"), sup="2"), "(a+b)^{2}"),
        ('<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val=""/></m:dPr><m:e><m:r><m:t>0</m:t></m:r></m:e></m:d>', "[0"),
        (
            '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>' + of("nary", sub="i", sup="n", e="x")[len("<m:nary>") :],
            "∑_{i}^{n} x",
        ),
        (
            f"<m:m><m:mr>{of('e', e='1')}{of('e', e='0')}</m:mr><m:mr>{of('e', e='0')}{of('e', e='1')}</m:mr></m:m>",
            "1 & 0 \\\\ 0 & 1",
        ),
        (of("func", fName="cos", e="θ"), "cos θ"),
        (of("rad", deg="3", e="x"), "\\sqrt[3]{x}"),
        (of("sSubSup", e="x", sub="1", sup="2"), "x_{1}^{2}"),
    ],
)
def test_a_formula_keeps_its_brackets_signs_and_rows(formula: str, tex: str) -> None:
    reading = read_one("a.docx", docx(paragraph("It is ", maths(formula), " here.")))
    assert placed(reading) == [(f"It is ${tex}$ here.", "paragraph 1")]


def test_a_text_box_is_read_once_and_the_paragraphs_after_it_keep_their_places() -> None:
    box = paragraph("Mind the gear.")
    shown = f"<mc:Choice><w:drawing><w:txbxContent>{box}</w:txbxContent></w:drawing></mc:Choice>"
    old = f"<mc:Fallback><w:pict><w:txbxContent>{box}</w:txbxContent></w:pict></mc:Fallback>"
    drawn = f'<w:r xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:AlternateContent>{shown}{old}</mc:AlternateContent></w:r>'
    reading = read_one(
        "a.docx", docx(paragraph("An arm bends.", drawn), paragraph("The end."), f"<w:tbl>{row('a', 'b')}</w:tbl>")
    )
    assert placed(reading) == [
        ("An arm bends.", "paragraph 1"),
        ("Mind the gear.", "paragraph 2"),
        ("The end.", "paragraph 3"),
        ("| a | b |", "paragraph 4"),
    ]


def test_notes_follow_the_paragraph_that_refers_to_them() -> None:
    def notes(kind: str, *texts: str) -> str:
        made = "".join(f'<w:{kind} w:id="{at}">{paragraph(" ", text)}</w:{kind}>' for at, text in enumerate(texts, start=1))
        line = f'<w:{kind} w:type="separator" w:id="-1">{paragraph("line")}</w:{kind}>'
        return f"<w:{kind}s {NAMESPACE}>{line}{made}</w:{kind}s>"

    def refers(kind: str, id: int) -> str:
        return f'<w:r><w:{kind}Reference w:id="{id}"/></w:r>'

    made = docx(
        paragraph("An arm tips", refers("footnote", 2), "<w:del>" + refers("footnote", 1) + "</w:del>", ", then falls."),
        f"<w:tbl><w:tr><w:tc>{paragraph('left', refers('endnote', 1))}</w:tc><w:tc>{paragraph('2 kg')}</w:tc></w:tr></w:tbl>",
        paragraph("The end", refers("footnote", 9), "."),
        more={
            "word/footnotes.xml": notes("footnote", "Gone.", "Tipping is not yet falling."),
            "word/endnotes.xml": notes("endnote", "Of both arms."),
        },
    )
    assert placed(read_one("a.docx", made)) == [
        ("An arm tips, then falls.", "paragraph 1"),
        ("Tipping is not yet falling.", "paragraph 1, note"),
        ("| left | 2 kg |", "paragraph 2"),
        ("Of both arms.", "paragraph 2, note"),
        ("The end.", "paragraph 4"),
    ]


@pytest.mark.parametrize("depth", ["1000000000", "9" * 5000, "²"])
def test_a_list_is_no_deeper_than_word_makes_it(depth: str) -> None:
    """Each level is written as two spaces: a thousand million of them took all the memory."""
    item = paragraph("First.", list_id="3").replace('ilvl w:val="0"', f'ilvl w:val="{depth}"')
    reading = read_one("a.docx", docx(item))
    assert reading.text.strip() == "- First."
    assert len(reading.text) < 50
