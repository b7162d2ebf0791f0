// Questions that the book answers, for a reader who does not know yet what to ask.

import { element } from "./dom.js";

// Room is kept for them, so that nothing that is seen moves when they come. `ask(question)` is called with the one that is chosen.
/**
 * @param {Api} api
 * @param {Book} book
 * @param {{file?: string | null, title: string, ask: (question: string) => void, count?: number}} options
 */
export function worthAsking(api, book, { file = null, title, ask, count = 4 }) {
  const list = element("ul", {});
  const room = element("section", { class: "worth" }, element("h2", {}, title), list);
  const query = new URLSearchParams([["limit", String(count)], ...(file ? [["lesson", file]] : [])]);
  api
    .get(`/books/${book.book_id}/questions?${query}`)
    .then(({ questions }) => {
      if (!questions.length) return room.replaceChildren();
      room.classList.toggle("settled", room.getBoundingClientRect().top > innerHeight);
      list.append(
        ...questions.map((/** @type {{question: string}} */ one) =>
          element(
            "li",
            {},
            element("button", { type: "button", class: "link", dir: "auto", onclick: () => ask(one.question) }, one.question),
          ),
        ),
      );
    })
    .catch(() => room.replaceChildren()); // nobody asked for it
  return room;
}
