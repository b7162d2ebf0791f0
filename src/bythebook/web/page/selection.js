// Words of the book that the reader selects can be asked about. `ask(question, selection)` gets what to ask, or null where the
// reader wants to type it.

import { button, element, toast } from "./dom.js";
import { language, say, word } from "./words.js";

export const LONGEST_SELECTION = 2000;
const RESTS_MS = 250;
/** @typedef {{text: string, source_file: string}} Selected */

/** @type {[string, string][]} */
export const READY = [
  ["Explain this", "Explain this."],
  ["Why?", "Why is that so?"],
];

// `mark(selection)` keeps the words as a highlight, where that can be done.
/**
 * @param {HTMLElement} root
 * @param {(question: string | null, selection: SelectedWords) => void} ask
 * @param {((selection: SelectedWords, range: Range, byKey: boolean) => void) | null} mark
 */
export function followSelection(root, ask, mark = null) {
  const bar = element("div", { class: "selection-bar", role: "toolbar", "aria-label": "About the selected words", hidden: true });
  (root.closest("main") ?? document.body).append(bar);
  const take = (/** @type {(chosen: Selected, range: Range, byKey: boolean) => void} */ act) => {
    const chosen = selected(root);
    const selection = document.getSelection();
    const byKey = bar.contains(document.activeElement);
    clearTimeout(waiting);
    bar.hidden = true;
    if (chosen && "problem" in chosen) return void toast(chosen.problem);
    if (chosen && selection) act(chosen, selection.getRangeAt(0), byKey);
    selection?.removeAllRanges(); // or the bar comes back with the next key
    const { activeElement: now } = document;
    if (byKey && (now === document.body || bar.contains(now))) root.querySelector("textarea")?.focus({ preventScroll: true });
  };
  const use = (/** @type {string | null} */ question) => take((chosen) => ask(question, chosen));
  bar.append(
    ...READY.map(([label, question]) => button(label, () => use(word(question)))),
    button("Ask …", () => use(null)),
    ...(mark ? [button("Highlight", () => take(mark))] : []),
  );
  bar.addEventListener("pointerdown", (event) => event.preventDefault()); // the selection stays
  const draw = () => {
    const chosen = selected(root);
    bar.hidden = !chosen;
    if (chosen) place(bar);
  };
  // The words stay selected while their buttons have the focus; Escape leads back.
  const reach = (/** @type {KeyboardEvent} */ event) => {
    if (bar.hidden || !["Tab", "Escape"].includes(event.key)) return;
    const inside = bar.contains(document.activeElement);
    if (event.key === "Escape") {
      document.getSelection()?.removeAllRanges();
      if (inside) before?.focus({ preventScroll: true });
    } else if (!inside && !event.shiftKey) {
      event.preventDefault();
      before = /** @type {HTMLElement | null} */ (document.activeElement);
      bar.querySelector("button")?.focus();
    }
  };
  /** @type {HTMLElement | null} */
  let before = null;
  // A phone tells neither the end of a long press nor that of a drag of the handles: the words rest, and nothing is held down.
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  let held = false;
  const rest = (/** @type {number} */ milliseconds) => (clearTimeout(waiting), (waiting = setTimeout(draw, milliseconds)));
  const changed = () => {
    if (!selected(root)) clearTimeout(waiting), (bar.hidden = true);
    else if (!held) rest(RESTS_MS);
  };
  const begun = (/** @type {Event} */ event) => (held = !bar.contains(/** @type {Node} */ (event.target)));
  const ended = () => ((held = false), rest(0));
  const follow = () => bar.hidden || place(bar);
  const listeners = /** @type {[string, (event: any) => void][]} */ ([
    ["selectionchange", changed],
    ["keydown", reach],
    ["pointerdown", begun],
    ["scroll", follow],
    ...["pointerup", "pointercancel", "keyup", "touchend"].map((name) => [name, ended]),
  ]);
  for (const [name, listener] of listeners) document.addEventListener(name, listener, { capture: name === "scroll" });
  return () => {
    for (const [name, listener] of listeners) document.removeEventListener(name, listener, { capture: name === "scroll" });
    clearTimeout(waiting);
    bar.remove();
  };
}

// What is selected of a lesson: {text, source_file}, or {problem}; null where nothing of a lesson is.
/** @param {HTMLElement} root @returns {Selected | {problem: string} | null} */
export function selected(root) {
  const selection = document.getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const [first, last] = [range.startContainer, range.endContainer].map((node) => lessonAround(node));
  if (!first || !root.contains(first)) return null;
  const text = wordsOf(range);
  if (text.length < 2) return null;
  if (last && last.dataset.file !== first.dataset.file) return { problem: "Select words of one lesson at a time." };
  if (text.length > LONGEST_SELECTION)
    return { problem: tooLong(text) };
  return { text, source_file: first.dataset.file ?? "" };
}

/** @param {string} text */
export function tooLong(text) {
  return say`Select at most ${LONGEST_SELECTION.toLocaleString(language())} characters; these are ${text.length.toLocaleString(language())}.`;
}

/** @param {Node} node @returns {HTMLElement | null | undefined} */
function lessonAround(node) {
  return (node instanceof Element ? node : node.parentElement)?.closest(".passage[data-file]");
}

// Without what the page adds. "…" stands for a formula, which the book has in other letters; a line of the author's file ends
// where it happens to, and is none of the reader's.
/** @param {Range} range */
function wordsOf(range) {
  const copy = range.cloneContents();
  const within = range.commonAncestorContainer;
  const inCode = (within instanceof Element ? within : within.parentElement)?.closest("pre"); // which the copy then lacks
  const walker = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (!inCode && !node.parentElement?.closest("pre")) node.nodeValue = (node.nodeValue ?? "").replace(/\s+/g, " ");
  for (const formula of copy.querySelectorAll("math")) formula.replaceWith("…");
  for (const added of copy.querySelectorAll("button, figcaption, .footnote, .label")) added.replaceWith("\n");
  for (const block of copy.querySelectorAll("p, li, h4, h5, h6, pre, td, th, tr, blockquote")) block.append("\n");
  return copy.textContent
    .replace(/[^\S\n]+/g, " ")
    .replace(/\s*\n\s*/g, "\n")
    .trim();
}

// Above the words; where they are selected by touch below them, because there the system's own menu stands above.
/** @param {HTMLElement} bar */
function place(bar) {
  const box = document.getSelection()?.getRangeAt(0).getBoundingClientRect();
  if (!box) return;
  const byTouch = matchMedia("(pointer: coarse)").matches;
  const [handle, foot] = byTouch ? [32, 76] : [8, 16];
  const above = box.top - bar.offsetHeight - 8;
  const top = byTouch || above < 8 ? box.bottom + handle : above;
  bar.style.setProperty("left", `${Math.max(8, Math.min(innerWidth - bar.offsetWidth - 8, box.left))}px`);
  bar.style.setProperty("top", `${Math.max(8, Math.min(innerHeight - bar.offsetHeight - foot, top))}px`);
}
