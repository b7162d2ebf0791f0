"""A thread of 200 messages, scrolled through. Prints how long the frames took; run by `make soak`."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route

from tests.page.asking import ACTION, NODE, ask

TURNS = 100
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
def test_a_thread_of_200_messages_scrolls(page: Page) -> None:
    ask(page, NODE)
    ask(page, ACTION)

    def lengthened(route: Route) -> None:
        """The server shows the latest turns of a thread; here they are told over and over."""
        thread = route.fetch().json()
        thread["turns"] = (thread["turns"] * TURNS)[:TURNS]
        route.fulfill(body=json.dumps(thread), content_type="application/json")

    page.route("**/threads/*", lengthened)
    page.reload()
    page.locator("book-answer").nth(TURNS - 1).wait_for()
    frames = page.evaluate(SCROLL)
    middle, late = frames[len(frames) // 2], frames[int(len(frames) * 0.95)]
    print(
        f"\n{TURNS} turns, {len(frames)} frames: median {middle:.1f} ms, 95 % within {late:.1f} ms, longest {frames[-1]:.1f} ms"
    )
    assert page.locator("book-answer").count() == TURNS
