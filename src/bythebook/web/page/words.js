// The page's words in the language of the open book. English stands where the words are used; the server has what stands for it
// in some other languages, and whatever is not among it stays English.

const STATIC = ".skip, .top [data-view]";
const RIGHT_TO_LEFT = new Set(["ur"]);
let words = {};
let patterns = [];
let spoken = "en";
let wantedLast = "en";

export function language() {
  return spoken;
}

// "Chapter 3" is found by "Chapter {}"; what the braces stand for is taken over.
export function word(text) {
  if (typeof text !== "string") return text;
  if (Object.hasOwn(words, text)) return words[text];
  for (const [pattern, translated] of patterns) {
    const match = pattern.exec(text);
    if (match) {
      let at = 0;
      return translated.replace(/\{\}/g, () => word(match[++at]));
    }
  }
  return text;
}

export async function speak(wanted) {
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
  patterns = Object.entries(words)
    .filter(([text]) => text.includes("{}"))
    .map(([text, translated]) => [new RegExp(`^${text.split("{}").map(escaped).join("(.+?)")}$`, "s"), translated]);
  draw();
}

// What stands in the page before any script runs.
function draw() {
  document.documentElement.lang = spoken;
  document.documentElement.dir = RIGHT_TO_LEFT.has(spoken) ? "rtl" : "ltr";
  for (const one of document.querySelectorAll(STATIC)) {
    one.dataset.word ??= one.textContent;
    one.textContent = word(one.dataset.word);
  }
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
