// What an answer rests on, beside it: the quoted words in their surroundings, the passages before and after, the whole lesson,
// and the link to the place on the book's own site. On a narrow screen it is a sheet that Esc closes.

import { button, element, icon, iconButton, sourceName, withCopyButtons } from "./dom.js";

const WIDE = window.matchMedia("(min-width: 64rem)");

export class SourcePanel extends HTMLElement {
  connectedCallback() {
    if (this.body) return;
    this.heading = element("h2", { id: "sources-title" }, "Sources");
    this.body = element("div", { class: "sources-body" });
    this.setAttribute("role", "complementary");
    this.setAttribute("aria-labelledby", "sources-title");
    this.replaceChildren(
      element(
        "div",
        { class: "sources-top" },
        this.heading,
        iconButton("Close the sources", "close", () => this.close(), { class: "icon closer" }),
      ),
      this.body,
    );
    this.addEventListener("keydown", (event) => this.key(event));
  }

  // The sources of one turn. Kept as they are when more sentences of the same turn arrive.
  show(turn) {
    if (this.turn !== turn || this.body.querySelector(".lesson, .contents")) this.body.replaceChildren();
    this.turn = turn;
    this.heading.textContent = "Sources";
    const known = new Map([...this.body.querySelectorAll(".source")].map((card) => [card.dataset.key, card]));
    for (const source of turn.sources()) {
      const key = `${source.label} ${source.chunk_id}`;
      const card = known.get(key) ?? this.body.appendChild(this.card(source, key));
      card.source = source;
      if (!known.has(key) || !card.classList.contains("open")) drawQuotes(card, source);
    }
  }

  card(source, key) {
    const opener = element(
      "button",
      { type: "button", class: "source-head", "aria-expanded": "false", onclick: () => this.toggle(card) },
      element("span", { class: "number", "aria-hidden": "true" }, String(source.label)),
      element("span", { class: "title", dir: "auto" }, source.page_title),
      element("span", { class: "where", dir: "auto" }, [source.chapter, source.section].filter(Boolean).join(" · ")),
    );
    // A group, not a landmark: there are many, and one lesson may be a source twice.
    const card = element(
      "div",
      { class: "source", role: "group", "data-key": key, "data-label": source.label, "aria-label": sourceName(source) },
      element("h3", {}, opener),
      element("div", { class: "quotes" }),
      element("div", { class: "passages" }),
    );
    return card;
  }

  async open(turn, label, citation) {
    this.returnTo = document.activeElement;
    this.show(turn);
    this.sheet(true);
    const card =
      this.body.querySelector(`.source[data-key="${label} ${citation.chunk_id}"]`) ??
      this.body.querySelector(`.source[data-label="${label}"]`);
    if (!card) return;
    if (!card.classList.contains("open")) await this.toggle(card);
    card.querySelector(".source-head").focus({ preventScroll: true });
    reveal(this, card, citation);
  }

  async toggle(card) {
    const opening = !card.classList.contains("open");
    for (const other of this.body.querySelectorAll(".source.open")) shut(other);
    if (!opening) return;
    card.classList.add("open");
    card.querySelector(".source-head").setAttribute("aria-expanded", "true");
    await this.passage(
      card,
      card.source.chunk_id,
      card.source.quotes.map((quote) => quote.span),
    );
  }

  // Fills a card with the passage, and puts the chain's next and the lesson within reach.
  async passage(card, chunkId, spans) {
    const room = card.querySelector(".passages");
    try {
      const read = await this.fetchPassage(chunkId, spans);
      const text = element("div", { class: "passage-chain" }, passageText(read));
      const link =
        read.source_url &&
        element("a", { href: read.source_url, target: "_blank", rel: "noopener", class: "out" }, "Open in the book", icon("out"));
      const lesson = button("Whole lesson", () => this.showLesson(read.parent_doc_id, spans), { class: "quiet" });
      room.replaceChildren(
        this.chain("before", text, read.prev_chunk_id),
        text,
        this.chain("after", text, read.next_chunk_id),
        element("div", { class: "source-links" }, lesson, link),
      );
      card.classList.add("loaded");
    } catch (problem) {
      room.replaceChildren(element("p", { class: "failure" }, problem.message));
    }
  }

  chain(side, text, id) {
    if (!id) return element("p", { class: "edge" }, side === "before" ? "The lesson begins here" : "The lesson ends here");
    const more = button(
      side === "before" ? "What stands before" : "What comes after",
      async () => {
        const read = await this.fetchPassage(id, []);
        text[side === "before" ? "prepend" : "append"](passageText(read));
        more.replaceWith(this.chain(side, text, side === "before" ? read.prev_chunk_id : read.next_chunk_id));
      },
      { class: "chain quiet" },
    );
    return more;
  }

  back() {
    this.body.replaceChildren();
    this.show(this.turn);
  }

  // At what is quoted of it, or at a heading.
  async showLesson(parentId, spans = [], heading = null) {
    const lesson = await this.fetchLesson(parentId, spans);
    const back =
      this.turn && this.turn.sources().length > 0 && button("Back to the sources", () => this.back(), { class: "quiet" });
    this.heading.textContent = "Lesson";
    this.body.replaceChildren(
      element(
        "article",
        { class: "lesson" },
        back || "",
        element("h3", { dir: "auto" }, lesson.page_title),
        element(
          "p",
          { class: "where" },
          [
            lesson.chapter,
            lesson.source_url && element("a", { href: lesson.source_url, target: "_blank", rel: "noopener" }, "Open in the book"),
          ]
            .filter(Boolean)
            .flatMap((part, at) => (at ? [" · ", part] : [part])),
        ),
        withCopyButtons(element("div", { class: "prose passage", dir: "auto", html: lesson.html })),
      ),
    );
    this.sheet(true);
    this.body.scrollTop = 0;
    const headed = [...this.body.querySelectorAll(".passage :is(h4, h5, h6)")].find((one) => one.textContent.trim() === heading);
    if (headed) headed.scrollIntoView({ block: "start" });
    else this.body.querySelector("mark, .quoted")?.scrollIntoView({ block: "center" });
  }

  showContents(contents) {
    this.turn = null;
    this.heading.textContent = "Contents";
    this.body.replaceChildren(contents);
    this.sheet(true);
  }

  async showPassage(result) {
    this.turn = null;
    this.heading.textContent = "Passage";
    const source = {
      ...result,
      chunk_id: result.id,
      label: result.rank,
      section: result.section_title,
      chapter: result.chapter_title,
      quotes: [],
    };
    const card = this.card(source, `${result.rank} ${result.id}`);
    card.source = source;
    this.body.replaceChildren(card);
    this.sheet(true);
    await this.toggle(card);
  }

  sheet(open) {
    this.classList.toggle("sheet-open", open);
    document.body.classList.toggle("behind-sheet", open && !WIDE.matches);
  }

  close() {
    this.sheet(false);
    this.body.querySelector(".lesson")?.remove();
    if (this.turn && !this.body.childElementCount) this.show(this.turn);
    for (const card of this.body.querySelectorAll(".source.open")) shut(card);
    (this.returnTo?.isConnected ? this.returnTo : document.querySelector("textarea"))?.focus();
  }

  key(event) {
    if (event.key === "Escape") return (event.preventDefault(), this.close());
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const heads = [...this.body.querySelectorAll(".source-head")];
    const at = heads.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    heads[Math.max(0, Math.min(heads.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
  }
}

function drawQuotes(card, source) {
  card
    .querySelector(".quotes")
    .replaceChildren(
      ...source.quotes.flatMap(({ quote, html, where }) => [
        html ? element("blockquote", { dir: "auto", html }) : element("blockquote", { dir: "auto" }, plain(quote)),
        where ? element("p", { class: "place" }, where) : "",
      ]),
    );
}

function plain(markdown) {
  const text = markdown
    .replace(/```\w*[^\n]*\n?|\*\*|`|^\s*[-*]\s/gm, "")
    .replace(/\s+/g, " ")
    .trim();
  return text.length > 240 ? text.slice(0, text.lastIndexOf(" ", 240)) + " …" : text;
}

function passageText(read) {
  return withCopyButtons(element("div", { class: "prose passage", dir: "auto", html: read.html }));
}

function shut(card) {
  card.classList.remove("open");
  card.querySelector(".source-head").setAttribute("aria-expanded", "false");
}

function reveal(panel, card, citation) {
  const marked = [...card.querySelectorAll("mark, .quoted")];
  const words = plain(citation?.quote ?? "").slice(0, 12);
  const wanted = marked.find((mark) => words && mark.textContent.trim().startsWith(words)) ?? marked[0] ?? card;
  wanted.scrollIntoView({ block: "center" });
}

customElements.define("source-panel", SourcePanel);
