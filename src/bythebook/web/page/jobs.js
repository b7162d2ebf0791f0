// A job as its author sees it: what it does, how far it is, how it ended.

import { ago, button, element, plural } from "./dom.js";
import { say, word } from "./words.js";

/** @type {Record<string, [string, string]>} */
export const MODES = {
  incremental: ["Ingest changes", "Only lessons that are new, changed or gone."],
  full: ["Read everything again", "Every lesson; unchanged text is not embedded again."],
};

// What the latest job warned of beside the lessons' own warnings: settings of the book, files passed over, places claimed twice.
/**
 * @param {{report?: {warnings?: BookWarning[]} | null} | undefined} job
 * @param {{source_file: string, warnings: BookWarning[]}[]} lessons
 * @returns {BookWarning[]}
 */
export function bookWarnings(job, lessons) {
  const name = (/** @type {BookWarning} */ { source_file, line, message }) => JSON.stringify([source_file, line, message]);
  const told = new Set(lessons.flatMap((lesson) => lesson.warnings.map((one) => name({ ...one, source_file: lesson.source_file }))));
  return (job?.report?.warnings ?? []).filter((warning) => !told.has(name(warning)));
}

/** @param {Job} job @param {(job: Job) => void} cancel */
export function jobRow(job, cancel) {
  const running = job.status === "queued" || job.status === "running";
  const share = job.files_total ? job.files_processed / job.files_total : job.status === "completed" ? 1 : 0;
  const [mode] = MODES[job.mode] ?? ["Build anew"];
  const words = {
    queued: "waiting for a worker",
    running: job.files_total
      ? [
          say`${job.files_processed} of ${plural(job.files_total, "lesson")}`,
          job.progress?.stage === "calibrating" && word("fitting relevance"),
        ]
          .filter(Boolean)
          .join(", ")
      : "reading the folder",
    completed: [
      plural(job.files_processed, "lesson"),
      say`${plural(job.chunks_created, "passage")} new, ${job.chunks_deleted} gone`,
      `${job.duration_seconds ?? 0} s`,
      ago(job.completed_at ?? job.queued_at),
    ].join(" · "),
    failed: job.error_message ?? "It failed.",
  }[job.status];
  return element(
    "li",
    { class: `job ${job.status}` },
    element(
      "div",
      { class: "job-line" },
      element("span", { class: "name" }, mode),
      element("span", { class: "where" }, words),
      running && button("Cancel", () => cancel(job), { class: "quiet" }),
    ),
    running && element("progress", { max: 1, value: share, "aria-label": say`Progress of job ${job.job_id}` }),
    job.failed_files &&
      job.failed_files.length > 0 &&
      element(
        "ul",
        { class: "failures" },
        job.failed_files.map((failed) => element("li", {}, `${failed.source_file}: ${failed.reason}`)),
      ),
  );
}
