"""Pictures of the page's main views, from a server of its own: python scripts/screenshots.py [FOLDER], or `make screenshots`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, Playwright, sync_playwright

CHROMIUM = [Path("/usr/bin/chromium"), Path("/usr/bin/chromium-browser"), Path("/usr/bin/google-chrome")]
WIDE, PHONE = (1280, 800), (390, 844)
PROFILE = '{"tier": 1, "chapterMin": 1, "chapterMax": 2}'
QUESTION = "What is a message, and how are its fields declared?"


def launch(playwright: Playwright) -> Browser:
    """The system's Chromium, or the one that playwright brings."""
    installed = next((path for path in CHROMIUM if path.exists()), Path(playwright.chromium.executable_path))
    if not installed.exists():
        raise FileNotFoundError(
            "No Chromium was found. 'make test' installs one; or: apt-get install chromium, or: playwright install chromium"
        )
    return playwright.chromium.launch(executable_path=installed, args=["--no-sandbox", "--hide-scrollbars"])


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="bythebook-") as data_dir, serving(data_dir) as address, sync_playwright() as playwright:
        browser = launch(playwright)
        for name, size, scheme in (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("phone", PHONE, "light")):
            for view, show in VIEWS.items():
                page = open_page(browser, address, size, scheme)
                show(page)
                page.screenshot(path=folder / f"{view}-{name}.png")
                page.context.close()
                print(folder / f"{view}-{name}.png")
        browser.close()


@contextmanager
def serving(data_dir: str) -> Iterator[str]:
    """A server of its own, with the sample book."""
    bythebook = [sys.executable, "-m", "bythebook"]
    with Popen([*bythebook, "demo", "--data-dir", data_dir], stdout=PIPE) as demo:
        demo.communicate()
    with Popen([*bythebook, "serve", "--port", "0", "--data-dir", f"{data_dir}/demo"], stdout=PIPE, encoding="utf-8") as server:
        assert server.stdout
        yield next(word for word in server.stdout.readline().split() if word.startswith("http"))
        server.terminate()


def open_page(browser: Browser, address: str, size: tuple[int, int], scheme: str) -> Page:
    width, height = size
    context = browser.new_context(base_url=address, viewport={"width": width, "height": height}, device_scale_factor=2)
    page = context.new_page()
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.goto("/")
    page.locator(".contents").wait_for()
    page.locator(".worth li").first.wait_for()
    return page


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    page.locator("book-answer.latest:not([aria-busy])").wait_for()


def show_source(page: Page) -> None:
    ask(page, QUESTION)
    page.locator(".marker").first.click()
    page.locator(".source.open mark").first.wait_for()
    page.locator("source-panel").evaluate("(panel) => Promise.all(panel.getAnimations().map((one) => one.finished))")


def show_refusal(page: Page) -> None:
    page.evaluate(f"localStorage.setItem('bythebook.profile.physical-ai-robotics', '{PROFILE}')")
    page.reload()
    page.locator(".contents").wait_for()
    ask(page, "What is the zero moment point?")


def show_threads(page: Page) -> None:
    page.goto("/#/threads")
    page.locator(".threads li").first.wait_for()


def show_author(page: Page) -> None:
    page.goto("/#/author")
    page.locator(".curve").wait_for()


LESSONS = "/#/books/physical-ai-robotics/lessons"
SUPPORT = f"{LESSONS}/module-2-gazebo/chapter-4-simulated-robots/03-balance-and-walking.md"
TOPICS = f"{LESSONS}/module-1-ros2/chapter-1-how-robots-talk/02-topics-and-messages.md"


def show_lesson(page: Page) -> None:
    """A lesson at a cited place, with the tutor beside it."""
    page.goto(SUPPORT)
    page.locator("lesson-page h1").wait_for()
    page.get_by_role("button", name="Ask").or_(page.get_by_role("tab", name="Ask")).locator("visible=true").first.click()
    ask(page, "What is the zero moment point?")
    page.locator(".marker").first.click()
    page.locator(".reading mark").first.wait_for()


def show_selection(page: Page) -> None:
    page.goto(TOPICS)
    words = page.locator(".reading .passage p", has_text="Neither side names the other")
    words.click(click_count=3)
    page.get_by_role("button", name="Explain this").click()
    page.locator("book-answer.latest:not([aria-busy])").wait_for()
    if page.locator("lesson-page .beside").evaluate("(aside) => getComputedStyle(aside).position") == "sticky":
        words.click(click_count=3)  # beside the lesson, the words and what may be done with them are seen together


def show_quiz(page: Page) -> None:
    page.goto(f"{TOPICS.replace('/lessons/', '/quiz?lesson=')}")
    page.get_by_role("button", name="Show the answer").click()


VIEWS: dict[str, Callable[[Page], None]] = {
    "welcome": lambda page: None,
    "source": show_source,
    "maths": lambda page: ask(page, "What does the zero moment point formula look like?"),
    "refusal": show_refusal,
    "lesson": show_lesson,
    "selection": show_selection,
    "quiz": show_quiz,
    "threads": show_threads,
    "author": show_author,
}

if __name__ == "__main__":
    main()
