// The calibration of a book as a picture.

import { shape } from "./dom.js";
import { say, word } from "./words.js";

// Score of the signals against relevance, with the levels that answers are called by.
/** @param {Calibration} calibration */
export function curve({ anchors }) {
  const [width, height, left, bottom] = [640, 260, 44, 34];
  const [low, high] = [anchors[0][0], anchors[anchors.length - 1][0]];
  const x = (/** @type {number} */ score) => left + ((score - low) / (high - low)) * (width - left - 90);
  const y = (/** @type {number} */ level) => 12 + (1 - level) * (height - bottom - 12);
  /** @type {[number, string][]} */
  const levels = [
    [0.6, word("low")],
    [0.75, word("medium")],
    [0.85, word("high")],
  ];
  return shape(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "curve",
      role: "img",
      "aria-label": say`Calibration curve: ${anchors.map(([score, level]) => say`score ${score.toFixed(1)} is relevance ${level}`).join(", ")}`,
    },
    ...levels.flatMap(([level, name]) => [
      shape("line", { x1: left, x2: width - 84, y1: y(level), y2: y(level), class: "grid" }),
      shape("text", { x: width - 78, y: y(level) + 4 }, `${name} ${level}`),
    ]),
    shape("line", { x1: left, x2: width - 84, y1: y(0), y2: y(0), class: "axis" }),
    shape("polyline", { points: anchors.map(([score, level]) => `${x(score)},${y(level)}`).join(" "), class: "line" }),
    ...anchors.map(([score, level]) => shape("circle", { cx: x(score), cy: y(level), r: 3.5 })),
    shape("text", { x: left, y: height - 10 }, low.toFixed(1)),
    shape("text", { x: width - 84, y: height - 10, "text-anchor": "end" }, say`${high.toFixed(1)} score`),
    shape("text", { x: 6, y: y(1) + 4 }, "1.0"),
    shape("text", { x: 6, y: y(0) + 4 }, "0.0"),
  );
}
