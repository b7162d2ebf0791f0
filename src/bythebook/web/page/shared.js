// One answer that somebody shared: the question, the sentences, their sources. No thread around it.

import { lessonAddress } from "./addresses.js";
import { ago, element } from "./dom.js";
import "./answer.js";
import "./source-list.js";
import { say } from "./words.js";

export class SharedAnswer extends HTMLElement {
  /** @type {import("./source-list.js").SourceList} */ list;
  // `books`: those that this reader may open.
  /** @param {Api} api @param {string} token @param {BookEntry[]} books */
  async open(api, token, books) {
    const shared = await api.get(`/shared/${encodeURIComponent(token)}`);
    const turn = element("book-answer").begin(shared.answer.query, {
      onsource: (_, label, citation) => this.list.open(label, citation),
    });
    turn.finish(shared.answer, shared.html);
    const title = books.find((book) => book.book_id === shared.book_id)?.title;
    if (shared.stale) turn.stale();
    this.list = element("source-list").with({
      api,
      scroller: this,
      fetchPassage: (id, spans) => api.get(`/page/chunks/${id}?${query(shared.book_id, spans)}`),
      links: (read, source) =>
        element(
          "a",
          {
            href: lessonAddress(
              shared.book_id,
              read.source_file,
              source.quotes.map((quote) => quote.span),
            ),
          },
          "Read it in the book",
        ),
    });
    this.replaceChildren(
      element(
        "h1",
        { class: "where" },
        say`A shared answer · ${ago(shared.created_at)}`,
        element("span", { dir: "auto" }, ` · ${title ?? shared.book_id}`),
      ),
      turn,
      this.list,
      element("p", { class: "actions start" }, element("a", { class: "button", href: "#/" }, "Ask a question of your own")),
    );
    if (!shared.answer.refused) this.list.show(turn);
    document.title = `${shared.answer.query} · By the Book`;
  }
}

/** @param {string} bookId @param {Span[]} spans */
function query(bookId, spans) {
  const made = new URLSearchParams({ book_id: bookId });
  for (const span of spans) made.append("quote", `${span.start}-${span.end}`);
  return made;
}

customElements.define("shared-answer", SharedAnswer);
