// Quiz: a question, the book's own words behind it, and the reader says whether they knew. What was not known comes again.

import { lessonAddress, quizAddress } from "./addresses.js";
import { chapterAround, chapterNamed, lessonsOf } from "./chapters.js";
import { download } from "./contents.js";
import { announce, button, element, find, plural, toast } from "./dom.js";
import { lastPlace } from "./reading.js";
import { dueCards, keepCard, rated, readCards, toCsv } from "./repetition.js";
import { say } from "./words.js";

const MOST_CARDS = 20;
const MOST_LESSONS = 30;

export class BookQuiz extends HTMLElement {
  /** @type {ShownChapter | null} */ chapter;
  /** @type {string[]} */ files;
  /** @type {HTMLElement} */ room;
  /** @type {HTMLElement} */ saver;
  /** @type {Card[]} */ cards;
  /** @type {Card[]} */ all;
  /** @type {{known: number, again: number}} */ count;
  /** @type {import("./api.js").Api} */ api;
  /** @type {Book} */ book;
  /** Whether the reader knows that nothing is kept. */ told = false;

  // `query` names lessons (`lesson`) or a chapter (by what `chaptersOf` has as its query), or asks for what is `due`.
  /** @param {Room} room @param {URLSearchParams} query */
  async open({ api, book }, query) {
    Object.assign(this, { api, book });
    this.chapter = query.has("lesson") || query.has("due") ? null : chapterOf(book, query);
    this.files = this.chapter ? this.chapter.lessons.map((lesson) => lesson.source_file) : query.getAll("lesson");
    this.room = element("div", { class: "quiz-room" });
    this.replaceChildren(
      element(
        "div",
        { class: "page-head" },
        element("h1", { tabindex: "-1" }, query.has("due") ? "Due today" : "Quiz"),
        (this.saver = button("Save for Anki", () => this.save(), { picture: "save", hidden: true })),
      ),
      element("p", { class: "where", dir: "auto" }, this.about(query)),
      this.room,
    );
    find(this, "h1").focus({ preventScroll: true });
    const pulse = element("span", { class: "pulse", "aria-hidden": "true" });
    this.room.append(element("p", { class: "where", role: "status" }, pulse, "Looking for questions …"));
    this.cards = query.has("due") ? dueCards(readCards(book.book_id), Date.now()) : await this.fetch();
    this.all = [...this.cards];
    this.saver.hidden = !this.all.length;
    this.count = { known: 0, again: 0 };
    this.next();
  }

  /** @param {URLSearchParams} query */
  about(query) {
    if (query.has("due")) return say`${this.book.title}: what you wanted to see again.`;
    if (this.chapter) return [this.chapter.label && say`Chapter ${this.chapter.label}`, this.chapter.title].filter(Boolean).join(": ");
    const titles = lessonsOf(this.book).filter((lesson) => this.files.includes(lesson.source_file));
    return titles.length ? titles.map((lesson) => lesson.title).join(" · ") : this.book.title;
  }

  /** @returns {Promise<Card[]>} */
  async fetch() {
    const query = new URLSearchParams([
      ...this.files.slice(0, MOST_LESSONS).map((file) => ["lesson", file]),
      ["purpose", "learn"],
      ["limit", String(MOST_CARDS)],
    ]);
    const known = readCards(this.book.book_id);
    const { questions } = await this.api.get(`/books/${this.book.book_id}/questions?${query}`);
    return questions.map((/** @type {Card} */ one) => ({ ...one, box: known[one.id]?.box ?? 0 }));
  }

  next() {
    const card = this.cards.shift();
    if (!card) return this.end();
    const answer = element(
      "div",
      { class: "quiz-answer" },
      card.answer_html && element("div", { class: "prose quiz-said", dir: "auto", html: card.answer_html }),
      element("div", { class: "prose passage", dir: "auto", html: card.html }),
      element(
        "p",
        { class: "where" },
        element("a", { href: lessonAddress(this.book.book_id, card.source_file) }, card.page_title),
      ),
    );
    const marks = element(
      "div",
      { class: "actions start" },
      button("Not yet", () => this.mark(card, false)),
      button("I knew it", () => this.mark(card, true), { class: "primary" }),
    );
    const show = button(
      "Show the answer",
      () => {
        show.replaceWith(answer, marks);
        find(marks, ".primary").focus({ preventScroll: true });
        announce(answer.textContent);
      },
      { class: "primary" },
    );
    this.room.replaceChildren(
      element("p", { class: "where" }, say`${plural(this.cards.length + 1, "question")} left`),
      element("h2", { class: "question", dir: "auto" }, card.question),
      show,
    );
    show.focus({ preventScroll: true });
  }

  /** @param {Card} card @param {boolean} known */
  mark(card, known) {
    const kept = keepCard(this.book.book_id, rated(card, known, Date.now()));
    if (!kept && !this.told) toast("This browser’s storage is full: your results are lost when you leave this page.");
    this.told ||= !kept;
    this.count[known ? "known" : "again"] += 1;
    if (!known) this.cards.push(card); // until it is known
    this.next();
  }

  end() {
    const place = lastPlace(this.book.book_id);
    const file = this.files.length === 1 ? this.files[0] : this.files.find((one) => one === place?.file);
    const back = file ? `${lessonAddress(this.book.book_id, file)}?continue` : `#/books/${this.book.book_id}`;
    const wider = !this.all.length && this.files.length === 1 && chapterAround(this.book, this.files[0]);
    const told = this.all.length
      ? say`Done: ${plural(this.all.length, "question")}, ${this.count.again} of them asked again. They come back when it is time.`
      : "There are no questions for these lessons: their author wrote none, and the text has no definitions, counts or tables to ask about.";
    this.room.replaceChildren(
      element("p", { class: "quiz-end", tabindex: "-1" }, told),
      element(
        "p",
        { class: "actions start" },
        wider && wider.lessons.length > 1 && element("a", { class: "button", href: quizAddress(this.book, wider.query) }, "Quiz me on this chapter"),
        element("a", { class: "button", href: back }, "Back to the book"),
      ),
    );
    find(this.room, ".quiz-end").focus({ preventScroll: true });
  }

  save() {
    const text = toCsv(this.all, this.book.title);
    download(new Blob([text], { type: "text/csv" }), `${this.book.book_id}-questions.csv`);
  }
}

/** @param {Book} book @param {URLSearchParams} query */
function chapterOf(book, query) {
  if (!query.has("chapter") && !query.has("folder")) return null;
  const found = chapterNamed(book, query);
  if (!found) throw Object.assign(new Error("The book has no such chapter. It may have been renamed."), { status: 404 });
  return found;
}

customElements.define("book-quiz", BookQuiz);
