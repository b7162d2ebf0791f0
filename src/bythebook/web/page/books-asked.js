// Where several books were asked: which one answers, and what the others would say.

import { button, element } from "./dom.js";
import { language, say } from "./words.js";

// `ask(bookId)` puts the same question to another book.
/** @param {AskedBook[]} books @param {(bookId: string) => void} ask */
export function booksAsked(books, ask) {
  const [, ...others] = books;
  const willing = others.filter((book) => book.answers);
  const silent = others.filter((book) => !book.answers).map((book) => book.title);
  return element(
    "div",
    { class: "books-asked" },
    willing.length > 0 && [
      element("p", { class: "where" }, willing.length === 1 ? "Another book answers it too:" : "Other books answer it too:"),
      element(
        "ul",
        {},
        willing.map((book) => element("li", { dir: "auto" }, button(say`Ask “${book.title}”`, () => ask(book.book_id)))),
      ),
    ],
    silent.length > 0 && element("p", { class: "where", dir: "auto" }, say`No answer in ${listed(silent)}.`),
  );
}

/** @param {string[]} titles */
function listed(titles) {
  return new Intl.ListFormat(language(), { type: "disjunction" }).format(titles.map((title) => `“${title}”`));
}
