// Pictures of the book's folder, fetched with the reader's key when they come near the screen. Until then, and where one cannot be
// had, their words stand there.

import { button, element } from "./dom.js";
import { placeWords, say } from "./words.js";

/** @template {HTMLElement} T @param {T} root @param {Api} api @param {string} bookId */
export function showPictures(root, api, bookId) {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries)
        if (isIntersecting) {
          near.unobserve(target);
          fetchPicture(/** @type {HTMLElement} */ (target), api, bookId);
        }
    },
    { rootMargin: "600px" },
  );
  for (const room of root.querySelectorAll("[data-picture]")) near.observe(room);
  return root;
}

/** @param {HTMLElement} room @param {Api} api @param {string} bookId */
async function fetchPicture(room, api, bookId) {
  try {
    const path = encodeURIComponent(room.dataset.picture ?? "");
    const response = await api.send("GET", `/page/pictures/${bookId}?path=${path}`);
    const address = URL.createObjectURL(await response.blob());
    const picture = element("img", { src: address, alt: room.dataset.words ?? "", onload: () => URL.revokeObjectURL(address) });
    room.replaceChildren(picture);
  } catch {
    // Its words are there already.
  }
}

// The page of a PDF that these quotes stand on, with them marked, under a button: it shows what a reading cannot, such as formulas.
/** @param {Api} api @param {string} bookId @param {Quote[]} quotes */
export function scanButton(api, bookId, quotes) {
  const { chunk_id, where } = quotes[0];
  const spans = quotes.filter((one) => one.chunk_id === chunk_id).map(({ span }) => `quote=${span.start}-${span.end}`);
  const room = element("div", { class: "scan" });
  const show = button(say`Show ${placeWords(where)}`, async () => {
    try {
      const response = await api.send("GET", `/page/scans/${chunk_id}?book_id=${bookId}&${spans.join("&")}`);
      const address = URL.createObjectURL(await response.blob());
      room.replaceChildren(
        element("img", { src: address, alt: say`${placeWords(where)}, with the quotes marked`, onload: () => URL.revokeObjectURL(address) }),
      );
    } catch (/** @type {any} */ problem) {
      room.replaceChildren(element("p", { class: "failure" }, problem.message));
    }
  });
  room.append(show);
  return room;
}
