// The page's addresses: how a place is named behind the `#`, and how such a name is read. And the address of words on the book's
// own site.

// `spans` are the stretches of the lesson's file to be marked.
/** @param {string} bookId @param {string} file @param {Span[]} spans */
export function lessonAddress(bookId, file, spans = []) {
  const path = file.split("/").map(encodeURIComponent).join("/");
  const at = spans.map((span) => `at=${span.start}-${span.end}`).join("&");
  return `#/books/${encodeURIComponent(bookId)}/lessons/${path}${at && `?${at}`}`;
}

// A section of a lesson, by its heading.
/** @param {string} bookId @param {Pick<SearchResult, "source_file" | "heading_path">} place */
export function placeAddress(bookId, { source_file: file, heading_path: path }) {
  const heading = path?.at(-1);
  return lessonAddress(bookId, file) + (heading ? `?section=${encodeURIComponent(heading)}` : "");
}

/** @param {Book} book @param {Record<string, string>} query */
export function quizAddress(book, query) {
  return `#/books/${encodeURIComponent(book.book_id)}/quiz?${new URLSearchParams(query)}`;
}

// `#/books/ID/lessons/some/path.md?at=1-9` -> {parts: ["books", "ID", "lessons", "some", "path.md"], query}
/** @param {string} hash @returns {{parts: string[], query: URLSearchParams}} */
export function readAddress(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").map(decoded), query: new URLSearchParams(query) };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a sign that was never encoded
  }
}

// Which of the links above the page this is a part of.
/** @param {string[]} parts */
export function mainView([view, id, kind]) {
  if (view === "books" && !id) return "shelf";
  if (view === "author" || (view === "threads" && !id)) return view;
  return view === "books" && (kind === "lessons" || kind === "quiz") ? "read" : "ask";
}

// A book without a site has paths instead of addresses.
/** @param {string} address */
export function isWeb(address) {
  return /^https?:/.test(address);
}

// The browser itself marks the quoted words on arrival, by a text fragment. Of a long quote it is told where it begins and ends.
/** @param {string} page @param {string} quote */
export function quoteAddress(page, quote) {
  const words = quote.replace(/[*_`[\]]|\(.*?\)/g, "").trim().split(/\s+/);
  const part = (/** @type {string[]} */ some) => encodeURIComponent(some.join(" ")).replaceAll("-", "%2D");
  const quoted = words.length > 8 ? `${part(words.slice(0, 4))},${part(words.slice(-4))}` : part(words);
  return quoted ? `${page}${page.includes("#") ? "" : "#"}:~:text=${quoted}` : page;
}
