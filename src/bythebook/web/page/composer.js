// The box a question is typed into, on the page and in the widget. What is typed stays until it is asked.

import { button, element, icon, iconButton } from "./dom.js";
import { plain } from "./plain-text.js";
import { keepText } from "./reading.js";
import { word } from "./words.js";

export const LONGEST_QUESTION = 1000;

export class Composer {
  /** @type {SelectedWords | null} */ selection = null;
  busy = false;

  /**
   * `onask(text, given)` is called with what was typed, also while an answer is on its way, and with the words it is about;
   * `onstop()` stops the one that is on its way.
   * @param {{
   *   onask: (text: string, given: Given) => void,
   *   onstop: () => void,
   *   draft?: string | null,
   *   below?: HTMLElement | HTMLElement[],
   * }} given
   */
  constructor({ onask, onstop, draft = null, below = [] }) {
    this.onask = onask;
    this.onstop = onstop;
    this.draft = draft;
    this.box = element("textarea", {
      rows: 1,
      maxlength: LONGEST_QUESTION,
      name: "question",
      placeholder: "Ask the book …",
      "aria-label": "Your question",
      enterkeyhint: "send",
      dir: "auto",
      autocomplete: "off",
      value: (draft && sessionStorage.getItem(draft)) ?? "",
      oninput: () => this.keep(),
      onkeydown: (event) => this.key(event),
    });
    this.submit = element("button", { class: "ask", "aria-label": "Ask" }, icon("arrow"));
    this.about = element("div", { class: "about", hidden: true });
    this.element = element(
      "form",
      { class: "composer", onsubmit: (event) => (event.preventDefault(), this.pressed()) },
      this.about,
      element("div", { class: "box" }, this.box, this.submit),
      below,
    );
  }

  // The button stops what is running while nothing is typed; Enter always asks.
  pressed() {
    if (this.busy && !this.box.value.trim()) this.onstop();
    else this.send();
  }

  send() {
    const text = this.box.value.trim();
    if (!text) return;
    this.box.value = "";
    this.keep();
    this.onask(text, this.taken());
  }

  // What the next question is about stands above the box, and can be taken away. `ready` are questions to choose from.
  /** @param {SelectedWords} selection @param {[string, string][]} ready */
  askAbout(selection, ready = []) {
    this.selection = selection;
    const forget = iconButton("Do not ask about these words", "close", () => this.taken());
    const quote = element("blockquote", { class: "selection", dir: "auto" }, plain(selection.text, 160));
    const choose = (/** @type {[string, string]} */ [label, question]) => button(label, () => this.onask(word(question), this.taken()));
    this.about.replaceChildren(quote, forget, ...(ready.length ? [element("p", { class: "ready" }, ready.map(choose))] : []));
    this.about.hidden = false;
    this.focus();
  }

  // Why these words cannot be asked about.
  /** @param {string} why */
  refuse(why) {
    this.about.replaceChildren(element("p", { class: "failure", role: "alert" }, why));
    this.about.hidden = false;
  }

  /** @returns {Given} */
  taken() {
    const { selection } = this;
    this.selection = null;
    this.about.hidden = true;
    this.about.replaceChildren();
    return selection ? { selection } : {};
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.send();
  }

  keep() {
    if (this.draft) keepText(this.draft, this.box.value, sessionStorage);
    this.draw();
  }

  // A question that was not answered comes back, unless another is typed already.
  /** @param {string} text */
  giveBack(text) {
    if (this.box.value.trim()) return;
    this.box.value = text;
    this.keep();
  }

  /** @param {string} text */
  takeBack(text) {
    if (this.box.value.trim() !== text) return;
    this.box.value = "";
    this.keep();
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    this.busy = busy;
    this.draw();
  }

  draw() {
    const stops = this.busy && !this.box.value.trim();
    if (this.submit.dataset.stops === String(stops)) return;
    this.submit.dataset.stops = String(stops);
    this.submit.replaceChildren(icon(stops ? "stop" : "arrow"));
    this.submit.setAttribute("aria-label", word(stops ? "Stop" : "Ask"));
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }
}
