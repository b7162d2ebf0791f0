"""The page's figures, printed by `make soak`: a load until a reader can type, and the frames while 200 messages scroll by."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import pytest
from playwright.sync_api import Page

from tests.support.long_thread import lengthen
from tests.support.page import NODE
from tests.support.serving import BOOK, Service, ask

TURNS = 100
LOADS = 5
WATCH = """
new MutationObserver(() => document.querySelector("textarea") && (window.interactive ??= performance.now()))
    .observe(document, { childList: true, subtree: true });
"""
SCROLL = """
async () => {
  const frames = [];
  let last = performance.now();
  for (let at = document.documentElement.scrollHeight; at > 0; at -= 120) {
    scrollTo(0, at);
    await new Promise((done) => requestAnimationFrame(done));
    frames.push(performance.now() - last);
    last = performance.now();
  }
  return frames.sort((one, other) => one - other);
}
"""


@pytest.mark.soak
def test_a_reader_can_soon_type(open_page: Callable[..., Page]) -> None:
    """Each time with an empty cache."""
    waits = []
    for _ in range(LOADS):
        page = open_page("about:blank", fresh=True)
        page.add_init_script(WATCH)
        page.goto("/")
        page.get_by_label("Your question").wait_for()
        waits.append(page.evaluate("window.interactive"))
    print(f"\ninteractive after {median(waits):.0f} ms (the middle of {LOADS} loads; {min(waits):.0f} to {max(waits):.0f} ms)")


@pytest.mark.soak
def test_a_thread_of_200_messages_scrolls(page: Page, service: Service) -> None:
    with service.client() as client:
        thread = ask(client, NODE, book_id=BOOK, similarity_threshold=0)["session_id"]
    service.run(lengthen(service.state.threads, thread, turns=TURNS))
    page.goto(f"/#/threads/{thread}")
    for shown in (25, 50, 75):
        page.locator("book-answer").nth(shown - 1).wait_for(state="attached")
        page.get_by_role("button", name=f"Show earlier questions ({TURNS - shown})").click()
    page.get_by_text("The thread begins here.").wait_for()
    assert page.locator("book-answer").count() == TURNS
    frames = page.evaluate(SCROLL)
    middle, late = frames[len(frames) // 2], frames[int(len(frames) * 0.95)]
    print(
        f"\n{TURNS} turns, {len(frames)} frames: median {middle:.1f} ms, 95 % within {late:.1f} ms, longest {frames[-1]:.1f} ms"
    )
