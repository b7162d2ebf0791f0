// One turn as it is read: the question, the checked sentences with their markers, or a refusal that helps on.
// Nothing that stands on the page moves while sentences come: they are added below, and the line above keeps its height.

import { booksAsked } from "./books-asked.js";
import { announce, copyButton, element, find, plural, sourceName, withCopyButtons } from "./dom.js";
import { refusal } from "./refusal.js";
import { say, word } from "./words.js";

export const CONFIDENCE = {
  high: ["High confidence", "These passages fit your question very well."],
  medium: ["Medium confidence", "These passages fit your question well; check that they say what you asked."],
  low: ["Low confidence", "These are the closest passages in the book; they may not answer the question."],
  partial: ["Low confidence", "Only a part of what you asked is answered here."],
  insufficient: ["No answer", "Nothing in the book fits your question well enough to answer from it."],
};
const PATIENCE_SECONDS = 3;
/** From here on passages fit at medium: an answer that is low all the same lacks a part. */
const FITS_WELL = 0.75;

let lastTip = 0;

export class BookAnswer extends HTMLElement {
  /** @type {string} */ question;
  /** @type {TurnActions} */ actions;
  /** @type {HTMLElement} */ status;
  /** @type {HTMLElement} */ text;
  /** @type {number} */ began;
  /** @type {number | undefined} */ clock;
  /** @type {string} */ doing;
  /** What goes with the question. @type {Given | undefined} */ given;
  /** Whether a reader waits for it now. */ live = false;
  /** @type {Answer | undefined} */ answer;
  /** The source that is to be opened once there are any, in the widget. @type {[number, Citation] | undefined} */ wanted;
  /** @type {Sentence[]} */ sentences = [];

  // `onsource(label, turn)` opens a source; `onask(text)` asks; `onwiden(profile, text)` widens the filters and asks again.
  /** @param {string} question @param {TurnActions} actions */
  begin(question, actions) {
    this.question = question;
    this.actions = actions;
    this.sentences = [];
    this.status = element("p", { class: "status" });
    this.text = element("div", { class: "prose answer", dir: "auto" });
    this.setAttribute("role", "article");
    this.setAttribute("aria-busy", "true");
    this.replaceChildren(element("h2", { class: "question", dir: "auto" }, question), this.status, this.text);
    return this;
  }

  // The words of the book that the question is about.
  /** @param {Given} given */
  about({ selection } = {}) {
    if (selection && !this.querySelector(".selection"))
      find(this, "h2").after(element("blockquote", { class: "selection", dir: "auto" }, selection.text));
    return Boolean(selection);
  }

  /** @param {HTMLElement} cancel */
  wait(cancel) {
    this.status.replaceChildren(word("Waiting for the answer before it."), cancel);
  }

  search() {
    this.began = Date.now();
    this.working(word("Searching the book …"));
    this.clock = setInterval(() => this.working(this.doing), 1000);
    announce("Searching the book …");
  }

  // A sign of life, with the seconds once a reader begins to wonder.
  /** @param {string} doing */
  working(doing) {
    this.doing = doing;
    if (!this.hasAttribute("aria-busy")) return;
    const seconds = Math.round((Date.now() - this.began) / 1000);
    this.status.replaceChildren(
      element("span", { class: "pulse", "aria-hidden": "true" }),
      seconds < PATIENCE_SECONDS ? doing : `${doing} ${seconds} s`,
    );
  }

  /** @param {Message} message */
  take({ event, data }) {
    if (event === "searching" && data.question && data.question !== this.question && !this.given?.selection)
      this.working(say`Searching for “${data.question}” …`);
    else if (event === "found") this.working(say`Reading ${plural(data.results?.length ?? 0, "passage")} …`);
    else if (event === "sentence") this.addSentence(data);
    else if (event === "answered" || event === "refused") this.finish(data.answer, data.html);
  }

  /** @param {Sentence} sentence */
  addSentence(sentence) {
    this.sentences.push(sentence);
    const block = ["code", "table", "maths"].includes(sentence.kind);
    const words = element(block ? "div" : "span", { class: "sentence", html: sentence.html ?? escaped(sentence.text) });
    this.place(sentence, block).append(words, ...(block ? [] : ["\u00a0"]), ...this.markers(sentence), " ");
    withCopyButtons(words);
    if (this.live) announce(sentence.text);
    this.dispatchEvent(new CustomEvent("sentence", { bubbles: true }));
  }

  /** @param {Sentence} sentence @param {boolean} block */
  place(sentence, block) {
    const last = this.text.lastElementChild;
    if (block) return this.text.appendChild(element("div", { class: "block" }));
    if (sentence.kind === "item") {
      const list = last?.tagName === "UL" ? last : this.text.appendChild(element("ul"));
      return list.appendChild(element("li"));
    }
    return last?.tagName === "P" ? last : this.text.appendChild(element("p"));
  }

  /** @param {Sentence} sentence */
  markers(sentence) {
    const labels = new Map(sentence.citations.map((citation) => [citation.label, citation]));
    return [...labels.values()].map((citation) =>
      element(
        "button",
        {
          type: "button",
          class: "marker",
          "data-label": citation.label,
          "aria-label": sourceName(citation),
          onclick: () => this.actions.onsource(this, citation.label, citation),
        },
        `[${citation.label}]`,
      ),
    );
  }

  // `html` holds the rendering of each sentence, for a turn that was not streamed.
  /** @param {Answer} answer @param {string[]} [html] */
  finish(answer, html) {
    this.answer = answer;
    this.rest();
    const books = answer.books ?? [];
    const several = books.length > 1;
    const others = several ? booksAsked(books, (bookId) => this.askBook(bookId)) : "";
    if (answer.refused) {
      this.classList.add("refused");
      this.status.remove();
      this.text.replaceWith(refusal(this, answer, this.actions));
      this.append(others);
      if (this.live) announce(answer.answer);
      return;
    }
    if (!this.sentences.length) answer.sentences.forEach((sentence, at) => this.addSentence({ ...sentence, html: html?.[at] }));
    const sources = this.sources();
    this.status.replaceChildren(confidence(answer.confidence), element("span", {}, plural(sources.length, "passage")));
    if (answer.question && answer.question !== this.question && !this.about(aboutOf(answer)))
      this.status.append(element("span", { dir: "auto" }, say`read as “${answer.question}”`));
    if (several) this.status.append(element("span", { dir: "auto" }, say`from “${books[0].title}”`));
    if (answer.disclaimer) this.append(element("p", { class: "disclaimer" }, answer.disclaimer));
    this.append(
      element(
        "div",
        { class: "after" },
        copyButton(() => plainText(answer, sources), "Copy the answer with its sources"),
      ),
    );
    this.append(others);
    if (this.live)
      announce(say`Answer complete. ${word(CONFIDENCE[answer.confidence.confidence_level][0])}, ${plural(sources.length, "passage")}.`);
  }

  // The same question to another book.
  /** @param {string} bookId */
  askBook(bookId) {
    this.dispatchEvent(new CustomEvent("ask-book", { bubbles: true, detail: { bookId, question: this.question } }));
  }

  // Whether it was right, and a link to it: beside the copy button, or below a refusal.
  /** @param {HTMLElement} made */
  react(made) {
    const after = this.querySelector(":scope > .after") ?? this.appendChild(element("div", { class: "after" }));
    after.append(made);
  }

  // The book has changed since.
  stale() {
    this.status.after(
      element("p", { class: "disclaimer" }, "The book has changed since this answer. Ask again to hear what it says now."),
    );
  }

  /** @param {Error} problem @param {HTMLElement[]} again */
  fail(problem, again) {
    this.rest();
    this.status.replaceChildren();
    this.classList.add("failed");
    this.append(element("div", { class: "failure", role: "alert" }, element("p", {}, problem.message), ...again));
  }

  rest() {
    clearInterval(this.clock);
    this.removeAttribute("aria-busy");
  }

  // Says how long until it is asked again, and then asks.
  /** @param {number} seconds @param {() => void} again */
  countDown(seconds, again) {
    const line = find(this, ".failure p");
    const tick = () => {
      if (!this.isConnected) return;
      if (seconds <= 0) return again();
      line.textContent = say`That was a lot of questions. This one is asked again in ${plural(seconds, "second")}.`;
      seconds -= 1;
      setTimeout(tick, 1000);
    };
    tick();
  }

  disconnectedCallback() {
    clearInterval(this.clock);
  }

  sources() {
    return sourcesOf(this.sentences);
  }
}

// Number, lesson and all quotes of each source, in the order of first use. What one number stands for may be several passages
// that follow each other: each quote knows its own.
/** @param {Sentence[]} sentences @returns {Source[]} */
export function sourcesOf(sentences) {
  /** @type {Map<number, Source>} */
  const found = new Map();
  for (const sentence of sentences)
    for (const citation of sentence.citations) {
      const source = found.get(citation.label) ?? { ...citation, quotes: [] };
      found.set(citation.label, source);
      if (source.quotes.some(({ span }) => span.start === citation.span.start && span.end === citation.span.end)) continue;
      const html = sameWords(sentence, citation.quote) ? sentence.html : null;
      source.quotes.push({
        quote: citation.quote,
        span: citation.span,
        where: citation.where,
        place: citation.place,
        chunk_id: citation.chunk_id,
        html,
        code: sentence.kind === "code",
      });
    }
  return [...found.values()].sort((one, other) => one.label - other.label);
}

// The words that a stored question was about: they stand behind it, in quotation marks.
/** @param {Answer} answer @returns {Given} */
function aboutOf({ question }) {
  const [, text] = /^.*?\S “(.+)”$/s.exec(question) ?? [];
  return text ? { selection: { text } } : {};
}

/** @param {Confidence} metrics */
function confidence(metrics) {
  const partial = metrics.confidence_level === "low" && metrics.average_similarity >= FITS_WELL;
  const [level, why] = CONFIDENCE[partial ? "partial" : metrics.confidence_level];
  const id = `tip-${++lastTip}`;
  const figure = say`Relevance ${metrics.average_similarity.toFixed(2)} of 1.`;
  const shown = element(
    "button",
    { type: "button", class: `confidence ${metrics.confidence_level}`, "aria-describedby": id },
    level,
  );
  const tip = element("span", { class: "tip", role: "tooltip", id }, why, partial ? "" : [" ", element("span", { class: "figure" }, figure)]);
  shown.addEventListener("click", () => tip.classList.toggle("shown"));
  shown.addEventListener("blur", () => tip.classList.remove("shown"));
  shown.addEventListener("keydown", (event) => event.key === "Escape" && tip.classList.remove("shown"));
  return element("span", { class: "tipped" }, shown, tip);
}

/** @param {Answer} answer @param {Source[]} cited */
function plainText(answer, cited) {
  const sources = cited.map(
    (one) => `[${one.label}] ${one.page_title}${one.section ? ` › ${one.section}` : ""}\n    ${one.source_url}`,
  );
  return [answer.answer, "", ...sources].join("\n");
}

// The sentence is the quote, so its rendering is the quote's.
/** @param {Sentence} sentence @param {string} quote */
function sameWords(sentence, quote) {
  const letters = (/** @type {string} */ text) => text.replace(/[^\p{L}\p{N}]/gu, "");
  return sentence.kind !== "code" && letters(sentence.text) === letters(quote);
}

/** @param {string} text */
function escaped(text) {
  return element("span", {}, text).innerHTML;
}

customElements.define("book-answer", BookAnswer);
