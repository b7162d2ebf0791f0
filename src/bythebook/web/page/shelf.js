// The shelf: all books with where the reader stopped in each, and one question to all of them.

import { lessonAddress } from "./addresses.js";
import { Composer } from "./composer.js";
import { element, icon, plural } from "./dom.js";
import { finishedLessons, lastPlace } from "./reading.js";
import { dueCards, readCards } from "./repetition.js";
import { say, word } from "./words.js";

const COVERS = 6;

export class BookShelf extends HTMLElement {
  /** @type {Composer} */ composer;
  /** @type {HTMLElement} */ status;
  /** @type {AbortController | null} */ controller;
  /** @type {import("./api.js").Api} */ api;
  /** @type {(bookId: string, question: string, given: Given) => Promise<void>} */ onanswer;

  // `onanswer(bookId, question, given)` goes on with a turn that one of the books has begun to answer.
  /** @param {{api: Api, books: BookEntry[], onanswer: BookShelf["onanswer"]}} given */
  open({ api, books, onanswer }) {
    Object.assign(this, { api, books, onanswer });
    this.composer = new Composer({ onask: (text) => this.ask(text), onstop: () => this.controller?.abort() });
    if (books.length > 1) this.composer.box.placeholder = books.length === 2 ? word("Ask both books …") : say`Ask all ${books.length} books …`;
    this.status = element("p", { class: "status", role: "status" });
    this.replaceChildren(
      element("div", { class: "page-head" }, element("h1", {}, "Books")),
      element("div", { class: "shelf-ask" }, this.composer.element, this.status),
      element(
        "ul",
        { class: "shelf" },
        books.map((book) => this.cover(book)),
      ),
    );
  }

  // Each book is looked at first. The turn belongs to the one that answers.
  /** @param {string} question */
  async ask(question) {
    this.controller?.abort();
    const controller = (this.controller = new AbortController());
    this.composer.setBusy(true);
    this.status.replaceChildren(element("span", { class: "pulse", "aria-hidden": "true" }), "Looking into each book …");
    const body = { message: question, books: ["*"], similarity_threshold: 0, render: true };
    const events = this.api.events("POST", "/chat/stream", body, { signal: controller.signal });
    try {
      const opened = /** @type {Message} */ ((await events.next()).value);
      this.controller = null;
      await this.onanswer(opened.data.book_id, question, { events, controller });
    } catch (/** @type {any} */ problem) {
      controller.abort(); // nobody reads on
      if (!this.isConnected) return;
      this.composer.giveBack(question);
      const stopped = problem.name === "AbortError";
      this.status.replaceChildren(
        element("span", { class: "failure" }, stopped ? "Stopped. Nothing was stored." : problem.message),
      );
    } finally {
      this.composer.setBusy(false);
    }
  }

  // The title on a cover, and below it how far the reader is.
  /** @param {BookEntry} book */
  cover(book) {
    const place = lastPlace(book.book_id);
    const read = finishedLessons(book.book_id).size;
    const due = dueCards(readCards(book.book_id), Date.now()).length;
    const address = `#/books/${encodeURIComponent(book.book_id)}`;
    const told = [plural(book.lessons, "lesson"), read > 0 && say`${read} read`].filter(Boolean).join(" · ");
    return element(
      "li",
      {},
      element(
        "a",
        { class: "cover", href: address, "data-cover": coverOf(book.book_id), lang: book.language },
        element("span", { dir: "auto" }, book.title),
      ),
      element("p", { class: "where" }, told),
      element(
        "p",
        { class: "shelf-ways" },
        place
          ? element("a", { href: `${lessonAddress(book.book_id, place.file)}?continue`, dir: "auto" }, "Continue: ", place.title)
          : element("a", { href: `${address}/lessons` }, "Start reading"),
        due > 0 && element("a", { href: `${address}/quiz?due` }, say`${plural(due, "question")} due`, icon("arrow")),
      ),
    );
  }

  disconnectedCallback() {
    this.controller?.abort();
  }
}

// The same cover for the same book, whatever stands beside it.
/** @param {string} bookId */
function coverOf(bookId) {
  return [...bookId].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 7) % COVERS;
}

customElements.define("book-shelf", BookShelf);
