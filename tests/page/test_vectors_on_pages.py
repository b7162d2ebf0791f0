"""The vectors of `test_vectors` as a server tells them: as stored turns on the page, behind a shared link and in the widget on
another site, without any content security policy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from bythebook.answering.answer import Answer, Sentence
from tests.page.conftest import ForeignSite
from tests.page.test_vectors import ALIVE, VECTORS
from tests.support.made_turns import NEAREST, answer, citation, keep, refusal
from tests.support.serving import BOOK, Service

IN_ONE_TURN = 50
ROUSE = """
async (alive) => {
    const roots = [document, ...[...document.querySelectorAll("*")].map((one) => one.shadowRoot).filter(Boolean)];
    const turns = roots.flatMap((root) => [...root.querySelectorAll("book-answer")]);
    const touched = turns.flatMap((turn) => [...turn.querySelectorAll("a, [tabindex], .answer *, .question *, .sources *")]);
    for (const element of touched) {
        element.removeAttribute("target");
        element.addEventListener("click", (event) => element.protocol?.startsWith("http") && event.preventDefault());
        for (const kind of ["focus", "mouseover"]) element.dispatchEvent(new Event(kind, { bubbles: true }));
        if (!element.closest("button")) element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    }
    await new Promise((done) => setTimeout(done, 100));
    const living = turns.flatMap((turn) => [...turn.querySelectorAll(`:is(${alive}), [href^="javascript:" i]`)]);
    return { turns: turns.length, owned: window.owned ?? null, living: living.slice(0, 3).map((one) => one.outerHTML) };
}
"""


@pytest.fixture
def unguarded(browser: Browser, service: Service) -> Iterator[BrowserContext]:
    """A browser that lets every policy pass, and nothing but the server and the site beside it."""
    context = browser.new_context(base_url=service.url, bypass_csp=True)
    context.route("**/*", lambda route: route.continue_() if "127.0.0.1" in route.request.url else route.abort())
    yield context
    context.close()


def told(vectors: Sequence[str]) -> list[Answer]:
    """Each as a sentence, as the title, the section, the quote and the address of its source; some as questions and as sections
    that are near."""
    made = []
    for start in range(0, len(vectors), IN_ONE_TURN):
        some = vectors[start : start + IN_ONE_TURN]
        cited = [replace(citation(label=n, title=one, section=one), quote=one, source_url=one) for n, one in enumerate(some, 1)]
        sentences = tuple(
            Sentence(text=one, kind="sentence", citations=(source,)) for one, source in zip(some, cited, strict=True)
        )
        asked = answer(some[0][:900], book_id=BOOK, citations=tuple(cited), sentences=sentences, disclaimer=some[-1])
        near = tuple(replace(NEAREST, page_title=one, heading_path=(one,), source_url=one) for one in some)
        made += [asked, refusal(some[-1][:900], book_id=BOOK, nearest=near, detail=some[0])]
    return made


def harmless(page: Page, turns: int) -> None:
    expect(page.locator("book-answer")).to_have_count(turns)
    assert page.evaluate(ROUSE, ALIVE) == {"turns": turns, "owned": None, "living": []}


@pytest.mark.parametrize("every", [60, pytest.param(1, marks=pytest.mark.soak)])
def test_on_the_page_behind_a_shared_link_and_in_the_widget(
    unguarded: BrowserContext, service: Service, foreign_site: ForeignSite, every: int
) -> None:
    answers = told(VECTORS[::every])
    thread = service.run(keep(service.state.threads, *answers, book_id=BOOK))
    page = unguarded.new_page()
    page.goto(f"/#/threads/{thread}")
    harmless(page, len(answers))
    for number in range(1, len(answers) + 1):
        with service.client() as client:
            token = client.post(f"/threads/{thread}/turns/{number}/share").json()["token"]
        page.goto("about:blank")
        page.goto(f"/#/shared/{token}")
        harmless(page, 1)
    foreign_site.tag = f'<script src="{service.url}/page/widget.js" data-book="{BOOK}" defer></script>'
    state = json.dumps({"open": True, "threadId": thread})
    unguarded.add_init_script(f"sessionStorage.setItem({json.dumps(f'bythebook.widget.{BOOK}')}, {json.dumps(state)})")
    page.goto(f"{foreign_site.url}/lesson")
    harmless(page, len(answers))


def test_the_trap_works_there(unguarded: BrowserContext, service: Service) -> None:
    """What is put into an answer as it is written does come alive."""
    thread = service.run(keep(service.state.threads, answer(book_id=BOOK), book_id=BOOK))
    page = unguarded.new_page()
    page.goto(f"/#/threads/{thread}")
    page.locator("book-answer .answer").evaluate(
        "(one) => one.insertAdjacentHTML('beforeend', '<b onclick=\"window.owned = 1\">x</b>')"
    )
    assert page.evaluate(ROUSE, ALIVE)["owned"] == 1
