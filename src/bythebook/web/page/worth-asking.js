// Questions that the book answers, for a reader who does not know yet what to ask.

import { element } from "./dom.js";
import { word } from "./words.js";

// Room is kept for them, so that nothing that is seen moves when they come. `ask(question)` is called with the one that is chosen.
// Where the lesson `file` has none, those of the lessons `nearby` are shown.
/**
 * @param {Api} api
 * @param {Book} book
 * @param {{file?: string | null, nearby?: string[], title: string, ask: (question: string) => void, count?: number}} options
 */
export function worthAsking(api, book, { file = null, nearby = [], title, ask, count = 4 }) {
  const list = element("ul", {});
  const head = element("h2", {}, title);
  const room = element("section", { class: "worth" }, head, list);
  const fetch = async (/** @type {string[]} */ files) => {
    const query = new URLSearchParams([["limit", String(count)], ...files.map((one) => ["lesson", one])]);
    return (await api.get(`/books/${book.book_id}/questions?${query}`)).questions;
  };
  fetch(file ? [file] : [])
    .then(async (questions) => {
      if (!questions.length && nearby.length) {
        questions = await fetch(nearby);
        head.replaceChildren(word("Nearby lessons answer"));
      }
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
