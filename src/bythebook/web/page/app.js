// The frame: which view the address names, which book is open, the key, light and dark, and what happens when the server is away.

import { lessonAddress, mainView, placeAddress, readAddress } from "./addresses.js";
import { Api, Problem } from "./api.js";
import { lessonsOf } from "./chapters.js";
import { lessonAt } from "./contents.js";
import { button, element, icon, toast } from "./dom.js";
import { keepText, lastPlace } from "./reading.js";
import { say, speak, word } from "./words.js";
import "./profile.js";
import "./conversation.js";

const KEY = "bythebook.key";
const BOOK = "bythebook.book";
const THEME = "bythebook.theme";
// What stands in index.html.
const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = byId("main");
const api = new Api("", {
  key: sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY),
  askForKey: oneAtATime(askForKey),
  onreach: reached,
});
/** Each book is asked for once, however many views want it. @type {Map<string, Promise<Book>>} */
const books = new Map();
/** @type {Promise<BookEntry[]> | null} */
let listed = null;

/** @template {any[]} G, R @param {(...given: G) => Promise<R>} act @returns {(...given: G) => Promise<R>} */
function oneAtATime(act) {
  /** @type {Promise<R> | null} */
  let running = null;
  return (...given) => (running ??= act(...given).finally(() => (running = null)));
}

/** @param {Problem} problem @returns {Promise<string | null>} */
function askForKey(problem) {
  return new Promise((resolve) => {
    const wrong = api.key && problem.status === 401;
    const input = element("input", {
      type: "password",
      name: "key",
      autocomplete: "current-password",
      required: true,
      placeholder: "btb_…",
    });
    const stay = element("input", { type: "checkbox", checked: true });
    const form = element(
      "form",
      { method: "dialog" },
      element("h2", {}, problem.status === 403 ? "This needs another key" : "A key, please"),
      element(
        "p",
        { class: "hint" },
        wrong
          ? "That key is not valid here. Check it for a missing letter, or ask whoever runs this server for a new one."
          : problem.status === 403
            ? problem.message
            : "This server opens its books to those who have a key. Whoever runs it can give you one.",
      ),
      element("label", { class: "field" }, element("span", {}, "Key"), input),
      element("label", { class: "check" }, stay, " Remember it on this device"),
      element(
        "div",
        { class: "actions" },
        element("button", { type: "button", onclick: () => void dialog.close() }, "Not now"),
        element("button", { class: "primary" }, "Open the book"),
      ),
    );
    const dialog = element("dialog", { class: "sheet", "aria-label": "A key is needed" }, form);
    /** @type {string | null} */
    let given = null;
    form.addEventListener("submit", () => {
      given = input.value.trim();
      keepText(KEY, given, sessionStorage);
      if (stay.checked) keepText(KEY, given);
      else localStorage.removeItem(KEY);
    });
    dialog.addEventListener("close", () => (dialog.remove(), resolve(given)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** @param {boolean} there */
function reached(there) {
  const notice = byId("offline");
  notice.hidden = there;
  notice.textContent = there
    ? ""
    : word(
        navigator.onLine === false
          ? "You are offline. What is on this page stays readable."
          : "The server does not answer just now. What is on this page stays readable; ask again when it is back.",
      );
}

function list() {
  if (!listed) {
    const asked = (listed = api.get("/books").then(({ books }) => books));
    asked.catch(() => listed === asked && (listed = null));
  }
  return listed;
}

// The book with this id, or else the one that the reader had open. It is asked for together with the list that says whether it is there.
/** @param {string | null} [wanted] */
async function fetchBook(wanted) {
  const hoped = wanted ?? localStorage.getItem(BOOK);
  if (hoped && !listed) readBook(hoped).catch(() => {}); // the list tells
  const known = await list();
  const id = known.find((book) => book.book_id === hoped)?.book_id ?? known[0]?.book_id;
  return id ? readBook(id) : null;
}

/** @param {string} id */
function readBook(id) {
  let asked = books.get(id);
  if (!asked) {
    books.set(id, (asked = /** @type {Promise<Book>} */ (api.get(`/books/${encodeURIComponent(id)}`))));
    asked.catch(() => books.get(id) === asked && books.delete(id));
  }
  return asked;
}

// `turn` is that of the view it is for: what comes after the reader has gone on changes nothing.
/** @param {string | null | undefined} wanted @param {number} turn */
async function openBook(wanted, turn) {
  const book = await fetchBook(wanted);
  if (turn !== showing) throw leaving();
  if (!book) return null;
  keepText(BOOK, book.book_id);
  await speak(book.language);
  const known = await list();
  if (turn !== showing) throw leaving();
  drawChoice(known, book.book_id);
  drawReading(book);
  return book;
}

// What is of no book is told in the language of the one that the reader had open.
async function speakAsBefore() {
  const known = await list();
  const book = known.length > 1 ? known.find((one) => one.book_id === localStorage.getItem(BOOK)) : known[0];
  if (book) await speak(book.language);
}

// The book as it is now: it may have been ingested anew since the page was opened.
/** @param {string} id */
async function refresh(id) {
  listed = null;
  books.delete(id);
  const book = await fetchBook(id);
  if (book) drawReading(book);
  return book;
}

// The way to the shelf bears the name of the book that is open.
/** @param {BookEntry[]} known @param {string | null} id */
function drawChoice(known, id) {
  const choice = byId("book-choice");
  choice.hidden = known.length < 2;
  choice.replaceChildren(
    icon("books"),
    element("span", { class: "unseen" }, "All books"),
    element("span", { dir: "auto" }, known.find((book) => book.book_id === id)?.title ?? word("Books")),
  );
}

/** @param {Book} book */
function drawReading(book) {
  const address = readingAddress(book);
  const link = /** @type {HTMLAnchorElement} */ (document.getElementById("read"));
  link.hidden = !address;
  if (address) link.href = address;
}

// Where the reader stopped, or where the book begins.
/** @param {Book} book */
function readingAddress(book) {
  const lessons = lessonsOf(book);
  const place = lastPlace(book.book_id);
  if (place && lessons.some((lesson) => lesson.source_file === place.file))
    return `${lessonAddress(book.book_id, place.file)}?continue`;
  return lessons.length ? lessonAddress(book.book_id, lessons[0].source_file) : null;
}

function noBook() {
  main.replaceChildren(
    element(
      "div",
      { class: "empty" },
      element("h1", {}, "No book yet"),
      element(
        "p",
        {},
        "A book is a folder of lessons. Ingest one on the machine that runs this server, and reload this page:",
      ),
      element("pre", { tabindex: "0" }, element("code", {}, "bythebook ingest path/to/your/book")),
      element("p", { class: "hint" }, "No book at hand? ", element("code", {}, "bythebook demo"), " brings in the sample book."),
    ),
  );
}

/** The title of each view that has one. @type {Record<string, string>} */
const NAMES = { ask: "Ask", threads: "Threads", author: "Author", shelf: "Books" };
let showing = 0;
/** A question that is asked in the view at `address`, once that is there. @type {{question: string, address: string} | null} */
let pending = null;

/** @param {string} current */
function markView(current) {
  for (const link of document.querySelectorAll(".top [data-view]")) {
    if (link.dataset.view === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function show() {
  const turn = ++showing;
  const { parts, query } = readAddress(location.hash);
  const current = mainView(parts);
  markView(current);
  if (pending?.address !== location.hash) pending = null;
  try {
    const made = await views(parts, query, turn);
    if (turn !== showing) return;
    if (!made) return noBook();
    if (main.firstElementChild !== made.element) {
      document.title = current in NAMES && current !== "ask" ? `${word(NAMES[current])} · By the Book` : "By the Book";
      main.replaceChildren(made.element);
    }
    await made.open();
    if (turn !== showing) return;
    if (pending && made.element.ask) made.element.ask(pending.question);
    pending = null;
    if (turn > 1 && current !== "read" && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  } catch (/** @type {any} */ problem) {
    if (problem.name === "AbortError" || turn !== showing) return;
    failed(problem);
  }
}

/** @param {Problem} problem */
function failed(problem) {
  listed = null; // what is not there may have been renamed, and the next view must not be drawn from what was
  books.clear();
  const title = problem.status === 404 ? "Not here" : "That did not work";
  document.title = `${word(title)} · By the Book`;
  main.replaceChildren(
    element(
      "div",
      { class: "empty" },
      element("h1", {}, title),
      element("p", {}, problem.message),
      element(
        "p",
        { class: "actions start" },
        problem.status !== 404 && button("Try again", show, { class: "primary" }),
        element("a", { class: "button", href: "#/" }, "Ask a new question"),
      ),
    ),
  );
  main.focus({ preventScroll: true });
}

// `open` is called once the element stands in the page.
/**
 * @param {string[]} parts
 * @param {URLSearchParams} query
 * @param {number} turn
 * @returns {Promise<{element: View, open: () => unknown} | null>}
 */
async function views([view = "", id, kind, ...path], query, turn) {
  if (view === "threads" && !id) {
    const [{ ThreadList }] = await Promise.all([import("./threads.js"), speakAsBefore()]);
    const made = new ThreadList();
    return { element: /** @type {View} */ (made), open: async () => made.open(api, await list()) };
  }
  if (view === "shared" && id) {
    const [{ SharedAnswer }] = await Promise.all([import("./shared.js"), speakAsBefore()]);
    const made = new SharedAnswer();
    return { element: made, open: async () => made.open(api, id, await list()) };
  }
  if (view === "author") {
    const [{ AuthorDesk }, known] = await Promise.all([import("./author.js"), list(), speakAsBefore()]);
    const made = new AuthorDesk();
    return { element: made, open: () => made.open(api, known, id || localStorage.getItem(BOOK)) };
  }
  if (view === "books" && !id) return shelf(turn);
  // Who comes for the first time chooses among the books; who has chosen comes back to the same one.
  if (!view && !pending && !localStorage.getItem(BOOK) && (await list()).length > 1) return leadOn("#/books");
  if (view === "books" && kind === "lessons" && !path.length) {
    const book = await openBook(id, turn);
    return book && leadOn(readingAddress(book) ?? `#/books/${encodeURIComponent(id)}`);
  }
  if (view === "books" && kind === "lessons") {
    const [{ LessonPage }, book] = await Promise.all([import("./lesson-page.js"), openBook(id, turn)]);
    if (book?.book_id !== id) throw Object.assign(new Error(say`There is no book '${id}' here.`), { status: 404 });
    const shown = main.firstElementChild;
    if (shown instanceof LessonPage && shown.book === book)
      return { element: shown, open: () => shown.go(path.join("/"), query) };
    const made = new LessonPage();
    return { element: made, open: () => made.open({ api, book, refresh }, path.join("/"), query) };
  }
  if (view === "books" && kind === "quiz") {
    const [{ BookQuiz }, book] = await Promise.all([import("./quiz.js"), openBook(id, turn)]);
    const made = new BookQuiz();
    return book && { element: made, open: () => made.open({ api, book }, query) };
  }
  if (view === "books" && kind) return elsewhere(id, kind, path[0], turn);
  const thread = view === "threads" ? await api.get(`/threads/${id}?render=true`) : null;
  const book = await openBook(thread?.book_id ?? (view === "books" ? id : null), turn);
  if (!book) return null;
  const made = element("book-conversation");
  return { element: made, open: () => made.open({ api, book }, thread) };
}

/** @param {number} turn */
async function shelf(turn) {
  const [{ BookShelf }, known] = await Promise.all([import("./shelf.js"), list(), speakAsBefore()]);
  if (turn !== showing) throw leaving();
  if (!known.length) return null;
  drawChoice(known, null);
  const made = new BookShelf();
  return { element: made, open: () => made.open({ api, books: known, onanswer: goOn }) };
}

// A turn that one of several books has begun to answer goes on in that book, unless the reader has gone elsewhere.
/** @param {string} bookId @param {string} question @param {Given} given */
async function goOn(bookId, question, given) {
  const book = await openBook(bookId, showing);
  if (!book) return;
  showing += 1;
  history.pushState(null, "", `#/books/${encodeURIComponent(bookId)}`);
  markView("ask");
  const made = element("book-conversation");
  main.replaceChildren(made);
  made.open({ api, book }, null, { begun: true });
  made.ask(question, given);
}

// Other programs link to a lesson by the address that its site gives it, where the book has no site to link to.
/** @param {string} id @param {string} site @param {string | undefined} heading @param {number} turn */
async function elsewhere(id, site, heading, turn) {
  const book = await openBook(id, turn);
  const lesson = book && lessonAt(book, site);
  if (!lesson)
    throw Object.assign(new Error("The book has no lesson at this address. It may have been renamed."), { status: 404 });
  return leadOn(placeAddress(id, { source_file: lesson.source_file, heading_path: heading ? [heading] : [] }));
}

/** @param {string} address @returns {never} */
function leadOn(address) {
  location.replace(address);
  throw leaving();
}

// Another view is shown by now, or will be at once.
function leaving() {
  return new DOMException("The reader has gone on.", "AbortError");
}

/** @param {string} [wanted] */
function theme(wanted) {
  if (wanted) keepText(THEME, wanted);
  const kept = localStorage.getItem(THEME);
  if (kept) document.documentElement.dataset.theme = kept;
  const dark = kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const switcher = byId("theme");
  switcher.replaceChildren(icon(dark ? "sun" : "moon"));
  switcher.onclick = () => theme(dark ? "light" : "dark");
}

// A new thread with the question that was typed elsewhere.
/** @param {string} question */
function askAnew(question) {
  pending = { question, address: "#/" };
  if (location.hash === "#/") show();
  else location.hash = "#/";
}

async function goElsewhere() {
  const shown = /** @type {View | null} */ (main.firstElementChild);
  const [{ openPalette }, known, book] = await Promise.all([import("./palette.js"), list(), fetchBook(shown?.book?.book_id)]);
  await openPalette({ api, books: known, book, ask: askAnew });
}

byId("go").replaceChildren(icon("search"));
byId("go").addEventListener("click", goElsewhere);
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  return goElsewhere();
});
document.addEventListener("keydown", (event) => {
  if (
    event.key !== "/" ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    /** @type {Element} */ (event.target).closest?.("input, textarea, select, dialog")
  )
    return;
  event.preventDefault();
  const shown = /** @type {View | null} */ (main.firstElementChild);
  const box = document.querySelector("textarea");
  if (shown?.beginQuestion) shown.beginQuestion();
  else if (box) box.focus();
  else location.hash = "#/";
});
main.addEventListener("ask-book", (event) => {
  const { detail } = /** @type {CustomEvent<{question: string, bookId: string}>} */ (event);
  const address = `#/books/${encodeURIComponent(detail.bookId)}`;
  pending = { question: detail.question, address };
  if (location.hash === address) show();
  else location.hash = address;
});
addEventListener("hashchange", show);
addEventListener("offline", () => api.lose());
addEventListener("online", () => reached(true));
// What a reader wanted and nothing else answers for.
addEventListener("unhandledrejection", (event) => {
  if (!(event.reason instanceof Problem)) return;
  event.preventDefault();
  toast(event.reason.message);
});
document.querySelector(".wordmark")?.addEventListener("click", () => (location.hash === "#/" || !location.hash) && show());
document.querySelector(".skip")?.addEventListener("click", (event) => (event.preventDefault(), main.focus()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme());
theme();
show();
