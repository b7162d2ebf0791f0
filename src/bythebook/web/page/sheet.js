// On a narrow screen what stands beside the text comes up over it, as a sheet. It is closed by its button, Esc, a tap outside
// and the browser's Back. On a wide screen it is a column, and nothing of this happens.

import { element } from "./dom.js";

export const NARROW = matchMedia("(max-width: 63.99rem)");
/** @type {Sheet | null} */
let opened = null;
/** Until the browser has gone back from a sheet that was closed. @type {Promise<Event> | null} */
let closing = null;

export class Sheet {
  /** @param {HTMLElement} panel */
  constructor(panel, onclose = () => {}) {
    this.panel = panel;
    this.onclose = onclose;
    /** What opened it, to which the focus goes back. @type {Element | null} */
    this.opener = null;
    /** What it covers. @type {Element[]} */
    this.below = [];
    panel.tabIndex = -1;
    this.backdrop = element("div", { class: "backdrop", onclick: () => this.close() });
    panel.addEventListener("click", (event) => this.follow(event));
  }

  // A link in it leads on from the page below: Back then leads to that, and not to a sheet that is gone.
  /** @param {MouseEvent} event */
  async follow(event) {
    const link = /** @type {Element} */ (event.target).closest('a[href^="#"]');
    if (!link || !this.isOpen || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    event.preventDefault();
    await this.close();
    location.hash = link.getAttribute("href") ?? "";
  }

  get isOpen() {
    return opened === this;
  }

  open() {
    this.panel.classList.add("sheet-open");
    if (!NARROW.matches || this.isOpen) return;
    opened?.close();
    opened = this;
    this.opener = document.activeElement;
    this.panel.before(this.backdrop);
    this.cover();
    if (!this.panel.contains(this.opener)) this.panel.focus({ preventScroll: true });
    document.body.classList.add("behind-sheet");
    const push = () => this.isOpen && history.pushState({ sheet: true }, "");
    if (closing) closing.then(push);
    else push();
  }

  // `back`: the browser has gone back already. Otherwise it goes back now, which takes a moment: whoever leads on waits for it.
  async close({ back = false } = {}) {
    this.panel.classList.remove("sheet-open");
    if (!this.isOpen) return void (await closing);
    this.drop();
    if (this.opener instanceof HTMLElement && this.opener.isConnected) this.opener.focus({ preventScroll: true });
    this.onclose();
    if (back || closing || !history.state?.sheet) return;
    closing = new Promise((gone) => addEventListener("popstate", gone, { once: true }));
    history.back();
    await closing;
  }

  // What is covered cannot be reached by key.
  cover() {
    const beside = [...(this.panel.parentElement?.children ?? [])].filter((one) => one !== this.panel && one !== this.backdrop);
    this.below = [...beside, ...document.querySelectorAll("body > .top")];
    for (const one of this.below) one.toggleAttribute("inert", true);
  }

  // The view is gone, and its sheet with it.
  drop() {
    if (!this.isOpen) return;
    opened = null;
    for (const one of this.below) one.removeAttribute("inert");
    this.backdrop.remove();
    document.body.classList.remove("behind-sheet");
  }
}

// The one that ends a closing is no wish to close what was opened meanwhile.
addEventListener("popstate", () => {
  if (closing) closing = null;
  else opened?.close({ back: true });
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !opened || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  opened.close();
});
