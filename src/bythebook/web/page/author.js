// The author's side: what is in the index, what is being brought in, what needs a look, and what readers ask that the book does not say.

import { ago, button, element, find, plural, toast } from "./dom.js";
import { lessonsOf } from "./chapters.js";
import { download } from "./contents.js";
import { curve } from "./curve.js";
import { byChapter, gapGroup } from "./gaps.js";
import { plain } from "./plain-text.js";
import { bookWarnings, jobRow, MODES } from "./jobs.js";
import { say, word } from "./words.js";

export class AuthorDesk extends HTMLElement {
  /** @type {Api} */ api;
  /** @type {AbortController | undefined} */ watching;
  /** @type {symbol} */ drawing;
  /** @param {Api} api @param {BookEntry[]} books @param {string | null} wanted */
  async open(api, books, wanted) {
    this.api = api;
    const book = books.find((one) => one.book_id === wanted) ?? books[0];
    if (!book)
      return this.replaceChildren(
        element(
          "div",
          { class: "empty small" },
          element("h1", {}, "No book yet"),
          element("p", {}, "Ingest one on the command line: ", element("code", {}, "bythebook ingest path/to/your/book")),
        ),
      );
    const whole = await api.get(`/books/${book.book_id}`);
    if (!this.isConnected) return;
    const others =
      books.length > 1 &&
      element(
        "nav",
        { class: "tabs", "aria-label": "Books" },
        books.map((one) => element("a", { href: `#/author/${one.book_id}`, "aria-current": one === book && "page" }, one.title)),
      );
    const lessons = lessonsOf(whole);
    const changed = [book.last_full_ingest, book.last_incremental_update].filter(Boolean).sort().at(-1);
    this.replaceChildren(
      ...[
        others,
        element(
          "div",
          { class: "page-head" },
          element(
            "div",
            {},
            element("h1", { dir: "auto" }, book.title),
            element(
              "p",
              { class: "where" },
              [plural(lessons.length, "lesson"), plural(book.total_chunks, "passage"), whole.index.embedder, changed && say`ingested ${ago(changed)}`]
                .filter(Boolean)
                .join(" · "),
            ),
          ),
        ),
        this.jobs(book),
        this.warnings(book, lessons),
        this.gaps(whole),
        this.wrong(book),
        this.calibration(book),
      ].filter((one) => one !== false),
    );
  }

  disconnectedCallback() {
    this.watching?.abort();
  }

  // A section that fills itself, and says in a sentence why when it cannot.
  /** @param {string} title @param {string} hint @param {(room: HTMLElement, head: HTMLElement) => unknown} fill */
  section(title, hint, fill) {
    const room = element("div", { class: "room" }, element("p", { class: "hint" }, "Looking …"));
    const made = element(
      "section",
      { class: "desk" },
      element("div", { class: "desk-head" }, element("h2", {}, title), element("p", { class: "hint" }, hint)),
      room,
    );
    Promise.resolve(fill(room, made)).catch((problem) =>
      room.replaceChildren(element("p", { class: problem.status === 404 ? "hint" : "failure" }, problem.message)),
    );
    return made;
  }

  /** @param {BookEntry} book */
  jobs(book) {
    return this.section("Ingesting the book", "Each run is a job. Readers keep asking meanwhile.", async (room, made) => {
      find(made, ".desk-head").append(
        element(
          "div",
          { class: "row-buttons" },
          Object.entries(MODES).map(([mode, [label, title]]) => button(label, () => this.start(book, mode, room), { title })),
        ),
      );
      await this.drawJobs(book, room);
    });
  }

  /** @param {BookEntry} book @param {HTMLElement} room */
  async drawJobs(book, room) {
    const drawing = (this.drawing = Symbol("jobs"));
    const { jobs } = await this.api.get(`/jobs?book_id=${book.book_id}&limit=5`);
    if (this.drawing !== drawing || !this.isConnected) return; // asked again meanwhile, or nobody looks
    const rows = jobs.map((/** @type {Job} */ job) => ({ job, row: jobRow(job, (one) => this.cancel(one)) }));
    room.replaceChildren(
      rows.length
        ? element(
            "ul",
            { class: "jobs" },
            rows.map((/** @type {{row: HTMLElement}} */ { row }) => row),
          )
        : element("p", { class: "hint" }, "No job yet. Edit a lesson, then ingest the changes."),
    );
    this.watching?.abort();
    this.watching = new AbortController();
    for (const { job, row } of rows) if (job.status === "queued" || job.status === "running") this.watch(job, row, book, room);
  }

  /** @param {BookEntry} book @param {string} mode @param {HTMLElement} room */
  async start(book, mode, room) {
    try {
      await this.api.post(`/books/${book.book_id}/jobs`, { mode });
      await this.drawJobs(book, room);
    } catch (/** @type {any} */ problem) {
      room.querySelector(".refused-job")?.remove();
      room.prepend(element("p", { class: "failure refused-job", role: "alert" }, problem.message));
    }
  }

  /** @param {Job} job */
  async cancel(job) {
    try {
      await this.api.send("DELETE", `/jobs/${job.job_id}`);
    } catch (/** @type {any} */ problem) {
      toast(problem.message);
    }
  }

  /** @param {Job} job @param {HTMLElement} row @param {BookEntry} book @param {HTMLElement} room */
  async watch(job, row, book, room) {
    let shown = row;
    try {
      for await (const { data } of this.api.events("GET", `/jobs/${job.job_id}/events`, undefined, {
        signal: this.watching?.signal,
      })) {
        const next = jobRow(data, (one) => this.cancel(one));
        shown.replaceWith(next);
        shown = next;
      }
      await this.drawJobs(book, room);
    } catch (/** @type {any} */ problem) {
      if (problem.name !== "AbortError") shown.append(element("p", { class: "failure" }, problem.message));
    }
  }

  /** @param {BookEntry} book @param {Lesson[]} lessons */
  warnings(book, lessons) {
    const troubled = lessons.filter((lesson) => lesson.warnings.length);
    const count = troubled.reduce((sum, lesson) => sum + lesson.warnings.length, 0);
    const hint = say`${plural(count, "warning")} in ${plural(troubled.length, "lesson")}. None of them kept a lesson out.`;
    return this.section("Worth a look", troubled.length ? hint : "", async (room) => {
      const { jobs } = await this.api.get(`/jobs?book_id=${book.book_id}&status=completed&limit=1`);
      const rows = [...bookWarnings(jobs[0], lessons).map(warnedFile), ...troubled.map(warnedLesson)];
      room.replaceChildren(
        rows.length ? element("ul", { class: "warnings" }, rows) : element("p", { class: "hint" }, "No warnings."),
      );
    });
  }

  /** @param {Book} book */
  gaps(book) {
    return this.section(
      "What readers ask and the book does not say",
      "Questions that were refused, or answered with low confidence, by the nearest chapter: the next lessons to write.",
      async (room, made) => {
        const { gaps } = await this.api.get(`/books/${book.book_id}/gaps`);
        if (!gaps.length)
          return room.replaceChildren(
            element("p", { class: "hint" }, "Every question so far was answered, or was outside a reader’s filters."),
          );
        const save = async () =>
          download(await (await this.api.send("GET", `/books/${book.book_id}/gaps.csv`)).blob(), `${book.book_id}-gaps.csv`);
        find(made, ".desk-head").append(button("Save as CSV", save, { picture: "save" }));
        room.replaceChildren(...byChapter(gaps, book).map(([title, questions]) => gapGroup(title, questions)));
      },
    );
  }

  /** @param {BookEntry} book */
  wrong(book) {
    return this.section("What readers rated wrong", "Thumbs down, with what they said.", async (room, made) => {
      const { answers } = await this.api.get(`/books/${book.book_id}/wrong`);
      if (!answers.length) return room.replaceChildren(element("p", { class: "hint" }, "Nothing so far."));
      const save = async () =>
        download(await (await this.api.send("GET", `/books/${book.book_id}/wrong.jsonl`)).blob(), `${book.book_id}-wrong.jsonl`);
      find(made, ".desk-head").append(button("Save as questions", save, { picture: "save" }));
      room.replaceChildren(
        element(
          "ul",
          { class: "gap" },
          answers.map((/** @type {WrongAnswer} */ one) =>
            element(
              "li",
              { dir: "auto" },
              `“${one.question}”`,
              element("span", { class: "where" }, ` ${[one.reason, ago(one.rated_at)].filter(Boolean).join(" · ")}`),
              element("p", { class: "snippet" }, one.refused ? word("It was refused.") : plain(one.answer, 200)),
            ),
          ),
        ),
      );
    });
  }

  /** @param {BookEntry} book */
  calibration(book) {
    return this.section(
      "How relevance was fitted",
      "The same number means the same for every book and embedder.",
      async (room) => {
        const fit = await this.api.get(`/books/${book.book_id}/calibration`);
        room.replaceChildren(
          curve(fit),
          element(
            "p",
            { class: "hint" },
            say`Fitted by ${fit.answerable} questions the book answers and ${fit.unanswerable} it does not. It tells them apart with an area under the curve of ${fit.auc.toFixed(3)}; answering from 0.60 on is right in ${(100 * fit.balanced_accuracy).toFixed(1)} % of cases.`,
          ),
          element(
            "details",
            {},
            element("summary", {}, "The signals and their weights"),
            element(
              "table",
              { class: "weights" },
              element(
                "tbody",
                {},
                fit.names.map((/** @type {string} */ name, /** @type {number} */ at) =>
                  element(
                    "tr",
                    {},
                    element("th", { scope: "row" }, name.replaceAll("_", " ")),
                    element("td", {}, fit.coefficients[at].toFixed(2)),
                  ),
                ),
              ),
            ),
          ),
        );
      },
    );
  }
}

/** @param {BookWarning} warning */
function warnedFile(warning) {
  const place = [warning.source_file, warning.line && say`Line ${warning.line}: `].filter(Boolean).join(" · ");
  return element("li", { dir: "auto" }, place && element("span", { class: "where" }, `${place} `), warning.message);
}

/** @param {Lesson} lesson */
function warnedLesson(lesson) {
  const where = ` ${lesson.source_file} · ${plural(lesson.warnings.length, "warning")}`;
  const summary = [element("span", { class: "name", dir: "auto" }, lesson.title), element("span", { class: "where" }, where)];
  const warnings = lesson.warnings.map((warning) =>
    element("li", { dir: "auto" }, element("span", { class: "where" }, say`Line ${warning.line}: `), warning.message),
  );
  return element("li", {}, element("details", {}, element("summary", {}, summary), element("ul", {}, warnings)));
}

customElements.define("author-desk", AuthorDesk);
