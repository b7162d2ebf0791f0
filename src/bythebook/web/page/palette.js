// Ctrl-K or Cmd-K: go to a lesson, a thread or a book, or ask, by typing a few letters of it.

import { lessonAddress } from "./addresses.js";
import { lessonsOf } from "./chapters.js";
import { element, icon, iconButton } from "./dom.js";
import { word } from "./words.js";

const MOST_SHOWN = 12;

/** Where one can go; `go` does something else there. @typedef {{kind: string, title: string, address?: string, go?: () => void}} Destination */

// `state` is {api, books, book}: all books, and the one that is open.
/** @param {{api: Api, books: BookEntry[], book: Book | null, ask: (question: string) => void}} state */
export async function openPalette({ api, books, book, ask }) {
  if (document.querySelector("dialog.palette")) return;
  const list = element("ul", { id: "palette-list", role: "listbox", "aria-label": "Where to go" });
  const input = element("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-label": "Go to a lesson, a thread or a book, or ask",
    placeholder: "Go to a lesson, a thread, a book – or ask",
    autocomplete: "off",
    maxlength: 1000,
    oninput: () => draw(),
    onkeydown: (event) => key(event),
  });
  const box = element("div", { class: "palette-box" }, icon("search"), input);
  const dialog = element("dialog", { class: "palette", "aria-label": "Go to" }, box, list);
  box.append(iconButton("Close", "close", () => dialog.close()));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  let places = placesOf(books, book, []);
  /** @type {Destination[]} */
  let shown = [];
  let at = 0;

  // `chosen` is the place that the reader has gone to with the arrow keys.
  /** @param {Destination | null} chosen */
  const draw = (chosen = null) => {
    const words = input.value.trim();
    shown = found(places, words);
    if (words) shown.push({ kind: "Ask", title: words, go: () => ask(words) });
    at = Math.max(0, shown.findIndex((place) => place.kind === chosen?.kind && place.title === chosen?.title));
    list.replaceChildren(...shown.map((place, number) => row(place, number)));
    point();
  };
  /** @param {Destination} place @param {number} number */
  const row = (place, number) =>
    element(
      "li",
      { role: "option", id: `palette-${number}`, onclick: () => choose(place), dir: "auto" },
      element("span", { class: "where" }, place.kind),
      place.title,
    );
  const point = () => {
    [...list.children].forEach((one, number) => one.setAttribute("aria-selected", String(number === at)));
    input.setAttribute("aria-activedescendant", shown.length ? `palette-${at}` : "");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const choose = (/** @type {Destination} */ place) => {
    dialog.close();
    if (place.go) place.go();
    else location.hash = place.address ?? "";
  };
  const key = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = (at + (event.key === "ArrowDown" ? 1 : -1) + shown.length) % Math.max(1, shown.length);
      point();
    } else if (event.key === "Enter" && shown[at]) {
      event.preventDefault();
      choose(shown[at]);
    }
  };

  document.body.append(dialog);
  dialog.showModal();
  draw();
  try {
    const { threads } = await api.get("/threads?limit=50");
    places = placesOf(books, book, threads);
    if (dialog.open) draw(at > 0 ? shown[at] : null);
  } catch {
    // Lessons and books can be found without them.
  }
}

/** @param {BookEntry[]} books @param {Book | null} book @param {Thread[]} threads @returns {Destination[]} */
function placesOf(books, book, threads) {
  const lessons = book ? lessonsOf(book).map((lesson) => ({ lesson, bookId: book.book_id })) : [];
  return [
    ...lessons.map(({ lesson, bookId }) => ({
      kind: "Lesson",
      title: lesson.title,
      address: lessonAddress(bookId, lesson.source_file),
    })),
    ...threads.map((thread) => ({
      kind: "Thread",
      title: thread.title || thread.topic_summary || word("A thread"),
      address: `#/threads/${thread.thread_id}`,
    })),
    ...books.map((one) => ({ kind: "Book", title: one.title, address: `#/books/${one.book_id}` })),
  ];
}

// Those that have all the words, the beginning of a title before the middle of one.
/** @param {Destination[]} places @param {string} words */
export function found(places, words, most = MOST_SHOWN) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (/** @type {string} */ title) => (title.startsWith(wanted.join(" ")) ? 0 : 1);
  return places
    .map((place) => /** @type {[Destination, string]} */ ([place, place.title.toLowerCase()]))
    .filter(([, title]) => wanted.every((part) => title.includes(part)))
    .sort(([, one], [, other]) => rank(one) - rank(other))
    .slice(0, most)
    .map(([place]) => place);
}
