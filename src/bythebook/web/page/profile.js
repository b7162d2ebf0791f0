// Who is reading: module, chapters, hardware tier, proficiency, layer. Kept in this browser, shown as chips, applied to every question.

import { button, element, icon, iconButton } from "./dom.js";
import { keep } from "./reading.js";
import { say, word } from "./words.js";

const LEVELS = ["A1", "A2", "B1", "B2", "C1", "C2"];
const LAYERS = ["L1", "L2", "L3", "L4"];
const TIERS = [1, 2, 3, 4];
const NAME = "bythebook.profile.";

/** @param {string} bookId @returns {Profile} */
export function readProfile(bookId) {
  try {
    return JSON.parse(localStorage.getItem(NAME + bookId) ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** @param {string} bookId @param {Profile} profile */
export function writeProfile(bookId, profile) {
  keep(NAME + bookId, profile);
  document.dispatchEvent(new CustomEvent("profile", { detail: profile }));
}

// What the lessons of a book differ in: only that is worth telling or choosing.
/** @param {Book | undefined} book */
export function differing(book) {
  const several = (/** @type {unknown[] | undefined} */ values) => (values?.length ?? 0) > 1;
  /** @type {Partial<Book["filters"]>} */
  const filters = book?.filters ?? {};
  return {
    modules: several(filters.modules),
    chapters: several((filters.chapters ?? []).filter((one) => one > 0)),
    tiers: several(filters.hardware_tiers),
    levels: several(filters.proficiency_levels),
    layers: several(filters.layers),
  };
}

/** @param {Profile} profile */
export function filtersOf(profile) {
  /** @type {Record<string, unknown>} */
  const filters = {};
  if (profile.module) filters.module = profile.module;
  if (profile.chapterMin != null) filters.chapter_min = profile.chapterMin;
  if (profile.chapterMax != null) filters.chapter_max = profile.chapterMax;
  if (profile.tier) filters.hardware_tier = profile.tier;
  if (profile.levels?.length) filters.proficiency_levels = profile.levels;
  if (profile.layer) filters.layer = profile.layer;
  return filters;
}

// The least change that lets a section through, and what it is in words; null where no filter stands in the way.
/** @param {Profile} profile @param {Section} section */
export function widened(profile, section) {
  const wider = { ...profile };
  const words = [];
  if (profile.tier && section.hardware_tier > profile.tier) {
    wider.tier = section.hardware_tier === 4 ? null : section.hardware_tier;
    words.push(say`hardware tier ${section.hardware_tier}`);
  }
  if (profile.levels?.length && !profile.levels.includes(section.proficiency_level)) {
    wider.levels = LEVELS.filter((level) => profile.levels?.includes(level) || level === section.proficiency_level);
    words.push(say`level ${section.proficiency_level}`);
  }
  if (profile.layer && profile.layer !== section.layer) {
    wider.layer = null;
    words.push(word("every layer"));
  }
  if (profile.module && profile.module !== section.module) {
    wider.module = null;
    words.push(word("every module"));
  }
  const before = profile.chapterMin != null && section.chapter < profile.chapterMin;
  const after = profile.chapterMax != null && section.chapter > profile.chapterMax;
  if (before || after) {
    if (before) wider.chapterMin = section.chapter;
    if (after) wider.chapterMax = section.chapter;
    words.push(say`chapter ${section.chapter}`);
  }
  return words.length ? { profile: wider, words: words.join(", ") } : null;
}

/** @param {Profile} profile */
function chapters({ chapterMin: from, chapterMax: to }) {
  if (from != null && to != null) return from === to ? say`Chapter ${from}` : say`Chapters ${from}–${to}`;
  return from != null ? say`From chapter ${from}` : to != null ? say`Up to chapter ${to}` : null;
}

/** @param {Profile} profile */
function shown(profile) {
  const told = chapters(profile);
  /** @type {([string, string, Profile] | false | 0 | "" | null | undefined)[]} */
  const all = [
    profile.module && [word("module"), profile.module, { module: null }],
    told && [word("chapters"), told, { chapterMin: null, chapterMax: null }],
    profile.tier && [word("hardware tier"), say`Tier ${profile.tier} and below`, { tier: null }],
    profile.levels?.length && [word("proficiency"), profile.levels.join(" "), { levels: [] }],
    profile.layer && [word("layer"), say`Layer ${profile.layer}`, { layer: null }],
  ];
  return all.filter((one) => one instanceof Array);
}

// The chips below the question box. Clicking one away widens what is searched.
export class ReaderProfile extends HTMLElement {
  /** @type {() => void} */ changed;
  /** @type {Book | undefined} */ book;

  connectedCallback() {
    this.changed = () => this.draw();
    document.addEventListener("profile", this.changed);
    this.draw();
  }

  disconnectedCallback() {
    document.removeEventListener("profile", this.changed);
  }

  draw() {
    const book = this.book;
    if (!book) return;
    const profile = readProfile(book.book_id);
    const chips = shown(profile).map(([name, words, without]) =>
      element(
        "li",
        { class: "chip" },
        element("span", {}, words),
        iconButton(say`Remove the filter on ${name}`, "close", () => {
          writeProfile(book.book_id, { ...profile, ...without });
          this.querySelector(".edit")?.focus();
        }),
      ),
    );
    const told = differing(book);
    if (!chips.length && !Object.values(told).some(Boolean)) return this.replaceChildren();
    const label = chips.length ? "Change" : told.levels ? "Whole book, every level" : "Whole book";
    const edit = button(label, () => openProfile(book), { picture: "sliders", class: "quiet edit", "aria-haspopup": "dialog" });
    if (!chips.length) edit.title = word("Search only the part of the book that fits you");
    this.replaceChildren(chips.length ? element("ul", { class: "chips", "aria-label": "Your filters" }, chips) : "", edit);
  }
}

/**
 * @param {string} label
 * @param {string} name
 * @param {unknown} value
 * @param {(string | number)[][]} options
 * @param {string} empty
 */
function choice(label, name, value, options, empty) {
  const made = element(
    "select",
    { name, id: `profile-${name}` },
    element("option", { value: "" }, empty),
    options.map(([key, words]) => element("option", { value: key, selected: String(value ?? "") === String(key) }, words)),
  );
  return element("div", { class: "field" }, element("label", { for: `profile-${name}` }, label), made);
}

/** @param {Book} book */
function openProfile(book) {
  const profile = readProfile(book.book_id);
  const possible = book.filters ?? {};
  const numbers = (possible.chapters ?? []).filter((one) => one > 0).map((one) => [one, say`Chapter ${one}`]);
  const told = differing(book);
  const levels =
    told.levels &&
    element(
      "fieldset",
      { class: "field" },
      element("legend", {}, "Proficiency levels"),
      element(
        "div",
        { class: "levels" },
        (possible.proficiency_levels ?? LEVELS).map((level) =>
          element(
            "label",
            {},
            element("input", { type: "checkbox", name: "levels", value: level, checked: profile.levels?.includes(level) }),
            level,
          ),
        ),
      ),
    );
  const form = element(
    "form",
    { method: "dialog" },
    element("h2", {}, "What should be searched for you?"),
    element(
      "p",
      { class: "hint" },
      "Kept in this browser, and applied to every question about this book. Leave a field open to search all of it.",
    ),
    told.modules &&
      choice(
        "Module",
        "module",
        profile.module,
        (possible.modules ?? []).filter(Boolean).map((one) => [one, one]),
        "Every module",
      ),
    told.chapters &&
      element(
        "div",
        { class: "pair" },
        choice("From", "chapterMin", profile.chapterMin, numbers, "The first chapter"),
        choice("To", "chapterMax", profile.chapterMax, numbers, "The last chapter"),
      ),
    told.tiers &&
      choice(
        "Hardware you have",
        "tier",
        profile.tier,
        TIERS.map((tier) => [tier, say`Tier ${tier} and below`]),
        "Any",
      ),
    levels,
    told.layers &&
      choice(
        "Layer",
        "layer",
        profile.layer,
        (possible.layers ?? LAYERS).map((one) => [one, one]),
        "Every layer",
      ),
    element(
      "div",
      { class: "actions" },
      button("Search everything", () => void finish({})),
      element("button", { class: "primary", value: "keep" }, "Keep"),
    ),
  );
  const dialog = element("dialog", { class: "sheet", "aria-label": "Reader's profile" }, form);
  const finish = (/** @type {Profile} */ wanted) => (writeProfile(book.book_id, wanted), dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const number = (/** @type {string} */ name) => (given.get(name) ? Number(given.get(name)) : null);
    let [chapterMin, chapterMax] = [number("chapterMin"), number("chapterMax")];
    if (chapterMin != null && chapterMax != null && chapterMin > chapterMax) [chapterMin, chapterMax] = [chapterMax, chapterMin];
    const text = (/** @type {string} */ name) => String(given.get(name) ?? "") || null;
    finish({
      module: text("module"),
      chapterMin,
      chapterMax,
      tier: number("tier"),
      levels: given.getAll("levels").map(String),
      layer: text("layer"),
    });
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  form.prepend(
    element(
      "button",
      { type: "button", class: "icon corner", "aria-label": "Close", onclick: () => void dialog.close() },
      icon("close"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

customElements.define("reader-profile", ReaderProfile);
