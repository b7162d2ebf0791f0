// What a reader does with an answer: says whether it was right, shares it, takes either back.

import { announce, button, copyText, element, iconButton, toast } from "./dom.js";

/** Which button says that an answer was wrong. */
const WRONG = 1;

// `turn` is {threadId, number}; `state` is what the server knows: {rating, shared}.
/**
 * @param {Api} api
 * @param {{threadId: string | null, number: number}} turn
 * @param {{rating?: Rating | null, shared?: boolean}} state
 */
export function reactions(api, turn, { rating = null, shared = false } = {}) {
  const path = `/threads/${turn.threadId}/turns/${turn.number}`;
  const room = element("span", { class: "reactions" });
  // The focus stays where it is, though its button is another.
  const draw = () => {
    const focused = /** @type {Document | ShadowRoot} */ (room.getRootNode()).activeElement;
    const at = [...room.querySelectorAll("button")].findIndex((one) => one === focused);
    room.replaceChildren(...thumbs(), sharing());
    if (at >= 0) focus(at);
  };
  const focus = (/** @type {number} */ at) => {
    const buttons = room.querySelectorAll("button");
    buttons[Math.min(at, buttons.length - 1)].focus({ preventScroll: true });
  };

  // What was said last is what is kept: each waits for the one before it.
  let sent = Promise.resolve();
  const rate = (/** @type {boolean} */ right, reason = "") => {
    const said = (rating = rating?.right === right && !reason ? null : { right, reason });
    draw();
    sent = sent.then(() => send(said));
    return sent;
  };

  let kept = rating;
  const send = async (/** @type {Rating | null} */ said) => {
    try {
      if (said) await api.send("PUT", `${path}/rating`, said);
      else await api.send("DELETE", `${path}/rating`);
      kept = said;
      if (rating !== said) return; // the reader has said something else since
      announce(said ? "Thank you." : "Taken back.");
      if (said && !said.right && !said.reason) askWhy();
    } catch (/** @type {any} */ problem) {
      if (rating === said) rating = kept;
      draw();
      toast(problem.message);
    }
  };

  const thumbs = () =>
    /** @type {[boolean, string, "up" | "down"][]} */ ([
      [true, "This was right", "up"],
      [false, "This was wrong", "down"],
    ]).map(([right, label, picture]) =>
      iconButton(label, picture, () => rate(right), { "aria-pressed": String(rating?.right === right), class: "icon thumb" }),
    );

  const askWhy = () => {
    const input = element("input", {
      maxlength: 500,
      "aria-label": "What is wrong with it?",
      placeholder: "What is wrong with it?",
    });
    const form = element(
      "form",
      {
        class: "why",
        onsubmit: (event) => {
          event.preventDefault();
          if (input.value.trim()) rate(false, input.value.trim());
          form.replaceWith(element("p", { class: "hint" }, "Thank you. The author of the book will see it."));
          focus(WRONG);
        },
        onkeydown: (event) => {
          if (event.key !== "Escape") return;
          form.remove();
          focus(WRONG);
        },
      },
      input,
      element("button", {}, "Send"),
    );
    room.parentElement?.after(form);
    input.focus();
  };

  /** What is said of the link. @type {HTMLElement | undefined} */
  let told;
  const share = async () => {
    try {
      const { path: link } = await api.post(`${path}/share`, undefined);
      shared = true;
      draw();
      told?.remove();
      const address = new URL(link, location.href).href;
      await copyText(address);
      told = toast("Link copied. Anyone who may read this book can open it; it shows only this answer.");
    } catch (/** @type {any} */ problem) {
      toast(problem.message);
    }
  };

  const revoke = async () => {
    try {
      await api.send("DELETE", `${path}/share`);
      shared = false;
      draw();
      told?.remove(); // both at once would say that it opens and that it does not
      told = toast("The link no longer works.");
    } catch (/** @type {any} */ problem) {
      toast(problem.message);
    }
  };

  const sharing = () =>
    shared
      ? element(
          "span",
          {},
          button("Copy a new link", share, { class: "quiet" }),
          button("Revoke the link", revoke, { class: "quiet" }),
        )
      : iconButton("Share this answer", "share", share);

  draw();
  return room;
}
