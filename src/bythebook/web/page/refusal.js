// A refusal is an answer of its own kind: what was not found, why, and where to go on.

import { isWeb } from "./addresses.js";
import { button, element, icon } from "./dom.js";
import { plain } from "./plain-text.js";
import { differing, readProfile, widened } from "./profile.js";
import { say } from "./words.js";

/** @type {Record<string, string>} */
const HEADLINES = {
  nothing_found: "Nothing found in the book",
  off_topic: "This is not what the book is about",
  not_in_book: "The book does not say",
  outside_filters: "The book has this, beyond your filters",
  unsupported: "The book does not say enough to answer this",
};

/** @type {Record<string, string>} */
const SENTENCES = {
  nothing_found: "The whole book was searched, and nothing in it comes near your question.",
  off_topic: "The whole book was searched. Your question is about something else.",
  not_in_book: "The book is near this subject, but no passage answers your question.",
  outside_filters: "The lessons inside your filters do not answer it. Others do.",
  unsupported: "Passages were found, but none of them says enough to answer this.",
};

// A question in another language than the book's is told which that is.
/** @param {Answer} answer */
function language({ answer }) {
  const [, name] = /; it is written in ([^;.]+)/.exec(answer) ?? [];
  return name ? say` The book is written in ${name}.` : "";
}

/** @param {BookAnswer} turn @param {Answer} answer @param {TurnActions} actions */
export function refusal(turn, answer, actions) {
  const made = element(
    "div",
    { class: "refusal" },
    element("h3", {}, HEADLINES[answer.reason ?? ""] ?? HEADLINES.unsupported),
    element("p", {}, SENTENCES[answer.reason ?? ""] ?? SENTENCES.unsupported, language(answer)),
  );
  if (actions.onwiden && answer.reason === "outside_filters" && answer.nearest.length)
    made.append(widening(turn, answer, actions));
  if (answer.nearest.length) {
    made.append(
      element("h4", {}, answer.reason === "outside_filters" ? "It is here" : "Nearest in the book"),
      element(
        "ul",
        { class: "nearest" },
        answer.nearest.map((section) => place(section, actions)),
      ),
    );
    const within = chapterOf(answer.nearest[0]);
    if (within && actions.onsearch && answer.reason !== "off_topic") made.append(searching(turn, answer, within, actions));
  }
  if (actions.oncontents && answer.reason !== "outside_filters")
    made.append(button("See what the book covers", actions.oncontents));
  if (answer.reason === "not_in_book" || answer.reason === "unsupported") {
    made.append(element("p", { class: "hint" }, "Naming the thing you mean, in the words the book uses, often helps."));
  }
  return made;
}

// A section opens beside where the lesson is at hand, else on the book's own site.
/** @param {Section} section @param {TurnActions} actions */
function place(section, { onlesson, book }) {
  const path = [section.page_title, ...section.heading_path];
  const told = differing(book);
  const where = [
    section.chapter && say`Chapter ${section.chapter}`,
    told.tiers && say`tier ${section.hardware_tier}`,
    told.levels && section.proficiency_level,
    told.layers && section.layer,
  ].filter(Boolean);
  const title = element("span", { class: "path", dir: "auto" }, path.join(" › "));
  const open = onlesson?.(section);
  return element(
    "li",
    {},
    open
      ? element("button", { type: "button", class: "link", onclick: open }, title)
      : isWeb(section.source_url)
        ? element("a", { href: section.source_url, target: "_blank", rel: "noopener" }, title, icon("out"))
        : title,
    element("span", { class: "where" }, where.join(" · ")),
  );
}

/** @param {BookAnswer} turn @param {Answer} answer @param {TurnActions} actions */
function widening(turn, answer, actions) {
  const wider = !actions.widenLabel && widened(readProfile(answer.book_id), answer.nearest[0]);
  const [change, label] = wider
    ? [wider.profile, say`Include ${wider.words} and ask again`]
    : [{}, actions.widenLabel ?? "Search the whole book and ask again"];
  return element(
    "p",
    { class: "actions start" },
    button(label, () => actions.onwiden?.(change, turn.question), { class: "primary" }),
  );
}

/** @param {Section} section */
function chapterOf(section) {
  if (!section.chapter) return null;
  return {
    label: say`chapter ${section.chapter}`,
    filters: { module_filter: section.module || null, chapter_min: section.chapter, chapter_max: section.chapter },
  };
}

/**
 * @param {BookAnswer} turn
 * @param {Answer} answer
 * @param {{label: string, filters: object}} within
 * @param {TurnActions} actions
 */
function searching(turn, answer, within, actions) {
  const shown = element("div", {});
  const run = button(say`Search within ${within.label}`, async () => {
    run.disabled = true;
    const found = actions.onsearch?.(answer.question || turn.question, within.filters).finally(() => (run.disabled = false));
    const results = (await found) ?? [];
    shown.replaceChildren(
      results.length
        ? element(
            "ul",
            { class: "nearest found" },
            results.map((result) =>
              element(
                "li",
                {},
                element(
                  "button",
                  { type: "button", class: "path link", dir: "auto", onclick: () => actions.onpassage?.(result) },
                  [result.page_title, ...result.heading_path].join(" › "),
                ),
                element("span", { class: "snippet", dir: "auto" }, plain(result.text, 160)),
              ),
            ),
          )
        : element("p", { class: "hint" }, say`Nothing in ${within.label} comes near it.`),
    );
  });
  return element("div", { class: "within" }, run, shown);
}
