"""Markdown of a book as HTML: what it looks like, what is marked in it, and that nothing of a hostile book gets through."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bythebook.answering.answer import Sentence
from bythebook.books.model import Span
from bythebook.grounding.citations import Citation
from bythebook.web.render.book_links import BookLinks
from bythebook.web.render.html import render_passage, render_sentence
from bythebook.web.render.mathml import ATTRIBUTES, TAGS, render_formula

SAMPLE = Path(str(files("bythebook") / "sample_book"))
OURS = re.compile(
    "a|blockquote|br|code|div|em|figcaption|figure|h4|h5|h6|hr|kbd|li|mark|ol|p|pre|s|span|strong|sub|sup|table|tbody|td|th|thead"
    "|tr|ul"
)
OUR_ATTRIBUTES = re.compile("aria-label|class|colspan|data-picture|data-words|href|rel|role|rowspan|start|tabindex|target")
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<ScRiPt src=//evil.example/x.js></ScRiPt>",
    "[x](javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x 'onmouseover=alert(1)')",
    "![x](https://evil.example/pixel.png)",
    "<svg onload=alert(1)>",
    "<Comp onClick={() => alert(1)}>",
    '<Tabs label="<script>">',
    "<a href='javascript:alert(1)'>x</a>",
    "<javascript:alert(1)>",
    "&lt;script&gt;",
    "```<script>\n<script>\n```",
    '```py title="<script>"\nx\n```',
    "$\\text{<script>alert(1)</script>}$",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\style{background:url(//evil.example)}{x}$",
    '$$\n\\class{a" onload="alert(1)}{x}\n$$',
    ":::note <script>\n",
    "| <script> | b |\n|:--|--:|\n| `a` | <img onerror=x> |\n",
    "\U00010a50\U00010a58",
    "<style>*{}</style>",
    "<iframe src=//evil.example>",
    "> quote\n\n1. item\n\n# heading {#x}\n",
    '!!! note <script> "<img onerror=x>"\n    <script>\n',
    "> [!<script>]\n> x",
    '[x](../b.md"onclick=alert(1))',
    '![<script>](<a"b.svg>)',
    "<sub onclick=alert(1)>x</sub>",
    "x[^<b>]\n\n[^<b>]: <script>",
    "/// <script> | <script>",
    "```{note} <script>\n<script>\n```",
    "```{figure} javascript:alert(1)\n<script>\n```",
    "```{math}\n\\href{javascript:alert(1)}{x}\n```",
    "{ref}`<script>` {math}`\\text{<script>}`",
    "```{<script>}\n<script>",
    "<a href='java&#115;cript:alert(1)'>x</a>",
    "<a href='//evil.example' style='x'>x</a> <a href=\"data:text/html,<script>\">x</a>",
    "<a href=https://a.example>`</a>` x",
    "<table style='x' bgcolor=red><tr><td colspan='2' rowspan=9999999 width=5>x<script></td></tr></table>",
    "<table><tr><th onclick=alert(1)>x</th></tr></table>",
    "<pre class=x><script>alert(1)</script></pre>",
    "<code onclick=alert(1)>x</code> <code><img src=x></code>",
    "<video src=javascript:alert(1)></video><lite-youtube videoid='\"><script>' title='<script>'/>",
    "<iframe src='https://evil.example/\"onload=alert(1)' title='<b>'></iframe>",
    "<img src='a\"onerror=alert(1).png' alt='<script>'>",
]
LINKS = BookLinks(book_id="x", source_file="a/01.md", lessons={'b.md"onclick=alert(1)', "b.md"})


class Read(HTMLParser):
    """The elements, attributes and words of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.marked = ""
        self._depth = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._depth += tag == "mark"

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "mark"

    def handle_data(self, data: str) -> None:
        self.words += data
        self.marked += data if self._depth else ""


def assert_harmless(html: str) -> Read:
    read = Read(html)
    for tag in read.tags:
        assert OURS.fullmatch(tag) or TAGS.fullmatch(tag), tag
    for name, value in read.attributes:
        assert OUR_ATTRIBUTES.fullmatch(name) or ATTRIBUTES.fullmatch(name), name
        if name == "href":
            assert (value or "").lower().startswith(("https://", "http://", "mailto:", "#/books/x/lessons/")), value
    return read


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


@given(st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30)), max_size=8), st.integers(0, 60), st.integers(0, 120))
def test_nothing_of_a_hostile_book_gets_through(parts: list[str], start: int, length: int) -> None:
    for text in ("\n\n".join(parts), " ".join(parts)):
        assert_harmless(render_passage(text, quotes=[(start, start + length)], links=LINKS))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markup_is_shown_as_text(text: str) -> None:
    read = assert_harmless(render_passage(text, links=LINKS))
    if "<script>" in text and not text.startswith(("<Tabs", "<pre", "<a href")):  # a tag within code, and an address
        assert "<script>" in read.words or "&quot;" in read.words
    assert "script" not in read.tags


@pytest.mark.parametrize("file", sorted(SAMPLE.rglob("*.md*")), ids=lambda file: file.name)
def test_every_lesson_of_the_sample_book_is_rendered(file: Path) -> None:
    source = file.read_text("utf-8")
    read = assert_harmless(render_passage(source.split("---\n", 2)[2]))
    assert "<TabItem" not in read.words
    assert ":::" not in read.words
    assert "import " not in read.words.split("\n")[0]


def quoted() -> list[tuple[str, str, str]]:
    lines = (SAMPLE / "questions.jsonl").read_text("utf-8").splitlines()
    known = [json.loads(line) for line in lines]
    return [(one["id"], one["lesson"], one["quote"]) for one in known if one.get("lesson") and one.get("quote")]


@pytest.mark.parametrize(("lesson", "quote"), [(lesson, quote) for _, lesson, quote in quoted()], ids=[id for id, *_ in quoted()])
def test_exactly_the_quoted_words_are_marked(lesson: str, quote: str) -> None:
    source = (SAMPLE / lesson).read_text("utf-8")
    start = source.index(quote)
    html = render_passage(source, quotes=[(start, start + len(quote))])
    read = Read(html)
    if "\\" in quote or "$" in quote:  # a formula has other letters than its LaTeX
        assert read.marked or "formula quoted" in html
    elif "```" in source[:start] and source[:start].count("```") % 2:
        assert "code quoted" in html
    else:
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"^\s*\d+\.\s", "", quote))
        assert letters(read.marked) == letters(plain)


def test_code_is_highlighted_named_and_kept_whole() -> None:
    html = render_passage('```python title="a.py"\nprint("<b>")\n```\n\n```mermaid\ngraph LR\n```\n\n```nonsense\nx\n```')
    assert "<figcaption>a.py · python</figcaption>" in html
    assert '<span class="nb">print</span>' in html
    assert "graph LR" in html
    assert Read(html).words.count('print("<b>")') == 1


def test_a_quote_inside_code_marks_the_block_and_leaves_the_fence_closed() -> None:
    source = "Before.\n\n```python\nx = 1\ny = 2\n```\n\nAfter."
    start = source.index("x = 1")
    html = render_passage(source, quotes=[(start, source.index("\n\nAfter"))])
    assert 'class="code quoted"' in html
    assert html.endswith("<p>After.</p>\n")


def test_a_table_keeps_its_alignment_without_a_style() -> None:
    html = render_passage("| a | b |\n|--:|:-:|\n| 1 | 2 |", quotes=[(20, 30)])
    assert '<td class="right"><mark>1</mark></td>' in html
    assert "style" not in html


def test_headings_stand_below_the_pages_own_without_a_gap() -> None:
    html = render_passage("## One {#one}\n\n#### Deep\n\n# Top")
    assert re.findall(r"<(h\d)>(.*?)</h\d>", html) == [("h4", "One"), ("h5", "Deep"), ("h4", "Top")]


def test_relative_links_and_pictures_lead_nowhere() -> None:
    html = render_passage("[there](../other.md) ![two feet](img/feet.svg) [out](https://a.example/x)")
    assert "other.md" not in html
    assert '<span class="picture">two feet</span>' in html
    assert '<a href="https://a.example/x" target="_blank" rel="noopener noreferrer nofollow">out</a>' in html


def test_a_link_to_a_lesson_and_a_picture_of_the_book_are_found_by_their_paths() -> None:
    lessons = {"a/01.md", "a/02-next.md", "b/index.mdx"}
    links = BookLinks(book_id="x", source_file="a/01.md", lessons=lessons)
    told = {
        "02-next.md#part": "#/books/x/lessons/a/02-next.md",
        "./02-next": "#/books/x/lessons/a/02-next.md",
        "../b/": "#/books/x/lessons/b/index.mdx",
        "/b": "#/books/x/lessons/b/index.mdx",
    }
    assert {address: links.lesson(address) for address in told} == told
    assert {links.lesson(one) for one in ("../../a/01.md", "gone.md", "#part", "//evil.example/b", "javascript:b")} == {None}
    html = render_passage("![two feet](../img/feet.svg) ![up](../../x.png) ![no](notes.txt)", links=links)
    assert re.findall(r'data-picture="(.*?)"', html) == ["img/feet.svg"]
    assert '<span class="picture">no</span>' in html
    kept = "![a foot](attachment:left%20foot.png) ![no](attachment:run.html)"
    assert "data-picture" not in render_passage(kept, links=links)
    notebook = replace(links, source_file="a/02.ipynb")
    assert re.findall(r'data-picture="(.*?)"', render_passage(kept, links=notebook)) == ["a/02.ipynb#left foot.png"]


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("H<sub>2</sub>O, 10<sup>3</sup>, <kbd>Esc</kbd>", "<p>H<sub>2</sub>O, 10<sup>3</sup>, <kbd>Esc</kbd></p>"),
        ("> [!TIP]\n> Wait.", '<blockquote class="note">\n<p class="label">tip</p>\n<p>Wait.</p>\n</blockquote>'),
        (
            "/// note | Look\n\nHere.\n\n///\n\nThere.",
            '<div class="note">\n<p class="label">Look</p>\n<p>Here.</p>\n</div>\n<p>There.</p>',
        ),
        (
            "::::tip\n- :::note\n  Cut off.\n\nOn.\n\n::::\n\nOut.",
            '<div class="note">\n<p class="label">tip</p>\n'
            '<ul>\n<li>\n<div class="note">\n<p class="label">note</p>\nCut off.</li>\n</ul>\n'
            "<p>On.</p>\n</div>\n<p>Out.</p>",
        ),
        (
            "By <dfn title=\"read 'slowly' & well\">parsing</dfn> <abbr>HTML</abbr>",
            '<p>By <abbr title="read &#x27;slowly&#x27; &amp; well">parsing</abbr> <abbr>HTML</abbr></p>',
        ),
        ('!!! warning "Hot"\n    Do not touch.', '<div class="note">\n<p class="label">Hot</p>\n<p>Do not touch.</p>\n</div>'),
        (
            "So.[^a]\n\n[^a]: Why.",
            '<p>So.<sup class="footnote">1</sup></p>\n<hr>\n<ol class="footnotes">\n<li><p>Why.</p>\n</li>\n</ol>',
        ),
    ],
)
def test_what_books_write_beside_markdown_is_shown_as_it_is_meant(markdown: str, html: str) -> None:
    assert render_passage(markdown).strip() == html


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ('<img src="../img/a.png" alt="Two feet" width="9">', '<p><span class="picture">Two feet</span></p>'),
        ("See <img src='/img/image01.png'/>.", '<p>See <span class="picture">image01.png</span>.</p>'),
        (
            'By <a href="https://a.example/?b&amp;c"><b>Ada</b></a>.',
            '<p>By <a href="https://a.example/?b&amp;c" target="_blank" rel="noopener noreferrer nofollow">Ada</a>.</p>',
        ),
        ('<a id="there"></a>Here, <a href="#x">never closed', "<p>Here, never closed</p>"),
        (
            '<a href="https://a.example">`</a>`',
            '<p><a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow"><code>&lt;/a&gt;</code></a></p>',
        ),
        ("Call <code>a<b>&lt;b</code> now.", "<p>Call <code>a&lt;b</code> now.</p>"),
        ("Before <!-- not said --> after.", "<p>Before  after.</p>"),
        (
            "<pre>\na &lt; <b>b</b>\n</pre>",
            '<figure class="code"><pre tabindex="0" role="group" aria-label="Code"><code>a &lt; b\n</code></pre></figure>',
        ),
        (
            "<lite-youtube videoid='x1' title='Fly'/>",
            '<p><a href="https://www.youtube.com/watch?v=x1" target="_blank" rel="noopener noreferrer nofollow">▷ Fly</a></p>',
        ),
        ('<video src="a/b.mp4"></video>', "<p>▷ b.mp4</p>"),
        ("| a |\n|---|\n| <ul><li>b</li><li>c</li></ul> |", None),
        (
            "<table>\n<tr><th colspan='2'>A | B</th></tr>\n\n<!-- none -->\n<tr><td>`c`</td>\n<td><p>d</p></td></tr>\n</table>",
            '<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n<tbody>\n<tr>\n<th colspan="2">A | B</th>\n'
            "</tr>\n<tr>\n<td><code>c</code></td>\n<td>d</td>\n</tr>\n</tbody>\n</table></div>",
        ),
    ],
)
def test_html_among_markdown_is_shown_as_what_it_stands_for(markdown: str, html: str | None) -> None:
    shown = render_passage(markdown)
    assert html in (None, shown.strip())
    assert "<ul" not in assert_harmless(shown).words


def test_quoted_cells_of_an_html_table_are_marked_and_no_others() -> None:
    text = "Before.\n\n<table>\n<tr><td>one</td><td>two</td></tr>\n<tr><td>three</td></tr>\n</table>\n\nAfter."
    whole = (text.index("<table"), text.index("\n\nAfter"))
    assert Read(render_passage(text, quotes=[whole])).marked == "onetwothree"
    cell = (text.index("two"), text.index("two") + 3)
    assert Read(render_passage(text, quotes=[cell])).marked == "two"
    row = (text.index("<tr><td>three"), text.index("\n</table>"))
    assert Read(render_passage(text, quotes=[row])).marked == "three"


def test_a_table_of_html_within_a_cell_has_a_line_for_each_row() -> None:
    inner = "<table><tr><th>Key</th><th>Type</th></tr><tr><td>url</td><td>str</td></tr></table>"
    html = render_passage(f"| a |\n|---|\n| It has: {inner} |")
    assert "<td>It has: <br />\nKey · Type<br />\nurl · str</td>" in html


@pytest.mark.parametrize(
    "latex", ["{", "^", r"\left(", r"\frac", "x^2^3", r"\begin{foo}", "{" * 900, "x" * 5000, r"\unicode{x}", "\x01", r"\left"]
)
def test_what_is_no_latex_is_shown_as_it_is(latex: str) -> None:
    read = assert_harmless(render_formula(latex, display=True))
    assert read.words


def test_formulas_become_mathml() -> None:
    html = render_passage("Height $z_c$ and\n\n$$\n\\begin{aligned}a&=b\\\\c&=d\\end{aligned}\n$$\n\nfor $5 or $6.")
    assert '<math display="inline"><mrow><msub><mi>z</mi><mi>c</mi></msub></mrow></math>' in html
    assert html.count("<mtr>") == 2
    assert "$5 or $6" in html


def cited(quote: str) -> Citation:
    span = Span(start=0, end=len(quote), first_line=1, last_line=1)
    return Citation(
        label=1,
        source_url="",
        chapter="",
        section="",
        score=1.0,
        relevance=1.0,
        chunk_index=0,
        chunk_id="",
        source_file="",
        page_title="",
        quote=quote,
        span=span,
    )


def test_a_sentence_of_the_book_looks_as_in_the_book() -> None:
    quote = "A **node** has a `name` of $z_c$."
    own = Sentence(text="A node has a name of z_c.", kind="sentence", citations=(cited(quote),))
    assert render_sentence(own).startswith("A <strong>node</strong> has a <code>name</code> of <math")
    scaled = Sentence(text="Scale it by 1/√d.", kind="sentence", citations=(cited(r"Scale it by $1/\sqrt{d}$."),))
    assert "<msqrt>" in render_sentence(scaled)
    other = Sentence(text="Nodes are <named>.", kind="sentence", citations=(cited(quote),))
    assert render_sentence(other) == "Nodes are &lt;named&gt;."


MYST = """```{note} Take *care*
:class: tip
The **lamp** is {ref}`here <there>`.
```

```{math}
:label: energy
E = m c^2
```

```{figure} lamp.svg
---
name: lamp
---
The lamp from above.
```

```{code-cell} python
:tags: [hide]
print(1)
```

```{python}
x = 2
```
"""


def test_directives_of_myst_are_what_they_stand_for() -> None:
    html = render_passage(MYST)
    assert '<p class="label">Take *care*</p>\n<p>The <strong>lamp</strong> is here.</p>' in html
    assert "<msup><mi>c</mi><mn>2</mn></msup>" in html
    assert '<span class="picture">lamp.svg</span></p>\n<p>The lamp from above.</p>' in html
    assert [name in html for name in ("energy", "tags", ":class:", "{", "```")] == [False] * 5
    assert html.count("<figcaption>python</figcaption>") == 2


def test_a_quoted_formula_of_myst_is_marked() -> None:
    start = MYST.index("```{math}")
    html = render_passage(MYST, quotes=[(start, MYST.index("```", start + 3) + 3)])
    assert 'class="formula quoted"' in html
    assert html.count("quoted") == 1
    assert "<mark>" not in html


def test_a_directive_cut_off_by_the_end_of_its_chunk_is_shown() -> None:
    assert "<mi>x</mi>" in render_passage("```{math}\nx")
    assert render_passage("```{note}\nWords.") == '<div class="note">\n<p class="label">note</p>\n<p>Words.</p>\n</div>\n'


def test_lines_that_say_nothing_leave_nothing() -> None:
    """D2L names places and tabs in lines of their own, and sources before a comma."""
    text = "# Lines\n:label:`sec_lines`\n\nFound early :cite:`A.1805`, used late.\n\n:begin_tab:`mxnet`\nRead on.\n:end_tab:\n"
    assert render_passage(text) == "<h4>Lines</h4>\n<p>Found early, used late.</p>\n<p>Read on.</p>\n"
    included = render_passage("See:\n\n{* ../../docs_src/first.py hl[1:3,5] *}\n")
    assert included == '<p>See:</p>\n<p class="label"><code>docs_src/first.py</code></p>\n'
