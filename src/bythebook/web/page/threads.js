// Threads kept on the server: find one again, name it, save it, delete it. A delete waits a few seconds, so that it can be undone.

import { ago, button, element, find, iconButton, plural, toast } from "./dom.js";
import { download } from "./contents.js";
import { say, word } from "./words.js";

const UNDO_SECONDS = 6;

export class ThreadList extends HTMLElement {
  /** @type {Api} */ api;
  /** @type {Map<string, string>} */ books;
  /** @type {Map<string, () => Promise<void>>} */ waiting;
  /** @type {HTMLElement} */ rows;
  /** @type {HTMLElement} */ more;
  /** @type {(() => void) | undefined} */ leaving;
  /** @type {string | null | undefined} */ next;
  /** @type {Promise<void> | null} */ loading;
  /** @param {Api} api @param {BookEntry[]} books */
  async open(api, books) {
    this.api = api;
    this.books = new Map(books.map((book) => [book.book_id, book.title]));
    this.waiting = new Map();
    this.rows = element("ul", { class: "threads" });
    this.more = element("p", {});
    this.replaceChildren(
      element(
        "div",
        { class: "page-head" },
        element("h1", {}, "Threads"),
        element("a", { class: "button", href: "#/" }, "New thread"),
      ),
      this.search(),
      this.rows,
      this.more,
    );
    this.leaving = () => this.waiting.forEach((act) => act());
    addEventListener("pagehide", this.leaving);
    await this.load();
  }

  // Among all that are kept: the older ones are read as soon as somebody searches.
  search() {
    const box = element("input", {
      type: "search",
      "aria-label": "Search your threads",
      placeholder: "Search your threads",
      oninput: async () => {
        while (this.next && box.value) await this.load();
        const words = box.value.trim().toLowerCase();
        const rows = [...this.rows.querySelectorAll("li")];
        for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(words);
        none.hidden = !words || rows.some((row) => !row.hidden);
      },
    });
    const none = element("p", { class: "hint", hidden: true }, "No thread has these words. Fewer or other words may help.");
    return element("div", { class: "search", role: "search" }, box, element("div", { role: "status" }, none));
  }

  // A delete that still waits happens when the reader leaves.
  disconnectedCallback() {
    if (!this.leaving) return;
    removeEventListener("pagehide", this.leaving);
    this.leaving();
  }

  // The next ones. Who asks for them while they come waits for the same.
  load() {
    this.loading ??= this.fetch().finally(() => (this.loading = null));
    return this.loading;
  }

  async fetch() {
    const before = this.next ? `&before=${encodeURIComponent(this.next)}` : "";
    const page = await this.api.get(`/threads?limit=30${before}`);
    this.next = page.next;
    this.rows.append(...page.threads.map((/** @type {Thread} */ thread) => this.row(thread)));
    this.more.replaceChildren(...(page.next ? [button("Show older threads", () => this.load(), { class: "quiet" })] : []));
    this.empty();
  }

  empty() {
    if (this.rows.childElementCount) return;
    this.rows.replaceWith(
      element(
        "div",
        { class: "empty small" },
        element(
          "p",
          {},
          "No threads yet. Each question you ask begins one, and your next question in it may refer to what was said: “and why?”, “tell me more”.",
        ),
        element("p", {}, element("a", { href: "#/" }, "Ask the first question")),
      ),
    );
  }

  /** @param {Thread} thread */
  row(thread) {
    const title = thread.title || thread.topic_summary || word("A thread");
    const link = element("a", { href: `#/threads/${thread.thread_id}`, class: "thread-title", dir: "auto" }, title);
    const summary =
      thread.topic_summary &&
      thread.topic_summary !== title &&
      element("p", { class: "summary", dir: "auto" }, thread.topic_summary);
    /** @type {HTMLElement} */
    const row = element(
      "li",
      {},
      element(
        "div",
        { class: "thread-text" },
        link,
        summary,
        element(
          "p",
          { class: "where" },
          [this.books.size > 1 && this.books.get(thread.book_id), plural(thread.turn_count, "question"), ago(thread.updated_at)]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
      element(
        "div",
        { class: "row-actions" },
        iconButton(say`Rename “${title}”`, "pencil", () => this.rename(row, thread, link)),
        iconButton(say`Save “${title}” as Markdown`, "save", () => this.save(thread)),
        iconButton(say`Delete “${title}”`, "bin", (event) => this.erase(row, thread, !event.detail)),
      ),
    );
    return row;
  }

  /** @param {HTMLElement} row @param {Thread} thread @param {HTMLElement} link */
  rename(row, thread, link) {
    const input = element("input", { value: link.textContent, maxlength: 200, "aria-label": "Title of the thread" });
    let finished = false; // taking the field away blurs it
    const finish = async (/** @type {boolean} */ keep) => {
      if (finished) return;
      finished = true;
      const title = input.value.trim();
      input.replaceWith(link);
      find(row, ".row-actions button").focus();
      if (!keep || !title || title === link.textContent) return;
      const before = link.textContent;
      link.textContent = title;
      try {
        thread.renaming = this.api.send("PATCH", `/threads/${thread.thread_id}`, { title });
        await thread.renaming;
      } catch (/** @type {any} */ problem) {
        link.textContent = before;
        toast(problem.message);
      }
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault(); // or the button that gets the focus is pressed by the same key
      finish(event.key === "Enter");
    });
    input.addEventListener("blur", () => finish(true));
    link.replaceWith(input);
    input.select();
  }

  // Under the title that the row shows, which the server may not have yet.
  /** @param {Thread} thread */
  async save(thread) {
    await Promise.allSettled([thread.renaming]);
    const response = await this.api.send("GET", `/threads/${thread.thread_id}/export`);
    download(await response.blob(), `thread-${thread.thread_id.slice(0, 8)}.md`);
  }

  // `byKey`: the focus goes to what takes it back, and from there to a thread that is left.
  /** @param {HTMLElement} row @param {Thread} thread @param {boolean} byKey */
  erase(row, thread, byKey) {
    row.hidden = true;
    const beside = [row.nextElementSibling, row.previousElementSibling].find((one) => one && !(/** @type {HTMLElement} */ (one).hidden));
    const goOn = () => (beside?.querySelector("a") ?? this.querySelector("a"))?.focus();
    const act = async () => {
      clearTimeout(timer);
      this.waiting.delete(thread.thread_id);
      try {
        await this.api.send("DELETE", `/threads/${thread.thread_id}`, undefined, { keepalive: true });
        row.remove();
        if (this.isConnected) this.empty();
      } catch (/** @type {any} */ problem) {
        row.hidden = false;
        toast(problem.message);
      }
    };
    const timer = setTimeout(act, UNDO_SECONDS * 1000);
    this.waiting.set(thread.thread_id, act);
    const told = toast("Thread deleted.", {
      seconds: UNDO_SECONDS,
      leave: goOn,
      act: () => {
        clearTimeout(timer);
        this.waiting.delete(thread.thread_id);
        row.hidden = false;
        if (byKey) row.querySelector("a")?.focus();
      },
    });
    if (byKey) told.querySelector("button")?.focus();
  }
}

customElements.define("thread-list", ThreadList);
