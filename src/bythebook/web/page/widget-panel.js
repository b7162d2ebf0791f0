// The panel of the widget: ask, read, follow a source to its place on this very site.

import { Api } from "./api.js";
import "./answer.js";
import { button, element, icon, iconButton } from "./dom.js";

export class WidgetPanel extends HTMLElement {
  constructor(server, settings, onclose) {
    super();
    Object.assign(this, { settings, onclose, threadId: null });
    this.api = new Api(server, { key: settings.key });
    this.turns = element("div", { class: "turns", role: "log", "aria-live": "polite", "aria-label": "Answers" }, this.greeting());
    this.here = element("input", { type: "checkbox", checked: false });
    this.box = element("textarea", {
      rows: 1,
      maxlength: 1000,
      placeholder: "Ask the book …",
      "aria-label": "Your question",
      dir: "auto",
      onkeydown: (event) =>
        event.key === "Enter" && !event.shiftKey && !event.isComposing && (event.preventDefault(), this.form.requestSubmit()),
    });
    this.form = element(
      "form",
      { onsubmit: (event) => (event.preventDefault(), this.ask(this.box.value)) },
      element("div", { class: "box" }, this.box, element("button", { class: "ask", "aria-label": "Ask" }, icon("arrow"))),
      element("label", { class: "here" }, this.here, "Only this page"),
    );
    this.dialog = element(
      "section",
      { class: "panel", role: "dialog", "aria-label": settings.label },
      element(
        "header",
        { role: "presentation" }, // the page has a banner of its own
        element("strong", {}, settings.label),
        iconButton("Close", "close", () => this.hide()),
      ),
      this.turns,
      this.form,
    );
    this.addEventListener("keydown", (event) => {
      event.stopPropagation(); // the site's own shortcuts are not meant
      if (event.key === "Escape") this.hide();
    });
  }

  connectedCallback() {
    if (!this.dialog.isConnected) this.append(this.dialog);
  }

  greeting() {
    return element(
      "p",
      { class: "hint" },
      "Answers come from this book alone, each sentence with the passage it rests on. Where the book has no answer, it says so.",
    );
  }

  show() {
    this.hidden = false;
    this.box.focus();
  }

  hide() {
    this.hidden = true;
    this.onclose();
  }

  async ask(text) {
    const question = text.trim();
    if (!question) return;
    this.box.value = "";
    if (this.asking) {
      this.next = question; // asked when the one before it is answered
      return;
    }
    this.asking = true;
    const turn = element("book-answer").begin(question, this.actions());
    if (!this.threadId) this.turns.replaceChildren();
    this.turns.append(turn);
    turn.scrollIntoView({ block: "start" });
    try {
      for await (const message of this.api.events("POST", "/chat/stream", this.body(question))) {
        if (message.event === "opened") this.threadId = message.data.thread_id;
        else turn.take(message);
      }
      if (!turn.answer.refused) turn.append(sources(turn));
    } catch (problem) {
      this.box.value ||= question;
      turn.fail(problem, [button("Ask again", () => (turn.remove(), this.ask(question)))]);
    } finally {
      this.asking = false;
      const next = this.next;
      this.next = null;
      if (next) this.ask(next);
    }
  }

  body(message) {
    return {
      message,
      render: true,
      similarity_threshold: 0,
      page_url: location.href.replace(/[#?].*$/, ""),
      book_id: this.settings.book ?? undefined,
      session_id: this.threadId ?? undefined,
      filters: this.here.checked ? { prefix: lessonAddress() } : {},
    };
  }

  actions() {
    return {
      onsource: (turn, label) => turn.querySelector(`.sources [data-label="${label}"] summary`)?.click(),
      onwiden: (profile, text) => ((this.here.checked = false), this.ask(text)),
      widenLabel: "Ask the whole book",
    };
  }
}

// The address that the site gives the lesson: hosts add a slash, and a preview has another host. Read at each question, since
// some sites change the page without loading it.
function lessonAddress() {
  const said = document.querySelector('link[rel="canonical"]')?.href;
  return (said || location.href).replace(/[#?].*$/, "");
}

function sources(turn) {
  return element(
    "div",
    { class: "sources" },
    turn.sources().map((source) =>
      element(
        "details",
        { "data-label": source.label },
        element(
          "summary",
          {},
          element("span", { class: "number" }, source.label),
          `${source.page_title}${source.section ? ` › ${source.section}` : ""}`,
        ),
        source.quotes.map(({ quote, html }) => (html ? element("blockquote", { html }) : element("blockquote", {}, quote))),
        /^https?:/.test(source.source_url) && element("a", { href: source.source_url }, "Go to the place"),
      ),
    ),
  );
}

customElements.define("bythebook-panel", WidgetPanel);
