// What one answer rests on, on the page and in the widget: each source with its number, its quotes, and on demand the passage they
// stand in, what comes before and after it, and the way to its place.

import { isWeb } from "./addresses.js";
import { button, element, find, icon, iconButton, sourceName, withCopyButtons } from "./dom.js";
import { scanButton, showPictures } from "./pictures.js";
import { plain } from "./plain-text.js";
import { chapterWords, placeWords, word } from "./words.js";

export class SourceList extends HTMLElement {
  /** @type {BookAnswer | null} */ turn;
  /** @type {import("./api.js").Api} */ api;
  /** @type {FetchPassage} */ fetchPassage;
  /** @type {HTMLElement} */ scroller;
  /** @type {(read: Passage, source: Source) => Child} */ links;
  /** What each card shows. @type {WeakMap<Element, Source>} */ sources = new WeakMap();

  // `fetchPassage(chunkId, spans)` reads a passage; `scroller` is what may be scrolled to show one; `links(read, spans)` are the
  // ways on from it.
  /** @param {{api: Api, fetchPassage: FetchPassage, scroller: HTMLElement, links: SourceList["links"]}} given */
  with({ api, fetchPassage, scroller, links }) {
    Object.assign(this, { api, fetchPassage, scroller, links });
    this.addEventListener("keydown", (event) => this.key(event));
    return this;
  }

  // Kept as it is when more sentences of the same turn arrive.
  /** @param {BookAnswer} turn */
  show(turn) {
    if (this.turn !== turn) this.replaceChildren();
    this.turn = turn;
    for (const source of turn.sources()) this.draw(source);
  }

  /** @param {Source} source */
  draw(source) {
    const known = this.card(source.label);
    const card = known ?? this.appendChild(this.make(source));
    this.sources.set(card, source);
    if (!known || !card.classList.contains("open")) drawQuotes(card, source);
    return card;
  }

  /** @param {number} label */
  card(label) {
    return this.querySelector(`.source[data-label="${label}"]`);
  }

  /** @param {Source} source */
  make(source) {
    const opener = element(
      "button",
      { type: "button", class: "source-head", "aria-expanded": "false", onclick: () => void this.toggle(card) },
      element("span", { class: "number", "aria-hidden": "true" }, String(source.label)),
      element("span", { class: "title", dir: "auto" }, source.page_title),
      element("span", { class: "where", dir: "auto" }, [chapterWords(source.chapter), source.section].filter(Boolean).join(" · ")),
    );
    // A group, not a landmark: there are many, and one lesson may be a source twice.
    const card = element(
      "div",
      { class: "source", role: "group", "data-label": source.label, "aria-label": sourceName(source) },
      element("h3", {}, opener),
      element("div", { class: "quotes" }),
      element("div", { class: "passages" }),
    );
    return card;
  }

  // Opens the source, and shows the very words that are cited. What stands around the list does not move.
  /** @param {number} label @param {Citation} citation */
  async open(label, citation) {
    const card = this.card(label);
    if (!card) return;
    if (!card.classList.contains("open")) await this.toggle(card);
    if (!card.isConnected || !card.classList.contains("open")) return; // another was opened while this one came
    find(card, ".source-head").focus({ preventScroll: true });
    scrollWithin(this.scroller, quoteIn(card, citation) ?? card, "middle");
  }

  /** @param {HTMLElement} card */
  async toggle(card) {
    const opening = !card.classList.contains("open");
    this.shut();
    if (!opening) return;
    card.classList.add("open");
    find(card, ".source-head").setAttribute("aria-expanded", "true");
    await this.read(card);
  }

  shut() {
    for (const card of this.querySelectorAll(".source.open")) {
      card.classList.remove("open");
      find(card, ".source-head").setAttribute("aria-expanded", "false");
    }
  }

  // Fills a card with its passages, and puts their neighbours and the lesson within reach.
  /** @param {HTMLElement} card */
  async read(card) {
    const room = find(card, ".passages");
    const source = /** @type {Source} */ (this.sources.get(card));
    const spans = source.quotes.map((quote) => quote.span);
    const ids = [...new Set(source.quotes.map((quote) => quote.chunk_id))];
    try {
      const reads = await Promise.all((ids.length ? ids : [source.chunk_id]).map((id) => this.fetchPassage(id, spans)));
      const text = element("div", { class: "passage-chain" }, ...reads.map((read) => this.passage(read)));
      room.replaceChildren(
        this.chain("before", text, reads[0].prev_chunk_id),
        text,
        this.chain("after", text, reads[reads.length - 1].next_chunk_id),
        ...this.scans(source, reads[0].book_id),
        element("div", { class: "source-links" }, this.links(reads[0], source)),
      );
      card.classList.add("loaded");
    } catch (/** @type {any} */ problem) {
      room.replaceChildren(element("p", { class: "failure" }, problem.message));
    }
  }

  // One for each page of a PDF that is quoted.
  /** @param {Source} source @param {string} bookId */
  scans(source, bookId) {
    const quotes = source.quotes.filter((one) => one.place?.kind === "page");
    const pages = [...new Set(quotes.map((one) => one.place?.number))];
    return pages.map((page) =>
      scanButton(
        this.api,
        bookId,
        quotes.filter((one) => one.place?.number === page),
      ),
    );
  }

  /** @param {Passage} read */
  passage(read) {
    const made = withCopyButtons(
      element("div", { class: "prose passage", dir: "auto", "data-file": read.source_file, html: read.html }),
    );
    return showPictures(made, this.api, read.book_id);
  }

  /** @param {"before" | "after"} side @param {HTMLElement} text @param {string | null} id @returns {HTMLElement} */
  chain(side, text, id) {
    if (!id) return element("p", { class: "edge" }, side === "before" ? "The lesson begins here" : "The lesson ends here");
    const more = button(
      side === "before" ? "Show what comes before" : "Show what comes after",
      async () => {
        more.disabled = true; // or a second press brings it twice
        try {
          const read = await this.fetchPassage(id, []);
          text[side === "before" ? "prepend" : "append"](this.passage(read));
          more.replaceWith(this.chain(side, text, side === "before" ? read.prev_chunk_id : read.next_chunk_id));
        } catch (/** @type {any} */ problem) {
          more.textContent = word(problem.message);
          more.disabled = false;
        }
      },
      { class: "chain quiet" },
    );
    return more;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const heads = [...this.querySelectorAll(".source-head")];
    const at = heads.findIndex((head) => head.matches(":focus"));
    if (at < 0) return;
    event.preventDefault();
    heads[Math.max(0, Math.min(heads.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
  }
}

// To the book's own site, if it has one.
/** @param {string} address */
export function outLink(address, words = "Open in the book") {
  return isWeb(address) && element("a", { href: address, target: "_blank", rel: "noopener", class: "out" }, words, icon("out"));
}

/** @param {string} label @param {() => void} act */
export function closer(label, act) {
  return iconButton(label, "close", act, { class: "icon closer" });
}

// Scrolls one element and nothing around it.
/** @param {HTMLElement} scroller @param {Element} target */
export function scrollWithin(scroller, target, where = "start") {
  const [box, at] = [scroller.getBoundingClientRect(), target.getBoundingClientRect()];
  const room = where === "middle" ? Math.max(0, (box.height - at.height) / 2) : 8;
  scroller.scrollTop += at.top - box.top - room;
}

// The marked words of a quote, among those of others.
/** @param {HTMLElement} card @param {Citation} citation */
function quoteIn(card, citation) {
  const marked = [...card.querySelectorAll("mark, .quoted")];
  const words = plain(citation?.quote ?? "").slice(0, 12);
  return marked.find((mark) => words && mark.textContent.trim().startsWith(words)) ?? marked[0];
}

/** @param {HTMLElement} card @param {Source} source */
function drawQuotes(card, source) {
  const quotes = source.quotes.flatMap(({ quote, html, where, code }) => [
    html
      ? element("blockquote", { dir: "auto", html })
      : element("blockquote", { dir: code ? "ltr" : "auto" }, code ? element("code", {}, plain(quote)) : plain(quote)),
    where ? element("p", { class: "place" }, placeWords(where)) : "",
  ]);
  find(card, ".quotes").replaceChildren(...quotes);
}

customElements.define("source-list", SourceList);
