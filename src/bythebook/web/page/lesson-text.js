// A lesson's text as an article.

import { element, withCopyButtons } from "./dom.js";
import { showPictures } from "./pictures.js";
import { chapterWords } from "./words.js";

export const HEADINGS = ".passage :is(h2, h3, h4, h5, h6)";

// `level` is that of the lesson's title; its own headings stand below it.
/** @param {LessonText} lesson @param {Api} api @param {string} bookId */
export function lessonArticle(lesson, api, bookId, { level = 3 } = {}) {
  const text = element("div", { class: "prose passage", dir: "auto", "data-file": lesson.source_file, html: lesson.html });
  withoutTitle(text, lesson.page_title);
  relevel(text, level + 1);
  return element(
    "article",
    { class: "lesson" },
    element(heading(level), { dir: "auto", tabindex: "-1" }, lesson.page_title),
    lesson.chapter && element("p", { class: "where", dir: "auto" }, chapterWords(lesson.chapter)),
    showPictures(withCopyButtons(text), api, bookId),
  );
}

// Most lessons begin with their title as a heading, which stands above already; some set up their code before it.
/** @param {HTMLElement} text @param {string} title */
function withoutTitle(text, title) {
  const first = [...text.children].find((one) => /^H[4-6]$/.test(one.tagName));
  if (first?.textContent.trim() === title && !first.querySelector("mark")) first.remove();
}

// The server begins with the fourth level, because it does not know what stands around the text.
/** @param {HTMLElement} text @param {number} top */
function relevel(text, top) {
  const headings = [...text.querySelectorAll("h4, h5, h6")];
  const highest = Math.min(...headings.map((one) => Number(one.tagName[1])));
  for (const one of headings) {
    const made = element(heading(Math.min(6, Number(one.tagName[1]) - highest + top)));
    made.append(...one.childNodes);
    one.replaceWith(made);
  }
}

/** @param {number} level @returns {"h1"} */
function heading(level) {
  return /** @type {"h1"} */ (`h${level}`); // all six are made alike
}
