// The chapters of a book: those that its author has numbered, and where there are none its folders.

import { say } from "./words.js";

const INDEX = /(?:^|\/)(?:_?index|readme)\.\w+$/i;

/** @param {Book} book */
export function lessonsOf(book) {
  return book.modules.flatMap((module) => module.chapters.flatMap((chapter) => chapter.lessons));
}

// Each is {label, title, lessons, query}: `label` is a chapter's number, `query` is what names it in an address.
/** @param {BookModule} module @returns {ShownChapter[]} */
export function chaptersOf({ module, chapters }) {
  return chapters.flatMap((chapter) =>
    chapter.chapter
      ? [
          {
            label: String(chapter.chapter),
            title: chapter.title || say`Chapter ${chapter.chapter}`,
            lessons: chapter.lessons,
            query: { module, chapter: String(chapter.chapter) },
          },
        ]
      : foldersOf(module, chapter.lessons),
  );
}

// The chapters of a module and its lessons that are in none, in the order in which they are read.
/** @param {BookModule} module @returns {(ShownChapter | Lesson)[]} */
export function entriesOf(module) {
  const inside = new Map(chaptersOf(module).flatMap((chapter) => chapter.lessons.map((lesson) => [lesson, chapter])));
  const lessons = module.chapters.flatMap((chapter) => chapter.lessons);
  return [...new Set(lessons.map((lesson) => inside.get(lesson) ?? lesson))];
}

/** @param {Book} book @param {string} file */
export function chapterAround(book, file) {
  return book.modules.flatMap(chaptersOf).find((chapter) => chapter.lessons.some((lesson) => lesson.source_file === file));
}

// `query` is that of an address.
/** @param {Book} book @param {URLSearchParams} query */
export function chapterNamed(book, query) {
  return book.modules
    .flatMap(chaptersOf)
    .find((chapter) => Object.entries(chapter.query).every(([name, value]) => query.get(name) === value));
}

// A folder with one lesson is no chapter, and one that holds them all tells nothing.
/** @param {string} module @param {Lesson[]} lessons @returns {ShownChapter[]} */
function foldersOf(module, lessons) {
  const paths = lessons.map((lesson) => lesson.source_file.split("/").slice(0, -1));
  const shared = paths.reduce((common, path) => common.filter((part, at) => path[at] === part), paths[0] ?? []).length;
  const folders = new Map();
  lessons.forEach((lesson, at) => {
    const folder = paths[at].slice(0, shared + 1).join("/");
    if (paths[at].length > shared) folders.set(folder, [...(folders.get(folder) ?? []), lesson]);
  });
  return [...folders]
    .filter(([, inside]) => inside.length > 1)
    .map(([folder, inside]) => ({ label: "", title: titleOf(folder, inside), lessons: inside, query: { module, folder } }));
}

// The title of the folder's own page, or else its name in words.
/** @param {string} folder @param {Lesson[]} lessons */
function titleOf(folder, lessons) {
  const own = lessons.find((lesson) => INDEX.test(lesson.source_file) && lesson.source_file.startsWith(`${folder}/`));
  const depth = own && own.source_file.split("/").length === folder.split("/").length + 1;
  const words = (folder.split("/").at(-1) ?? "").replace(/^[\d._-]+|[_-]+/g, (_, at) => (at ? " " : ""));
  return depth ? own.title : words.charAt(0).toUpperCase() + words.slice(1);
}
