// Asking: the question box, the turns of a thread, the sources beside them.

import { lessonAddress, placeAddress } from "./addresses.js";
import { AskLoop } from "./ask-loop.js";
import { Composer } from "./composer.js";
import { contents, download, lessonAt } from "./contents.js";
import { ago, button, element, find, icon, iconButton, plural } from "./dom.js";
import { earlier } from "./earlier.js";
import { filtersOf, readProfile, writeProfile } from "./profile.js";
import { reactions } from "./reactions.js";
import { keepText, lastPlace } from "./reading.js";
import { dueCards, readCards } from "./repetition.js";
import { followSelection } from "./selection.js";
import { scrollWithin } from "./source-list.js";
import { worthAsking } from "./worth-asking.js";
import { BookAnswer } from "./answer.js";
import "./panel.js";
import { word } from "./words.js";

const DRAFT = "bythebook.draft";
const BESIDE = "bythebook.beside.";

export class BookConversation extends HTMLElement {
  /** @type {HTMLElement} */ turns;
  /** @type {Composer} */ composer;
  /** @type {AskLoop} */ loop;
  /** @type {HTMLElement} */ column;
  /** @type {import("./panel.js").SourcePanel | undefined} */ panel;
  /** @type {string | null} */ threadId;
  /** @type {string} */ address;
  /** @type {(() => void) | undefined} */ endSelection;
  /** @type {() => void} */ scrolled;
  /** @type {number | null} */ looking;
  /** @type {import("./api.js").Api} */ api;
  /** @type {Book} */ book;
  /** @type {OpenSource | null} */ onsource = null;

  // `room` is {api, book}; `thread` is null for a new one. With `onsource` it stands beside a lesson and has no panel of its own.
  // `begun`: it begins with a question, not with a welcome.
  /**
   * @param {Room} room
   * @param {StoredThread | null} thread
   * @param {{onsource?: OpenSource | null, placeholder?: string | null, begun?: boolean}} options
   */
  open(room, thread, { onsource = null, placeholder = null, begun = false } = {}) {
    Object.assign(this, room, { onsource });
    this.threadId = thread?.thread_id ?? null;
    this.address = location.hash;
    this.turns = element("div", { class: "turns" });
    this.makeComposer(placeholder);
    this.loop = new AskLoop({
      api: this.api,
      composer: this.composer,
      actions: this.actions(),
      body: (question, given) => this.body(question, given),
      place: (turn) => this.place(turn),
      onthread: (id) => this.kept(id),
      onend: (turn, { turn: number }) => turn.react(reactions(this.api, { threadId: this.threadId, number })),
    });
    this.column = element("div", { class: "column" }, this.turns, this.composer.element);
    this.replaceChildren(this.column);
    if (onsource) return;
    this.makePanel();
    if (thread) this.resume(thread);
    else if (!begun) this.welcome();
    if (!("ontouchstart" in window)) this.composer.focus();
  }

  /** @param {string | null} placeholder */
  makeComposer(placeholder) {
    const profile = element("reader-profile");
    profile.book = this.book;
    this.composer = new Composer({
      onask: (text, given) => this.ask(text, given),
      onstop: () => this.loop.stop(),
      draft: this.onsource ? null : DRAFT,
      below: element("div", { class: "below" }, profile, element("span", { class: "keys" }, element("kbd", {}, "/"), " to ask")),
    });
    if (placeholder) this.composer.box.placeholder = word(placeholder);
    this.composer.box.setAttribute("aria-keyshortcuts", "/");
  }

  makePanel() {
    this.panel = element("source-panel").with({
      api: this.api,
      bookId: this.book.book_id,
      fetchPassage: (id, spans) => this.api.get(`/page/chunks/${id}?${this.query(spans)}`),
      fetchLesson: (id, spans) => this.api.get(`/page/lessons/${id}?${this.query(spans)}`),
    });
    this.append(this.panel);
    this.endSelection = followSelection(this, (question, selection) => {
      this.panel?.sheet.close();
      if (question) this.ask(question, { selection });
      else this.askAbout(selection);
    });
    this.scrolled = () => (this.looking ??= requestAnimationFrame(() => ((this.looking = null), this.followTurn())));
    addEventListener("scroll", this.scrolled, { passive: true });
  }

  // The sources shown belong to the turn being read: the last whose question is above the middle of the screen.
  followTurn() {
    const shown = [...this.turns.querySelectorAll("book-answer")];
    const read = shown.findLast((turn) => turn.getBoundingClientRect().top < innerHeight * 0.5);
    if (read?.sources().length && read !== this.panel?.turn) this.panel?.follow(read);
  }

  /** @param {Span[]} spans */
  query(spans) {
    const query = new URLSearchParams({ book_id: this.book.book_id });
    for (const span of spans) query.append("quote", `${span.start}-${span.end}`);
    return query;
  }

  welcome() {
    this.classList.add("fresh");
    const place = lastPlace(this.book.book_id);
    const known = place && this.book.modules.some((module) => hasLesson(module, place.file));
    this.turns.append(
      element(
        "div",
        { class: "welcome" },
        element("h1", { dir: "auto" }, this.book.title),
        element(
          "p",
          {},
          "Ask a question. You get the book’s own answer, sentence by sentence, each with the passage it rests on. Where the book has no answer, it says so.",
        ),
      ),
    );
    const goOn =
      known &&
      element(
        "a",
        { class: "continue", href: `${lessonAddress(this.book.book_id, place.file)}?continue` },
        element("span", { class: "where" }, "Continue reading"),
        element("span", { dir: "auto" }, place.title),
        icon("arrow"),
      );
    const due = dueCards(readCards(this.book.book_id), Date.now()).length;
    const review =
      due > 0 &&
      element(
        "a",
        { class: "continue", href: `#/books/${this.book.book_id}/quiz?due` },
        element("span", { class: "where" }, "Due today"),
        element("span", {}, plural(due, "question")),
        icon("arrow"),
      );
    const worth = worthAsking(this.api, this.book, { title: "Worth asking", ask: (question) => this.ask(question) });
    this.column.append(...[goOn, review, worth].filter((one) => one instanceof Node));
    // A long list of lessons takes longer to draw than the box to type in, and stands beside or below it.
    requestAnimationFrame(() => setTimeout(() => this.classList.contains("fresh") && this.append(contents(this.book, this.api))));
  }

  /** @param {StoredThread} thread */
  resume(thread) {
    this.head(thread.title || thread.topic_summary || this.book.title, ago(thread.updated_at));
    this.turns.append(...earlier(thread, this.api, (turn) => this.past(turn)), ...thread.turns.map((turn) => this.past(turn)));
    const last = this.turns.lastElementChild;
    if (last instanceof BookAnswer) this.panel?.show(last);
    last?.querySelector("h2")?.scrollIntoView({ block: "start" });
  }

  /** @param {StoredTurn} turn */
  past(turn) {
    const shown = element("book-answer").begin(turn.answer.query, this.actions());
    shown.finish(turn.answer, turn.html);
    if (turn.stale_since) shown.stale();
    shown.react(reactions(this.api, { threadId: this.threadId, number: turn.number }, turn));
    return shown;
  }

  // The line above the turns.
  /** @param {string} title @param {string} [note] */
  head(title, note) {
    document.title = `${title} · By the Book`;
    this.classList.remove("fresh");
    this.turns.prepend(
      element(
        "header",
        { class: "thread-head" },
        element("h1", { class: "where", dir: "auto" }, title, note && element("span", {}, ` · ${note}`)),
        iconButton("Save this thread as Markdown, with the sources", "save", () => this.save()),
      ),
    );
  }

  async save() {
    if (!this.threadId) return;
    const response = await this.api.send("GET", `/threads/${this.threadId}/export`);
    download(await response.blob(), `thread-${this.threadId.slice(0, 8)}.md`);
  }

  /** @returns {TurnActions} */
  actions() {
    return {
      book: this.book,
      onsource: (turn, label, citation) =>
        this.onsource ? this.onsource(turn, label, citation) : this.panel?.open(turn, label, citation),
      onwiden: (profile, text) => (writeProfile(this.book.book_id, profile), this.ask(text)),
      onsearch: async (text, filters) =>
        (
          await this.api.post("/search", {
            text: text.slice(0, 1000),
            book_id: this.book.book_id,
            hardware_tier_filter: 4,
            limit: 5,
            ...filters,
          })
        ).results,
      oncontents: this.onsource ? null : () => this.panel?.showContents(contents(this.book, this.api)),
      onlesson: (section) => {
        const lesson = lessonAt(this.book, section.source_url);
        return lesson && (() => this.openLesson(lesson, section.heading_path.at(-1)));
      },
      onpassage: (result) =>
        this.onsource ? (location.hash = lessonAddress(this.book.book_id, result.source_file)) : this.panel?.showPassage(result),
    };
  }

  /** @param {Lesson} lesson @param {string} [heading] */
  openLesson(lesson, heading) {
    if (!this.onsource) return void this.panel?.showLesson(lesson.parent_doc_id, [], heading);
    location.hash = placeAddress(this.book.book_id, { source_file: lesson.source_file, heading_path: heading ? [heading] : [] });
  }

  /** @param {SelectedWords} selection */
  askAbout(selection) {
    this.composer.askAbout(selection);
  }

  /** @param {string} text @param {Given} given */
  ask(text, given = {}) {
    return this.loop.ask(text, given);
  }

  /** @param {BookAnswer} turn */
  place(turn) {
    this.leaveWelcome();
    this.turns.querySelector(".latest")?.classList.remove("latest");
    turn.classList.add("latest");
    this.turns.append(turn);
    if (this.panel) {
      turn.addEventListener("sentence", () => this.panel?.follow(turn));
      if (!this.loop.running) {
        this.panel.show(turn);
        this.panel.sheet.close();
      }
    }
    const question = find(turn, "h2");
    if (this.onsource && this.parentElement) scrollWithin(this.parentElement, question);
    else question.scrollIntoView({ block: "start" });
  }

  /** @param {string} question @param {Given} given */
  body(question, { selection } = {}) {
    return {
      message: question,
      book_id: this.book.book_id,
      session_id: this.threadId ?? undefined,
      similarity_threshold: 0,
      render: true,
      selection,
      filters: filtersOf(readProfile(this.book.book_id)),
    };
  }

  // A thread is there from its first answer on, and so is its address.
  /** @param {string} threadId */
  kept(threadId) {
    if (this.threadId) return;
    this.threadId = threadId;
    if (!this.onsource && location.hash !== this.address) return; // the reader is on the way to another page
    if (!this.onsource) return history.replaceState(history.state, "", `#/threads/${threadId}`);
    keepText(BESIDE + this.book.book_id, threadId, sessionStorage);
    this.turns.prepend(this.besideHead());
  }

  besideHead() {
    return element(
      "p",
      { class: "hint beside-head" },
      element("a", { href: `#/threads/${this.threadId}` }, "Open this thread by itself"),
      button("New thread", () => this.beginAnew(), { class: "quiet" }),
    );
  }

  beginAnew() {
    this.threadId = null;
    sessionStorage.removeItem(BESIDE + this.book.book_id);
    this.turns.replaceChildren();
    this.loop.end();
    this.composer.focus();
  }

  // Beside a lesson: the thread that the reader had open in this book before a quiz, another view or a reload.
  async recall() {
    const id = sessionStorage.getItem(BESIDE + this.book.book_id);
    if (!id) return;
    try {
      const thread = await this.api.get(`/threads/${encodeURIComponent(id)}?render=true`);
      if (this.threadId || this.turns.childElementCount) return; // the reader has asked meanwhile
      this.threadId = id;
      this.turns.append(this.besideHead(), ...earlier(thread, this.api, (turn) => this.past(turn)), ...thread.turns.map((/** @type {StoredTurn} */ turn) => this.past(turn)));
      const last = this.turns.lastElementChild;
      last?.classList.add("latest");
      if (this.parentElement) scrollWithin(this.parentElement, last?.querySelector("h2") ?? this.turns);
    } catch (/** @type {any} */ problem) {
      if (problem.status === 404) sessionStorage.removeItem(BESIDE + this.book.book_id);
    }
  }

  leaveWelcome() {
    if (!this.onsource && !this.querySelector(".thread-head")) this.head(this.book.title);
    for (const gone of this.querySelectorAll(".welcome, .continue, .worth, :scope > .contents")) gone.remove();
  }

  disconnectedCallback() {
    this.loop?.end();
    this.endSelection?.();
    removeEventListener("scroll", this.scrolled);
    this.panel?.sheet.drop();
  }
}

/** @param {BookModule} module @param {string} file */
function hasLesson(module, file) {
  return module.chapters.some((chapter) => chapter.lessons.some((lesson) => lesson.source_file === file));
}

customElements.define("book-conversation", BookConversation);
