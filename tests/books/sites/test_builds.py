"""A site built by each generator that is installed: every link that a citation may have opens its page at its heading."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from scripts.check_links import all_links, trouble
from tests.support.site_generators import build, generator, site_folder

HEADINGS = {
    "index": r"""
Welcome aboard | Über das Öl | 第一章 灯 | C++ and C# | 2nd watch | 1. First light | Don't | Repeat | Repeat
Repeat 1 | Repeat-1 | Repeat
""",
    "rock/storms": r"""
Wind: 10.5 m/s (max.) | A *fast* boat | The **strong** _wind_ | What is `wick_size`? | snake_case_name
A -- B | a/b/c | Re-light the lamp | “Quoted” words | 100% | x = y² | Naïve café | Rock & roll | Q: why? | ...
Emoji 🚀 rocket | Ice\_cold
""",
    "rock/boats": r"""
The [keeper](storms.md) speaks | Oars, sails; ropes | `code` first | --flag | $PATH and you | مصباح | Маяк
A   wide   gap | Ends with a mark # | e.g. this | [brackets] | The *`mixed`* kind | Straße | ½ a pint
日本語の見出し | Node.js v20.1 | it's 5 o'clock
""",
    "rock/02-lamps": r"""
Lamp_and_wick | A~B | One @ two | Say "yes" | Plus + minus | Caret ^ top | (parens) | Equal = sign
Less, more | Last
""",
}
"""The headings of each page, with bars between them."""
MKDOCS = "site_name: Light\nsite_url: https://light.example/keeper/\n"
SPHINX = (
    'project = "Light"\nextensions = ["myst_parser"]\nmyst_heading_anchors = 0\nhtml_baseurl = "https://light.example/keeper/"\n'
)
TOCTREE = "\n```{toctree}\nrock/storms\nrock/boats\nrock/02-lamps\n```\n"
DOCUSAURUS = """module.exports = {
  title: "Light", url: "https://light.example", baseUrl: "/keeper/", themes: ["@docusaurus/theme-classic"],
  plugins: [["@docusaurus/plugin-content-docs", { routeBasePath: "/" }]],
};
"""
VITEPRESS = (
    "export default { title: 'Light', base: '/keeper/', sitemap: { hostname: 'https://light.example' }, srcDir: 'docs' }\n"
)
HUGO = "baseURL = 'https://light.example/keeper/'\ntitle = 'Light'\n"
HUGO_PAGE = "<html><body>{{ .Content }}</body></html>\n"
JEKYLL = "title: Light\nurl: https://light.example\nbaseurl: /keeper\nplugins: []\n"
MDBOOK = '[book]\ntitle = "Light"\n[output.html]\nsite-url = "/keeper/"\n'
SUMMARY = "- [Home](index.md)\n- [Storms](rock/storms.md)\n- [Boats](rock/boats.md)\n- [Lamps](rock/02-lamps.md)\n"
JUPYTER_TOC = "format: jb-book\nroot: index\nchapters:\n- file: rock/storms\n- file: rock/boats\n- file: rock/02-lamps\n"
JUPYTER = 'title: Light\nexecute: {execute_notebooks: "off"}\nhtml: {baseurl: "https://light.example/keeper/"}\n'
QUARTO = 'project:\n  type: website\nwebsite:\n  title: Light\n  site-url: "https://light.example/keeper/"\n'


class Generator(NamedTuple):
    program: str
    arguments: str
    output: str
    files: dict[str, str]
    lessons: str = "{}.md"
    head: str = ""


GENERATORS = (
    Generator("mkdocs", "build", "site", {"mkdocs.yml": MKDOCS}, "docs/{}.md"),
    Generator("sphinx-build", "-q . _build", "_build", {"conf.py": SPHINX}),
    Generator("docusaurus", "build", "build", {"docusaurus.config.js": DOCUSAURUS, "package.json": "{}"}, "docs/{}.md"),
    Generator("vitepress", "build", ".vitepress/dist", {".vitepress/config.js": VITEPRESS, "package.json": "{}"}, "docs/{}.md"),
    Generator(
        "hugo",
        "",
        "public",
        {"hugo.toml": HUGO, "layouts/_default/single.html": HUGO_PAGE, "layouts/_default/list.html": HUGO_PAGE},
        "content/{}.md",
    ),
    Generator("jekyll", "build", "_site", {"_config.yml": JEKYLL}, head="---\n---\n"),
    Generator("mdbook", "build", "book", {"book.toml": MDBOOK, "src/SUMMARY.md": SUMMARY}, "src/{}.md"),
    Generator("jupyter-book", "build .", "_build/html", {"_toc.yml": JUPYTER_TOC, "_config.yml": JUPYTER}),
    Generator("quarto", "render", "_site", {"_quarto.yml": QUARTO}, "{}.qmd"),
)


def lesson(name: str, site: Generator) -> str:
    """A page of these headings; MyST would take a toctree for the last one's text, so it stands at the end of the first page."""
    title = f"# {name.rpartition('/')[2].title()}\n\nThe keeper reads this page.\n"
    body = "".join(
        f"\n## {heading}\n\nA sentence about number {number}.\n"
        for number, heading in enumerate(re.split(r" \| |\n", HEADINGS[name].strip()))
    )
    return site.head + title + body + (TOCTREE if name == "index" and site.program == "sphinx-build" else "")


def write_site(folder: Path, site: Generator) -> None:
    pages = {site.lessons.format(name): lesson(name, site) for name in HEADINGS}
    if site.program == "hugo":
        pages["content/_index.md"] = pages.pop("content/index.md")
    for path, text in {**site.files, **pages}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


@pytest.mark.soak
@pytest.mark.parametrize("site", GENERATORS, ids=lambda site: site.program)
def test_every_link_opens_its_page_at_its_heading(site: Generator) -> None:
    program = generator(site.program)
    with site_folder(program) as folder:
        write_site(folder, site)
        links = all_links(folder)
        build(folder, [program, *site.arguments.split()])
        wrong = {url: found for url in links if (found := trouble(url, "/keeper", folder / site.output))}
        print(f"{site.program}: {len(links)} links, {len(wrong)} that do not open")
    assert len(links) >= 50
    assert not wrong
