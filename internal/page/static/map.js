// The view of S in the plane: a dot for each synthetic node, as large as its mass, in the colour of its most frequent
// class; arrivals light up where they attach.

import { h, card, empty, put, text } from "./dom.js";
import { get } from "./api.js";
import { className, colour, count, percent, signed } from "./format.js";

const glow = 1600; // milliseconds that an arrival is seen
const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const listed = 200; // nodes in the list for the keyboard

export function map(root, query, { go }) {
  const canvas = h("canvas", { class: "plane", role: "img", "aria-label": "The synthetic nodes in the plane. The list below the picture has the heaviest of them." });
  const box = h("div", { class: "plane-box" }, canvas);
  const note = h("p", { class: "note", role: "status" });
  const legend = h("ul", { class: "plane-legend", "aria-label": "Classes" });
  const detail = h("div");
  const list = h("select", { id: "node", onchange: () => { if (list.value !== "") choose(Number(list.value)); } });
  const body = h("div");
  root.append(body);

  let plane = null;
  let lit = []; // {x, y, class, at}
  let since = 0;
  let chosen = query.has("node") ? Number(query.get("node")) : -1;
  let frame = 0;
  let colours = [];
  const ended = new AbortController();

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paint = () => {
    colours = [...Array(10).keys()].map((k) => css("--c" + k));
    colours.push(css("--other"));
    draw();
  };
  const shade = (c) => colours[c >= 0 && c < 10 ? c : 10];

  // at returns where a point is on the canvas, in CSS pixels.
  const size = () => ({ w: canvas.clientWidth, h: canvas.clientHeight });
  const at = (x, y) => {
    const { w, h: height } = size();
    const scale = Math.min(w, height) / 2 - 18;
    return [w / 2 + x * scale, height / 2 - y * scale];
  };
  const radius = (mass) => Math.max(2, Math.sqrt(mass / plane.most) * Math.min(22, 150 / Math.sqrt(plane.nodes) + 3));

  function draw() {
    cancelAnimationFrame(frame);
    if (!plane?.there || !canvas.clientWidth) return;
    const ratio = devicePixelRatio || 1;
    const { w, h: height } = size();
    if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, w, height);
    ctx.globalAlpha = plane.nodes > 2000 ? 0.55 : 0.8;
    for (let i = 0; i < plane.nodes; i++) {
      const [x, y] = at(plane.xy[2 * i], plane.xy[2 * i + 1]);
      ctx.fillStyle = shade(plane.class[i]);
      ctx.beginPath();
      ctx.arc(x, y, radius(plane.mass[i]), 0, 7);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    if (plane.nodes <= 24) {
      ctx.font = "10px system-ui, sans-serif";
      ctx.fillStyle = css("--text");
      ctx.textAlign = "center";
      for (let i = 0; i < plane.nodes; i++) {
        const [x, y] = at(plane.xy[2 * i], plane.xy[2 * i + 1]);
        ctx.fillText(i, x, y - radius(plane.mass[i]) - 3);
      }
    }
    if (chosen >= 0 && chosen < plane.nodes) {
      const [x, y] = at(plane.xy[2 * chosen], plane.xy[2 * chosen + 1]);
      ctx.strokeStyle = css("--text");
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc(x, y, radius(plane.mass[chosen]) + 4, 0, 7);
      ctx.stroke();
    }
    const now = performance.now();
    lit = lit.filter((a) => now - a.at < glow);
    for (const a of lit) {
      const age = Math.max(0, (now - a.at) / glow);
      const [x, y] = at(a.x, a.y);
      ctx.globalAlpha = still.matches ? 0.9 : 1 - age;
      ctx.strokeStyle = ctx.fillStyle = shade(a.class);
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.arc(x, y, still.matches ? 5 : 4 + 14 * age, 0, 7);
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x, y, 2.5, 0, 7);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    if (lit.length) frame = still.matches ? setTimeout(draw, 500) : requestAnimationFrame(draw);
  }

  canvas.addEventListener("click", (event) => {
    if (!plane?.there) return;
    const rect = canvas.getBoundingClientRect();
    let best = -1;
    let distance = 20;
    for (let i = 0; i < plane.nodes; i++) {
      const [x, y] = at(plane.xy[2 * i], plane.xy[2 * i + 1]);
      const d = Math.hypot(x - (event.clientX - rect.left), y - (event.clientY - rect.top)) - radius(plane.mass[i]);
      if (d < distance) [best, distance] = [i, d];
    }
    if (best >= 0) choose(best);
  });

  // choose shows a node, and has the address name it.
  function choose(node) {
    if (node === chosen) return;
    history.pushState(null, "", "?" + new URLSearchParams({ view: "map", node }));
    chosen = node;
    show();
  }

  async function show() {
    draw();
    if (!(chosen >= 0 && chosen < plane.nodes)) {
      put(detail, empty("Choose a node, in the picture or in the list."));
      return;
    }
    list.value = [...list.options].some((o) => Number(o.value) === chosen && o.value !== "") ? chosen : "";
    const asked = chosen;
    try {
      const n = await get("api/map/node?node=" + asked, ended.signal);
      if (asked !== chosen) return;
      const shares = n.shares.filter((c) => c.share > 0);
      put(detail, h("p", { class: "eyebrow" }, "Synthetic node"), h("h2", { class: "big-id" }, n.node),
        h("p", { class: "note" }, `mass ${n.mass.toFixed(2)}: how much of M falls on it`),
        h("h3", null, "Classes behind it"), h("table", { class: "bars" }, h("colgroup", null, h("col", { class: "name" }), h("col"), h("col", { class: "amount" })), h("tbody", null, shares.map((c) => h("tr", null,
          h("th", { scope: "row" }, h("span", { class: "dot", style: { "--dot": colour(c.class) }, "aria-hidden": "true" }), h("span", { class: "clip", title: className(c) }, className(c))),
          h("td", { class: "bar-cell" }, h("div", { class: "bar-track", "aria-hidden": "true" }, h("div", { class: "bar", style: { width: 100 * c.share + "%", "--bar": colour(c.class) } }))), h("td", { class: "number" }, percent(c.share)))))),
        n.others && n.rest.share > 0 ? h("p", { class: "note" }, `and ${percent(n.rest.share)} in ${count(n.others)} others`) : null,
        h("h3", null, "Heaviest original nodes"), n.heaviest ? (n.heaviest.length ? h("table", null, h("tbody", null, n.heaviest.map((v) => h("tr", null, h("th", { scope: "row", class: "id" }, v.id), h("td", { class: "number" }, v.weight.toFixed(3)))))) : h("p", { class: "note" }, "none"))
          : h("p", { class: "note" }, "The map was written without ids."),
        h("h3", null, "Strongest features"), h("p", { class: "note" }, "how far from the mean over S"), n.features.length ? h("table", null, h("tbody", null, n.features.map((f) => h("tr", null, h("th", { scope: "row", class: "id" }, f.name), h("td", { class: "number" }, signed(f.weight)))))) : h("p", { class: "note" }, "none"));
    } catch (error) {
      if (!ended.signal.aborted) put(detail, h("p", { class: "fault", role: "alert" }, error.message));
    }
  }

  function build() {
    if (!plane.there) {
      put(body, card("Map", null, empty(plane.version ? ["The artifact that serves, ", h("code", null, plane.version), ", has no map. ", h("code", null, "trainer train --map"), " writes one."] : "No version is loaded yet.")));
      return;
    }
    plane.most = Math.max(...plane.mass, 1e-9);
    const order = [...plane.mass.keys()].sort((a, b) => plane.mass[b] - plane.mass[a]).slice(0, listed);
    put(list, h("option", { value: "" }, "choose"), order.map((i) => h("option", { value: i }, `${i} · ${className({ class: plane.class[i], name: plane.classes[plane.class[i]] })}`)));
    const seen = new Map();
    for (const c of plane.class) seen.set(c, (seen.get(c) ?? 0) + 1);
    const classes = [...seen].sort((a, b) => b[1] - a[1]);
    put(legend, classes.slice(0, 14).map(([c, n]) => h("li", null, h("span", { class: "dot", style: { "--dot": colour(c) }, "aria-hidden": "true" }), h("span", { class: "clip" }, className({ class: c, name: plane.classes[c] })), h("span", { class: "muted" }, " ", n))),
      classes.length > 14 ? h("li", { class: "muted" }, `and ${count(classes.length - 14)} more classes`) : null);
    put(body, h("div", { class: "split" }, card("Map", { note: `${count(plane.nodes)} synthetic nodes, as large as their mass, in the colour of their most frequent class` }, note, box, legend),
      h("section", { class: "card" }, h("p", { class: "add pick" }, h("label", { for: "node" }, "Node"), list), detail)));
    paint();
    show();
  }

  const watch = new ResizeObserver(() => draw());
  watch.observe(box);
  dark.addEventListener("change", paint);

  return {
    path: () => (plane?.there ? "api/map/arrivals?after=" + since : "api/map"),
    update(d) {
      if (!plane?.there) {
        if (JSON.stringify(d) === JSON.stringify(plane)) return;
        plane = d;
        build();
        return;
      }
      if (d.version && d.version !== plane.version) {
        plane = null; // another version serves: its map is asked for next
        return;
      }
      const now = performance.now();
      d.lit.forEach((a, k) => lit.push({ ...a, at: now + (still.matches ? 0 : (900 * k) / d.lit.length) }));
      lit = lit.slice(-400);
      if (d.lit.length) since = d.lit.at(-1).seq;
      text(note, d.lit.length ? `${count(d.lit.length)} arrivals just now, each at the middle of what it attached to` : "no arrival that attached anywhere in the last second");
      draw();
    },
    end() {
      ended.abort();
      cancelAnimationFrame(frame);
      watch.disconnect();
      dark.removeEventListener("change", paint);
    },
  };
}
