// Reading: a lesson as a page of its own, the lessons before and after it, and beside it the contents and the tutor.

import { lessonAddress, quizAddress } from "./addresses.js";
import { followChanges } from "./book-changes.js";
import { chapterAround, lessonsOf } from "./chapters.js";
import { contents } from "./contents.js";
import { announce, button, element, find, icon, toast } from "./dom.js";
import { HEADINGS, lessonArticle } from "./lesson-text.js";
import { addNote, drawNotes, notesList, placeOf } from "./notes.js";
import { lastPlace, rememberPlace } from "./reading.js";
import { followSelection } from "./selection.js";
import { NARROW, Sheet } from "./sheet.js";
import { outLink, scrollWithin } from "./source-list.js";
import { worthAsking } from "./worth-asking.js";
import "./conversation.js";
import { say, word } from "./words.js";

const SAVED_EVERY_MS = 400; // where a browser does not tell that scrolling has ended

export class LessonPage extends HTMLElement {
  /** @type {HTMLElement} */ column;
  /** @type {import("./conversation.js").BookConversation} */ tutor;
  /** @type {HTMLElement} */ aside;
  /** @type {Sheet} */ sheet;
  /** @type {HTMLElement} */ tabs;
  /** @type {HTMLElement} */ side;
  /** @type {(() => void) | undefined} */ ending;
  /** @type {(() => void) | undefined} */ endChanges;
  /** @type {() => void} */ scrolled;
  /** @type {() => void} */ scrollEnded;
  /** @type {number | null} */ saving;
  /** @type {symbol | null} */ going;
  /** @type {HTMLElement | undefined} */ failure;
  /** @type {HTMLElement | undefined} */ change;
  /** @type {Note[]} */ gone;
  /** @type {string | undefined} */ chosen;
  /** @type {import("./api.js").Api} */ api;
  /** @type {Book} */ book;
  /** @type {(bookId: string) => Promise<Book | null>} */ refresh;
  /** The lesson that is shown, and its path. @type {LessonText | null} */ lesson = null;
  /** Until the first has come there is none. @type {string} */ path = "";
  /** The one that the address names: it may be on its way. @type {string} */ wanted = "";

  // `room` is {api, book, refresh}: `refresh()` reads the book anew.
  /**
   * @param {Room & {refresh: (bookId: string) => Promise<Book | null>}} room
   * @param {string} path
   * @param {URLSearchParams} query
   */
  open(room, path, query) {
    Object.assign(this, room);
    this.column = element("div", { class: "column reading" });
    this.tutor = element("book-conversation", { class: "beside-lesson", hidden: true });
    this.aside = element("aside", { class: "beside", "aria-label": "Contents, tutor and notes" });
    this.sheet = new Sheet(this.aside);
    this.tabs = element(
      "div",
      { class: "tabs", role: "tablist" },
      this.tab("contents", "Contents"),
      this.tab("tutor", "Ask"),
      this.tab("notes", "Notes"),
    );
    const close = button("", () => this.sheet.close(), { picture: "close", class: "icon closer", "aria-label": "Close" });
    this.side = element("div", { class: "side-body", id: "beside-panel", role: "tabpanel" }, this.tutor);
    this.aside.replaceChildren(element("div", { class: "side-top" }, this.tabs, close), this.side);
    this.replaceChildren(this.column, this.aside, this.bar());
    this.tutor.open(room, null, {
      onsource: (_turn, _label, citation) => this.goTo(citation),
      placeholder: "Ask about what you read …",
    });
    this.ending = followSelection(
      this,
      (question, selection) => this.askAbout(question, selection),
      (selection, range, byKey) => this.highlight(selection, range, byKey),
    );
    this.scrolled = () => (this.saving ??= setTimeout(() => ((this.saving = null), this.save()), SAVED_EVERY_MS));
    this.scrollEnded = () => this.save();
    addEventListener("scroll", this.scrolled, { passive: true });
    addEventListener("scrollend", this.scrollEnded);
    this.endChanges = followChanges(
      this.api,
      () => this.book,
      () => this.tellChange(),
    );
    return this.go(path, query).then(() => void this.tutor.recall());
  }

  disconnectedCallback() {
    this.going = null; // a lesson that comes now comes too late
    removeEventListener("scroll", this.scrolled);
    removeEventListener("scrollend", this.scrollEnded);
    clearTimeout(this.saving ?? undefined);
    this.ending?.();
    this.endChanges?.();
    this.change?.remove();
    this.failure?.remove();
    this.sheet?.drop();
  }

  // The lesson at `path` of the same book. `query` may name stretches to mark (`at`), a `section`, or `continue`.
  // Where it cannot be had, what was read stays, and the reader may try again.
  /** @param {string} path @param {URLSearchParams} query */
  async go(path, query) {
    this.failure?.remove();
    try {
      await this.read(path, query);
    } catch (/** @type {any} */ problem) {
      if (!this.lesson || problem.status === 404) throw problem;
      if (this.wanted !== path || !this.isConnected) return;
      const title = lessonsOf(this.book).find((lesson) => lesson.source_file === path)?.title ?? path;
      this.failure = toast(say`“${title}” could not be opened. ${word(problem.message)}`, {
        label: "Try again",
        act: () => this.go(path, query),
        seconds: null,
      });
    }
  }

  /** @param {string} path @param {URLSearchParams} query */
  async read(path, query) {
    const lessons = lessonsOf(this.book);
    const at = lessons.findIndex((lesson) => lesson.source_file === path);
    if (at < 0) throw Object.assign(new Error(say`The book has no lesson ${path}. It may have been renamed.`), { status: 404 });
    const spans = query.getAll("at").filter((one) => /^\d{1,9}-\d{1,9}$/.test(one));
    const asked = new URLSearchParams([["book_id", this.book.book_id], ...spans.map((one) => ["quote", one])]);
    const going = (this.going = Symbol(path));
    this.wanted = path;
    this.sheet.close();
    const lesson = await this.api.get(`/page/lessons/${lessons[at].parent_doc_id}?${asked}`);
    if (this.going !== going) return; // the reader has gone on
    const same = this.path === path;
    Object.assign(this, { lesson, path });
    const article = lessonArticle(lesson, this.api, this.book.book_id, { level: 1 });
    article.append(this.practice(lessons, at), this.ways(lessons, at));
    this.column.replaceChildren(article);
    document.title = `${lesson.page_title} · ${this.book.title}`;
    this.gone = drawNotes(find(article, ".passage"), this.book.book_id, path);
    if (!same) this.choose("contents", { keep: (this.chosen ?? "contents") !== "contents" });
    this.show(article, query, { same });
    announce(say`Lesson: ${lesson.page_title}.`);
  }

  // Nothing moves under the reader's eyes before they want it.
  tellChange() {
    this.change?.remove();
    this.change = toast("The book has changed since you opened it.", {
      label: "Show the new text",
      act: () => this.showChange(),
      seconds: null,
    });
  }

  async showChange() {
    try {
      const book = await this.refresh(this.book.book_id);
      if (!this.isConnected || !book) return;
      this.book = this.tutor.book = book;
      const there = lessonsOf(book).some((lesson) => lesson.source_file === this.wanted);
      if (there) await this.read(this.wanted, new URLSearchParams("continue"));
      else toast("This lesson is no longer in the book. The contents show what is.");
      if (this.isConnected) this.choose((there && this.chosen) || "contents");
    } catch (/** @type {any} */ problem) {
      if (!this.isConnected) return;
      toast(problem.message);
      this.tellChange();
    }
  }

  /** @param {HTMLElement} article @param {URLSearchParams} query @param {{same: boolean}} options */
  show(article, query, { same }) {
    const kept = lastPlace(this.book.book_id);
    const headings = [...article.querySelectorAll(HEADINGS)];
    const section = query.get("section");
    const wanted =
      (query.has("at") && article.querySelector("mark, .quoted")) ||
      (section && headings.find((one) => one.textContent.trim() === section)) ||
      (query.has("continue") && kept?.file === this.path && find(article, ".passage").children[kept.block]);
    if (wanted) wanted.scrollIntoView({ block: wanted.matches("mark, .quoted") ? "center" : "start" });
    else if (!same) scrollTo(0, 0);
    // Who types a question while the lesson comes goes on typing.
    if (!document.activeElement?.matches("textarea, input")) find(article, "h1").focus({ preventScroll: true });
    this.save();
  }

  /** @param {Lesson[]} lessons @param {number} at */
  practice(lessons, at) {
    const path = lessons[at].source_file;
    const nearby = [...lessons.slice(at + 1, at + 5), ...lessons.slice(Math.max(0, at - 4), at).reverse()];
    const worth = worthAsking(this.api, this.book, {
      file: path,
      nearby: nearby.map((lesson) => lesson.source_file),
      title: "This lesson answers",
      ask: (question) => (this.choose("tutor"), this.sheet.open(), this.tutor.ask(question)),
    });
    const quiz = (/** @type {Record<string, string>} */ query, /** @type {string} */ words) =>
      element("a", { class: "button", href: quizAddress(this.book, query) }, words);
    const chapter = chapterAround(this.book, path);
    return element(
      "div",
      { class: "practice" },
      worth,
      element(
        "p",
        { class: "actions start" },
        quiz({ lesson: path }, "Quiz me on this lesson"),
        chapter && chapter.lessons.length > 1 && quiz(chapter.query, "Quiz me on this chapter"),
      ),
    );
  }

  // Before and after, in the order of the book.
  /** @param {Lesson[]} lessons @param {number} at */
  ways(lessons, at) {
    /** @param {Lesson | undefined} lesson @param {string} label @param {string} picture */
    const way = (lesson, label, picture) =>
      lesson &&
      element(
        "a",
        { href: lessonAddress(this.book.book_id, lesson.source_file), class: `way ${picture}`, rel: picture },
        element("span", { class: "where" }, label),
        element("span", { dir: "auto" }, lesson.title),
      );
    const out = outLink(lessons[at].source_url);
    return element(
      "nav",
      { class: "ways", "aria-label": "Lessons before and after" },
      way(lessons[at - 1], "Previous", "prev"),
      way(lessons[at + 1], "Next", "next"),
      out && element("p", { class: "out-link" }, out),
    );
  }

  /** @param {string} name @param {string} label */
  tab(name, label) {
    return element(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": "beside-panel",
        "data-tab": name,
        onclick: () => this.choose(name),
        onkeydown: (event) => this.turn(event, name),
      },
      label,
    );
  }

  /** @param {KeyboardEvent} event @param {string} name */
  turn(event, name) {
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (!step) return;
    const names = [...this.tabs.querySelectorAll("button")].map((tab) => tab.dataset.tab ?? "");
    this.choose(names[(names.indexOf(name) + step + names.length) % names.length]);
  }

  // `keep`: whichever is open stays open, and only the contents are drawn again.
  /** @param {string} name @param {{keep?: boolean}} options */
  choose(name, { keep = false } = {}) {
    const wanted = (keep && this.chosen) || name;
    this.chosen = wanted;
    for (const tab of this.tabs.querySelectorAll("button")) {
      const chosen = tab.dataset.tab === wanted;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen && this.tabs.contains(document.activeElement)) tab.focus();
    }
    this.side.setAttribute("aria-labelledby", `tab-${wanted}`);
    this.tutor.hidden = wanted !== "tutor";
    // The tutor stays where it is: an element that is moved loses the focus.
    for (const other of [...this.side.children]) if (other !== this.tutor) other.remove();
    if (wanted === "notes") this.side.prepend(this.notes());
    if (wanted === "contents") this.side.prepend(contents(this.book, this.api, { current: this.wanted }));
    this.side.scrollTop = 0;
    if (wanted === "contents") this.bringCurrentIntoView();
    const latest = wanted === "tutor" && this.tutor.querySelector("book-answer.latest h2");
    if (latest) scrollWithin(this.side, latest);
  }

  notes() {
    return notesList(this.book, this.path, { gone: this.gone, changed: () => this.redrawNotes() });
  }

  redrawNotes() {
    const text = this.column.querySelector(".passage");
    if (text) this.gone = drawNotes(text, this.book.book_id, this.path);
    if (this.chosen === "notes") this.choose("notes");
  }

  // Beside the lesson the note can be written at once. A sheet would cover what is read: there it is offered.
  /** @param {SelectedWords} selection @param {Range} range @param {boolean} byKey */
  highlight(selection, range, byKey) {
    const nth = placeOf(find(this.column, ".passage"), range, selection.text);
    const note = addNote(this.book.book_id, { ...selection, nth });
    if (!note) return;
    this.redrawNotes();
    const write = () => {
      this.choose("notes");
      this.sheet.open();
      document.getElementById(`note-${note.id}`)?.querySelector("textarea")?.focus({ preventScroll: true });
    };
    if (!NARROW.matches) return write();
    const told = toast("Highlighted.", { label: "Write a note", act: write, leave: () => find(this.column, "h1").focus() });
    if (byKey) told.querySelector("button")?.focus();
  }

  bringCurrentIntoView() {
    const current = this.side.querySelector("[aria-current]");
    if (current) this.side.scrollTop = current.offsetTop - this.side.clientHeight / 2;
  }

  // On a narrow screen both are a tap away.
  bar() {
    /** @param {string} name @param {string} label @param {Parameters<typeof icon>[0]} picture */
    const open = (name, label, picture, show = () => (this.choose(name), this.sheet.open())) =>
      element("button", { type: "button", onclick: show }, icon(picture), label);
    return element(
      "div",
      { class: "lesson-bar" },
      open("contents", "Contents", "list"),
      open("tutor", "Ask", "arrow", () => this.beginQuestion()),
      open("notes", "Notes", "pencil"),
    );
  }

  beginQuestion() {
    this.choose("tutor");
    this.sheet.open();
    this.tutor.composer.focus();
  }

  /** @param {string | null} question @param {SelectedWords} selection */
  askAbout(question, selection) {
    this.choose("tutor");
    this.sheet.open();
    if (question) this.tutor.ask(question, { selection });
    else this.tutor.askAbout(selection);
  }

  // The place of a citation is in the book: this lesson or another.
  /** @param {Citation} citation */
  async goTo(citation) {
    const address = lessonAddress(this.book.book_id, citation.source_file, [citation.span]);
    await this.sheet.close();
    if (location.hash === address) this.column.querySelector("mark, .quoted")?.scrollIntoView({ block: "center" });
    else location.hash = address;
  }

  save() {
    const text = this.column.querySelector(".passage");
    if (!text || !this.lesson || !this.isConnected) return;
    const blocks = [...text.children];
    const block = Math.max(
      0,
      blocks.findIndex((one) => one.getBoundingClientRect().bottom > 80),
    );
    const box = text.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (innerHeight - box.top) / Math.max(1, box.height)));
    rememberPlace(this.book.book_id, { file: this.path, title: this.lesson.page_title, block, share });
  }
}

customElements.define("lesson-page", LessonPage);
