// Highlights and notes: words of a lesson that the reader marks, with what they think of them. Kept in this browser. They are found
// again by their words, so they survive an edit of the book as long as the words stand there.

import { isWeb, lessonAddress } from "./addresses.js";
import { lessonsOf } from "./chapters.js";
import { download } from "./contents.js";
import { button, element, iconButton, plural, toast } from "./dom.js";
import { keep, readKept } from "./reading.js";
import { say } from "./words.js";

const NAME = "bythebook.notes.";
const HIGHLIGHT = "bythebook-notes";

/** @param {string} bookId @returns {Note[]} */
export function readNotes(bookId) {
  return readKept(NAME + bookId, []);
}

// `selection` is {text, source_file}; `nth` tells which of several equal places is meant. Says whether it could be kept.
/** @param {string} bookId @param {SelectedWords & {nth?: number}} selection */
export function addNote(bookId, { text, source_file: file, nth = 0 }, words = "") {
  const note = { id: crypto.randomUUID?.() ?? String(Math.random()), file, text, nth, words, at: new Date().toISOString() };
  const kept = keep(NAME + bookId, [...readNotes(bookId), note]);
  if (!kept) toast("This browser’s storage is full: the note was not saved. Save your notes as Markdown and delete some.");
  return kept ? note : null;
}

/** @param {string} bookId @param {string} id @param {string} words */
function change(bookId, id, words) {
  return keep(
    NAME + bookId,
    readNotes(bookId).map((note) => (note.id === id ? { ...note, words } : note)),
  );
}

/** @param {string} bookId @param {string} id */
function remove(bookId, id) {
  keep(
    NAME + bookId,
    readNotes(bookId).filter((note) => note.id !== id),
  );
}

// The letters of an element's text, and where each stands. What the page adds is left out.
/** @param {HTMLElement} root */
function lettersOf(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT, (node) =>
    node.parentElement?.closest("button, figcaption, math, .footnote, .label")
      ? NodeFilter.FILTER_REJECT
      : NodeFilter.FILTER_ACCEPT,
  );
  /** @type {[Text, number][]} */
  const places = [];
  const letters = [];
  for (let node = nextText(walker); node; node = nextText(walker))
    for (let at = 0; at < node.data.length; at += 1)
      if (/[\p{L}\p{N}]/u.test(node.data[at])) {
        places.push([node, at]);
        letters.push(node.data[at].toLowerCase());
      }
  return { places, letters: letters.join("") };
}

/** @param {TreeWalker} walker @returns {Text | null} */
function nextText(walker) {
  return /** @type {Text | null} */ (walker.nextNode());
}

/** @param {string} text */
function bare(text) {
  return text.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();
}

// Which of the places with these words begins at the selection.
/** @param {HTMLElement} root @param {Range} range @param {string} text */
export function placeOf(root, range, text) {
  const { places, letters } = lettersOf(root);
  const before = places.findIndex(([node, at]) => range.comparePoint(node, at) >= 0);
  return starts(letters, bare(text)).filter((start) => start < before).length;
}

/** @param {string} letters @param {string} wanted */
function starts(letters, wanted) {
  const found = [];
  for (let at = wanted ? letters.indexOf(wanted) : -1; at >= 0; at = letters.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

// Where a note's words stand in a lesson; null where they are gone.
/** @param {HTMLElement} root @param {Note} note */
export function rangeOf(root, note, read = lettersOf(root)) {
  const wanted = bare(note.text);
  const all = starts(read.letters, wanted);
  const start = all[note.nth] ?? all[0];
  if (start === undefined) return null;
  const range = document.createRange();
  range.setStart(...read.places[start]);
  const [node, at] = read.places[start + wanted.length - 1];
  range.setEnd(node, at + 1 + lengthOfEnd(node.data.slice(at + 1), note.text));
  return range;
}

// How many of the signs that end a note (a full stop, a bracket) stand behind its last letter.
/** @param {string} after @param {string} text */
function lengthOfEnd(after, text) {
  const signs = /[^\p{L}\p{N}]*$/u.exec(text.trim())?.[0] ?? "";
  let length = 0;
  while (length < signs.length && after[length] === signs[length]) length += 1;
  return length;
}

// Marks a lesson's notes in its text, without touching the text. Returns those whose words are gone.
/** @param {HTMLElement} root @param {string} bookId @param {string} file */
export function drawNotes(root, bookId, file) {
  const notes = readNotes(bookId).filter((note) => note.file === file);
  const read = lettersOf(root);
  const found = notes.map((note) => rangeOf(root, note, read));
  if (CSS.highlights) CSS.highlights.set(HIGHLIGHT, new Highlight(...found.filter((one) => one instanceof Range)));
  return notes.filter((_, at) => !found[at]);
}

// Words of the book as they stand there: what would be read as Markdown is written out.
/** @param {string} text */
function quoted(text) {
  const plain = text.replace(/[\\`*_[\]<>]/g, "\\$&").replace(/^(\s*)([#+-])/gm, "$1\\$2");
  return plain.replace(/^(\s*\d+)([.)])/gm, "$1\\$2").replace(/^/gm, "> ");
}

// The titles lead to the lessons on the book's site, where it has one. A note's own words are the reader's Markdown.
/** @param {Book} book @param {Note[]} notes */
export function toMarkdown(book, notes) {
  const lessons = new Map(lessonsOf(book).map((lesson) => [lesson.source_file, lesson]));
  const titled = (/** @type {string} */ file) => {
    const { title = file, source_url: address = "" } = lessons.get(file) ?? {};
    return isWeb(address) ? `[${title}](${address.split("#")[0]})` : title;
  };
  const parts = [`# ${say`Notes on ${book.title}`}`];
  for (const file of new Set(notes.map((note) => note.file))) {
    parts.push(`## ${titled(file)}`);
    for (const note of notes.filter((one) => one.file === file))
      parts.push([quoted(note.text), note.words].filter(Boolean).join("\n\n"));
  }
  return `${parts.join("\n\n")}\n`;
}

// The list beside the lesson: those of this lesson first. `changed()` is called when one is gone; `gone` are those of this lesson
// whose words the book no longer has.
/** @param {Book} book @param {string | null} file @param {{changed: () => void, gone?: Note[]}} options */
export function notesList(book, file, { changed, gone = [] }) {
  const notes = readNotes(book.book_id);
  const lost = new Set(gone.map((note) => note.id));
  const titles = new Map(lessonsOf(book).map((lesson) => [lesson.source_file, lesson.title]));
  const row = (/** @type {Note} */ note) =>
    element(
      "li",
      { class: "note-row", id: `note-${note.id}` },
      element("blockquote", { class: "selection", dir: "auto" }, note.text),
      lost.has(note.id) && element("p", { class: "disclaimer" }, "The lesson no longer has these words."),
      editor(book, note),
      element(
        "p",
        { class: "where" },
        note.file === file
          ? ""
          : element("a", { href: lessonAddress(book.book_id, note.file) }, titles.get(note.file) ?? note.file),
        iconButton("Delete this note", "bin", (event) => erase(note, !event.detail)),
      ),
    );
  // `byKey`: the focus goes to what brings the note back, and then to the note or to the tab.
  const erase = (/** @type {Note} */ { id }, /** @type {boolean} */ byKey) => {
    const at = readNotes(book.book_id).findIndex((one) => one.id === id);
    const [note] = readNotes(book.book_id).slice(at);
    remove(book.book_id, id);
    changed();
    const bringBack = () => {
      const kept = readNotes(book.book_id);
      keep(NAME + book.book_id, [...kept.slice(0, at), note, ...kept.slice(at)]);
      changed();
      if (byKey) document.getElementById(`note-${id}`)?.querySelector("textarea")?.focus();
    };
    const told = toast("Note deleted.", { act: bringBack, leave: () => document.getElementById("tab-notes")?.focus() });
    if (byKey) told.querySelector("button")?.focus();
  };
  const here = notes.filter((note) => note.file === file);
  const elsewhere = notes.filter((note) => note.file !== file);
  const save = () => {
    const text = toMarkdown(book, readNotes(book.book_id)); // with what was written since the list was drawn
    download(new Blob([text], { type: "text/markdown" }), `${book.book_id}-notes.md`);
  };
  return element(
    "section",
    { class: "notes", "aria-label": "Notes" },
    notes.length
      ? element(
          "p",
          { class: "note-head" },
          plural(notes.length, "note"),
          button("Save as Markdown", save, { picture: "save", class: "quiet" }),
        )
      : element(
          "p",
          { class: "hint" },
          "Select words in the lesson to highlight them or to write a note. Notes are kept in this browser.",
        ),
    element("ul", {}, here.map(row), elsewhere.map(row)),
  );
}

/** @param {Book} book @param {Note} note */
function editor(book, note) {
  const box = element("textarea", {
    rows: 1,
    "aria-label": "Your note",
    placeholder: "Write a note …",
    value: note.words,
    dir: "auto",
    oninput: () => void change(book.book_id, note.id, box.value.trim()), // also of who leaves without a click elsewhere
    onchange: () => {
      if (!change(book.book_id, note.id, box.value.trim())) toast("This browser’s storage is full: the note was not saved.");
    },
  });
  return box;
}
