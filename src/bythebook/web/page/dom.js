// Elements from calls. Text is always set as text; `html` takes only what the server has rendered and made safe.

import { language, say, word } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
/** The outline of each, in a square of 24. */
const ICONS = {
  arrow: "M5 12h14m-6-6 6 6-6 6",
  stop: "M7 7h10v10H7z",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h10v11H9zM5 15V4h10",
  check: "M5 12.5l4.5 4.500L19 7",
  out: "M9 5H5v14h14v-4M13 5h6v6M19 5l-8 8",
  moon: "M20 14.500A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.500Z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8Zm0-5v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.400m0-12.800L17 7M7 17l-1.4 1.4",
  sliders: "M4 8h9m4 0h3M4 16h3m4 0h9M13 6v4M7 14v4",
  pencil: "M5 19l1-4L16 5l3 3L9 18z",
  bin: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  save: "M12 4v11m-5-4 5 5 5-5M5 20h14",
  list: "M4 6h16M4 12h16M4 18h10",
  books: "M5 4h4v16H5zM9 4h4v16H9zM14.500 5l3.800-1 3.700 15-3.800 1z",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14Zm5 12 5 5",
  up: "M8 11v9H4v-9zm0 0 4-8c2 0 3 1 2.500 3.500L14 9h5.500l-1.500 9-2 2H8",
  down: "M8 13V4H4v9zm0 0 4 8c2 0 3-1 2.500-3.500L14 15h5.500L18 6l-2-2H8",
  share: "M12 15V4m-4 4 4-4 4 4M5 12v8h14v-8",
};

// What is shown of what `element` is given.
/** @param {Exclude<Child, Child[]>} child @returns {child is string | number | Node} */
function there(child) {
  return child !== undefined && child !== null && child !== false;
}

const SAID = new Set(["aria-label", "title", "placeholder"]);

// Words of the page are said in the book's language. What has `dir` is a book's or a reader's, and stays as it is.
/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Properties} properties
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  const own = !properties.dir;
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "html") made.innerHTML = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") Reflect.set(made, name, value);
    else made.setAttribute(name, value === true ? "" : SAID.has(name) ? word(value) : value);
  }
  const flat = /** @type {Exclude<Child, Child[]>[]} */ (children.flat(/** @type {1} */ (Infinity))); // to any depth
  const shown = flat.filter(there);
  made.append(...shown.map((child) => (typeof child === "number" ? String(child) : own ? word(child) : child)));
  return made;
}

// An element that is surely there.
/** @param {ParentNode} root @param {string} selector */
export function find(root, selector) {
  return /** @type {HTMLElement} */ (root.querySelector(selector));
}

/** @param {keyof typeof ICONS} name */
export function icon(name) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  picture.append(shape("path", { d: ICONS[name] }));
  return picture;
}

/** @param {string} tag @param {Record<string, string | number>} attributes @param {(string | Node)[]} children */
export function shape(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** @param {string} label @param {(event: MouseEvent) => unknown} onclick @param {Properties} options */
export function button(label, onclick, { picture, ...properties } = {}) {
  return element("button", { type: "button", onclick, ...properties }, picture && icon(picture), label);
}

/**
 * @param {string} label
 * @param {keyof typeof ICONS} picture
 * @param {(event: MouseEvent) => unknown} onclick
 * @param {Properties} properties
 */
export function iconButton(label, picture, onclick, properties = {}) {
  return element(
    "button",
    { type: "button", class: "icon", "aria-label": label, title: label, onclick, ...properties },
    icon(picture),
  );
}

// A page that is not served over https has no clipboard of its own; the older way works there.
/** @param {string} text */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = element("textarea", { class: "unseen", value: text });
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
}

// A button beside each block of code, and one where the caller puts it.
/** @param {string | (() => string)} text */
export function copyButton(text, label = "Copy") {
  const made = iconButton(label, "copy", async () => {
    await copyText(typeof text === "function" ? text() : text);
    made.replaceChildren(icon("check"));
    made.setAttribute("aria-label", word("Copied"));
    setTimeout(() => (made.replaceChildren(icon("copy")), made.setAttribute("aria-label", word(label))), 1600);
  });
  made.classList.add("copy");
  return made;
}

/** @template {HTMLElement} T @param {T} root */
export function withCopyButtons(root) {
  for (const figure of root.querySelectorAll("figure.code")) {
    if (!figure.querySelector(".copy"))
      figure.append(copyButton(() => figure.querySelector("code")?.textContent ?? "", "Copy this code"));
  }
  return root;
}

/** @param {string} text */
export function announce(text) {
  const log = document.getElementById("announcer");
  if (!log) return;
  log.append(element("p", {}, text));
  while (log.childElementCount > 12) log.firstElementChild?.remove();
}

// A line at the bottom that goes away after some seconds, or stays where `seconds` is null; `act` is what its button does.
// `leave` is called where it goes away and had the focus.
/** @param {string} text @param {{act?: () => void, label?: string, seconds?: number | null, leave?: () => void}} options */
export function toast(text, { act, label = "Undo", seconds = 6, leave } = {}) {
  const shown = element("div", { class: "toast" }, element("span", {}, text));
  const end = () => {
    const focused = shown.contains(document.activeElement);
    shown.remove();
    if (focused) leave?.();
  };
  const timer = seconds ? setTimeout(end, seconds * 1000) : undefined;
  if (act) shown.append(button(label, () => (clearTimeout(timer), shown.remove(), act())));
  document.getElementById("toasts")?.append(shown);
  return shown;
}

/** @param {number} count @param {string} one */
export function plural(count, one, many = one + "s") {
  return word(`{} ${count === 1 ? one : many}`).replace("{}", count.toLocaleString(language()));
}

// What a screen reader says of a marker and of the source it leads to.
/** @param {Pick<Citation, "label" | "page_title" | "section">} source */
export function sourceName({ label, page_title, section }) {
  return say`Source ${label}: ${[page_title, section].filter(Boolean).join(", ")}`;
}

/** @param {string} moment */
export function ago(moment) {
  const seconds = (new Date(moment).getTime() - Date.now()) / 1000;
  for (const [unit, length] of /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ])) {
    if (Math.abs(seconds) >= length)
      return Math.abs(seconds) > 30 * 86400
        ? new Date(moment).toLocaleDateString(language())
        : new Intl.RelativeTimeFormat(language(), { numeric: "auto" }).format(Math.round(seconds / length), unit);
  }
  return word("just now");
}
