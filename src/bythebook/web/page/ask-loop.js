// Questions of one thread, asked one after the other. What is asked while an answer is on its way waits in line, in sight.

import { button, element } from "./dom.js";

export class AskLoop {
  /** @type {import("./answer.js").BookAnswer[]} */ waiting = [];
  /** Stops the turn that is on its way. @type {AbortController | null} */ running = null;

  /**
   * `body(question, given)` is what is sent; `place(turn)` puts a new turn on the page; `onend(turn, data)` is told when one was
   * answered or refused; `onthread(id)` when the thread has its id; `actions` are those of a turn.
   * @param {{
   *   api: import("./api.js").Api,
   *   composer: import("./composer.js").Composer,
   *   body: (question: string, given: Given) => object,
   *   place: (turn: import("./answer.js").BookAnswer) => void,
   *   actions: TurnActions,
   *   onthread?: (id: string) => void,
   *   onend?: (turn: import("./answer.js").BookAnswer, data: any) => void,
   * }} given
   */
  constructor({ api, composer, body, place, actions, onthread = () => {}, onend = () => {} }) {
    this.api = api;
    this.composer = composer;
    this.body = body;
    this.place = place;
    this.actions = actions;
    this.onthread = onthread;
    this.onend = onend;
  }

  // `given` goes with the question: the words that it is about; or the events of a turn that has begun, and what stops it.
  /** @param {string} text @param {Given} given */
  ask(text, given = {}) {
    const question = text.trim();
    if (!question) return null;
    const turn = element("book-answer").begin(question, this.actions);
    Object.assign(turn, { live: true, given });
    turn.about(given);
    this.place(turn);
    if (this.running) this.wait(turn);
    else this.run(turn);
    return turn;
  }

  /** @param {BookAnswer} turn */
  wait(turn) {
    turn.wait(
      button("Do not ask", () => {
        this.waiting = this.waiting.filter((one) => one !== turn);
        turn.remove();
      }),
    );
    this.waiting.push(turn);
  }

  /** @param {BookAnswer} turn */
  async run(turn) {
    const { events: begun, controller = new AbortController(), ...given } = turn.given ?? {};
    turn.given = given;
    this.running = controller;
    this.composer.setBusy(true);
    turn.search();
    try {
      const events =
        begun ?? this.api.events("POST", "/chat/stream", this.body(turn.question, given), { signal: controller.signal });
      for await (const message of events) {
        controller.signal.throwIfAborted(); // what came with the press of the button
        const ended = message.event === "answered" || message.event === "refused";
        if (ended) this.onthread(message.data.session_id);
        turn.take(message);
        if (ended) this.onend(turn, message.data);
      }
    } catch (/** @type {any} */ problem) {
      this.failed(turn, problem);
    } finally {
      this.running = null;
      this.composer.setBusy(false);
      const next = this.waiting.shift();
      if (next) this.run(next);
    }
  }

  /** @param {BookAnswer} turn @param {any} problem */
  failed(turn, problem) {
    if (!turn.isConnected && this.composer.element.isConnected) return; // a new thread was begun: the question went with the old
    if (problem.name === "AbortError") problem = { message: "Stopped. This question was not stored." };
    const again = () => {
      turn.remove();
      this.composer.takeBack(turn.question);
      this.ask(turn.question, turn.given);
    };
    this.composer.giveBack(turn.question);
    turn.fail(problem, [button("Ask again", again, { class: "again" })]);
    if (problem.wait) turn.countDown(problem.wait, again);
  }

  stop() {
    this.running?.abort();
  }

  // Nothing goes on where nobody reads.
  end() {
    this.waiting = [];
    this.stop();
  }
}
