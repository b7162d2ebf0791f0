// The book's tutor on the book's own site. One tag puts it there:
//   <script src="https://your.server/page/widget.js" data-book="BOOK_ID" defer></script>
// Where a site generator's tag can carry no attributes, the address can: widget.js?book=BOOK_ID.
// It lives in a shadow tree, so neither the site's styles nor the tutor's reach the other. Nothing but this file is loaded
// until a reader opens the panel.

const tag = /** @type {HTMLScriptElement} */ (document.currentScript);
const home = new URL(".", tag.src);
const asked = Object.fromEntries(new URL(tag.src).searchParams);
/** What is said before the panel is there, in each language that the server knows. @type {Record<string, string[]>} */
const WORDS = {};
const ENGLISH = ["Ask the book", "Ask about this", "The tutor does not answer just now. Try again in a moment."];
const settings = { book: null, key: null, label: null, theme: null, dock: null, language: null, ...asked, ...tag.dataset };
const DOCKED = "(min-width: 1200px)";

// Whether the panel is open, and its thread: from page to page of this site, in this tab.
const NAME = `bythebook.widget.${settings.book ?? ""}`;
const state = {
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(NAME) ?? "{}") ?? {};
    } catch {
      return {};
    }
  },
  /** @param {object} values */
  write(values) {
    try {
      sessionStorage.setItem(NAME, JSON.stringify({ ...state.read(), ...values }));
    } catch {
      // A browser may forbid to keep anything: then each page begins anew.
    }
  },
};

// In the language that was asked for, or the book's. That is known once a panel was opened in this tab; until then, the site's.
function words() {
  const language = settings.language ?? state.read().language ?? document.documentElement.lang;
  return WORDS[language.toLowerCase().split(/[-_]/)[0]] ?? ENGLISH;
}

class BookWidget extends HTMLElement {
  /** @type {ShadowRoot} */ shadow;
  /** @type {HTMLButtonElement} */ opener;
  /** @type {HTMLButtonElement} */ about;
  /** @type {Promise<import("./widget-panel.js").WidgetPanel> | null} */ building;
  /** @type {import("./widget-panel.js").WidgetPanel | undefined} */ panel;

  connectedCallback() {
    if (this.shadow) return;
    this.shadow = this.attachShadow({ mode: "open" });
    this.follow();
    const observer = new MutationObserver(() => this.follow());
    for (const told of [document.documentElement, document.body])
      observer.observe(told, {
        attributes: true,
        attributeFilter: ["data-theme", "data-bs-theme", "class", "data-md-color-scheme"],
      });
    this.opener = Object.assign(document.createElement("button"), { type: "button", className: "opener" });
    this.opener.setAttribute("aria-haspopup", "dialog");
    this.opener.addEventListener("click", () => this.open());
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(OPENER);
    this.shadow.adoptedStyleSheets = [sheet];
    this.shadow.append(this.opener);
    this.offer();
    this.speak();
    if (state.read().open) this.open({ focus: false });
  }

  speak() {
    const [ask, about] = words();
    this.opener.textContent = settings.label ?? ask;
    this.about.textContent = about;
  }

  // Words that are selected on the site can be asked about.
  offer() {
    const about = Object.assign(document.createElement("button"), { type: "button", className: "about-this", hidden: true });
    this.about = about;
    about.addEventListener("pointerdown", (event) => event.preventDefault()); // the selection stays
    about.addEventListener("click", async () => {
      const text = selectedText();
      about.hidden = true;
      await this.open();
      this.panel?.askAbout(text);
    });
    this.shadow.append(about);
    const draw = () => {
      about.hidden = !selectedText();
      if (about.hidden) return;
      const box = document.getSelection()?.getRangeAt(0).getBoundingClientRect();
      if (!box) return;
      const byTouch = matchMedia("(pointer: coarse)").matches; // then the system's own menu stands above the words
      const top = box.top > 56 && !byTouch ? box.top - 44 : Math.min(box.bottom + (byTouch ? 32 : 8), innerHeight - (byTouch ? 120 : 52));
      about.style.setProperty("left", `${Math.max(8, Math.min(innerWidth - 150, box.left))}px`);
      about.style.setProperty("top", `${Math.max(8, top)}px`);
    };
    // By keyboard: from the words to the button, and back to the words.
    document.addEventListener("keydown", (event) => {
      if (about.hidden || event.shiftKey || document.activeElement === this) return;
      if (event.key === "Tab") event.preventDefault(), about.focus();
      else if (event.key === "Escape") about.hidden = true;
    });
    // A phone tells neither the end of a long press nor that of a drag of the handles: the words rest, and nothing is held down.
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let waiting;
    let held = false;
    const rest = (/** @type {number} */ milliseconds) => (clearTimeout(waiting), (waiting = setTimeout(draw, milliseconds)));
    document.addEventListener("pointerdown", (event) => (held = event.target !== this));
    for (const name of ["pointerup", "pointercancel", "keyup", "touchend"])
      document.addEventListener(name, () => ((held = false), rest(0)));
    document.addEventListener("selectionchange", () => {
      if (!selectedText()) clearTimeout(waiting), (about.hidden = true);
      else if (!held) rest(250);
    });
  }

  // Light or dark as the site has it: Docusaurus says data-theme, MkDocs data-bs-theme, Material for MkDocs data-md-color-scheme,
  // mdBook a class.
  follow() {
    const root = document.documentElement;
    const said =
      settings.theme ??
      root.dataset.theme ??
      root.dataset.bsTheme ??
      { slate: "dark", default: "light" }[document.body.dataset.mdColorScheme ?? ""] ??
      (/\b(coal|navy|ayu)\b/.test(root.className) ? "dark" : /\b(light|rust)\b/.test(root.className) ? "light" : null);
    this.style.colorScheme = said === "dark" || said === "light" ? said : "light dark";
  }

  async open({ focus = true } = {}) {
    this.shadow.querySelector(".away")?.remove();
    try {
      this.building ??= this.build(); // once, however it is opened meanwhile
      this.panel = await this.building;
    } catch {
      this.building = null;
      return this.away();
    }
    this.panel.show({ focus });
    this.opener.setAttribute("aria-expanded", "true");
    this.dock(true);
  }

  // With `dock` the site makes room for the panel on a wide screen, and both can be read.
  /** @param {boolean} open */
  dock(open) {
    if (settings.dock !== null && matchMedia(DOCKED).matches)
      document.documentElement.style.setProperty("padding-inline-end", open ? "430px" : "0");
    this.panel?.classList.toggle("docked", settings.dock !== null);
  }

  away() {
    const told = Object.assign(document.createElement("p"), { className: "away" });
    told.setAttribute("role", "alert");
    told.textContent = words()[2];
    this.shadow.append(told);
  }

  async build() {
    this.opener.disabled = true;
    try {
      const [{ makePanel }, ...sheets] = await Promise.all([
        import(new URL("widget-panel.js", home).href),
        ...["reading.css", "widget.css"].map(styles),
      ]);
      this.shadow.adoptedStyleSheets.push(...sheets);
      const panel = await makePanel(
        home.origin,
        settings,
        state,
        () => (this.opener.setAttribute("aria-expanded", "false"), this.dock(false), this.opener.focus()),
      );
      this.shadow.append(panel);
      this.speak();
      panel.resume();
      return panel;
    } finally {
      this.opener.disabled = false;
    }
  }
}

// What the reader has selected of the page's text, each block in a line of its own; nothing of its menus and forms.
function selectedText() {
  const selection = document.getSelection();
  if (!selection?.rangeCount || selection.isCollapsed) return "";
  // Who selects a whole paragraph selects up to the first letter of what follows it, which may be a menu.
  const { startContainer: first, endContainer, endOffset } = selection.getRangeAt(0);
  const ends = [first, endOffset ? endContainer : first].map((node) => (node instanceof Element ? node : node.parentElement));
  if (ends.some((one) => !one || one.closest("nav, header, footer, form, input, textarea, bythebook-widget"))) return "";
  const lines = selection.toString().split("\n").map((line) => line.replace(/\s+/g, " ").trim());
  const text = lines.filter(Boolean).join("\n");
  return text.length < 2 ? "" : text;
}

/** @param {string} name */
async function styles(name) {
  const sheet = new CSSStyleSheet();
  const response = await fetch(new URL(name, home));
  if (!response.ok) throw new Error(name);
  return sheet.replace(await response.text());
}

const OPENER = `
  :host { all: initial; color-scheme: light dark; }
  .opener { position: fixed; z-index: 2147483000; inset: auto 20px 20px auto; padding: 11.2px 17.6px; border: 0; border-radius: 99px; cursor: pointer; font: 600 15px system-ui, sans-serif; color: light-dark(#fdfcf9, #171614); background: light-dark(#0d6757, #74cbb5); box-shadow: 0 6px 24px rgb(0 0 0 / 0.2); }
  .about-this { position: fixed; z-index: 2147483000; padding: 8px 14px; border: 1px solid light-dark(#e5e0d6, #35322c); border-radius: 10px; cursor: pointer; font: 600 14px system-ui, sans-serif; color: light-dark(#0d6757, #74cbb5); background: light-dark(#ffffff, #201e1b); box-shadow: 0 6px 20px rgb(0 0 0 / 0.16); }
  .about-this[hidden] { display: none; }
  .about-this:focus-visible, .opener:focus-visible { outline: 2px solid light-dark(#0d6757, #74cbb5); outline-offset: 3px; }
  .opener[aria-expanded="true"] { visibility: hidden; }
  .away { position: fixed; z-index: 2147483000; inset: auto 20px 72px auto; max-width: 300px; margin: 0; padding: 10px 14px; border-radius: 10px; font: 14px/1.4 system-ui, sans-serif; color: light-dark(#23211d, #ebe6dc); background: light-dark(#fdf0b5, #51450f); }
`;

if (!customElements.get("bythebook-widget")) customElements.define("bythebook-widget", BookWidget);
const place = () => document.body.append(document.createElement("bythebook-widget"));
if (document.body) place();
else addEventListener("DOMContentLoaded", place);
