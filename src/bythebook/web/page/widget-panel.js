// The panel of the widget: ask, read, follow a source to its place on this very site. The thread stays open while the reader goes
// from page to page.

import { isWeb, quoteAddress } from "./addresses.js";
import { Api } from "./api.js";
import { AskLoop } from "./ask-loop.js";
import { Composer } from "./composer.js";
import { element, iconButton } from "./dom.js";
import { LONGEST_SELECTION, READY, tooLong } from "./selection.js";
import "./answer.js";
import "./source-list.js";
import { direction, language, speak } from "./words.js";

// A panel in the language that was asked for, or the book's: generators write lang="en" over books in other languages. The site's
// counts where the book is not known.
/** @param {string} server @param {any} settings @param {any} state @param {() => void} onclose */
export async function makePanel(server, settings, state, onclose) {
  const known = settings.language ?? state.read().language ?? (await bookLanguage(server, settings));
  if (known) state.write({ language: known });
  await speak(known ?? document.documentElement.lang, { page: false });
  return new WidgetPanel(server, settings, state, onclose);
}

export class WidgetPanel extends HTMLElement {
  /** @type {string | null} */ threadId;
  /** @type {Record<string, string | null>} */ settings;
  /** @type {{read(): any, write(values: object): void}} */ state;
  /** @type {() => void} */ onclose;

  // `state` is where the thread's id is kept from page to page: {read(), write(values)}.
  /**
   * @param {string} server
   * @param {WidgetPanel["settings"]} settings
   * @param {WidgetPanel["state"]} state
   * @param {() => void} onclose
   */
  constructor(server, settings, state, onclose) {
    super();
    Object.assign(this, { settings, state, onclose, threadId: state.read().threadId ?? null });
    this.api = new Api(server, { key: settings.key, onreach: (there) => this.reached(there) });
    this.turns = element("div", { class: "turns", role: "log", "aria-live": "polite", "aria-label": "Answers" }, greeting());
    this.away = element("p", { class: "away", role: "alert", hidden: true }, "The tutor does not answer just now.");
    this.here = element("input", { type: "checkbox", checked: false });
    this.composer = new Composer({
      onask: (text, given) => this.loop.ask(text, given),
      onstop: () => this.loop.stop(),
      below: element("label", { class: "here" }, this.here, "Only this page"),
    });
    /** @type {AskLoop} */
    this.loop = new AskLoop({
      api: this.api,
      composer: this.composer,
      actions: this.actions(),
      body: (question, given) => this.body(question, given),
      place: (turn) => this.place(turn),
      onthread: (id) => this.state.write({ threadId: (this.threadId = id) }),
      onend: (turn) => this.addSources(turn),
    });
    this.dialog = element(
      "section",
      { class: "panel", role: "dialog", "aria-label": settings.label ?? "Ask the book" },
      element(
        "header",
        { role: "presentation" }, // the page has a banner of its own
        element("strong", {}, settings.label ?? "Ask the book"),
        element(
          "span",
          {},
          iconButton("New thread", "pencil", () => (this.forget(), this.composer.focus())),
          iconButton("Close", "close", () => this.hide()),
        ),
      ),
      this.turns,
      this.away,
      this.composer.element,
    );
    this.addEventListener("keydown", (event) => {
      event.stopPropagation(); // the site's own shortcuts are not meant
      if (event.key === "Escape") this.hide();
    });
  }

  connectedCallback() {
    this.dir = direction();
    this.lang = language();
    if (!this.dialog.isConnected) this.append(this.dialog);
  }

  // `focus`: the reader opened it, not the page that was loaded.
  show({ focus = true } = {}) {
    this.hidden = false;
    this.state.write({ open: true });
    if (focus) this.composer.focus();
  }

  hide() {
    this.hidden = true;
    this.state.write({ open: false });
    this.onclose();
  }

  /** @param {boolean} there */
  reached(there) {
    this.away.hidden = there;
  }

  // The thread of the page before. One that is gone leaves an empty panel.
  async resume() {
    const { threadId } = this;
    if (!threadId) return;
    const overtaken = () => this.threadId !== threadId || this.turns.querySelector("book-answer"); // begun anew, or asked meanwhile
    try {
      const thread = await this.api.get(`/threads/${threadId}?render=true`);
      if (overtaken()) return;
      for (const turn of thread.turns) {
        const shown = element("book-answer").begin(turn.answer.query, this.actions());
        shown.finish(turn.answer, turn.html);
        if (turn.stale_since) shown.stale();
        this.put(shown);
        this.addSources(shown);
      }
    } catch (/** @type {any} */ problem) {
      if (problem.status === 404 && !overtaken()) this.forget();
    }
  }

  forget() {
    this.turns.replaceChildren(greeting());
    this.loop.end();
    this.state.write({ threadId: (this.threadId = null) });
  }

  /** @param {BookAnswer} turn */
  place(turn) {
    this.put(turn);
    this.turns.scrollTop = turn.offsetTop - this.turns.offsetTop;
  }

  /** @param {BookAnswer} turn */
  put(turn) {
    this.turns.querySelector(":scope > .hint")?.remove();
    this.turns.append(turn);
  }

  /** @param {BookAnswer} turn */
  addSources(turn) {
    if (turn.answer?.refused) return;
    const list = element("source-list", { class: "sources" }).with({
      api: this.api,
      scroller: this.turns,
      fetchPassage: (id, spans) => this.api.get(`/page/chunks/${id}?${this.query(spans)}`),
      links: (read, source) => isWeb(read.source_url) && placeLink(read, source),
    });
    turn.append(list);
    list.show(turn);
    if (turn.wanted) list.open(...turn.wanted);
  }

  // A mark may be pressed while the answer still comes, and its sources with it.
  /** @param {BookAnswer} turn @param {[number, Citation]} wanted */
  openSource(turn, ...wanted) {
    const list = turn.querySelector("source-list");
    if (list) list.open(...wanted);
    else turn.wanted = wanted;
  }

  /** @param {Span[]} spans */
  query(spans) {
    const query = new URLSearchParams(this.settings.book ? { book_id: this.settings.book } : {});
    for (const span of spans) query.append("quote", `${span.start}-${span.end}`);
    return query;
  }

  // Words that the reader has selected on the site.
  /** @param {string} text */
  askAbout(text) {
    if (text.length > LONGEST_SELECTION) return this.composer.refuse(tooLong(text));
    this.composer.askAbout({ text, page_url: siteAddress() }, READY);
  }

  /** @param {string} message @param {Given} given */
  body(message, { selection } = {}) {
    return {
      message,
      selection,
      render: true,
      similarity_threshold: 0,
      page_url: location.href.replace(/[#?].*$/, ""),
      book_id: this.settings.book ?? undefined,
      session_id: this.threadId ?? undefined,
      filters: this.here.checked ? { prefix: siteAddress() } : {},
    };
  }

  /** @returns {TurnActions} */
  actions() {
    return {
      onsource: (turn, label, citation) => this.openSource(turn, label, citation),
      onwiden: (_, text) => ((this.here.checked = false), this.loop.ask(text)),
      widenLabel: "Ask the whole book",
    };
  }
}

/** @param {string} server @param {any} settings @returns {Promise<string | undefined>} */
async function bookLanguage(server, { key, book }) {
  try {
    const { books } = await new Api(server, { key }).get("/books");
    const [only, another] = book ? books.filter((/** @type {any} */ one) => one.book_id === book) : books;
    return another ? undefined : only?.language;
  } catch {
    return undefined; // the panel opens, and says itself that the server is away
  }
}

function greeting() {
  return element(
    "p",
    { class: "hint" },
    "Answers come from this book alone, each sentence with the passage it rests on. Where the book has no answer, it says so.",
  );
}

// The address that the site gives the lesson: hosts add a slash, and a preview has another host. Read at each question, since
// some sites change the page without loading it.
function siteAddress() {
  const said = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel="canonical"]'))?.href;
  return (said || location.href).replace(/[#?].*$/, "");
}

/** @param {Passage} read @param {Source} source */
function placeLink(read, source) {
  return element("a", { href: quoteAddress(read.source_url, source.quotes[0]?.quote ?? "") }, "Go to the place");
}

customElements.define("bythebook-panel", WidgetPanel);
