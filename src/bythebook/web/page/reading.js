// Where the reader stopped, and what has been read to its end. Kept in this browser; where it keeps nothing, nothing is kept.

const NAME = "bythebook.reading.";

export function readKept(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise; // nothing may be kept here, or another program wrote it
  }
}

// Says whether it could be kept: a browser's storage may be full, or closed.
export function keep(name, value) {
  return keepText(name, JSON.stringify(value));
}

export function keepText(name, text, store = localStorage) {
  try {
    store.setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

// `block` is the number of the paragraph at the top of the screen; `share` is how much of the lesson lies before it.
export function rememberPlace(bookId, { file, title, block, share }) {
  const kept = readKept(NAME + bookId, {});
  const finished = share > 0.9 ? [...new Set([...(kept.finished ?? []), file])] : (kept.finished ?? []);
  keep(NAME + bookId, { file, title, block, share, finished });
}

export function lastPlace(bookId) {
  const kept = readKept(NAME + bookId, null);
  return kept?.file ? kept : null;
}

export function finishedLessons(bookId) {
  return new Set(readKept(NAME + bookId, {}).finished ?? []);
}
