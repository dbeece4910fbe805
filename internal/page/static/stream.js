// The view of the stream.

import { h, card, empty, link, scroller, text } from "./dom.js";
import { Chart } from "./charts.js";
import { ago, className, colour, count, duration, none, percent, rate, time } from "./format.js";

const kept = 900; // seconds, as the server keeps them
const rows = 14; // of the feed

// What was seen stays while other views are shown.
const store = { time: [], in: [], out: [], dead: [], p50: [], p99: [], confidence: [], sample: 0 };
const names = ["in", "out", "dead", "p50", "p99", "confidence"];

function take(columns) {
  for (let k = 0; k < columns.time.length; k++) {
    const t = columns.time[k];
    let at = store.time.length;
    if (at && t <= store.time[at - 1]) at = store.time.indexOf(t);
    if (at < 0) continue;
    store.time[at] = t;
    for (const name of names) store[name][at] = columns[name][k];
  }
  const extra = store.time.length - kept;
  if (extra > 0) for (const name of ["time", ...names]) store[name].splice(0, extra);
}

export function stream(root, query, { refresh }) {
  const minutes = [2, 5, 15];
  let span = Number(query.get("minutes")) || 5;
  if (!minutes.includes(span)) span = 5;

  const tiles = {};
  const tile = (key, title, hint) => {
    tiles[key] = { value: h("span", { class: "figure" }, none), unit: h("span", { class: "unit" }), note: h("span", { class: "note" }, hint ?? "") };
    return h("div", { class: "tile" }, h("h2", null, title), h("p", null, tiles[key].value, " ", tiles[key].unit), tiles[key].note);
  };
  const tileRow = h("div", { class: "tiles" }, tile("in", "Arrivals"), tile("out", "Predictions"), tile("dead", "Dead letters"),
    tile("p50", "Latency, median"), tile("p99", "Latency, p99"), tile("lag", "Lag"));

  const perSecond = (v) => (v === null ? none : rate(v) + "/s");
  const rates = new Chart("Arrivals, predictions and dead letters a second over time; the figures of now are in the legend", [
    { label: "arrivals", colour: "--line-in", show: perSecond, fill: "--line-in-fill" },
    { label: "predictions", colour: "--line-out", show: perSecond },
    { label: "dead letters", colour: "--line-dead", show: perSecond, dash: [4, 3] },
  ], { axis: (v) => rate(v) });
  const latency = new Chart("Latency to publish over time, median and 99th percentile; the figures of now are in the legend", [
    { label: "p50", colour: "--line-in", show: duration },
    { label: "p99", colour: "--line-p99", show: duration, dash: [6, 3] },
  ], { axis: (v) => (v >= 1000 ? v / 1000 + " s" : v + " ms"), least: 5 });
  const confidence = new Chart("Mean confidence of predictions over time, and that of training; the figures of now are in the legend", [
    { label: "confidence", colour: "--line-out", show: percent },
    { label: "at training", colour: "--muted", show: percent, dash: [2, 3] },
  ], { axis: (v) => Math.round(100 * v) + "%", least: 1, height: 130 });

  const markList = h("ol", { class: "marks", "aria-label": "Marks in the charts" });
  const mix = h("div", { class: "mix" });
  const drift = h("dl", { class: "facts" });
  const lagBody = h("tbody");
  const lagBox = h("div", null);
  const feedBody = h("tbody");
  const feedNote = h("p", { class: "note" });
  const nothing = h("div", { hidden: true }, empty("No arrivals yet. What is written to the topic shows up here within two seconds."));
  let paused = false;
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    text(pause, paused ? "Go on" : "Hold still");
  } }, "Hold still");

  const spans = h("div", { class: "segments", role: "group", "aria-label": "Time that the charts show" }, minutes.map((m) =>
    h("button", { type: "button", "aria-pressed": String(m === span), onclick: (event) => {
      span = m;
      const next = new URLSearchParams(location.search);
      next.set("minutes", m);
      history.replaceState(null, "", "?" + next);
      for (const b of spans.children) b.setAttribute("aria-pressed", String(b === event.currentTarget));
      draw();
    } }, m + " min")));

  const feedTable = h("table", { class: "feed" }, h("thead", null, h("tr", null, ["Time", "Arrival", "Class", "Probability", "Neighbours", "Latency"].map((c) => h("th", { scope: "col" }, c)))), feedBody);
  const feed = card("Predictions", { class: "wide", actions: pause }, feedNote, nothing, scroller("Predictions, newest first", feedTable));
  let held = false;
  feedTable.addEventListener("pointerenter", () => { held = true; });
  feedTable.addEventListener("pointerleave", () => { held = false; });

  const lagTable = h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Partition"),
    ["End", "Committed", "Lag"].map((c) => h("th", { scope: "col", class: "number" }, c)))), lagBody);
  lagBox.append(scroller("Lag by partition", lagTable));

  root.append(tileRow,
    h("div", { class: "columns" },
      h("div", { class: "column" },
        card("Rates", { note: "exact, by offsets", actions: spans }, rates.element, markList),
        card("Classes", { note: "of the samples of the last 5 minutes; a tick is the share at training" }, mix)),
      h("div", { class: "column" },
        card("Latency to publish", { note: "a prediction's timestamp less its arrival's ingest time, of samples" }, latency.element),
        card("Against training", { note: "the samples of the last 5 minutes" }, drift, confidence.element))),
    h("div", { class: "split" }, card("Lag by partition", { class: "wide", note: "what the group has not committed" }, lagBox), feed));

  let last = null;

  function draw() {
    if (!last) return;
    const from = Math.floor(last.now / 1000) - 60 * span;
    let first = store.time.findIndex((t) => t >= from);
    if (first < 0) first = store.time.length;
    const cut = (name) => store[name].slice(first);
    const letters = last.marks.filter((m) => m.time >= from).slice(-26).map((m, k) => ({ ...m, letter: String.fromCharCode(65 + k) }));
    const x = cut("time");
    rates.set([x, cut("in"), cut("out"), cut("dead")], letters, ["in", "out", "dead"].map(mean));
    latency.set([x, cut("p50"), cut("p99")], letters, [last.latency.p50, last.latency.p99]);
    const trained = last.drift.trained_confidence;
    confidence.set([x, cut("confidence"), x.map(() => trained)], letters, [last.drift.confidence, trained]);
    markList.replaceChildren(...letters.slice(-6).map((m) => h("li", null, h("b", null, m.letter), h("span", null, time(m.time * 1000)), h("span", { class: "text" }, m.text))));
  }

  const mean = (name) => { // of the last ten seconds that are known
    const known = store[name].slice(-10).filter((v) => v !== null && v !== undefined);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  };

  function figures(d) {
    const set = (key, value, unit, note) => {
      text(tiles[key].value, value);
      text(tiles[key].unit, value === none ? "" : unit);
      text(tiles[key].note, note);
    };
    const look = (key, state) => { tiles[key].value.className = "figure " + state; };
    ["in", "out", "dead"].forEach((key, k) => set(key, rate(mean(key)), "a second", count(d.totals[k]) + " so far"));
    const share = mean("dead") / (mean("in") || mean("dead"));
    look("dead", share > 0.01 ? "bad" : share > 0 ? "warn" : ""); // 1%: the alert RivuletDeadLetters
    const split = (ms) => (ms === null ? [none, ""] : duration(ms).split(" "));
    set("p50", ...split(d.latency.p50), `${count(d.latency.samples)} samples, last minute`);
    set("p99", ...split(d.latency.p99), "arrival to publish");
    const lag = d.lag.reduce((sum, l) => sum + l.lag, 0);
    set("lag", d.lag_known ? count(lag) : none, lag === 1 ? "arrival" : "arrivals", d.lag.some((l) => l.committed === null) ? "nothing committed in some partitions" : "not committed yet");
    look("lag", d.lag_known && lag > 60 * Math.max(1, mean("in") ?? 0) ? "bad" : ""); // a minute behind: the alert RivuletLag
  }

  function classes(d) {
    const shares = [...d.drift.classes].sort((a, b) => a.class - b.class);
    if (d.drift.others) shares.push({ ...d.drift.rest, name: `${d.drift.others} others` });
    if (!d.drift.samples) return mix.replaceChildren(empty("No predictions in the last 5 minutes."));
    const most = Math.max(0.01, ...shares.map((c) => Math.max(c.share, c.trained ?? 0)));
    mix.replaceChildren(h("table", { class: "bars" }, h("colgroup", null, h("col", { class: "name" }), h("col"), h("col", { class: "amount" }), h("col", { class: "amount" })),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Class"), h("th", null), h("th", { scope: "col", class: "number" }, "now"), h("th", { scope: "col", class: "number" }, "training"))),
      h("tbody", null, shares.map((c) => h("tr", null,
        h("th", { scope: "row" }, h("span", { class: "dot", style: { "--dot": colour(c.class) }, "aria-hidden": "true" }), h("span", { class: "clip", title: className(c) }, className(c))),
        h("td", { class: "bar-cell" }, h("div", { class: "bar-track", "aria-hidden": "true" },
          h("div", { class: "bar", style: { width: (100 * c.share) / most + "%", "--bar": colour(c.class) } }),
          c.trained !== null && c.trained !== undefined ? h("div", { class: "tick", style: { left: (100 * c.trained) / most + "%" } }) : null)),
        h("td", { class: "number" }, percent(c.share)), h("td", { class: "number muted" }, c.trained === null || c.trained === undefined ? none : percent(c.trained)))))));
  }

  // against colours what the alerts of drift name, at their thresholds (deploy/alerts.yaml).
  function against(d) {
    const f = d.drift;
    const enough = f.samples >= 512;
    const line = (title, now, then, bad) => [h("dt", null, title), h("dd", null, h("strong", enough && bad ? { class: "bad" } : null, now), then ? h("span", { class: "muted" }, then) : null)];
    drift.replaceChildren(
      ...line("Confidence", percent(f.confidence), f.trained_confidence === null ? "" : ` ${percent(f.trained_confidence)} at training`,
        f.trained_confidence !== null && f.confidence < f.trained_confidence - 0.1),
      ...line("Unknown neighbours", percent(f.unknown), f.trained_unknown === null ? "" : ` ${percent(f.trained_unknown)} at training`,
        f.trained_unknown !== null && f.unknown > Math.min(f.trained_unknown + 0.2, 0.95)),
      ...line("Distance of the classes", percent(f.distance), f.distance === null ? " training's shares are not known" : " from training's shares; 0% is the same", f.distance > 0.25),
      ...line("Version", f.version || none, f.samples ? ` ${count(f.samples)} samples` : ""));
  }

  function lags(d) {
    if (!d.lag.length) return lagBody.replaceChildren(h("tr", null, h("td", { colspan: "4", class: "muted" }, "No partitions seen yet.")));
    lagBody.replaceChildren(...d.lag.slice(0, 200).map((l) => h("tr", null, h("td", null, l.partition), h("td", { class: "number" }, count(l.end)),
      h("td", { class: "number" }, l.committed === null ? "nothing" : count(l.committed)), h("td", { class: "number" }, h("strong", null, count(l.lag))))));
  }

  function row(p) {
    const neighbours = [[p.known, "known"], [p.arrived, "arrived"], [p.in_batch, "in the batch"], [p.unknown, "unknown"]].filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`).join(", ");
    return h("tr", { "data-seq": p.seq }, h("td", { class: "muted" }, time(p.time)),
      h("td", { class: "id" }, link({ view: "arrival", partition: p.partition, offset: p.offset }, { class: "clip", title: p.id }, p.id)),
      h("td", null, h("span", { class: "dot", style: { "--dot": colour(p.class) }, "aria-hidden": "true" }), className(p),
        p.abstained ? h("span", { class: "badge" }, "abstains") : null, p.degraded ? h("span", { class: "badge warn" }, "degraded") : null),
      h("td", { class: "number" }, percent(p.probability)), h("td", { class: "muted" }, neighbours || "none"), h("td", { class: "number muted" }, duration(p.latency_ms)));
  }

  function feedRows(d) {
    if (d.feed.length) store.sample = d.feed[0].seq;
    const still = paused || held || feedBody.contains(document.activeElement);
    const seen = Number(feedBody.firstElementChild?.dataset.seq ?? 0);
    if (!still) {
      feedBody.prepend(...d.feed.filter((p) => p.seq > seen).slice(0, rows).map(row));
      while (feedBody.children.length > rows) feedBody.lastElementChild.remove();
    }
    nothing.hidden = feedBody.children.length > 0;
    feedTable.hidden = !nothing.hidden;
    const share = d.chance === 0 ? "Every prediction is shown" : `One of ${2 ** d.chance} predictions is a sample, chosen by a hash of its arrival's place`;
    const held_ = paused ? " · held still" : still ? " · held while you point at it" : "";
    text(feedNote, share + (d.skipped ? ` · ${count(d.skipped)} were passed over, as the stream ran ahead` : "") +
      (d.forgotten ? ` · ${count(d.forgotten)} ids were forgotten` : "") +
      (d.unread ? ` · ${count(d.unread)} could not be read, the last at ${d.last_unread}` : "") + held_);
  }

  return {
    path: () => `api/stream?after=${Math.max(0, (store.time.at(-1) ?? 0) - 10)}&sample=${feedBody.children.length ? store.sample : 0}`,
    update(d) {
      last = d;
      take(d.columns);
      figures(d);
      draw();
      classes(d);
      against(d);
      lags(d);
      feedRows(d);
    },
    end() {
      for (const chart of [rates, latency, confidence]) chart.destroy();
    },
  };
}
