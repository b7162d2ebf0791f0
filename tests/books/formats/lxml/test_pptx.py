"""PowerPoint files: slides as sections, bullets, tables, and the speaker's notes."""

from __future__ import annotations

import pytest

from bythebook.errors import InvalidBook
from tests.support.readings import placed, read, read_one, zipped

NAMESPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
RELATIONSHIP = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def run(text: str, properties: str = "<a:rPr/>") -> str:
    return f"<a:r>{properties}<a:t>{text}</a:t></a:r>"


def paragraph(*runs: str, properties: str = "") -> str:
    return f"<a:p>{properties}{''.join(one if one.startswith('<') else run(one) for one in runs)}</a:p>"


def shape(*paragraphs: str, kind: str | None = None) -> str:
    """A placeholder of this kind; without one, a text box."""
    held = "" if kind is None else f'<p:ph type="{kind}"/>' if kind else '<p:ph idx="1"/>'
    body = "".join(one if one.startswith("<") else paragraph(one) for one in paragraphs)
    return f"<p:sp><p:nvSpPr><p:nvPr>{held}</p:nvPr></p:nvSpPr><p:txBody>{body}</p:txBody></p:sp>"


def table(*rows: tuple[str, ...]) -> str:
    made = "".join(
        f"<a:tr>{''.join(f'<a:tc><a:txBody>{paragraph(cell)}</a:txBody></a:tc>' for cell in cells)}</a:tr>" for cells in rows
    )
    return f"<p:graphicFrame><a:graphic><a:graphicData><a:tbl>{made}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"


def deck(*slides: str, notes: dict[int, str] | None = None, more: dict[str, bytes | str] | None = None) -> bytes:
    """Their files are numbered the other way round, as in a deck whose slides were moved."""
    files = [f"slide{len(slides) - at}.xml" for at in range(len(slides))]
    listed = "".join(f'<p:sldId id="{256 + at}" r:id="rId{at}"/>' for at in range(len(slides)))
    members: dict[str, bytes | str] = {
        **(more or {}),
        "ppt/presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relationships(
            {f"rId{at}": ("slide", f"slides/{name}") for at, name in enumerate(files)}
        ),
    }
    for at, (name, body) in enumerate(zip(files, slides, strict=True), start=1):
        members[f"ppt/slides/{name}"] = f"<p:sld {NAMESPACES}><p:cSld><p:spTree>{body}</p:spTree></p:cSld></p:sld>"
        if notes and at in notes:
            members[f"ppt/slides/_rels/{name}.rels"] = relationships({"rId1": ("notesSlide", f"../notesSlides/n{at}.xml")})
            below = f"<p:cSld><p:spTree>{notes[at]}</p:spTree></p:cSld>"
            members[f"ppt/notesSlides/n{at}.xml"] = f"<p:notes {NAMESPACES}>{below}</p:notes>"
    return zipped(members)


def relationships(files: dict[str, tuple[str, str]]) -> str:
    each = "".join(
        f'<Relationship Id="{id}" Type="{RELATIONSHIP}/{kind}" Target="{file}"/>' for id, (kind, file) in files.items()
    )
    return f"<Relationships>{each}</Relationships>"


COUNTED = '<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>'
FIXED = '<a:rPr><a:latin typeface="Courier New"/></a:rPr>'
SLIDES = (
    shape("Arms and", kind="ctrTitle") + shape("A course", kind="subTitle"),
    shape("12", kind="sldNum")
    + shape("Robots Ltd", kind="ftr")
    + shape(
        paragraph("An elbow bends ", run("on", "<a:rPr/>"), run("ce"), "."),
        paragraph("It counts to 2", run("31", '<a:rPr baseline="30000"/>'), ".", properties='<a:pPr lvl="1"/>'),
        paragraph("No bullet here.", properties="<a:pPr><a:buNone/></a:pPr>"),
        kind="",
    )
    + shape("Elbows", kind="title"),
    table(("Arm", "Load"), ("left", "2 kg"))
    + "<p:grpSp>"
    + shape(paragraph("Switch it off.", properties=COUNTED), paragraph("Wait.", properties=COUNTED))
    + "</p:grpSp>"
    + "<mc:AlternateContent><mc:Choice>"
    + shape(paragraph("Call ", run("stop", FIXED), " now."))
    + "</mc:Choice><mc:Fallback>"
    + shape("Call a picture.")
    + "</mc:Fallback></mc:AlternateContent>"
    + shape(paragraph(run("def f(x):", FIXED), "<a:br/>", run("    return x", FIXED))),
)
NOTED = {2: shape("Slide 2", kind="sldImg") + shape("The elbow was chosen because it is cheap.", kind="body")}
MARKDOWN = """\
# Arms and

A course

## Elbows

- An elbow bends once.

  - It counts to 2³¹.

No bullet here.

The elbow was chosen because it is cheap.

## Slide 3

| Arm | Load |
| --- | --- |
| left | 2 kg |

1. Switch it off.

2. Wait.

Call `stop` now.

```
def f(x):
    return x
```"""


def test_slides_become_sections_and_the_notes_follow() -> None:
    reading = read_one("arms.pptx", deck(*SLIDES, notes=NOTED))
    assert reading.text.strip() == MARKDOWN


def test_every_piece_is_found_on_its_slide() -> None:
    found = dict(placed(read_one("arms.pptx", deck(*SLIDES, notes=NOTED))))
    assert found["It counts to 2³¹."] == "slide 2"
    assert found["The elbow was chosen because it is cheap."] == "slide 2, notes"
    assert found["| left | 2 kg |"] == "slide 3"
    assert [text for text, place in found.items() if place.startswith("near")] == ["Slide 3"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\xd0\xcf\x11\xe0 an old .ppt", "it is a PowerPoint file from before 2007"),
        (zipped({"x": "y"}), "it is not a PowerPoint file (ppt/presentation.xml is missing in it)"),
        (deck(shape("")), "it has no slide with text"),
        (deck(), "it has no slide with text"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(raw: bytes, says: str) -> None:
    with pytest.raises(InvalidBook) as said:
        read("a.pptx", raw)
    assert says in str(said.value)


def test_an_empty_line_of_code_has_no_place() -> None:
    """Nothing can be quoted from it."""
    code = paragraph(run("def f(x):", FIXED), "<a:br/>", "<a:br/>", run("    return x", FIXED))
    reading = read_one("a.pptx", deck(shape(code, paragraph(run("f(2)", FIXED)))))
    assert "def f(x):\n\n    return x\nf(2)" in reading.text
    assert [text for text, _ in placed(reading)][1:] == ["def f(x):", "return x", "f(2)"]


def test_a_title_whose_text_is_in_no_paragraph_is_no_title() -> None:
    lost = "<p:sp><p:nvSpPr><p:nvPr><p:ph type='title'/></p:nvPr></p:nvSpPr><p:txBody><a:t>Lost</a:t></p:txBody></p:sp>"
    assert read_one("a.pptx", deck(lost + shape("An elbow bends."))).text == "## Slide 1\n\nAn elbow bends.\n\n"


def test_a_chart_is_its_title_and_the_table_it_draws() -> None:
    def values(tag: str, *held: str) -> str:
        points = "".join(f'<c:pt idx="{at}"><c:v>{one}</c:v></c:pt>' for at, one in enumerate(held))
        return f"<c:{tag}><c:numRef><c:numCache>{points}</c:numCache></c:numRef></c:{tag}>"

    series = "".join(
        f"<c:ser><c:tx><c:strRef><c:v>{name}</c:v></c:strRef></c:tx>"
        f"{values('cat', 'elbow', 'wrist')}{values('val', *held)}</c:ser>"
        for name, held in (("left", ("2", "0.5")), ("right", ("3", "1")))
    )
    title = f"<c:title><c:tx><c:rich>{paragraph('Load in kg')}</c:rich></c:tx></c:title>"
    space = f'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" {NAMESPACES}'
    chart = f"<c:chartSpace {space}><c:chart>{title}<c:plotArea>{series}</c:plotArea></c:chart></c:chartSpace>"
    frame = '<a:graphic><a:graphicData><c:chart xmlns:c="c" r:id="rId7"/></a:graphicData></a:graphic>'
    made = deck(
        shape("Loads", kind="title") + f"<p:graphicFrame>{frame}</p:graphicFrame>",
        more={
            "ppt/slides/_rels/slide1.xml.rels": relationships({"rId7": ("chart", "../charts/chart1.xml")}),
            "ppt/charts/chart1.xml": chart,
        },
    )
    reading = read_one("a.pptx", made)
    assert reading.text == (
        "# Loads\n\n**Load in kg**\n\n|  | left | right |\n| --- | --- | --- |\n| elbow | 2 | 3 |\n| wrist | 0.5 | 1 |\n\n"
    )
    assert placed(reading)[-1] == ("| wrist | 0.5 | 1 |", "near slide 1")
