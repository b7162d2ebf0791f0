// The page's words in the language of the open book. English stands where the words are used; the server has what stands for it
// in some other languages, and whatever is not among it stays English.

const STATIC = ".skip, .top nav [data-view]";
const LABELLED = ".top [aria-label], #announcer";
const RIGHT_TO_LEFT = new Set(["ur"]);
/** @type {Record<string, string>} */
let words = {};
let spoken = "en";
let wantedLast = "en";

export function language() {
  return spoken;
}

/** What stands for these words; whatever else it is given comes back as it is. @template T @param {T} text @returns {T} */
export function word(text) {
  return typeof text === "string" && Object.hasOwn(words, text) ? /** @type {any} */ (words[text]) : text;
}

// Words around values: say`Chapter ${3}` is found as "Chapter {}".
/** @param {TemplateStringsArray} parts @param {any[]} values */
export function say(parts, ...values) {
  let at = 0;
  return word(parts.join("{}")).replace(/\{\}/g, () => String(values[at++]));
}

// A place in the author's file, as the server names it.
/** @param {string} where */
export function placeWords(where) {
  const [, kind, number] = /^(line|p\.) (\d+)$/.exec(where ?? "") ?? [];
  return kind === "line" ? say`line ${number}` : kind ? say`p. ${number}` : where;
}

/** A chapter's name, as the server has it. @param {string} chapter */
export function chapterWords(chapter) {
  const [, number, title] = /^Chapter (\d+): (.*)$/s.exec(chapter ?? "") ?? [];
  return number ? say`Chapter ${number}: ${title}` : chapter;
}

// `page`: the document is ours; a widget stands in somebody else's.
/** @param {string | null | undefined} wanted @param {{page?: boolean}} options */
export async function speak(wanted, { page = true } = {}) {
  const code = (wanted ?? "en").toLowerCase().split(/[-_]/)[0];
  wantedLast = code;
  if (code === spoken) return;
  const found =
    code === "en"
      ? { default: {} }
      : await import(`./words-${encodeURIComponent(code)}.js`).catch(() => ({ default: {} })); // there is none: English
  if (code !== wantedLast) return; // a book in another language is open by now
  words = found.default;
  spoken = Object.keys(words).length ? code : "en";
  if (page) draw();
}

export function direction() {
  return RIGHT_TO_LEFT.has(spoken) ? "rtl" : "ltr";
}

// What stands in the page before any script runs.
function draw() {
  document.documentElement.lang = spoken;
  document.documentElement.dir = direction();
  for (const one of document.querySelectorAll(STATIC)) {
    one.dataset.word ??= one.textContent;
    one.textContent = word(one.dataset.word);
  }
  for (const one of document.querySelectorAll(LABELLED)) {
    one.dataset.label ??= one.getAttribute("aria-label") ?? "";
    one.setAttribute("aria-label", word(one.dataset.label));
  }
}
