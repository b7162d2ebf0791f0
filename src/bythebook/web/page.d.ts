// What the server sends to the page, and what its elements are: for the check of types (`make check`) and for editors. No browser loads it.

interface Span {
  start: number;
  end: number;
}

interface BookWarning {
  source_file: string;
  line: number;
  field: string;
  message: string;
}

interface Lesson {
  source_file: string;
  parent_doc_id: string;
  title: string;
}

interface Chapter {
  chapter: number;
  title: string;
  lessons: Lesson[];
}

interface Book {
  book_id: string;
  title: string;
  language: string;
  modules: { module: string; title?: string; chapters: Chapter[] }[];
}

/** A book as the list of books has it. */
interface BookEntry {
  book_id: string;
  title: string;
  language: string;
  lessons: number;
}

interface Citation {
  label: number;
  chunk_id: string;
  page_title: string;
  chapter: string;
  section: string;
  source_file: string;
  source_url: string;
  quote: string;
  span: Span;
  where: string;
  place: { kind: string; number: number } | null;
}

interface Sentence {
  text: string;
  kind: string;
  citations: Citation[];
  html?: string;
}

type Level = "high" | "medium" | "low" | "insufficient";

interface Answer {
  answer: string;
  query: string;
  question: string;
  refused: boolean;
  reason: string | null;
  disclaimer: string;
  sentences: Sentence[];
  confidence: { confidence_level: Level; average_similarity: number };
  books?: { book_id: string; title: string; answers: boolean }[];
}

/** A source of an answer: a citation with all quotes that share its number. */
type Source = Citation & { quotes: (Pick<Citation, "quote" | "span" | "where" | "place" | "chunk_id"> & { html: string | null })[] };

/** Words of the book that a question is about, and where they stand. */
interface SelectedWords {
  text: string;
  file?: string;
  page_url?: string;
}

/** What goes with a question; `events` and `controller` are those of a turn that has begun. */
interface Given {
  selection?: SelectedWords;
  events?: AsyncGenerator<Message, void>;
  controller?: AbortController;
}

/** One server-sent event. */
interface Message {
  event: string;
  id: string | null;
  data: any;
}

interface ProblemBody {
  detail?: string;
  title?: string;
  code?: string;
  request_id?: string;
  wait?: number;
}

interface Sending {
  signal?: AbortSignal;
  headers?: Record<string, string>;
  keepalive?: boolean;
}

interface Room {
  api: import("./page/api.js").Api;
  book: Book;
}

/** What a reader can do with a turn; which of it there is depends on where the turn stands. */
interface TurnActions {
  onsource(turn: import("./page/answer.js").BookAnswer, label: number, citation: Citation): void;
  onwiden?(profile: object, text: string): void;
  book?: Book;
  widenLabel?: string;
  onsearch?(text: string, filters: object): Promise<any[]>;
  oncontents?: (() => void) | null;
  onlesson?(section: any): (() => void) | undefined;
  onpassage?(result: any): void;
}

interface HTMLElementTagNameMap {
  "book-answer": import("./page/answer.js").BookAnswer;
  "book-conversation": import("./page/conversation.js").BookConversation;
  "reader-profile": import("./page/profile.js").ReaderProfile;
  "source-list": import("./page/source-list.js").SourceList;
  "source-panel": import("./page/panel.js").SourcePanel;
}

/** What can stand in the page's main part. */
type View = HTMLElement & { book?: Book; ask?(question: string): unknown };

/** All that the page looks for is HTML. */
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
