// A long thread comes in parts, the latest first. What a reader looks at stays where it is when older turns come above it.

import { announce, button, element, plural, toast } from "./dom.js";
import { say } from "./words.js";

// The button for what comes before `thread.turns`, if anything does. `past` makes a turn's element.
/** @param {StoredThread} thread @param {Api} api @param {(turn: StoredTurn) => HTMLElement} past @returns {HTMLElement[]} */
export function earlier(thread, api, past) {
  const count = (thread.turns[0]?.number ?? 1) - 1;
  if (count < 1) return [];
  const shown = button(
    say`Show earlier questions (${count})`,
    async () => {
      shown.disabled = true;
      try {
        const older = await api.get(`/threads/${thread.thread_id}?render=true&before=${count + 1}`);
        put(shown, earlier(older, api, past)[0] ?? beginning(), older.turns.map(past));
      } catch (/** @type {any} */ problem) {
        shown.disabled = false;
        toast(problem.message);
      }
    },
    { class: "earlier" },
  );
  return [shown];
}

function beginning() {
  return element("p", { class: "hint beginning", tabindex: "-1" }, "The thread begins here.");
}

/** @param {HTMLElement} shown @param {HTMLElement} next @param {HTMLElement[]} turns */
function put(shown, next, turns) {
  const first = /** @type {Element} */ (shown.nextElementSibling);
  const height = first.getBoundingClientRect().top;
  shown.replaceWith(next, ...turns);
  scrollBy({ top: first.getBoundingClientRect().top - height, behavior: "instant" });
  next.focus({ preventScroll: true });
  announce(say`${plural(turns.length, "earlier question")} shown above.`);
}
