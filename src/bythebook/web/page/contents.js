// What is in the book, and how something of it is taken along.

import { element, plural } from "./dom.js";

// What a reader could ask about. Lessons open beside; a module is named by its own page where it has one.
export function contents(book, open) {
  const entry = (lesson) =>
    element("button", { type: "button", class: "link", dir: "auto", onclick: () => open(lesson) }, lesson.title);
  const modules = book.modules.map(({ module, chapters }) => {
    const own = chapters.filter((chapter) => !chapter.chapter).flatMap((chapter) => chapter.lessons);
    return element(
      "li",
      { class: "module" },
      own.length ? own.map((lesson) => element("p", {}, entry(lesson))) : element("p", {}, module || "Pages"),
      chapters
        .filter((chapter) => chapter.chapter)
        .map((chapter) =>
          element(
            "details",
            {},
            element(
              "summary",
              { dir: "auto" },
              element("span", { class: "count" }, chapter.chapter),
              chapter.title || `Chapter ${chapter.chapter}`,
            ),
            element(
              "ul",
              {},
              chapter.lessons.map((lesson) => element("li", {}, entry(lesson))),
            ),
          ),
        ),
    );
  });
  return element(
    "section",
    { class: "contents", "aria-labelledby": "contents-title" },
    element(
      "div",
      { class: "sources-top" },
      element("h2", { id: "contents-title" }, "In this book"),
      element("span", { class: "hint" }, `${plural(lessonsOf(book).length, "lesson")}, ${plural(book.total_chunks, "passage")}`),
    ),
    element("ul", {}, modules),
  );
}

export function lessonsOf(book) {
  return book.modules.flatMap((module) => module.chapters.flatMap((chapter) => chapter.lessons));
}

// The lesson whose address this is, whatever place in it is meant.
export function lessonAt(book, address) {
  const page = (url) => url.split("#")[0];
  return lessonsOf(book).find((lesson) => page(lesson.source_url) === page(address));
}

export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
