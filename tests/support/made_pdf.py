"""Writes small PDF files for tests: words at places, an outline, labels of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

FONTS = {
    "text": "Times-Roman",
    "bold": "Times-Bold",
    "italic": "Times-Italic",
    "code": "Courier",
    "signs": "CMSY10",
    "typed": "t1xtt",
    "accents": "Times-Roman",
}
DESCRIPTOR = (
    "<</Type/FontDescriptor/FontName/t1xtt/Flags 4/FontBBox[0 -200 600 800]/ItalicAngle 0/Ascent 800/Descent -200/StemV 80>>"
)
WIDTHS = {"typed": f"/FirstChar 32/LastChar 126/Widths[{'600 ' * 94}900]/FontDescriptor {DESCRIPTOR}"}
"""`typed`: every letter is equally wide, and neither the font's name nor its flags say so. One sign is wider,
as in some of TeX's fonts."""
TO_UNICODE = {
    "accents": b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
    b"2 beginbfchar <60> <0300> <A0> <00A0> endbfchar endcmap"
}
"""`accents`: ` is the accent that stands over a letter."""


@dataclass(frozen=True, slots=True)
class Word:
    """A text that begins at `x`, `y` from the lower left corner."""

    text: str
    x: float
    y: float
    size: float = 10.0
    font: str = "text"


@dataclass(frozen=True, slots=True)
class Dot:
    """A filled square whose lower left corner is at `x`, `y`: how a browser draws the bullet of a list."""

    x: float
    y: float
    size: float = 3.0


def column(*lines: str, top: float = 700, x: float = 72, size: float = 10.0, font: str = "text", pitch: float = 12) -> list[Word]:
    return [Word(line, x, top - pitch * at, size, font) for at, line in enumerate(lines)]


@dataclass(slots=True)
class MadePdf:
    """`outline`: level, title and page (from 0) of each entry. `labels`: whether pages are numbered i, ii … up to the one given
    here, and from 1 after it. `pictured`: pages that hold a picture and no words."""

    pages: Sequence[Sequence[Word | Dot]]
    outline: Sequence[tuple[int, str, int]] = ()
    roman_pages: int = 0
    pictured: Sequence[int] = ()
    locked: bool = False
    circular: bool = False
    objects: list[bytes] = field(default_factory=list)

    def write(self) -> bytes:
        meant = {name: f"/ToUnicode {self._stream('', body)} 0 R" for name, body in TO_UNICODE.items()}
        fonts = {
            name: self._add(f"<</Type/Font/Subtype/Type1/BaseFont/{base}/Encoding/WinAnsiEncoding{more}>>")
            for name, base in FONTS.items()
            for more in (WIDTHS.get(name, "") + meant.get(name, ""),)
        }
        resources = "/Font<<" + "".join(f"/{name} {at} 0 R" for name, at in fonts.items()) + ">>"
        image = self._stream("/Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8", b"\x80")
        tree = len(self.objects) + 1 + 2 * len(self.pages)
        kids = []
        for number, words in enumerate(self.pages):
            content = self._stream("", self._content(words, number in self.pictured))
            page = f"<</Type/Page/Parent {tree} 0 R/MediaBox[0 0 612 792]/Contents {content} 0 R"
            kids.append(self._add(f"{page}/Resources<<{resources}/XObject<</picture {image} 0 R>>>>>>"))
        assert self._add(f"<</Type/Pages/Count {len(kids)}/Kids[{' '.join(f'{kid} 0 R' for kid in kids)}]>>") == tree
        labels = f"/PageLabels<</Nums[0<</S/r>>{self.roman_pages}<</S/D>>]>>" if self.roman_pages else ""
        outlines = f"/Outlines {self._outlines(kids)} 0 R" if self.outline else ""
        root = self._add(f"<</Type/Catalog/Pages {tree} 0 R{labels}{outlines}>>")
        return self._file(root)

    def _content(self, words: Sequence[Word | Dot], pictured: bool) -> bytes:
        if pictured:
            return b"q 500 0 0 700 50 50 cm /picture Do Q"
        lines = []
        for word in words:
            if isinstance(word, Dot):
                lines.append(f"{word.x} {word.y} {word.size} {word.size} re f")
                continue
            text = word.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            lines.append(f"BT /{word.font} {word.size} Tf {word.x} {word.y} Td ({text}) Tj ET")
        return "\n".join(lines).encode("cp1252")

    def _outlines(self, kids: Sequence[int]) -> int:
        """Entries as a tree: each knows its parent, its neighbours and its first and last child."""
        first = len(self.objects) + 1
        root = first + len(self.outline)
        ids = [first + at for at in range(len(self.outline))]
        parents: list[int] = []
        for at, (level, _, _) in enumerate(self.outline):
            above = [before for before in range(at) if self.outline[before][0] < level]
            parents.append(ids[above[-1]] if level else root)
        for at, (_, title, page) in enumerate(self.outline):
            mine = [id for id, parent in zip(ids, parents, strict=True) if parent == ids[at]]
            same = [id for id, parent in zip(ids, parents, strict=True) if parent == parents[at]]
            place = same.index(ids[at])
            after = f"/Next {same[place + 1]} 0 R" if place + 1 < len(same) else f"/Next {same[0]} 0 R" if self.circular else ""
            children = f"/First {mine[0]} 0 R/Last {mine[-1]} 0 R" if mine else ""
            self._add(f"<</Title({title})/Parent {parents[at]} 0 R{after}{children}/Dest[{kids[page]} 0 R/Fit]>>")
        top = [id for id, parent in zip(ids, parents, strict=True) if parent == root]
        return self._add(f"<</Type/Outlines/First {top[0]} 0 R/Last {top[-1]} 0 R>>")

    def _stream(self, more: str, body: bytes) -> int:
        self.objects.append(f"<<{more}/Length {len(body)}>>stream\n".encode() + body + b"\nendstream")
        return len(self.objects)

    def _add(self, body: str) -> int:
        self.objects.append(body.encode("cp1252"))
        return len(self.objects)

    def _file(self, root: int) -> bytes:
        written, offsets = b"%PDF-1.7\n", []
        for number, body in enumerate(self.objects, start=1):
            offsets.append(len(written))
            written += b"%d 0 obj\n" % number + body + b"\nendobj\n"
        table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        key = "AB" * 32
        lock = f"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<{key}>/U<{key}>>>/ID[<00><00>]" if self.locked else ""
        end = f"trailer<</Size {len(offsets) + 1}/Root {root} 0 R{lock}>>\nstartxref\n{len(written)}\n%%EOF\n"
        return written + b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1) + table + end.encode()
