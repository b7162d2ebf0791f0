// What stands beside the conversation: the sources of the turn being read, a lesson, or the contents. On a narrow screen it is a
// sheet.

import { lessonAddress } from "./addresses.js";
import { button, element, find } from "./dom.js";
import { HEADINGS, lessonArticle } from "./lesson-text.js";
import { Sheet } from "./sheet.js";
import { closer, outLink, scrollWithin } from "./source-list.js";
import { word } from "./words.js";

export class SourcePanel extends HTMLElement {
  /** @type {Sheet} */ sheet;
  /** @type {HTMLElement} */ heading;
  /** @type {HTMLElement} */ body;
  /** @type {import("./source-list.js").SourceList} */ list;
  /** @type {BookAnswer | null} */ turn;
  /** @type {HTMLElement | null} */ returnTo;
  /** @type {import("./api.js").Api} */ api;
  /** @type {string} */ bookId;
  /** @type {(parentId: string, spans: Span[]) => Promise<LessonText>} */ fetchLesson;
  /** How often something was shown or closed: a lesson that comes after that comes too late. */ moves = 0;

  // `fetchPassage` and `fetchLesson` read from the book `bookId`.
  /**
   * @param {{api: Api, bookId: string, fetchPassage: FetchPassage, fetchLesson: (parentId: string, spans: Span[]) => Promise<LessonText>}} given
   */
  with({ api, bookId, fetchPassage, fetchLesson }) {
    Object.assign(this, { api, bookId, fetchLesson });
    this.sheet = new Sheet(this, () => this.closed());
    this.heading = element("h2", { id: "sources-title" }, "Sources");
    this.body = element("div", { class: "sources-body" });
    this.list = element("source-list").with({
      api,
      fetchPassage,
      scroller: this.body,
      links: (read, source) => this.links(read, source),
    });
    this.setAttribute("role", "complementary");
    this.setAttribute("aria-labelledby", "sources-title");
    this.replaceChildren(
      element(
        "div",
        { class: "sources-top" },
        this.heading,
        closer("Close the sources", () => this.close()),
      ),
      this.body,
    );
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.sheet.isOpen) return; // the sheet hears it by itself
      event.preventDefault();
      this.close();
    });
    return this;
  }

  /** @param {Passage} read @param {Source} source */
  links(read, source) {
    const spans = source.quotes.map((quote) => quote.span);
    return [
      button("Whole lesson", () => this.showLesson(read.parent_doc_id, spans), { class: "quiet" }),
      outLink(read.source_url),
    ];
  }

  // The sources of one turn.
  /** @param {BookAnswer} turn */
  show(turn) {
    this.moves += 1;
    this.heading.textContent = word("Sources");
    if (!this.list.isConnected) this.body.replaceChildren(this.list);
    if (this.list.turn !== turn) this.body.scrollTop = 0;
    this.list.show(turn);
    this.turn = turn;
  }

  // Another turn came into view, or more of one: its sources, unless the reader looks at something else here.
  /** @param {BookAnswer} turn */
  follow(turn) {
    const busy = this.sheet.isOpen || this.contains(document.activeElement);
    const open = this.list.isConnected ? busy && turn !== this.turn : this.body.childElementCount > 0;
    if (!open) this.show(turn);
  }

  /** @param {BookAnswer} turn @param {number} label @param {Citation} citation */
  async open(turn, label, citation) {
    this.returnTo = focused();
    this.show(turn);
    this.sheet.open();
    await this.list.open(label, citation);
  }

  // At what is quoted of it, or at a heading.
  /** @param {string} parentId @param {Span[]} spans @param {string | null} heading */
  async showLesson(parentId, spans = [], heading = null) {
    this.returnTo ??= focused();
    const move = ++this.moves;
    const lesson = await this.fetchLesson(parentId, spans);
    if (move !== this.moves) return; // the reader looks at something else
    const back = this.turn?.sources().length && button("Back to the sources", () => this.backToSources(), { class: "quiet" });
    const whole = element("a", { class: "quiet", href: lessonAddress(this.bookId, lesson.source_file, spans) }, "Read it here");
    const article = lessonArticle(lesson, this.api, this.bookId);
    article.prepend(element("div", { class: "lesson-ways" }, back || "", whole, outLink(lesson.source_url)));
    this.view("Lesson", article);
    find(article, "h3").focus({ preventScroll: true });
    const headed = [...article.querySelectorAll(HEADINGS)].find((one) => one.textContent.trim() === heading);
    const quoted = headed ? null : article.querySelector("mark, .quoted");
    const target = headed ?? quoted;
    if (target) scrollWithin(this.body, target, headed ? "start" : "middle");
  }

  backToSources() {
    if (this.turn) this.show(this.turn);
    this.list.querySelector(".source-head")?.focus({ preventScroll: true });
  }

  /** @param {HTMLElement} contents */
  showContents(contents) {
    this.returnTo = focused();
    this.turn = null;
    this.view("Contents", contents);
    contents.querySelector("summary, a, button, input")?.focus({ preventScroll: true });
  }

  /** @param {SearchResult} result */
  async showPassage(result) {
    this.returnTo = focused();
    this.turn = null;
    this.view("Passage", this.list);
    this.list.replaceChildren();
    this.list.turn = null;
    const card = this.list.draw({
      ...result,
      chunk_id: result.id,
      label: result.rank,
      section: result.section_title,
      chapter: result.chapter_title,
      quotes: [],
    });
    await this.list.toggle(card);
  }

  /** @param {string} title @param {HTMLElement} shown */
  view(title, shown) {
    this.moves += 1;
    this.heading.textContent = word(title);
    this.body.replaceChildren(shown);
    this.body.scrollTop = 0;
    this.sheet.open();
  }

  close() {
    if (this.sheet.isOpen) this.sheet.close();
    else this.closed();
  }

  closed() {
    this.moves += 1;
    this.list.shut();
    if (this.turn) this.show(this.turn);
    else this.body.replaceChildren();
    this.classList.remove("sheet-open");
    const back = this.returnTo?.isConnected ? this.returnTo : document.querySelector("textarea");
    this.returnTo = null;
    back?.focus({ preventScroll: true });
  }
}

function focused() {
  return /** @type {HTMLElement | null} */ (document.activeElement);
}

customElements.define("source-panel", SourcePanel);
