// The book's tutor on the book's own site. One tag puts it there:
//   <script src="https://your.server/page/widget.js" data-book="BOOK_ID" defer></script>
// It lives in a shadow tree, so neither the site's styles nor the tutor's reach the other. Nothing but this file is loaded
// until a reader opens the panel.

const tag = document.currentScript;
const home = new URL(".", tag.src);
const settings = { book: null, key: null, label: "Ask the book", theme: null, ...tag.dataset };

class BookWidget extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot) return;
    this.attachShadow({ mode: "open" });
    this.follow();
    const observer = new MutationObserver(() => this.follow());
    for (const told of [document.documentElement, document.body])
      observer.observe(told, {
        attributes: true,
        attributeFilter: ["data-theme", "data-bs-theme", "class", "data-md-color-scheme"],
      });
    this.opener = Object.assign(document.createElement("button"), {
      type: "button",
      className: "opener",
      textContent: settings.label,
    });
    this.opener.setAttribute("aria-haspopup", "dialog");
    this.opener.addEventListener("click", () => this.open());
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(OPENER);
    this.shadowRoot.adoptedStyleSheets = [sheet];
    this.shadowRoot.append(this.opener);
  }

  // Light or dark as the site has it: Docusaurus says data-theme, MkDocs data-bs-theme, Material for MkDocs data-md-color-scheme,
  // mdBook a class.
  follow() {
    const root = document.documentElement;
    const said =
      settings.theme ??
      root.dataset.theme ??
      root.dataset.bsTheme ??
      { slate: "dark", default: "light" }[document.body.dataset.mdColorScheme] ??
      (/\b(coal|navy|ayu)\b/.test(root.className) ? "dark" : /\b(light|rust)\b/.test(root.className) ? "light" : null);
    this.style.colorScheme = said === "dark" || said === "light" ? said : "light dark";
  }

  async open() {
    this.panel ??= await this.build();
    this.panel.show();
    this.opener.setAttribute("aria-expanded", "true");
  }

  async build() {
    this.opener.disabled = true;
    try {
      const [{ WidgetPanel }, ...sheets] = await Promise.all([
        import(new URL("widget-panel.js", home)),
        ...["reading.css", "widget.css"].map(styles),
      ]);
      this.shadowRoot.adoptedStyleSheets.push(...sheets);
      const panel = new WidgetPanel(
        home.origin,
        settings,
        () => (this.opener.setAttribute("aria-expanded", "false"), this.opener.focus()),
      );
      this.shadowRoot.append(panel);
      return panel;
    } finally {
      this.opener.disabled = false;
    }
  }
}

async function styles(name) {
  const sheet = new CSSStyleSheet();
  return sheet.replace(await (await fetch(new URL(name, home))).text());
}

const OPENER = `
  :host { all: initial; color-scheme: light dark; }
  .opener { position: fixed; z-index: 2147483000; inset: auto 20px 20px auto; padding: 11.2px 17.6px; border: 0; border-radius: 99px; cursor: pointer; font: 600 15px system-ui, sans-serif; color: light-dark(#fdfcf9, #171614); background: light-dark(#0d6757, #74cbb5); box-shadow: 0 6px 24px rgb(0 0 0 / 0.2); }
  .opener:focus-visible { outline: 2px solid light-dark(#0d6757, #74cbb5); outline-offset: 3px; }
  .opener[aria-expanded="true"] { visibility: hidden; }
`;

if (!customElements.get("bythebook-widget")) customElements.define("bythebook-widget", BookWidget);
const place = () => document.body.append(document.createElement("bythebook-widget"));
if (document.body) place();
else addEventListener("DOMContentLoaded", place);
