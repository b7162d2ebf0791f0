"""Pages of HTML: what the author wrote and nothing of the site around it, with the page's own anchors."""

from __future__ import annotations

from pathlib import Path

import pytest

from bythebook.books.discovery import discover
from bythebook.books.markdown import readable
from bythebook.errors import InvalidBook
from tests.support.readings import placed, read, read_one
from tests.support.small_book import write

PAGE = """<!doctype html><html><head><title>Arms — A small book</title></head><body><nav>menu</nav><main><section id="arms">
<h1>Arms<a class="headerlink" href="#arms">¶</a></h1>
<p>The range is [−2<sup>31</sup>, 2<sup>31</sup> − 1]; see <code>__init__</code>.<a class="footref" href="#1"><sup>1</sup></a></p>
<p>1. Not a list: 5 * 6 * 7, *bold*, snake_case_name, &lt;tag&gt; and $5 to $6.</p>
<ul><li>One<ul><li>Inner</li></ul></li><li><p>Two</p><pre class="language-python">def f(x):
    return x ** 2  # `tick`
</pre></li></ul>
<h2 id="caps">Capacities</h2>
<table><tr><th>Arm</th><th>Load</th></tr><tr><td>a|b</td><td><code>x</code></td></tr></table>
<div class="admonition note"><p class="admonition-title">Note</p><p id="care">Careful here.</p></div>
<p>A formula <span class="math inline">\\(x^2\\)</span>.</p>
<div class="math display">\\[ E = mc^2 \\]</div>
Loose <i>words</i>.
</section></main><footer>imprint</footer></body></html>"""

MARKDOWN = """\
# Arms

The range is [−2³¹, 2³¹ − 1]; see `__init__`.

1\\. Not a list: 5 * 6 * 7, \\*bold\\*, snake_case_name, \\<tag> and \\$5 to $6.

- One

  - Inner

- Two

  ```python
  def f(x):
      return x ** 2  # `tick`
  ```

## Capacities

| Arm | Load |
| --- | --- |
| a\\|b | `x` |

**Note**

Careful here.

A formula $x^2$.

$$
E = mc^2
$$

Loose words."""


UNNAMED = """<html><body><div class="up"><a href="./index.html"><img alt="&lt;-" src="left.gif"></a></div>
<div id="path"><a href="a.html">Harbour</a> &gt; <a href="b.html">Guides</a> &gt; <a href="c.html">Lamps</a></div>
<h1>Lamps</h1>
<p><span>Languages: </span><a href="../en/x.html">&nbsp;en&nbsp;</a> |
<a hreflang="fr" rel="alternate" href="../fr/x.html">fr</a></p>
<h2>Oil <a id="oil" href="#oil">§</a></h2><p>See <a href="a.html">wicks</a>, <a href="b.html">glass</a>.</p>
<div class="top"><a href="#top"><img alt="to the top" src="up.gif"></a></div></body></html>"""


def test_ways_to_a_page_and_signs_of_links_are_left_out_whatever_they_are_called() -> None:
    reading = read_one("lamps.html", UNNAMED)
    assert reading.text.strip() == "# Lamps\n\n## Oil\n\nSee wicks, glass."
    assert reading.anchors == ("", "oil")


def test_a_page_becomes_markdown_without_its_furniture() -> None:
    reading = read_one("arms.html", PAGE)
    assert reading.text.strip() == MARKDOWN
    assert reading.title == "Arms"
    assert reading.anchors == ("arms", "caps")


def test_every_block_is_found_again_at_the_nearest_id() -> None:
    found = placed(read_one("a/arms.html", PAGE))
    assert ("The range is [−2³¹, 2³¹ − 1]; see `__init__`.", "arms.html#arms") in found
    assert ("| a\\|b | `x` |", "arms.html#caps") in found
    assert ("Careful here.", "arms.html#care") in found
    assert not [where for _, where in found if where.startswith("near")]


@pytest.mark.parametrize(
    "heading",
    [
        '<section id="nmu-section"><span id="nmu"></span><h2>Uploads</h2>{}</section>',
        '<p>Before.</p><a name="nmu-section"></a><h2>Uploads</h2>{}',
        '<div class="section"><div class="titlepage"><h2><a id="nmu-section"></a>Uploads</h2></div>{}</div>',
    ],
)
def test_a_section_with_a_label_keeps_its_id(heading: str) -> None:
    """Sphinx puts the label between the section and its heading, DocBook and others put it elsewhere."""
    reading = read_one("pkgs.html", f"<html><body><main>{heading.format('<p>The arm.</p>')}</main></body></html>")
    assert reading.anchors == ("nmu-section",)
    assert ("The arm.", "pkgs.html#nmu-section") in placed(reading)


def test_lines_of_code_that_mdbook_hides_are_not_read() -> None:
    hidden = ('<span class="boring">fn main() {\n</span>', '<span class="boring">}</span>')
    page = f'<body><pre><code class="language-rust">{hidden[0]}let x = 5;\n{hidden[1]}</code></pre></body>'
    assert read_one("a.html", page).text.strip() == "```rust\nlet x = 5;\n```"


PUBLICAN = """<ul class="docnav"><li class="previous"><a accesskey="p" href="a.html"><b>Prev</b>9.6. The super-server</a></li>
<li class="home">The handbook</li><li class="next"><a accesskey="n" href="b.html"><b>Next</b>9.8. Anacron</a></li></ul>"""
DOCBOOK = """<div class="navheader"><table><tr><th colspan="3">Chapter 9. Services</th></tr>
<tr><td><a accesskey="p" href="a.html">Prev</a></td>
<td>&nbsp;</td><td><a accesskey="n" href="b.html">Next</a></td></tr></table><hr></div>"""
TEXINFO = """<div><p>Next: <a href="b.html" rel="next" accesskey="n">Anacron</a>, Previous:
<a href="a.html" rel="prev">Super-server</a>, Up:
<a href="c.html" accesskey="u" rel="up">Services</a> &nbsp; [<a href="t.html" rel="contents">Contents</a>]</p></div>"""


@pytest.mark.parametrize("links", [PUBLICAN, DOCBOOK, TEXINFO])
def test_links_to_the_pages_around_a_page_are_no_text_of_the_book(links: str) -> None:
    text = "<h1>Cron</h1><p>Cron runs tasks. Read <a rel='next' href='b.html'>about anacron</a> next.</p>"
    page = f"<html><body>{links}{text}{links}</body></html>"
    assert read_one("a.html", page).text.strip() == "# Cron\n\nCron runs tasks. Read about anacron next."


@pytest.mark.parametrize(
    "container",
    [
        '<main id="quarto-document-content">{}</main>',
        '<div class="theme-doc-markdown markdown">{}</div>',
        '<article class="md-content__inner md-typeset">{}</article>',
        '<div role="main" class="document"><div itemprop="articleBody">{}</div></div>',
        '<div class="documentwrapper"><div class="body" role="main">{}</div></div>',
        "<article>{}</article>",
        "{}",
    ],
)
def test_the_container_of_each_generator_is_found(container: str) -> None:
    page = f"<html><body><header><nav>Menu of everything</nav></header>{container.format('<p>The arm.</p>')}</body></html>"
    assert read_one("a.html", page).text.strip() == "The arm."


def test_a_sign_that_ends_its_element_begins_no_tag_with_what_follows() -> None:
    page = "<html><body><p>It needs <b>#include &lt;</b><i>arm.h</i><b>&gt;</b> to work.</p></body></html>"
    reading = read_one("a.html", page)
    assert readable(reading.text).strip() == "It needs #include <arm.h> to work."
    assert all(mark.exact for mark in reading.marks)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
def test_a_page_says_what_it_says_in_any_encoding(encoding: str) -> None:
    page = "<html><head><meta charset='iso-8859-1'></head><body><p>Größe “in” Metern – fünf.</p></body></html>"
    assert read_one("a.html", page.encode(encoding)).text.strip() == "Größe “in” Metern – fünf."


@pytest.mark.parametrize(
    ("raw", "guess"),
    [
        ("<p>Größe “in” Metern</p>".encode("utf-16-le"), ""),
        ('<meta charset="shift_jis"><p>Größe “in” Metern</p>'.encode(), ""),
        ("<p>Größe “in” Metern</p>".encode("cp1252"), "it does not name its encoding, and was read as windows-1252"),
        (
            '<meta charset="utf-8"><p>Größe “in” Metern</p>'.encode("cp1252"),
            "it is not in the encoding that it names, utf-8, and was read as windows-1252",
        ),
        ("<p>Größe “in".encode() + b"\x94 Metern</p>", "some of it is not UTF-8 as the rest is, and was read as windows-1252"),
    ],
)
def test_a_guess_at_the_encoding_is_a_warning_with_the_remedy(raw: bytes, guess: str) -> None:
    reading = read_one("a.html", raw)
    assert reading.text.strip() == "Größe “in” Metern"
    assert reading.warnings == ((f"{guess}; save it as UTF-8.",) if guess else ())


def test_a_page_that_is_no_text_is_named() -> None:
    with pytest.raises(InvalidBook, match="not text"):
        read("a.html", bytes(range(256)) * 9)


def test_declarations_of_types_are_no_words_and_entities_of_them_are_not_replaced() -> None:
    types = '<!DOCTYPE html [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b "&a;&a;">]>'
    assert read_one("a.xhtml", f"{types}<html><body><p>The arm &b;.</p></body></html>").text.strip() == r"The arm \&b;."


@pytest.mark.parametrize("page", ["", "<html></html>", "{% extends 'base' %}<p>x</p>", "<html><body><nav>x</nav></body></html>"])
def test_what_has_no_words_of_the_book_is_no_lesson(page: str) -> None:
    assert read("a.html", page) == ()


def test_mathml_without_tex_keeps_exponents_and_fractions() -> None:
    formula = "<math><mi>f</mi><mo>=</mo><msup><mn>8</mn><mn>2</mn></msup><mfrac><mn>1</mn><mn>5</mn></mfrac></math>"
    assert read_one("a.html", f"<body><p>So {formula}.</p></body>").text.strip() == r"So $f = 8^{2}\frac{1}{5}$."


def test_pages_nested_beyond_reason_are_refused() -> None:
    deep = "<body>" + "<div>" * 5000 + "deep" + "</div>" * 5000
    with pytest.raises(InvalidBook, match="deeper"):
        read("a.html", deep)


def test_markdown_wins_over_a_page_of_the_same_name_and_site_pages_are_left_out(folder: Path) -> None:
    for name in (
        "a.md",
        "a.html",
        "b.html",
        "b.pdf",
        "search.html",
        "_static/x.html",
        "theme/y.html",
        "figs/z.pdf",
        "c.ipynb",
        "c.md",
    ):
        write(folder, name, "x")
    assert [file.path for file in discover(folder)[0]] == ["a.md", "b.html", "c.md"]


def test_tables_within_tables_are_read_once() -> None:
    """A page laid out by tables has them in each other's cells."""
    page = "<p>The elbow bends.</p>"
    for level in range(6):
        page = f"<table><tbody><tr><td>Level {level} bends.</td><td>{page}</td></tr></tbody></table>"
    text = read_one("arms.html", f"<body>{page}</body>").text
    assert [text.count(words) for words in ("The elbow bends.", "Level 0 bends.", "Level 5 bends.")] == [1, 1, 1]


def test_a_box_that_is_laid_out_by_a_table_is_a_title_and_its_text() -> None:
    box = """<main><table summary="Caution"><tr><td rowspan="2"><img alt="[Caution]" src="caution.png"></td><th>Caution</th></tr>
    <tr><td><p>Hot oil burns.</p></td></tr></table>
    <table><tr><td></td><th></th></tr><tr><th></th><td>Cold oil too.</td></tr></table></main>"""
    assert read_one("lamps.html", box).text.strip().split("\n\n") == ["**Caution**", "Hot oil burns.", "Cold oil too."]


def test_a_power_in_a_formula_set_in_html_stays_one() -> None:
    formula = '<span class="math inline"><em>k</em> = 10<sup>6</sup></span>'
    display = '<span class="math display"><em>e</em><sup>−1.2</sup> ≈ 0.3</span>'
    reading = read_one(
        "a.html",
        f"<main><p>A spring of {formula} N/m.</p><p>{display}</p><p>Or <span class='arithmatex'>\\(x^2\\)</span>.</p></main>",
    )
    assert reading.text == "A spring of k = 10⁶ N/m.\n\ne<sup>−1.2</sup> ≈ 0.3\n\nOr $x^2$.\n\n"
    assert all(mark.exact for mark in reading.marks)


def test_tables_of_contents_are_not_read_and_the_numbers_of_footnotes_are_no_headings() -> None:
    contents = (
        '<ul><li><a href="#a">1 Arms</a><ul><li><a href="#b">1.1 Elbows</a></li></ul></li><li><a href="#c">2 Legs</a></li></ul>'
    )
    menu = '<ul class="section-toc"><li><a href="Elbows.html" accesskey="1">Elbows</a></li></ul>'
    links = '<ul><li><a href="#a">Arms</a> bend.</li><li><a href="#b">Legs</a></li><li><a href="#c">Hips</a></li></ul>'
    note = '<h4>Footnotes</h4><h5><a id="FOOT1" href="#DOCF1">(1)</a></h5><p>It was proposed by Fenwick.</p>'
    reading = read_one("a.html", f"<main>{contents}{menu}<h1 id='a'>Arms</h1>{links}{note}</main>")
    assert placed(reading) == [
        ("Arms", "a.html#a"),
        ("Arms bend.", "a.html#a"),
        ("Legs", "a.html#a"),
        ("Hips", "a.html#a"),
        ("Footnotes", "a.html, paragraph 5"),
        ("It was proposed by Fenwick.", "a.html#FOOT1"),
    ]


def test_a_sign_alone_in_its_element_pairs_with_none_of_another() -> None:
    ticks = "Look at the `Directory:' line. The <code>apache</code> files are in <code>pool</code>."
    keys = "Type <kbd>ESC</kbd><kbd>b</kbd>, or <code>a</code> <code>b</code>."
    dollars = "It runs “$(MAKE)”. <em>Then</em> it runs “$(MAKE) again”."
    reading = read_one("a.html", f"<main><p>{ticks}</p><p>{keys}</p><p>{dollars}</p><p>It costs $5.</p></main>")
    assert all(mark.exact for mark in reading.marks)
    assert [readable(text) for text, _ in placed(reading)] == [
        "Look at the `Directory:' line. The apache files are in pool.",
        "Type ESCb, or a b.",
        "It runs “$(MAKE)”. Then it runs “$(MAKE) again”.",
        "It costs $5.",
    ]
