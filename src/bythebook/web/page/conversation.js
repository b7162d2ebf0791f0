// Asking: the question box, the turns of a thread, the sources beside them.

import { contents, download, lessonAt } from "./contents.js";
import { ago, announce, button, element, icon, iconButton } from "./dom.js";
import { earlier } from "./earlier.js";
import { filtersOf, readProfile, writeProfile } from "./profile.js";
import "./answer.js";
import "./sources.js";

const DRAFT = "bythebook.draft";

export class BookConversation extends HTMLElement {
  // `room` is {api, book}; `thread` is null for a new one.
  open(room, thread) {
    Object.assign(this, room);
    this.threadId = thread?.thread_id ?? null;
    this.turns = element("div", { class: "turns" });
    this.panel = element("source-panel");
    this.panel.fetchPassage = (id, spans) => this.api.get(`/page/chunks/${id}?${this.query(spans)}`);
    this.panel.fetchLesson = (id, spans) => this.api.get(`/page/lessons/${id}?${this.query(spans)}`);
    this.form = this.composer();
    this.column = element("div", { class: "column" }, this.turns, this.form);
    this.replaceChildren(this.column, this.panel);
    if (thread) this.resume(thread);
    else this.welcome();
    if (!("ontouchstart" in window)) this.box.focus({ preventScroll: true });
  }

  query(spans) {
    const query = new URLSearchParams({ book_id: this.book.book_id });
    for (const span of spans) query.append("quote", `${span.start}-${span.end}`);
    return query;
  }

  composer() {
    this.box = element("textarea", {
      rows: 1,
      maxlength: 1000,
      name: "question",
      placeholder: "Ask the book …",
      "aria-label": "Your question",
      "aria-keyshortcuts": "/",
      enterkeyhint: "send",
      dir: "auto",
      autocomplete: "off",
      value: sessionStorage.getItem(DRAFT) ?? "",
      oninput: () => sessionStorage.setItem(DRAFT, this.box.value),
      onkeydown: (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        this.form.requestSubmit();
      },
    });
    this.submit = element("button", { class: "ask", "aria-label": "Ask" }, icon("arrow"));
    const profile = element("reader-profile");
    profile.book = this.book;
    return element(
      "form",
      { class: "composer", onsubmit: (event) => (event.preventDefault(), this.asking ? this.stop() : this.ask(this.box.value)) },
      element("div", { class: "box" }, this.box, this.submit),
      element("div", { class: "below" }, profile, element("span", { class: "keys" }, element("kbd", {}, "/"), " to ask")),
    );
  }

  welcome() {
    this.classList.add("fresh");
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
    this.append(this.contents());
  }

  contents() {
    return contents(this.book, (lesson) => this.panel.showLesson(lesson.parent_doc_id));
  }

  // The lesson at this address, opened beside the conversation at one of its headings. Other programs link here where the book has
  // no site of its own.
  async read(address, heading) {
    const lesson = lessonAt(this.book, address);
    if (lesson) await this.panel.showLesson(lesson.parent_doc_id, [], heading);
  }

  resume(thread) {
    this.head(thread.title || thread.topic_summary || this.book.title, ago(thread.updated_at));
    this.turns.append(...earlier(thread, this.api, (turn) => this.past(turn)), ...thread.turns.map((turn) => this.past(turn)));
    const last = this.turns.lastElementChild;
    if (last?.sources) this.panel.show(last);
    last?.querySelector("h2")?.scrollIntoView({ block: "start" });
  }

  past(turn) {
    const shown = element("book-answer").begin(turn.answer.query, this.actions());
    shown.finish(turn.answer, turn.html);
    if (turn.stale_since) shown.stale();
    return shown;
  }

  // The line above the turns.
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

  actions() {
    return {
      onsource: (turn, label, citation) => this.panel.open(turn, label, citation),
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
      oncontents: () => this.panel.showContents(this.contents()),
      onlesson: (section) => {
        const lesson = lessonAt(this.book, section.source_url);
        return lesson && (() => this.panel.showLesson(lesson.parent_doc_id, [], section.heading_path.at(-1)));
      },
      onpassage: (result) => this.panel.showPassage(result),
    };
  }

  async ask(text) {
    const question = text.trim();
    if (!question || this.asking) return;
    this.leaveWelcome();
    const turn = element("book-answer").begin(question, this.actions());
    turn.live = true;
    this.turns.querySelector(".latest")?.classList.remove("latest");
    turn.classList.add("latest");
    this.turns.append(turn);
    turn.addEventListener("sentence", () => this.panel.show(turn));
    this.panel.show(turn);
    this.panel.sheet(false);
    turn.querySelector("h2").scrollIntoView({ block: "start" });
    this.box.value = "";
    const controller = new AbortController();
    this.busy(controller);
    announce("Searching the book.");
    try {
      await this.run(turn, question);
      sessionStorage.removeItem(DRAFT);
    } catch (problem) {
      this.failed(turn, question, problem);
    } finally {
      if (this.asking === controller) this.busy(null);
    }
  }

  async run(turn, question) {
    const body = {
      message: question,
      book_id: this.book.book_id,
      session_id: this.threadId ?? undefined,
      similarity_threshold: 0,
      render: true,
      filters: filtersOf(readProfile(this.book.book_id)),
    };
    for await (const message of this.api.events("POST", "/chat/stream", body, { signal: this.asking.signal })) {
      const ended = message.event === "answered" || message.event === "refused";
      if (ended) this.kept(message.data.session_id);
      turn.take(message);
      if (ended) this.busy(null); // the next question may come
    }
  }

  // A thread is there from its first answer on, and so is its address.
  kept(threadId) {
    if (this.threadId) return;
    this.threadId = threadId;
    history.replaceState(null, "", `#/threads/${threadId}`);
  }

  failed(turn, question, problem) {
    if (problem.name === "AbortError") problem = { message: "Stopped. Nothing of this question was kept." };
    this.box.value ||= question;
    sessionStorage.setItem(DRAFT, this.box.value);
    const again = button("Ask again", () => (turn.remove(), (this.box.value = ""), this.ask(question)));
    const fresh = this.threadId && button("Start a new thread", () => (location.hash = "#/"), { class: "quiet" });
    turn.fail(problem, [again, fresh || ""]);
  }

  busy(controller) {
    this.asking = controller;
    this.submit.replaceChildren(icon(controller ? "stop" : "arrow"));
    this.submit.setAttribute("aria-label", controller ? "Stop" : "Ask");
  }

  stop() {
    this.asking?.abort();
  }

  leaveWelcome() {
    if (!this.querySelector(".thread-head")) this.head(this.book.title);
    this.querySelector(".welcome")?.remove();
    this.querySelector(":scope > .contents")?.remove();
  }

  disconnectedCallback() {
    this.stop();
    document.body.classList.remove("behind-sheet");
  }
}

customElements.define("book-conversation", BookConversation);
