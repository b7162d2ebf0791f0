// Talks to the server: JSON, server-sent events, the key, and errors as one sentence a reader can act on.

import { say, word } from "./words.js";

export class Problem extends Error {
  /** @type {number} */ status;
  /** @type {string | undefined} */ code;
  /** @type {string | undefined} */ requestId;
  /** How many seconds until it may be tried again. @type {number} */ wait;

  /** @param {number} status @param {ProblemBody} body */
  constructor(status, { detail, title, code, request_id: requestId, wait = 0 } = {}) {
    super(detail || title || "The server answered in a way this page does not understand. Try again.");
    Object.assign(this, { status, code, requestId, wait });
  }
}

export class Api {
  // `askForKey` is called when the server wants a key; it resolves to one, or to null when the reader gives none.
  /**
   * @param {string} base
   * @param {{
   *   key?: string | null,
   *   askForKey?: ((problem: Problem) => Promise<string | null>) | null,
   *   onreach?: (there: boolean) => void,
   * }} given
   */
  constructor(base = "", { key = null, askForKey = null, onreach = () => {} } = {}) {
    this.base = base.replace(/\/$/, "");
    this.key = key;
    this.askForKey = askForKey;
    this.onreach = onreach;
    this.sent = 0;
    this.lost = 0; // how many requests had been sent when one was last not answered
  }

  /** @param {string} path @param {Sending} [options] */
  async get(path, options) {
    return (await this.send("GET", path, undefined, options)).json();
  }

  /** @param {string} path @param {object | undefined} body @param {Sending} [options] */
  async post(path, body, options) {
    return (await this.send("POST", path, body, options)).json();
  }

  /** @param {string} method @param {string} path @param {object} [body] @param {Sending} options @returns {Promise<Response>} */
  async send(method, path, body, { signal, headers, keepalive } = {}) {
    const { key: used } = this;
    const response = await this.reach(method, path, body, { signal, headers, keepalive });
    if (response.ok) return response;
    if ((response.status === 401 || response.status === 403) && this.askForKey) {
      // Who has given another key since this was sent is not asked for one again.
      const key = this.key === used ? await this.askForKey(await problem(response)) : this.key;
      if (key) {
        this.key = key;
        return this.send(method, path, body, { signal, headers, keepalive });
      }
      throw new Problem(response.status, { detail: "This needs a key that allows it. Ask whoever runs this server for one." });
    }
    throw await problem(response);
  }

  /** @param {string} method @param {string} path @param {object | undefined} body @param {Sending} options */
  async reach(method, path, body, { signal, headers, keepalive }) {
    const sent = { ...headers };
    if (body !== undefined) sent["Content-Type"] = "application/json";
    if (this.key) sent.Authorization = `Bearer ${this.key}`;
    const reader = this.key && kept(READER);
    if (reader) sent["X-Reader"] = reader;
    const number = ++this.sent;
    try {
      const response = await fetch(this.base + path, {
        method,
        headers: sent,
        signal,
        keepalive,
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      // What was asked before the server was lost, and comes late, does not say that it is back.
      if (number > this.lost) this.onreach(true);
      const named = response.headers.get("X-Reader");
      if (named) keep(READER, named);
      return response;
    } catch (/** @type {any} */ error) {
      if (error.name === "AbortError") throw error;
      this.lose();
      throw new Problem(0, {
        code: "unreachable",
        detail: word(
          navigator.onLine === false
            ? "You are offline. Try again when you are back."
            : "The server does not answer. Try again in a moment.",
        ),
      });
    }
  }

  lose() {
    this.lost = this.sent;
    this.onreach(false);
  }

  /**
   * Yields messages until the server ends with `done` or `error`.
   * @param {string} method @param {string} path @param {object | undefined} body @param {Sending} options
   * @returns {AsyncGenerator<Message, void>}
   */
  async *events(method, path, body, { signal } = {}) {
    const response = await this.send(method, path, body, { signal, headers: { Accept: "text/event-stream" } });
    let ended = false;
    try {
      for await (const message of messages(/** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body))) {
        if (message.event === "error") throw new Problem(message.data.status ?? 500, message.data);
        ended = message.event === "done";
        yield message;
        if (ended) return;
      }
    } catch (/** @type {any} */ error) {
      if (error instanceof Problem || error.name === "AbortError") throw error;
      this.lose();
    }
    if (!ended)
      throw new Problem(0, { code: "unreachable", detail: "The connection was lost before the answer was complete. Ask again." });
  }
}

// With a public key the server gives each browser a name of its own, which its threads belong to.
const READER = "bythebook-reader";

/** @param {string} name */
function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a browser may forbid to keep anything
  }
}

/** @param {string} name @param {string} value */
function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The next visit is another reader's.
  }
}

/** @param {Response} response */
async function problem(response) {
  let body = {};
  try {
    body = await response.json();
  } catch {
    // No JSON: something between here and the server answered. The status is all there is to tell.
    body = { detail: say`The server answered with status ${response.status}. Try again in a moment.` };
  }
  const wait = Number(response.headers.get("Retry-After"));
  if (response.status !== 429 || !(wait > 0)) return new Problem(response.status, body);
  return new Problem(429, { ...body, wait, detail: say`That was a lot of questions. Try again in ${wait} seconds.` });
}

/** @param {ReadableStream<Uint8Array<ArrayBuffer>>} body @returns {AsyncGenerator<Message, void>} */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      held += value.replaceAll("\r\n", "\n");
      for (let end = held.indexOf("\n\n"); end >= 0; end = held.indexOf("\n\n")) {
        const message = parse(held.slice(0, end));
        held = held.slice(end + 2);
        if (message) yield message;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {string} block @returns {Message | null} */
function parse(block) {
  /** @type {Message} */
  const message = { event: "message", id: null, data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const [field, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    if (field === "data") message.data += (message.data && "\n") + value;
    else if (field === "event" || field === "id") message[field] = value;
  }
  if (!message.data && message.event === "message") return null;
  message.data = message.data ? JSON.parse(message.data) : {};
  return message;
}
