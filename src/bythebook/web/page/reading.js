// Where the reader stopped, and what has been read to its end. Kept in this browser; where it keeps nothing, nothing is kept.

const NAME = "bythebook.reading.";

/** The place, and the lessons that were read to their end. @typedef {Partial<Place> & {finished?: string[]}} Kept */

/** @template T @param {string} name @param {T} otherwise @returns {T} */
export function readKept(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null") ?? otherwise;
  } catch {
    return otherwise; // nothing may be kept here, or another program wrote it
  }
}

// Says whether it could be kept: a browser's storage may be full, or closed.
/** @param {string} name @param {unknown} value */
export function keep(name, value) {
  return keepText(name, JSON.stringify(value));
}

/** @param {string} name @param {string} text */
export function keepText(name, text, store = localStorage) {
  try {
    store.setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

// `block` is the number of the paragraph at the top of the screen; `share` is how much of the lesson lies before it.
/** @param {string} bookId @param {Place} place */
export function rememberPlace(bookId, { file, title, block, share }) {
  const kept = readKept(NAME + bookId, /** @type {Kept} */ ({}));
  const finished = share > 0.9 ? [...new Set([...(kept.finished ?? []), file])] : (kept.finished ?? []);
  keep(NAME + bookId, { file, title, block, share, finished });
}

/** @param {string} bookId */
export function lastPlace(bookId) {
  const kept = readKept(NAME + bookId, /** @type {Kept} */ ({}));
  return kept.file ? /** @type {Place} */ (kept) : null;
}

/** @param {string} bookId */
export function finishedLessons(bookId) {
  return new Set(readKept(NAME + bookId, /** @type {Kept} */ ({})).finished ?? []);
}
