// Who is reading: module, chapters, hardware tier, proficiency, layer. Kept in this browser, shown as chips, applied to every question.

import { button, element, icon, iconButton } from "./dom.js";
import { keep } from "./reading.js";
import { say, word } from "./words.js";

const LEVELS = ["A1", "A2", "B1", "B2", "C1", "C2"];
const LAYERS = ["L1", "L2", "L3", "L4"];
const TIERS = [1, 2, 3, 4];
const NAME = "bythebook.profile.";

export function readProfile(bookId) {
  try {
    return JSON.parse(localStorage.getItem(NAME + bookId)) ?? {};
  } catch {
    return {};
  }
}

export function writeProfile(bookId, profile) {
  keep(NAME + bookId, profile);
  document.dispatchEvent(new CustomEvent("profile", { detail: profile }));
}

// What the lessons of a book differ in: only that is worth telling or choosing.
export function differing(book) {
  const several = (values) => (values?.length ?? 0) > 1;
  const filters = book?.filters ?? {};
  return {
    modules: several(filters.modules),
    chapters: several((filters.chapters ?? []).filter((one) => one > 0)),
    tiers: several(filters.hardware_tiers),
    levels: several(filters.proficiency_levels),
    layers: several(filters.layers),
  };
}

export function filtersOf(profile) {
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
export function widened(profile, section) {
  const wider = { ...profile };
  const words = [];
  if (profile.tier && section.hardware_tier > profile.tier) {
    wider.tier = section.hardware_tier === 4 ? null : section.hardware_tier;
    words.push(say`hardware tier ${section.hardware_tier}`);
  }
  if (profile.levels?.length && !profile.levels.includes(section.proficiency_level)) {
    wider.levels = LEVELS.filter((level) => profile.levels.includes(level) || level === section.proficiency_level);
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

function chapters({ chapterMin: from, chapterMax: to }) {
  if (from != null && to != null) return from === to ? say`Chapter ${from}` : say`Chapters ${from}–${to}`;
  return from != null ? say`From chapter ${from}` : to != null ? say`Up to chapter ${to}` : null;
}

function shown(profile) {
  return [
    profile.module && [word("module"), profile.module, { module: null }],
    chapters(profile) && [word("chapters"), chapters(profile), { chapterMin: null, chapterMax: null }],
    profile.tier && [word("hardware tier"), say`Tier ${profile.tier} and below`, { tier: null }],
    profile.levels?.length && [word("proficiency"), profile.levels.join(" "), { levels: [] }],
    profile.layer && [word("layer"), say`Layer ${profile.layer}`, { layer: null }],
  ].filter(Boolean);
}

// The chips below the question box. Clicking one away widens what is searched.
export class ReaderProfile extends HTMLElement {
  /** @type {Book | undefined} */ book;

  connectedCallback() {
    this.onchange_ = () => this.draw();
    document.addEventListener("profile", this.onchange_);
    this.draw();
  }

  disconnectedCallback() {
    document.removeEventListener("profile", this.onchange_);
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
          this.querySelector(".edit").focus();
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

function choice(label, name, value, options, empty) {
  const made = element(
    "select",
    { name, id: `profile-${name}` },
    element("option", { value: "" }, empty),
    options.map(([key, words]) => element("option", { value: key, selected: String(value ?? "") === String(key) }, words)),
  );
  return element("div", { class: "field" }, element("label", { for: `profile-${name}` }, label), made);
}

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
      button("Search everything", () => finish({})),
      element("button", { class: "primary", value: "keep" }, "Keep"),
    ),
  );
  const dialog = element("dialog", { class: "sheet", "aria-label": "Reader's profile" }, form);
  const finish = (wanted) => (writeProfile(book.book_id, wanted), dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const number = (name) => (given.get(name) ? Number(given.get(name)) : null);
    let [chapterMin, chapterMax] = [number("chapterMin"), number("chapterMax")];
    if (chapterMin != null && chapterMax != null && chapterMin > chapterMax) [chapterMin, chapterMax] = [chapterMax, chapterMin];
    finish({
      module: given.get("module") || null,
      chapterMin,
      chapterMax,
      tier: number("tier"),
      levels: given.getAll("levels"),
      layer: given.get("layer") || null,
    });
  });
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  form.prepend(
    element(
      "button",
      { type: "button", class: "icon corner", "aria-label": "Close", onclick: () => dialog.close() },
      icon("close"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

customElements.define("reader-profile", ReaderProfile);
