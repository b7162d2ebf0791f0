from __future__ import annotations

from bythebook.books.chunker import CAP, SMALL, TARGET, Piece, cut, embedded_text, size
from bythebook.books.lesson import read_claim, read_lesson
from bythebook.books.model import Book, Chunk


def texts(source: str, *, mdx: bool = False) -> list[str]:
    return [source[piece.span.start : piece.span.end] for piece in cut(source, body_start=0, mdx=mdx)]


def pieces(source: str, *, mdx: bool = False) -> list[Piece]:
    return cut(source, body_start=0, mdx=mdx)


def prose(tokens: int, word: str = "robot") -> str:
    """Text of about so many tokens, in sentences of ten words."""
    return " ".join([" ".join([word] * 10).capitalize() + "."] * (tokens // 13))


def chunks_of(source: str, path: str = "a.mdx") -> tuple[Chunk, ...]:
    book = Book(book_id="b", title="B", site="docusaurus")
    claim = read_claim(book, path, source)
    return read_lesson(book, path, source, file_hash="h", claim=claim, id_base=path, chapter_title="").chunks


def test_sections_are_cut_at_headings() -> None:
    first, second = f"## One\n\n{prose(200)}", f"Two\n---\n\n{prose(200)}"
    assert texts(f"{first}\n\n{second}") == [first, second]


def test_a_section_above_the_cap_is_cut_evenly() -> None:
    source = "## One\n\n" + "\n\n".join(prose(104) for _ in range(12))
    sizes = [size(text) for text in texts(source)]
    assert len(sizes) == 3
    assert all(abs(one - TARGET) < 110 for one in sizes)


def test_blocks_stay_whole() -> None:
    code = "```py\n" + "x = 1\n\n" * 60 + "```"
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 40
    source = f"## One\n\n{prose(300)}\n\n{code}\n\n{prose(300)}\n\n{table}\n\n{prose(300)}"
    found = texts(source)
    assert sum(code in text for text in found) == 1
    assert sum(table.strip() in text for text in found) == 1
    assert all(not piece.preface for piece in pieces(source))


def test_a_fence_above_the_cap_repeats_its_opening_line() -> None:
    source = "```python title='a'\n" + "\n".join(f"def f{i}(x):\n    return x * {i}\n" for i in range(120)) + "```"
    found = pieces(source)
    assert len(found) > 2
    assert [piece.preface for piece in found] == ["", *["```python title='a'"] * (len(found) - 1)]
    assert all(text.startswith("def f") for text in texts(source)[1:])


def test_a_table_above_the_cap_repeats_its_header() -> None:
    header = "| name | mass |\n|------|------|"
    source = f"{header}\n" + "\n".join(f"| arm {i} | {i} kg |" for i in range(200))
    found = pieces(source)
    assert {piece.preface for piece in found[1:]} == {header}
    assert all(text.startswith("| arm") for text in texts(source)[1:])
    assert "name | mass" in embedded_text(chunks_of(source)[-1])


def test_a_header_too_large_is_not_repeated() -> None:
    source = f"| {prose(300)} |\n|---|\n" + "| row |\n" * 400
    assert {piece.preface for piece in pieces(source)} == {""}


def test_list_items_stay_whole() -> None:
    items = [f"- item {i} {prose(130)}\n\n  more {i}" for i in range(12)]
    found = texts("\n".join(items))
    assert len(found) > 3
    assert all(text.startswith("- item") for text in found)


def test_a_paragraph_above_the_cap_is_cut_at_sentences() -> None:
    found = texts(prose(1300))
    assert all(text.endswith("robot.") for text in found)


def test_what_has_no_sentences_and_no_words_is_cut_too() -> None:
    for source in ("robot " * 2000, "x" * 30_000, "机器人控制" * 800, "🤖" * 2000):
        found = texts(source)
        assert "".join("".join(text.split()) for text in found) == "".join(source.split())
        assert all(SMALL <= size(text) <= CAP for text in found)


def test_small_sections_join_the_following_sibling_or_child() -> None:
    big = prose(300)
    child = f"## A\n\nShort.\n\n### B\n\n{big}"
    sibling = f"## C\n\nShort.\n\n## D\n\n{big}"
    assert texts(f"{child}\n\n{sibling}") == [child, sibling]


def test_a_small_last_section_joins_what_comes_before() -> None:
    source = f"## A\n\n{prose(300)}\n\n### B\n\nShort.\n\n# C\n\n{prose(450)}"
    assert len(texts(source)) == 2
    assert "Short." in texts(source)[0]


def test_a_small_piece_that_fits_nowhere_is_evened_out() -> None:
    source = f"## A\n\n{prose(250)}\n\n{prose(240)}\n\n## B\n\n{prose(65)}"
    sizes = [size(text) for text in texts(source)]
    assert len(sizes) == 2
    assert min(sizes) >= SMALL


def test_marks_that_only_look_like_headings() -> None:
    source = "# T\n\n```\n# a\n```\n\n<!--\n# b\n-->\n\n$$\n# c\n$$\n\n> # d\n\n- # e\n"
    assert {piece.heading_path for piece in pieces(source)} == {("T",)}
    mdx = "# T\n\n{/*\n# a\n*/}\n\n<Code\n  text={`\n# b\n`}\n/>\n\nexport const x = `\n# c\n`\n"
    assert {piece.heading_path for piece in pieces(mdx, mdx=True)} == {("T",)}


def test_headings_inside_components_and_admonitions_count() -> None:
    tab = f"<Tabs>\n  <TabItem>\n    ## In a tab\n    {prose(200)}\n  </TabItem>\n</Tabs>"
    source = f"{tab}\n\n:::note\n## In a note\n\n{prose(200)}\n:::\n"
    assert [piece.section_title for piece in pieces(source, mdx=True)] == ["In a tab", "In a note"]


def test_the_place_is_that_of_the_first_section_with_text() -> None:
    source = f"# T\n\n## A\n\n### B\n\n{prose(200)}\n\n## C\n\n{prose(200)}"
    assert [piece.heading_path for piece in pieces(source)] == [("T", "A", "B"), ("T", "C")]


def test_nothing_before_the_first_heading_has_a_section() -> None:
    found = pieces(f"{prose(200)}\n\n## A\n\n{prose(200)}")
    assert [piece.section_title for piece in found] == [None, "A"]


def test_an_edit_changes_what_is_embedded_of_one_chunk_only() -> None:
    paragraphs = [f"## S{i}\n\n{prose(200)}" for i in range(6)]
    before = {embedded_text(chunk) for chunk in chunks_of("\n\n".join(paragraphs))}
    paragraphs[3] = paragraphs[3].replace(" robot", " drone", 1)
    after = {embedded_text(chunk) for chunk in chunks_of("\n\n".join(paragraphs))}
    assert len(before - after) == len(after - before) == 1


def test_what_is_embedded_says_where_it_stands() -> None:
    (chunk,) = chunks_of("# Arms\n\n## The *elbow* {#e}\n\n```\n        deep\n```\n")
    assert embedded_text(chunk) == "Arms > The elbow\nArms\nThe elbow\ndeep"


def test_size_is_never_below_the_word_count() -> None:
    assert size("one two three four five six seven eight nine ten") == 13
    assert size("") == 0
    assert size("机器人") >= 6
