// Pictures of the book's folder, fetched with the reader's key when they come near the screen. Until then, and where one cannot be
// had, their words stand there.

import { element } from "./dom.js";

export function showPictures(root, api, bookId) {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries)
        if (isIntersecting) {
          near.unobserve(target);
          fetchPicture(target, api, bookId);
        }
    },
    { rootMargin: "600px" },
  );
  for (const room of root.querySelectorAll("[data-picture]")) near.observe(room);
  return root;
}

async function fetchPicture(room, api, bookId) {
  try {
    const path = encodeURIComponent(room.dataset.picture);
    const response = await api.send("GET", `/page/pictures/${bookId}?path=${path}`);
    const address = URL.createObjectURL(await response.blob());
    const picture = element("img", { src: address, alt: room.dataset.words ?? "", onload: () => URL.revokeObjectURL(address) });
    room.replaceChildren(picture);
  } catch {
    // Its words are there already.
  }
}
