// Spaced repetition by boxes: what was known waits longer each time, what was not comes again today. Kept in this browser.

import { keep, readKept } from "./reading.js";

const NAME = "bythebook.quiz.";
export const DAYS = [0, 1, 3, 7, 16, 35, 90];
const DAY_MS = 86_400_000;

// A card as it is kept: what is needed to show it again, its box, and when it is due.
/** @param {Card} card @param {boolean} known @param {number} now @returns {Card} */
export function rated(card, known, now) {
  const box = known ? Math.min((card.box ?? 0) + 1, DAYS.length - 1) : 0;
  return { ...card, box, due: now + DAYS[box] * DAY_MS };
}

/** @param {Record<string, Card>} cards @param {number} now */
export function dueCards(cards, now) {
  const due = (/** @type {Card} */ card) => card.due ?? 0;
  return Object.values(cards)
    .filter((card) => due(card) <= now)
    .sort((one, other) => due(one) - due(other));
}

/** @param {string} bookId @returns {Record<string, Card>} */
export function readCards(bookId) {
  return readKept(NAME + bookId, {});
}

// Says whether it could be kept.
/** @param {string} bookId @param {Card} card */
export function keepCard(bookId, card) {
  return keep(NAME + bookId, { ...readCards(bookId), [card.id]: card });
}

// What Anki reads: two fields and a tag, in quotation marks, with the quotes in HTML.
/** @param {Card[]} cards @param {string} title */
export function toCsv(cards, title) {
  const cell = (/** @type {string} */ text) => `"${String(text).replaceAll('"', '""')}"`;
  const escaped = (/** @type {string} */ text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const tag = title.replace(/\s+/g, "_");
  const rows = cards.map((card) =>
    [escaped(card.question), `${card.answer_html ?? ""}${card.html}<p>${escaped(card.page_title)}</p>`, tag].map(cell).join(","),
  );
  return ["#separator:Comma", "#html:true", "#columns:Front,Back,Tags", "#tags column:3", ...rows, ""].join("\n");
}
