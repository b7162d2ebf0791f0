// Spaced repetition by boxes: what was known waits longer each time, what was not comes again today. Kept in this browser.

import { keep, readKept } from "./reading.js";

const NAME = "bythebook.quiz.";
export const DAYS = [0, 1, 3, 7, 16, 35, 90];
const DAY_MS = 86_400_000;

// A card as it is kept: what is needed to show it again, its box, and when it is due.
export function rated(card, known, now) {
  const box = known ? Math.min((card.box ?? 0) + 1, DAYS.length - 1) : 0;
  return { ...card, box, due: now + DAYS[box] * DAY_MS };
}

export function dueCards(cards, now) {
  return Object.values(cards)
    .filter((card) => card.due <= now)
    .sort((one, other) => one.due - other.due);
}

export function readCards(bookId) {
  return readKept(NAME + bookId, {});
}

// Says whether it could be kept.
export function keepCard(bookId, card) {
  return keep(NAME + bookId, { ...readCards(bookId), [card.id]: card });
}

// What Anki reads: two fields and a tag, in quotation marks, with the quotes in HTML.
export function toCsv(cards, title) {
  const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const tag = title.replace(/\s+/g, "_");
  const rows = cards.map((card) =>
    [escaped(card.question), `${card.answer_html ?? ""}${card.html}<p>${escaped(card.page_title)}</p>`, tag].map(cell).join(","),
  );
  return ["#separator:Comma", "#html:true", "#columns:Front,Back,Tags", "#tags column:3", ...rows, ""].join("\n");
}
