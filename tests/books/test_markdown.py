from __future__ import annotations

import pytest

from bythebook.books.markdown import first_heading, heading_text, letters, readable


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("## Robot *arms* and **legs** {#arms}", "Robot arms and legs"),
        ("## Closed ##", "Closed"),
        ("Setext\n======\n\nText", "Setext\n\nText"),
        ("a\n\n---\n\nb", "a\n\nb"),
        ('See [the **guide**](./guide.md#x "T") and ![an arm](arm.png).', "See the guide and an arm."),
        ("[text][ref] and a[i][j] and [1] and [ ]", "text and a[i][j] and [1] and [ ]"),
        ("[ref]: https://a.example 'T'\nkept", "kept"),
        ("See [](xref:guide/citations), [](./a/my-file.md) and [](#eq:book).", "See citations, my file and the equation."),
        ("[](){#place}Here, ![](arm.png) there.", "Here,  there."),
        ("% nobody reads this\n\nAbout 50\n% of all.", "About 50\n% of all."),
        ("```{code-block} yaml\n:linenos:\n:caption: A file\n\nkept: 1\n```", "kept: 1"),
        ("```yaml\n:kept: 1\n```", ":kept: 1"),
        ("> Type\n> ```r\n> > q()\n> ```\n\n```r\n> q()\n```", "Type\n\n> q()\n\n> q()"),
        ("A note[^1].\n\n[^1]: The note.", "A note.\n\nThe note."),
        ("snake_case_name and _it_ and 2 * 3 * 4 and ~~gone~~", "snake_case_name and it and 2 * 3 * 4 and gone"),
        ("`a*b*c` and ``x ` y`` and ` open", "a*b*c and x ` y and ` open"),
        ("\\``` and `a`", "``` and a"),
        ("The torque $\\tau_1 = a*b*c$ costs $5 and $6.", "The torque \\tau_1 = a*b*c costs $5 and $6."),
        ("$$\nx_1 = *y*\n$$", "x_1 = *y*"),
        ("$$ open\n\ntext", "$$ open\n\ntext"),
        ("AT&amp;T &lt;b&gt; &nosuch; \\*kept\\*", "AT&T <b> &nosuch; *kept*"),
        ("<https://a.example/b> <me@a.example>", "https://a.example/b me@a.example"),
        ("H<sub>2</sub>O<br/>and <b>bold</b>", "H2O\nand bold"),
        ("a < b and b > c, x<3", "a < b and b > c, x<3"),
        ("before <!-- not\nseen --> after", "before  after"),
        ("before {/* not seen */} after", "before  after"),
        ("{'a string'} and {props.x}", "a string and {props.x}"),
        ("| a | *b* |\n|:--|--:|\n| 1 | 2\\|3 |", "a | b\n1 | 2|3"),
        ("<table><tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr></table>", "a | b\n\n1 | 2"),
        (":::note[My *title*]\ntext\n:::", "My title\ntext"),
        ("::::tip Watch out\n:::info\ntext\n:::\n::::", "Watch out\n\ntext"),
        (':::{note title="T"}\ntext\n:::', "T\ntext"),
        ('!!! warning "Hot"\n    Do not touch.', "Hot\n    Do not touch."),
        ("> [!TIP]\n> Quoted\n> > deeper", "Quoted\ndeeper"),
        ("import A from '@theme/A';\nimport {B} from 'b';\n\nexport const x = 1;\n\nText", "Text"),
        ("import the package and go on", "import the package and go on"),
        ("- [ ] one\n- [x] two\n1. three", "- [ ] one\n- [x] two\n1. three"),
        ('```js title="src/a.js" {1,3}\n# a *b*\n```\nafter', "src/a.js\n# a *b*\nafter"),
        ("~~~\n```\nx\n~~~\n*y*", "```\nx\ny"),
        ("```\nnever closed *x*", "never closed *x*"),
        ("  - ```py\n    x = '> y'\n    ```\n  - b", "    x = '> y'\n  - b"),
        ('{{< figure src="a.png" caption="An arm" >}} {{% note %}}x{{% /note %}} {{#include a.rs}}', "An arm x"),
        ("See {ref}`the guide<cm-ro>` and {doc}`setup` {cite:p}`knuth84`.", "See the guide and setup."),
        ("Use {doc}`/deploying/apache-httpd` or {ref}`first-steps`.", "Use apache httpd or first steps."),
        ("As :numref:`fig_lamp` shows :cite:`a,b`", "As the figure shows"),
        (":citet:`Kingma.Ba.2014` proposed it.", "Kingma and Ba (2014) proposed it."),
        ("So {cite:t}`Hinton.Deng.Yu.ea.2012,polyak1964some` say.", "So Hinton et al. (2012), Polyak (1964) say."),
        ("a {kbd}`never closed and {x} b:c", "a {kbd}`never closed and {x} b:c"),
        ("Version {{ site.version }} burns oil {% if a %}now{% endif %}", "Version … burns oil now"),
        ("{* ../../docs_src/a.py ln[1:3] hl[2] *}", ""),
        ("/// note | Technical *details*\n\nText.\n\n///", "Technical details\n\nText."),
        ("//// tab | Linux\n\nText.\n\n////", "Linux\n\nText."),
        ('(rr-renv)=\n# Lamp\n--8<-- "a.md"\n[TOC]\n\nText', "Lamp\n\nText"),
        ("```{note}\n:class: dropdown\nThe *lamp*.\n```\nafter", "The lamp.\n\nafter"),
        ("```{figure} ../a.png\n---\nname: fig\nalt: x\n---\nThe lamp.\n```", "The lamp."),
        (":::{admonition} Take care\n:class: tip\nText\n:::", "Take care\n\nText"),
        ("```{python}\nx = 1\n```", "x = 1"),
        ('The <abbr title="light-emitting diode">LED</abbr> is on', "The LED is on"),
        ("Text\n\n<!-- never\nclosed", "Text"),
        ("- :octicons-sun-24:{ .lg .middle } **Bright** :material-check:", "- Bright"),
        ("__Dim__{ .lg } at 10:30:45, *s*{.5} wide", "Dim at 10:30:45, s{.5} wide"),
        ("مرحبا **بالعالم**", "مرحبا بالعالم"),
        ("", ""),
    ],
)
def test_marks_go_and_words_stay(markdown: str, text: str) -> None:
    assert readable(markdown) == text


def test_components_keep_their_words() -> None:
    text = readable(
        '<Tabs\n  values={[{label: "Linux", value: "l"}]}>\n  <TabItem value="l" label="Mac OS">\n\nRun **it**.\n\n'
        "  </TabItem>\n</Tabs>\n<details><summary>More</summary>\nInside</details>\n<img src='a.png' alt='An arm' />"
    )
    for words in ("Linux", "Mac OS", "Run it.", "More", "Inside", "An arm"):
        assert words in text
    assert "<" not in text
    assert "value" not in text


def test_crlf_is_read_like_lf() -> None:
    markdown = "## A\n\n- *b*\n\n```\nc\n```\n"
    assert readable(markdown.replace("\n", "\r\n")) == readable(markdown)


def test_a_part_of_a_table_reads_with_its_preface() -> None:
    assert readable("| name | mass |\n|---|---|\n" + "| arm | 3 kg |") == "name | mass\narm | 3 kg"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# One\n# Two", "One"),
        ("## No\n\n   # Yes", "Yes"),
        ("```\n# code\n```\n# Yes", "Yes"),
        ("<!--\n# no\n-->\n{/* # no */}\n# Yes", "Yes"),
        ("Setext *title*\n===\n# Later", "Setext title"),
        ("    # code", None),
        ("#no\n\n#\n", None),
        ("", None),
    ],
)
def test_the_first_heading(source: str, title: str | None) -> None:
    assert first_heading(source) == title


def test_heading_text_has_no_id() -> None:
    assert heading_text("`a` & *b*  {/* #c */}") == heading_text("`a` & *b* {: #c .d }") == "a & b"


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("from −2<sup>31</sup> to 2<sup>31</sup> − 1", "from −2³¹ to 2³¹ − 1"),
        ("x<sup>k+1</sup>", "x^(k+1)"),
        ("the 1<sup>st</sup> joint", "the 1st joint"),
        ("never closed<sup>2", "never closed2"),
    ],
)
def test_an_exponent_stays_one(markdown: str, text: str) -> None:
    assert readable(markdown) == text


def test_the_letters_of_a_word_are_the_same_in_capitals() -> None:
    assert letters("*İstanbul*, e.g.") == "istanbuleg"  # the capital folds to an i and a dot above it, which is no letter
