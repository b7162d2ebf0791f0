// A few words of Markdown as plain text, where there is no room for its rendering: marks go, formulas are spelled in letters.

/** @type {Record<string, string>} */ // prettier-ignore
const SIGNS = {
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", varepsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", lambda: "λ",
  mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ", varphi: "φ", chi: "χ", psi: "ψ", omega: "ω",
  Gamma: "Γ", Delta: "Δ", Theta: "Θ", Lambda: "Λ", Sigma: "Σ", Phi: "Φ", Psi: "Ψ", Omega: "Ω", nabla: "∇", partial: "∂",
  sum: "∑", prod: "∏", int: "∫", infty: "∞", cdot: "·", times: "×", pm: "±", leq: "≤", le: "≤", geq: "≥", ge: "≥", neq: "≠",
  approx: "≈", sim: "∼", in: "∈", leftarrow: "←", gets: "←", rightarrow: "→", to: "→", mid: "|", top: "⊤", ldots: "…",
  cdots: "…", log: "log", exp: "exp", max: "max", min: "min", sin: "sin", cos: "cos",
};
const FORMULA = /\$\$([^$]+)(?:\$\$|$)|\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)/g;

/** @param {string} markdown */
export function plain(markdown, longest = 240) {
  const text = markdown
    .replace(FORMULA, (_, block, inline) => spelled(block ?? inline))
    .replace(/^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/gm, "")
    .replace(/^[ \t]*\|(.+)\|[ \t]*$/gm, (_, row) => row.split("|").map((/** @type {string} */ cell) => cell.trim()).filter(Boolean).join(" · ") + ";")
    .replace(/!?\[([^\][]*)\]\([^()\s]*\)/g, "$1")
    .replace(/(?:\{[A-Za-z][\w:.-]*\}|(?<![\w:]):(?:cite\w*|label|eqlabel):)`[^`]*`/g, "")
    .replace(/```\w*[^\n]*\n?|\*\*|`|^\s*[-*]\s|^#+ .*$|^[/:]{3,}.*$|<\/?[a-z][^>]*>/gim, "")
    .replace(/(?<![\p{L}\p{N}*])\*(?=\S)([^*\n]+)\*/gu, "$1")
    .replace(/\\([\\`*_{}[\]()#+\-.!|<>~$])/g, "$1")
    .replace(/\s+/g, " ")
    .replace(/;\s*$/, "")
    .trim();
  return text.length > longest ? text.slice(0, text.lastIndexOf(" ", longest)) + " …" : text;
}

/** @param {string} formula */
function spelled(formula) {
  return formula
    .replace(/\\d?frac\{([^{}]*)\}\{([^{}]*)\}/g, "$1/$2")
    .replace(/\\([A-Za-z]+)/g, (_, name) => (SIGNS[name] ? `${SIGNS[name]} ` : ""))
    .replace(/\\[,;!: ]|[{}&]|\\\\/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
