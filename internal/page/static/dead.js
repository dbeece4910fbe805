// The view of dead letters.

import { h, card, empty, link, text } from "./dom.js";
import { Chart } from "./charts.js";
import { bytes, count, date } from "./format.js";

const colours = ["--line-dead", "--line-in", "--line-out", "--line-p99", "--c4", "--c6"];

export function dead(root) {
  const total = h("p", { class: "note" });
  const chartBox = h("div");
  const reasons = h("tbody");
  const list = h("div", { class: "letters" });
  root.append(h("div", { class: "grid" },
    card("By reason, over time", { note: "in ten seconds each, of the last 15 minutes" }, chartBox),
    card("Reasons", null, total, h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Reason"), h("th", { scope: "col", class: "number" }, "Since the page reads"))), reasons)),
    card("The newest", { class: "wide", note: "the field that the reason is about is marked" }, list)));
  let chart = null;
  let known = "";
  let newest = "";

  return {
    path: () => "api/dead",
    update(d) {
      text(total, `${count(d.total)} in the topic so far`);
      const shown = [...d.reasons].sort((a, b) => b.total - a.total).slice(0, 6);
      const names = shown.map((r) => r.name).join("\n");
      if (!shown.length) {
        if (!chartBox.firstChild) {
          chartBox.replaceChildren(empty("No dead letters since the page reads."));
          reasons.replaceChildren(h("tr", null, h("td", { colspan: "2", class: "muted" }, "none")));
          list.replaceChildren(empty("Nothing was set aside."));
        }
        return;
      }
      if (names !== known) {
        chart?.destroy();
        chart = new Chart("Dead letters by reason over time; the figures of the latest ten seconds are in the legend",
          shown.map((r, k) => ({ label: r.name, colour: colours[k], show: (v) => count(v), dash: k % 2 ? [5, 3] : undefined })), { axis: (v) => count(v) });
        chartBox.replaceChildren(chart.element);
        known = names;
      }
      const counts = shown.map((r) => r.counts.slice(0, -1)); // the last block is not over
      chart.set([d.time.slice(0, -1), ...counts], [], counts.map((c) => c.at(-1)));
      reasons.replaceChildren(...[...d.reasons].sort((a, b) => b.total - a.total).map((r) => h("tr", null,
        h("th", { scope: "row" }, r.name, h("span", { class: "sub" }, r.sentence ? `${r.sentence} (${r.whose})` : "")), h("td", { class: "number" }, count(r.total)))));
      const stamp = d.newest.map((l) => l.time + l.key + l.offset).join();
      if (stamp === newest) return;
      newest = stamp;
      const open = new Set([...list.querySelectorAll("details[open]")].map((x) => x.dataset.key));
      list.replaceChildren(...d.newest.slice(0, 30).map((l) => letter(l, open)));
    },
    end: () => chart?.destroy(),
  };
}

function letter(l, open) {
  const key = `${l.partition}/${l.offset}/${l.time}`;
  const place = l.partition < 0 ? "" : `${l.topic} · partition ${l.partition}, offset ${l.offset}`;
  return h("details", { "data-key": key, open: open.has(key) },
    h("summary", null, h("span", { class: "badge warn" }, l.reason), h("span", { class: "letter-detail" }, l.detail || "no detail"), h("span", { class: "muted when" }, date(l.time))),
    h("div", { class: "letter-body" }, h("p", { class: "note" }, "key ", h("code", null, l.key || "none"), place ? " · " + place : "", ` · ${bytes(l.bytes)}`,
      l.partition >= 0 ? [" · ", link({ view: "arrival", partition: l.partition, offset: l.offset }, null, "look at it as an arrival")] : null),
    l.binary ? empty("The value is no text.") : h("pre", { tabindex: "0", "aria-label": "Value of the record" }, marked(l.value, l.field, l.detail)), l.value.length < l.bytes && !l.binary ? h("p", { class: "note" }, "The value goes on.") : null));
}

// marked is the value with the field marked, if it is there: the name, and what is after it up to the next one.
function marked(value, field) {
  const at = field ? value.indexOf(JSON.stringify(field)) : -1;
  if (at < 0) return [value];
  const end = endOf(value, at);
  return [value.slice(0, at), h("mark", null, value.slice(at, end)), value.slice(end)];
}

// endOf returns where the member of an object ends that begins at a place: at the comma or the brace after its value.
function endOf(value, at) {
  let depth = 0;
  let inText = false;
  for (let k = at; k < value.length; k++) {
    const c = value[k];
    if (inText) {
      if (c === "\\") k++;
      else if (c === '"') inText = false;
    } else if (c === '"') inText = true;
    else if (c === "[" || c === "{") depth++;
    else if ((c === "]" || c === "}") && depth-- === 0) return k;
    else if (c === "," && depth === 0) return k;
  }
  return value.length;
}
