// What readers asked and the book did not say, gathered for its author.

import { element, plural } from "./dom.js";
import { say, word } from "./words.js";

/** @typedef {AskedQuestion & {near: string}} NearQuestion */

// Sections with their questions, gathered by the chapter they stand in; what is near to none comes last.
/** @param {Gap[]} gaps @param {Book} book */
export function byChapter(gaps, book) {
  const titles = new Map(
    book.modules.flatMap((module) => module.chapters.map((chapter) => [`${module.module} ${chapter.chapter}`, chapter.title])),
  );
  /** @type {Map<string, NearQuestion[]>} */
  const chapters = new Map();
  for (const gap of gaps) {
    const named = titles.get(`${gap.module} ${gap.chapter}`);
    const title = gap.chapter
      ? named
        ? say`Chapter ${gap.chapter}: ${named}`
        : say`Chapter ${gap.chapter}`
      : gap.source_url
        ? gap.page_title
        : word("Off the subject");
    const near = gap.source_url && [gap.page_title, gap.section].filter(Boolean).join(" › ");
    chapters.set(title, [...(chapters.get(title) ?? []), ...gap.questions.map((question) => ({ ...question, near }))]);
  }
  return [...chapters];
}

const MOST_QUESTIONS = 12;
/** @type {Record<string, string>} */
const REASONS = {
  nothing_found: "nothing found",
  off_topic: "another subject",
  not_in_book: "not in the book",
  outside_filters: "beyond the reader’s filters",
  unsupported: "could not be backed",
  low_confidence: "answered with low confidence",
};

/** @param {string} title @param {NearQuestion[]} questions */
export function gapGroup(title, questions) {
  const asked = (/** @type {NearQuestion} */ question) =>
    [
      word(REASONS[question.ended] ?? question.ended),
      question.near && say`near ${question.near}`,
      question.times > 1 && say`asked ${question.times} times`,
    ].filter(Boolean);
  const rows = questions
    .slice(0, MOST_QUESTIONS)
    .map((question) =>
      element(
        "li",
        { dir: "auto" },
        `“${question.question}”`,
        element("span", { class: "where" }, ` ${asked(question).join(" · ")}`),
      ),
    );
  const count = element("span", { class: "where" }, ` ${plural(questions.length, "question")}`);
  return element("div", { class: "gap" }, element("h3", { dir: "auto" }, title, count), element("ul", {}, rows));
}
