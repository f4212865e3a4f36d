// What every part of the page uses: making elements, units as in the text report,
// canvases, the tooltip, and the colours of the theme.
//
// All files of this folder become one script, in the order of page.go. Texts of the job
// (names of communicators, programs, call sites) are hostile: they become text nodes, never
// markup.

// served holds what only a page of `mpitrace view` can do: live.js sets start(root),
// pairs(from, to) and events(from, to). job is the index of the job that is shown.
const served = { job: 0 };

// h returns an element. Properties that begin with "on" are listeners, style is an object,
// others are attributes; null, undefined and false are left out. Strings and numbers become
// text.
const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

// svg does what h does, for SVG.
function svg(tag, properties, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (isMissing(value) || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : plain(value));
  }
  element.append(...children.flat(Infinity).filter((c) => !isMissing(c) && c !== false).map(plain));
  return element;
}

// plain returns a text in which control characters, and those that change the direction of
// writing, are shown as in the text report: \u202e. Other values stay.
function plain(value) {
  if (typeof value !== "string") return value;
  return value.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
}

// refill replaces what an element holds; children are as in h.
function refill(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

const isMissing = (value) => value === null || value === undefined;

// button returns a button. pressed is true or false if it stays pressed.
function button(text, onclick, { pressed, ...properties } = {}) {
  return h("button", { type: "button", onclick, "aria-pressed": pressed?.toString(), ...properties }, text);
}

// factLine returns short texts beside each other; those that are missing or false are left out.
const factLine = (facts) => h("p", { class: "facts" }, facts.filter(Boolean).map((f) => h("span", null, f)));

// legend returns names beside their colours, some of them hatched; null and false are left out.
function legend(items) {
  const style = (color) => ({ background: color.startsWith("--") ? `var(${color})` : color });
  return h("ul", { class: "legend" }, items.filter(Boolean).map(([name, color, hatched]) =>
    h("li", null, h("span", { class: hatched ? "swatch hatched" : "swatch", style: style(color) }), name)));
}

// Units. They give the same texts as package internal/text of the report.

const threeDigits = (v) => v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);

// count returns a number or BigInt in full, with commas.
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

// units, which page.go puts before this file, are those of package internal/text: what the script
// writes itself, it writes in the same way as Go.

// inUnit returns a value with three digits in the unit that fits.
function inUnit(name, value) {
  const v = Number(value), step = units[name].steps.find(({ below }) => !below || v < below);
  const scaled = v * step.times / step.per;
  const decimals = step.decimals < 0 ? (scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0) : step.decimals;
  return rounded(scaled, decimals) + step.name;
}

// rounded returns a number with some decimals. Halves become even, as in Go.
function rounded(v, decimals) {
  const scaled = v * 10 ** decimals, half = Number.isInteger(v * 2 ** (decimals + 1)) && Math.abs(scaled % 1) === 0.5;
  return half ? (2 * Math.round(scaled / 2) / 10 ** decimals).toFixed(decimals) : v.toFixed(decimals);
}

const bytes = (n) => inUnit("bytes", n);
const percent = (share) => inUnit("share", share);
const duration = (ns) => inUnit("ns", ns);

// number returns a whole number in full, and another with three digits.
function number(v) {
  if (Number.isInteger(v)) return count(v);
  return v < 999.5 ? threeDigits(v) : count(Math.round(v));
}

const plural = (n, noun) => n === 1 ? "1 " + noun : count(n) + " " + noun + (noun.endsWith("s") ? "es" : "s");

// roundStep returns the least of 1, 2, 5, 10, 20, … that is not below v.
function roundStep(v) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, v)));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= v - 1e-9);
}

const clamp = (v, least, most) => Math.max(least, Math.min(v, most));

// cssColor returns the value of a colour variable of the theme: cssColor("--ink"). Other
// colours stay what they are.
function cssColor(color) {
  return color.startsWith("--") ? getComputedStyle(document.documentElement).getPropertyValue(color).trim() : color;
}

// redraws are called after the theme or the paper changed.
const redraws = [];

// canvas returns a canvas that fills its parent's width and calls draw(context, width,
// height) in CSS pixels, at the screen's resolution: when it appears, when its size or
// the theme or the highlighted ranks change, and when its redraw() is called.
function canvas(properties, draw) {
  const element = h("canvas", properties);
  let asked = false;
  const paint = () => {
    asked = false;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(box.width * scale), height = Math.round(box.height * scale);
    if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
    const context = element.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    context.font = "11px system-ui, sans-serif";
    draw(context, box.width, box.height);
  };
  element.redraw = () => {
    if (!asked) requestAnimationFrame(paint);
    asked = true;
  };
  new ResizeObserver(element.redraw).observe(element);
  onHighlight(element.redraw);
  redraws.push(paint); // at once: a page is printed as soon as its listeners return
  return element;
}

// fillBox fills a rectangle of a canvas with a colour.
function fillBox(context, color, ...box) {
  context.fillStyle = cssColor(color);
  context.fillRect(...box);
}

function drawText(context, text, x, y, { color = "--faint", align = "left", baseline = "middle" } = {}) {
  Object.assign(context, { fillStyle: cssColor(color), textAlign: align, textBaseline: baseline });
  context.fillText(plain(text), x, y);
}

// choice returns a labelled <select>. options are [value, text] pairs.
function choice(label, options, value, onchange) {
  const list = h("select", { onchange: () => onchange(list.value) },
    options.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "choice" }, label + " ", list);
}

// The tooltip: one for the page. It is also announced by screen readers.
const tooltip = {
  element: null,
  show(x, y, ...content) {
    if (!this.element) document.body.append(this.element = h("div", { id: "tooltip", role: "status" }));
    this.element.replaceChildren(...content);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - width - 8 : x + 14;
    const top = y + 14 + height > innerHeight ? y - height - 8 : y + 14;
    Object.assign(this.element.style, { left: Math.max(0, left) + "px", top: Math.max(0, top) + "px" });
  },
  hide() {
    if (this.element) this.element.hidden = true;
  },
};

// inflate returns the JSON that an element holds: base64 of gzip.
async function inflate(element) {
  const packed = Uint8Array.from(atob(element.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// highlight is the set of ranks that the user wants to see in all charts: those of a
// finding or a selected line.
const highlight = { ranks: null, listeners: [] };

function setHighlight(ranks) {
  highlight.ranks = ranks && ranks.length ? new Set(ranks) : null;
  highlight.listeners.forEach((listener) => listener());
}

const onHighlight = (listener) => highlight.listeners.push(listener);

// toggled returns ranks, or null if they are highlighted already.
function toggled(list) {
  const now = highlight.ranks;
  return now && now.size === list.length && list.every((r) => now.has(r)) ? null : list;
}

const isMarked = (list) => highlight.ranks !== null && list.some((r) => highlight.ranks.has(r));
