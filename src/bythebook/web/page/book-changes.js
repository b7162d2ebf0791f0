// A book may be ingested anew while it is read. Looks now and then, and whenever the reader comes back to the page.

const LOOK_EVERY_MS = 60_000;

// Which state of the book this is.
/** @param {BookVersion} book */
export function versionOf({ last_full_ingest: full, last_incremental_update: update }) {
  return `${full} ${update}`;
}

// `book()` is the book as it is shown; `changed()` is called when the server has another state of it, once for each.
/** @param {Api} api @param {() => Book} book @param {() => void} changed */
export function followChanges(api, book, changed) {
  /** @type {string | null} */
  let told = null;
  let ended = false;
  const look = async () => {
    if (document.hidden) return;
    const shown = versionOf(book());
    try {
      /** @type {{books: BookEntry[]}} */
      const { books } = await api.get("/books");
      if (ended || shown !== versionOf(book())) return; // the reader has left, or has the new text already
      const now = books.find((one) => one.book_id === book().book_id);
      if (!now || [told, shown].includes(versionOf(now))) return;
      told = versionOf(now);
      changed();
    } catch {
      // The server is away, which is said elsewhere.
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  document.addEventListener("visibilitychange", look);
  return () => {
    ended = true;
    clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
  };
}
