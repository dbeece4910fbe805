// Lines over time, drawn by uPlot. The colours are those of the style sheet.

import { h, text } from "./dom.js";
import { none } from "./format.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const hours = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

// Chart is a chart with its legend. lines are {label, colour, show(value), width, dash, fill}; marks are drawn as upright lines.
export class Chart {
  constructor(label, lines, options = {}) {
    this.lines = lines;
    this.options = options;
    this.marks = [];
    this.data = [[], ...lines.map(() => [])];
    this.now = lines.map(() => null);
    this.values = lines.map(() => h("strong", null, none));
    this.at = h("span", { class: "legend-time" });
    this.plot = h("div", { class: "plot" });
    this.element = h("figure", { class: "chart" },
      h("figcaption", { class: "legend" },
        lines.map((line, k) => h("span", { class: "key" },
          h("span", { class: "swatch" + (line.dash ? " dashed" : ""), style: { "--swatch": `var(${line.colour})` }, "aria-hidden": "true" }), line.label, " ", this.values[k])),
        this.at),
      this.plot);
    this.plot.setAttribute("role", "img");
    this.plot.setAttribute("aria-label", label);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.redo = () => this.make();
    this.scheme.addEventListener("change", this.redo);
    this.watch = new ResizeObserver(() => this.size());
    this.watch.observe(this.plot);
  }

  make() {
    this.u?.destroy();
    this.u = null;
    const width = this.plot.clientWidth;
    if (!width) return;
    const muted = css("--muted");
    const grid = { stroke: css("--grid"), width: 1 };
    const font = "11px system-ui, sans-serif";
    const show = this.options.axis ?? ((v) => String(v));
    this.u = new uPlot({
      width, height: this.options.height ?? 190, padding: [10, 20, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: true }, y: { range: (u, least, most) => [0, Math.max(this.options.least ?? 1, (most ?? 0) * 1.08)] } },
      axes: [
        { stroke: muted, font, grid: { show: false }, ticks: { ...grid, size: 4 }, size: 26, space: 70,
          values: (u, at) => at.map((t) => (at.length > 1 && at[1] - at[0] < 60 ? seconds : hours).format(t * 1000)) },
        { stroke: muted, font, grid, ticks: { show: false }, size: 46, space: 36, values: (u, at) => at.map(show) },
      ],
      series: [{}, ...this.lines.map((line) => ({ stroke: css(line.colour), width: line.width ?? 1.75, dash: line.dash,
        fill: line.fill ? css(line.fill) : undefined, points: { show: false }, spanGaps: false }))],
      hooks: { draw: [(u) => this.drawMarks(u)], setCursor: [(u) => this.legend(u.cursor.idx)] },
    }, this.data, this.plot);
    this.legend(null);
  }

  size() {
    const width = this.plot.clientWidth;
    if (!width) return;
    if (!this.u) this.make();
    else if (this.u.width !== width) this.u.setSize({ width, height: this.u.height });
  }

  // set shows data: seconds since 1970 and a list a line; marks are {time, letter}. now has the figure of each line that
  // the legend shows while nothing is pointed at.
  set(data, marks, now) {
    this.data = data;
    this.marks = marks ?? [];
    this.now = now;
    if (this.u) this.u.setData(data);
    else this.make();
    if (this.u?.cursor.idx === null || this.u?.cursor.left < 0) this.legend(null);
  }

  legend(index) {
    const times = this.data[0];
    const last = index === null || index === undefined;
    this.lines.forEach((line, k) => {
      text(this.values[k], line.show((last ? this.now[k] : this.data[k + 1][index]) ?? null));
    });
    text(this.at, last || times[index] === undefined ? "" : seconds.format(times[index] * 1000));
  }

  drawMarks(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio || 1;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = css("--mark");
    ctx.lineWidth = ratio;
    ctx.font = `600 ${10 * ratio}px system-ui, sans-serif`;
    for (const mark of this.marks) {
      const x = Math.round(u.valToPos(mark.time, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.setLineDash([4 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillText(mark.letter, Math.min(x + 3 * ratio, bbox.left + bbox.width - 10 * ratio), bbox.top + 9 * ratio);
    }
    ctx.restore();
  }

  destroy() {
    this.scheme.removeEventListener("change", this.redo);
    this.watch.disconnect();
    this.u?.destroy();
    this.u = null;
  }
}
