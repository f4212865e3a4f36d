// What every part of the page uses: making elements, units as in the text report,
// canvases, the tooltip, and the colours of the theme.
//
// All files of this folder become one script, in the order of page.go. Texts of the job
// (names of communicators, programs, call sites) are hostile: they become text nodes, never
// markup.

// served holds what only a page of `mpitrace view` can do: live.js sets start(root),
// pairs(from, to) and events(from, to). job is the index of the job that is shown.
const served = { job: 0 };

// h returns an element. Properties that begin with "on" are listeners, others are
// attributes; null, undefined and false are left out. Strings and numbers become text.
function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

// svg does what h does, for SVG.
function svg(tag, properties, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

// Units. They give the same texts as package internal/text of the report.

function threeDigits(v) {
  return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
}

// count returns a number or BigInt in full, with commas.
function count(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

// bytes returns a number or BigInt of bytes with three digits and a binary prefix.
function bytes(n) {
  let v = Number(n);
  if (v < 1024) return v + " B";
  let unit = -1;
  while (v >= 999.5 && unit < 5) {
    v /= 1024;
    unit++;
  }
  return threeDigits(v) + " " + "KMGTPE"[unit] + "iB";
}

function percent(share) {
  return (100 * share).toFixed(1) + " %";
}

// duration returns ns with three digits in the unit that fits.
function duration(ns) {
  if (ns < 999.5) return Math.round(ns) + " ns";
  if (ns < 999.5e3) return threeDigits(ns / 1e3) + " µs";
  if (ns < 999.5e6) return threeDigits(ns / 1e6) + " ms";
  return threeDigits(ns / 1e9) + " s";
}

// number returns a whole number in full, and another with three digits.
function number(v) {
  if (Number.isInteger(v)) return count(v);
  return v < 999.5 ? threeDigits(v) : count(Math.round(v));
}

function plural(n, noun) {
  return n === 1 ? "1 " + noun : count(n) + " " + noun + (noun.endsWith("s") ? "es" : "s");
}

// cssColor returns the value of a colour variable of the theme: cssColor("--ink").
function cssColor(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

// redraws are called after the theme or the paper changed.
const redraws = [];

function redrawAll() {
  redraws.forEach((redraw) => redraw());
}

// canvas returns a canvas that fills its parent's width and calls draw(context, width,
// height) in CSS pixels, at the screen's resolution: when it appears, when its size or
// the theme changes, and when its redraw() is called.
function canvas(properties, draw) {
  const element = h("canvas", properties);
  let asked = false;
  const paint = () => {
    asked = false;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) return;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(box.width * scale), height = Math.round(box.height * scale);
    if (element.width !== width || element.height !== height) {
      element.width = width;
      element.height = height;
    }
    const context = element.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    draw(context, box.width, box.height);
  };
  element.redraw = () => {
    if (!asked) requestAnimationFrame(paint);
    asked = true;
  };
  new ResizeObserver(element.redraw).observe(element);
  redraws.push(paint); // at once: a page is printed as soon as its listeners return
  return element;
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
    this.element.style.left = Math.max(0, left) + "px";
    this.element.style.top = Math.max(0, top) + "px";
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
// finding or a selected line. Charts register a redraw with onHighlight.
const highlight = { ranks: null, listeners: [] };

function setHighlight(ranks) {
  highlight.ranks = ranks && ranks.length ? new Set(ranks) : null;
  highlight.listeners.forEach((listener) => listener());
}

function onHighlight(listener) {
  highlight.listeners.push(listener);
}
