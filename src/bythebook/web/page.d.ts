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
  source_url: string;
  parent_doc_id: string;
  title: string;
  warnings: BookWarning[];
}

interface Chapter {
  chapter: number;
  title: string;
  lessons: Lesson[];
}

interface BookModule {
  module: string;
  chapters: Chapter[];
}

/** When a book was ingested. */
interface BookVersion {
  last_full_ingest: string | null;
  last_incremental_update: string | null;
}

interface Book extends BookVersion {
  book_id: string;
  title: string;
  language: string;
  modules: BookModule[];
  index: { embedder: string };
  filters: {
    modules: string[];
    chapters: number[];
    hardware_tiers: number[];
    proficiency_levels: string[];
    layers: string[];
  };
}

/** A book as the list of books has it. */
interface BookEntry extends BookVersion {
  book_id: string;
  title: string;
  language: string;
  lessons: number;
  total_chunks: number;
}

/** A chapter as the page shows it: numbered by its author, or a folder. `query` names it in an address. */
interface ShownChapter {
  label: string;
  title: string;
  lessons: Lesson[];
  query: Record<string, string>;
}

/** What the reader searches in: nothing is no filter. */
interface Profile {
  module?: string | null;
  chapterMin?: number | null;
  chapterMax?: number | null;
  tier?: number | null;
  levels?: string[];
  layer?: string | null;
}

/** Where something stands in the book, and for whom it is. */
interface Section {
  page_title: string;
  heading_path: string[];
  source_url: string;
  module: string;
  chapter: number;
  hardware_tier: number;
  proficiency_level: string;
  layer: string;
}

interface SearchResult extends Section {
  id: string;
  rank: number;
  text: string;
  source_file: string;
  section_title: string;
  chapter_title: string;
}

/** A chunk, rendered. */
interface Passage {
  book_id: string;
  parent_doc_id: string;
  source_file: string;
  source_url: string;
  prev_chunk_id: string | null;
  next_chunk_id: string | null;
  html: string;
}

/** A whole lesson, rendered. */
interface LessonText {
  parent_doc_id: string;
  source_file: string;
  source_url: string;
  page_title: string;
  chapter: string;
  html: string;
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

interface Confidence {
  confidence_level: Level;
  average_similarity: number;
}

type Level = "high" | "medium" | "low" | "insufficient";

interface Answer {
  book_id: string;
  answer: string;
  query: string;
  question: string;
  refused: boolean;
  reason: string | null;
  disclaimer: string;
  sentences: Sentence[];
  nearest: Section[];
  confidence: Confidence;
  books?: AskedBook[];
}

interface AskedBook {
  book_id: string;
  title: string;
  answers: boolean;
}

interface Rating {
  right: boolean;
  reason: string;
}

interface StoredTurn {
  number: number;
  answer: Answer;
  html: string[];
  stale_since: string | null;
  rating: Rating | null;
  shared: boolean;
}

interface Thread {
  thread_id: string;
  book_id: string;
  title: string | null;
  topic_summary: string | null;
  turn_count: number;
  updated_at: string;
  /** A new title that is on its way. */ renaming?: Promise<Response>;
}

interface StoredThread extends Thread {
  turns: StoredTurn[];
}

/** A source of an answer: a citation with all quotes that share its number. */
type Source = Pick<Citation, "label" | "chunk_id" | "page_title" | "chapter" | "section" | "source_url"> & { quotes: Quote[] };

type Quote = Pick<Citation, "quote" | "span" | "where" | "place" | "chunk_id"> & { html?: string | null; code?: boolean };

/** Words of the book that a question is about, and where they stand. */
interface SelectedWords {
  text: string;
  source_file?: string;
  page_url?: string;
}

/** What goes with a question; `events` and `controller` are those of a turn that has begun. */
interface Given {
  selection?: SelectedWords;
  events?: AsyncGenerator<Message, void>;
  controller?: AbortController;
}

/** A question to learn by; `box` and `due` once the reader has seen it. */
interface Card {
  id: string;
  question: string;
  html: string;
  answer_html?: string | null;
  page_title: string;
  source_file: string;
  box?: number;
  due?: number;
}

interface Note {
  id: string;
  file: string;
  text: string;
  nth: number;
  words: string;
  at: string;
}

/** Where the reader stopped. */
interface Place {
  file: string;
  title: string;
  block: number;
  share: number;
}

interface Job {
  job_id: string;
  mode: string;
  status: "queued" | "running" | "completed" | "failed";
  files_total: number;
  files_processed: number;
  chunks_created: number;
  chunks_deleted: number;
  duration_seconds: number | null;
  queued_at: string;
  completed_at: string | null;
  error_message: string | null;
  progress?: { stage: string } | null;
  failed_files?: { source_file: string; reason: string }[] | null;
  report?: { warnings?: BookWarning[] } | null;
}

interface AskedQuestion {
  question: string;
  ended: string;
  times: number;
}

/** Questions that the book does not answer, and the section that is nearest to them. */
interface Gap {
  module: string;
  chapter: number;
  source_url: string;
  page_title: string;
  section: string;
  questions: AskedQuestion[];
}

interface WrongAnswer {
  question: string;
  answer: string;
  refused: boolean;
  reason: string;
  rated_at: string;
}

interface Calibration {
  anchors: [number, number][];
  names: string[];
  coefficients: number[];
  answerable: number;
  unanswerable: number;
  auc: number;
  balanced_accuracy: number;
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

type Api = import("./page/api.js").Api;
type BookAnswer = import("./page/answer.js").BookAnswer;

/** What `element` appends: text, elements, lists of them, and nothing where there is nothing to show. */
type Child = string | number | Node | false | null | undefined | Child[];

/** What can be clicked, dropped in a form, and so on: attributes, listeners and the properties that are none. */
interface Properties {
  [listener: `on${string}`]: ((event: any) => unknown) | null | false | undefined;
  [name: string]: any;
}

interface Room {
  api: Api;
  book: Book;
}

type OpenSource = (turn: BookAnswer, label: number, citation: Citation) => unknown;
type BookConversation = import("./page/conversation.js").BookConversation;
type FetchPassage = (chunkId: string, spans: Span[]) => Promise<Passage>;

/** What a reader can do with a turn; which of it there is depends on where the turn stands. */
interface TurnActions {
  onsource: OpenSource;
  onwiden?(profile: Profile, text: string): unknown;
  book?: Book;
  widenLabel?: string;
  onsearch?(text: string, filters: object): Promise<SearchResult[]>;
  oncontents?: (() => unknown) | null;
  onlesson?(section: Section): (() => unknown) | undefined;
  onpassage?(result: SearchResult): unknown;
}

interface HTMLElementTagNameMap {
  "book-answer": import("./page/answer.js").BookAnswer;
  "book-conversation": BookConversation;
  "reader-profile": import("./page/profile.js").ReaderProfile;
  "source-list": import("./page/source-list.js").SourceList;
  "source-panel": import("./page/panel.js").SourcePanel;
}

/** What can stand in the page's main part. */
type View = HTMLElement & { book?: Book; ask?(question: string): unknown; beginQuestion?(): void };

interface DocumentEventMap {
  /** The reader has chosen what is searched. */ profile: CustomEvent<Profile>;
}

/** All that the page looks for is HTML. */
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
