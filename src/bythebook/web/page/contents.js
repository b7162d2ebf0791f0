// What is in the book: chapters that fold, a search as one types, and how something of it is taken along.

import { lessonAddress, placeAddress } from "./addresses.js";
import { entriesOf, lessonsOf } from "./chapters.js";
import { element, plural } from "./dom.js";
import { plain } from "./plain-text.js";
import { finishedLessons } from "./reading.js";

const TYPING_MS = 250;
const SHORTEST_SEARCH = 3;

// `current` is the path of the lesson that is open, if one is.
/** @param {Book} book @param {Api} api @param {{current?: string | null}} options */
export function contents(book, api, { current = null } = {}) {
  const finished = finishedLessons(book.book_id);
  const entry = (/** @type {Lesson} */ lesson) =>
    element(
      "a",
      {
        class: `link${finished.has(lesson.source_file) ? " finished" : ""}`,
        dir: "auto",
        href: lessonAddress(book.book_id, lesson.source_file),
        "data-file": lesson.source_file,
        "aria-current": lesson.source_file === current && "page",
      },
      lesson.title,
    );
  const modules = element(
    "ul",
    {},
    book.modules.map((module) => moduleEntry(module, entry, current)),
  );
  const made = element(
    "section",
    { class: "contents", "aria-labelledby": "contents-title" },
    element(
      "div",
      { class: "sources-top" },
      element("h2", { id: "contents-title" }, "In this book"),
      element("span", { class: "hint" }, plural(lessonsOf(book).length, "lesson")),
    ),
    searchBox(book, api, modules),
    modules,
  );
  return made;
}

// A module is named by its own page where it has one.
/** @param {BookModule} module @param {(lesson: Lesson) => HTMLElement} entry @param {string | null} current */
function moduleEntry(module, entry, current) {
  const entries = entriesOf(module);
  const chapters = entries.filter((one) => "lessons" in one);
  const named = module.module || (chapters.some((chapter) => chapter.label) ? "Pages" : null);
  return element(
    "li",
    { class: "module" },
    entries.length === chapters.length && named && element("p", {}, named),
    entries.map((one) => ("lessons" in one ? chapterEntry(one, entry, current) : element("p", {}, entry(one)))),
  );
}

// Open where the reader is.
/** @param {ShownChapter} chapter @param {(lesson: Lesson) => HTMLElement} entry @param {string | null} current */
function chapterEntry(chapter, entry, current) {
  return element(
    "details",
    { open: chapter.lessons.some((lesson) => lesson.source_file === current) },
    element("summary", { dir: "auto" }, chapter.label && element("span", { class: "count" }, chapter.label), chapter.title),
    element(
      "ul",
      {},
      chapter.lessons.map((lesson) => element("li", {}, entry(lesson))),
    ),
  );
}

// Titles are there at once; passages come from the server when the reader stops typing.
/** @param {Book} book @param {Api} api @param {HTMLElement} modules */
function searchBox(book, api, modules) {
  const found = element("div", { class: "found", role: "status", hidden: true });
  /** @type {number | undefined} */
  let timer;
  let latest = 0;
  const box = element("input", {
    type: "search",
    placeholder: "Search in this book",
    "aria-label": "Search in this book",
    maxlength: 200,
    oninput: () => {
      clearTimeout(timer);
      const words = box.value.trim();
      const turn = ++latest;
      modules.hidden = words.length > 0;
      found.hidden = !modules.hidden;
      if (!words) return found.replaceChildren();
      const titles = titlesWith(book, words);
      drawFound(found, book, titles, null, words);
      if (words.length < SHORTEST_SEARCH) return;
      timer = setTimeout(async () => {
        try {
          const { results } = await api.post("/search", {
            text: words,
            book_id: book.book_id,
            hardware_tier_filter: 4,
            limit: 8,
          });
          if (turn === latest) drawFound(found, book, titles, results, words);
        } catch (/** @type {any} */ problem) {
          if (turn === latest) found.append(element("p", { class: "failure" }, problem.message));
        }
      }, TYPING_MS);
    },
    onkeydown: (event) => {
      if (event.key !== "Escape" || !box.value) return;
      event.stopPropagation();
      box.value = "";
      box.dispatchEvent(new Event("input"));
    },
  });
  return element("div", { class: "search" }, box, found);
}

/** @param {Book} book @param {string} words */
export function titlesWith(book, words, most = 6) {
  const wanted = words.toLowerCase();
  return lessonsOf(book)
    .filter((lesson) => lesson.title.toLowerCase().includes(wanted))
    .slice(0, most);
}

/**
 * @param {HTMLElement} room
 * @param {Book} book
 * @param {Lesson[]} titles
 * @param {SearchResult[] | null} results
 * @param {string} words
 */
function drawFound(room, book, titles, results, words) {
  const lessons = titles.map((lesson) =>
    element("li", {}, element("a", { href: lessonAddress(book.book_id, lesson.source_file), dir: "auto" }, lesson.title)),
  );
  const passages = (results ?? []).map((result) =>
    element(
      "li",
      {},
      element(
        "a",
        { href: placeAddress(book.book_id, result), dir: "auto" },
        [result.page_title, ...result.heading_path].join(" › "),
      ),
      element("p", { class: "snippet", dir: "auto" }, snippet(result.text, words)),
    ),
  );
  const nothing = results && !passages.length && !lessons.length;
  room.replaceChildren(
    ...[
      lessons.length && element("ul", { class: "titles" }, lessons),
      passages.length && element("ul", { class: "hits" }, passages),
      nothing && element("p", { class: "hint" }, "Nothing found. Fewer or other words may help."),
    ].filter((one) => one instanceof Node),
  );
}

// The stretch of a passage that has the words, or its beginning.
/** @param {string} text @param {string} words */
function snippet(text, words) {
  const whole = plain(text, 100_000);
  const at = whole.toLowerCase().indexOf(words.toLowerCase());
  return at > 80 ? `… ${plain(whole.slice(whole.indexOf(" ", at - 60) + 1), 150)}` : plain(whole, 150);
}

// The lesson whose address this is, whatever place in it is meant.
/** @param {Book} book @param {string} address */
export function lessonAt(book, address) {
  const page = (/** @type {string} */ url) => url.split("#")[0];
  return lessonsOf(book).find((lesson) => page(lesson.source_url) === page(address));
}

/** @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
