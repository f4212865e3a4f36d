// How the pointer, the wheel and keys move the matrix and the timeline.

// controlChart listens to a chart, which has a canvas and a view. The functions are
// wheel(event, factor), which returns false if the page shall scroll; hover(event), with null
// when the pointer leaves; drag(event, start) and drop(event, start, moved), where start has
// the x, y, view and shiftKey at which the button went down; arrow(right, down, shiftKey) and
// zoom(factor) for keys. keys has functions for other keys.
function controlChart(chart, { wheel, hover, drag, drop, arrow, zoom, keys }) {
  let start = null, moved = false;
  const on = (type, listener) => chart.canvas.addEventListener(type, listener, { passive: false });
  on("wheel", (event) => {
    tooltip.hide();
    const factor = 2 ** (clamp(event.deltaY || event.deltaX, -120, 120) / 240);
    if (wheel(event, factor) !== false) event.preventDefault();
  });
  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = { x: event.offsetX, y: event.offsetY, view: chart.view, shiftKey: event.shiftKey };
    moved = false;
    chart.canvas.setPointerCapture(event.pointerId);
    tooltip.hide();
  });
  on("pointermove", (event) => {
    if (!start) return hover(event);
    moved ||= Math.hypot(event.offsetX - start.x, event.offsetY - start.y) > 4;
    if (moved) drag(event, start);
  });
  on("pointerup", (event) => {
    if (start) drop(event, start, moved);
    start = null;
  });
  on("pointercancel", () => { start = null; });
  on("pointerleave", () => hover(null));
  on("keydown", (event) => {
    const { key, shiftKey } = event, direction = arrowKeys[key], factor = zoomKeys[key];
    if (event.ctrlKey || event.altKey || event.metaKey || !(direction || factor || keys[key])) return;
    event.preventDefault();
    tooltip.hide();
    if (direction) arrow(...direction, shiftKey);
    else if (factor) zoom(factor);
    else keys[key]();
  });
}

const arrowKeys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const zoomKeys = { "+": 0.5, "=": 0.5, "-": 2, "_": 2 };

function controlMatrix(chart) {
  controlChart(chart, {
    wheel: (event, factor) => {
      if (factor > 1 && chart.view.span >= chart.lines) return false;
      chart.zoom(factor, ...matrixTarget(chart, event).at);
    },
    hover: (event) => readCell(chart, event),
    drag: (event, { x, y, view }) => {
      const pixel = view.span / chart.plot.side;
      chart.show(view.x + (x - event.offsetX) * pixel, view.y + (y - event.offsetY) * pixel, view.span);
    },
    drop: (event, start, moved) => {
      const { row, column } = matrixTarget(chart, event);
      if (!moved && row >= 0 && column >= 0) chart.selectPair(row, column);
    },
    arrow: (right, down, shiftKey) => {
      const { x, y, span } = chart.view, step = span / 8;
      if (shiftKey) chart.show(x + right * step, y + down * step, span);
      else chart.moveCursor(right, down);
    },
    zoom: (factor) => {
      const { view: { x, y, span }, cursor } = chart;
      if (cursor) chart.zoom(factor, cursor.column + 0.5, cursor.row + 0.5);
      else chart.zoom(factor, x + span / 2, y + span / 2);
    },
    // Escape takes the cursor and the details away.
    keys: { Home: () => chart.show(0, 0, chart.lines), Enter: () => chart.openCursor(), Escape: () => chart.changed() },
  });
}

// matrixTarget returns the two positions under a pointer, and the row and the column there:
// −1 outside. Over the totals there is only one of the two.
function matrixTarget(chart, event) {
  const { starts } = chart.shown(), { view, plot } = chart;
  const across = (event.offsetX - plot.x) / plot.side, down = (event.offsetY - plot.y) / plot.side;
  const at = [view.x + across * view.span, view.y + down * view.span];
  const end = 1 + (matrixMargin.totals + 6) / plot.side; // of the totals
  const inside = (v, most) => v >= 0 && v < most;
  const row = inside(down, 1) && inside(across, end) ? cellOf(starts, at[1]) : -1;
  return { at, row, column: inside(across, 1) && inside(down, end) ? cellOf(starts, at[0]) : -1 };
}

// readCell shows the text of the cell or the total under the pointer.
function readCell(chart, event) {
  const { row, column } = event ? matrixTarget(chart, event) : { row: -1, column: -1 }, shown = chart.shown();
  chart.hovered = row >= 0 && column >= 0 ? { row, column } : null;
  chart.canvas.redraw();
  if (row < 0 && column < 0) return tooltip.hide();
  const [title, ...lines] = chart.hovered ? chart.cellText(shown, row, column)
    : row >= 0 ? chart.totalText(shown, row, "sent") : chart.totalText(shown, column, "received");
  tooltip.show(event.clientX, event.clientY, h("strong", null, title), "\n" + lines.join("\n"));
}

function controlTimeline(chart) {
  const selects = ({ shiftKey }) => chart.matrix && shiftKey;
  const heightAt = (event) => (event.offsetY - chart.plot.y) / chart.plot.height;
  controlChart(chart, {
    wheel: (event, factor) => {
      if (event.shiftKey) chart.zoom(1, 0, factor, heightAt(event));
      else chart.zoom(factor, clamp((event.offsetX - chart.plot.x) / chart.plot.width, 0, 1));
    },
    hover: (event) => {
      if (!event) return tooltip.hide();
      const { view, lines, plot } = chart, ns = chart.timeOf(event.offsetX);
      const line = Math.floor(view.top + heightAt(event) * (view.bottom - view.top));
      const isOutside = line < 0 || line >= view.bottom || line >= lines || ns < view.from || ns > view.to;
      if (isOutside) return tooltip.hide();
      const near = 1.5 * (view.to - view.from) / plot.width;
      tooltip.show(event.clientX, event.clientY, chart.describe(line, ns, near).join("\n"));
    },
    drag: (event, start) => {
      if (selects(start)) return chart.mark(chart.timeOf(start.x), chart.timeOf(event.offsetX));
      const { view, x, y } = start, { width, height } = chart.plot;
      const ns = (x - event.offsetX) / width * (view.to - view.from);
      chart.move(ns, (y - event.offsetY) / height * (view.bottom - view.top), view);
    },
    drop: (event, start, moved) => {
      if (!selects(start)) return;
      if (moved) chart.select(chart.timeOf(start.x), chart.timeOf(event.offsetX));
      else chart.select();
    },
    arrow: (right, down, shiftKey) => {
      const { from, to, top, bottom } = chart.view;
      if (shiftKey && down) chart.zoom(1, 0, 2 ** down);
      else chart.move(right * (to - from) / 8, down * Math.max(1, (bottom - top) / 8));
    },
    zoom: (factor) => chart.zoom(factor),
    keys: {
      Home: () => chart.show(),
      Enter: () => chart.matrix && chart.select(chart.view.from, chart.view.to),
      Escape: () => chart.matrix && chart.select(),
    },
  });
}
