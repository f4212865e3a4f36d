// How the mouse and the keyboard move a timeline.

// controlTimeline moves a timeline with the mouse and the keyboard.
function controlTimeline(chart) {
  let drag = null;
  const on = (name, f, options) => chart.canvas.addEventListener(name, f, options);
  on("wheel", (e) => {
    e.preventDefault();
    tooltip.hide();
    const { plot } = chart, factor = 1.0018 ** Math.max(-400, Math.min(400, e.deltaY || e.deltaX));
    if (e.shiftKey) chart.zoom(1, 0, factor, (e.offsetY - plot.y) / plot.height);
    else chart.zoom(factor, Math.min(1, Math.max(0, (e.offsetX - plot.x) / plot.width)));
  }, { passive: false });
  on("pointerdown", (e) => {
    if (e.button !== 0) return;
    drag = { x: e.offsetX, y: e.offsetY, view: chart.view, selects: chart.matrix && (e.shiftKey || chart.selects) };
    chart.canvas.setPointerCapture(e.pointerId);
    tooltip.hide();
  });
  on("pointermove", (e) => {
    const { plot } = chart;
    if (!drag) return hover(e);
    if (drag.selects) return chart.mark(chart.timeOf(drag.x), chart.timeOf(e.offsetX));
    const { from, to, top, bottom } = drag.view;
    const ns = (drag.x - e.offsetX) / plot.width * (to - from);
    chart.move(ns, (drag.y - e.offsetY) / plot.height * (bottom - top), drag.view);
  });
  on("pointerup", (e) => {
    if (drag && drag.selects) {
      if (Math.abs(e.offsetX - drag.x) > 2) chart.select(chart.timeOf(drag.x), chart.timeOf(e.offsetX));
      else chart.select();
      chart.selectNext(false);
    }
    drag = null;
  });
  on("pointercancel", () => (drag = null));
  on("pointerleave", () => tooltip.hide());
  const hover = (e) => {
    const { plot, view } = chart, ns = chart.timeOf(e.offsetX);
    const line = Math.floor(view.top + (e.offsetY - plot.y) / plot.height * (view.bottom - view.top));
    if (line < 0 || line >= view.bottom || line >= chart.lines || ns < view.from || ns > view.to) return tooltip.hide();
    tooltip.show(e.clientX, e.clientY, chart.describe(line, ns, 1.5 * (view.to - view.from) / plot.width).join("\n"));
  };
  on("keydown", (e) => {
    const { from, to, top, bottom } = chart.view, ns = (to - from) / 8, lines = Math.max(1, (bottom - top) / 8);
    const zoomIn = () => chart.zoom(0.5), zoomOut = () => chart.zoom(2);
    const actions = {
      "+": zoomIn, "=": zoomIn, "-": zoomOut, "_": zoomOut, Home: () => chart.show(),
      ArrowLeft: () => chart.move(-ns, 0), ArrowRight: () => chart.move(ns, 0),
      ArrowUp: () => (e.shiftKey ? chart.zoom(1, 0, 0.5) : chart.move(0, -lines)),
      ArrowDown: () => (e.shiftKey ? chart.zoom(1, 0, 2) : chart.move(0, lines)),
      Enter: () => chart.matrix && chart.select(from, to), Escape: () => chart.matrix && chart.select(),
    };
    if (!actions[e.key] || e.ctrlKey || e.altKey || e.metaKey) return;
    e.preventDefault();
    tooltip.hide();
    actions[e.key]();
  });
}
