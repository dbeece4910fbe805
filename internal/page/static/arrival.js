// The view of one arrival: its answer, taken apart; and what the answer becomes when it is changed.

import { h, card, empty, link, put, scroller, text } from "./dom.js";
import { get, post, Refused } from "./api.js";
import { className, colour, count, date, duration, none, percent, signed } from "./format.js";

const states = { known: "known", arrived: "arrived earlier", unknown: "unknown", empty: "counts in the degree only", unread: "could not be looked up" };

export function arrival(root, query, { go }) {
  const id = h("input", { id: "id", type: "search", autocomplete: "off", spellcheck: "false", value: query.get("id") ?? "" });
  const find = h("form", { class: "find", role: "search", onsubmit: (event) => {
    event.preventDefault();
    if (id.value.trim()) go({ view: "arrival", id: id.value.trim() });
  } }, h("label", { for: "id" }, "Arrival by id"), id, h("button", { type: "submit" }, "Find"), link({ view: "arrival", try: "1" }, { class: "button" }, "Write one"));
  const body = h("div");
  const fault = h("div", { role: "alert", class: "fault", hidden: true });
  root.append(find, fault, body);

  const ended = new AbortController();
  let base = null; // the answer to the arrival as it was
  let now = null; // the answer to the arrival as it is written
  let original = null;
  let written = null;
  let timer = 0;
  let asking = null;
  let unfolded = false; // the unknown neighbours

  function say(error) {
    fault.hidden = !error;
    if (error) put(fault, h("strong", null, error instanceof Refused && error.reason ? error.reason.replaceAll("_", " ") + ": " : ""), error.message);
  }

  async function load() {
    if (query.has("try")) return begin(null, { id: "try", features: { indices: [] }, edges: [] });
    const asked = new URLSearchParams();
    for (const name of ["id", "partition", "offset"]) if (query.has(name)) asked.set(name, query.get(name));
    if (!asked.toString()) {
      put(body, empty("Choose a prediction in the ", link({ view: "stream" }, null, "stream"), ", find an arrival by its id, or ", link({ view: "arrival", try: "1" }, null, "write one"), "."));
      return;
    }
    put(body, empty("Reading the arrival …"));
    try {
      const answer = await get("api/arrival?" + asked, ended.signal);
      begin(answer, answer.arrival ?? null);
    } catch (error) {
      if (ended.signal.aborted) return;
      put(body);
      say(error);
    }
  }

  function begin(answer, of) {
    base = now = answer;
    original = of && structuredClone(of);
    written = of && structuredClone(of);
    build();
    if (answer) draw();
    else edited();
  }

  // Parts that are filled by draw.
  const parts = {};

  function build() {
    parts.head = h("div");
    parts.scores = h("div");
    parts.sum = h("div");
    parts.neighbours = h("div");
    parts.features = h("div");
    parts.changed = h("p", { class: "note", role: "status" });
    parts.raw = h("textarea", { id: "raw", rows: "8", spellcheck: "false", oninput: () => {
      try {
        written = JSON.parse(parts.raw.value);
        parts.raw.removeAttribute("aria-invalid");
        edited(true);
      } catch (error) {
        parts.raw.setAttribute("aria-invalid", "true");
        say(new Error("the arrival is not JSON yet: " + error.message));
      }
    } });
    const back = h("button", { type: "button", onclick: () => { written = structuredClone(original); edited(); } }, "As it was");
    put(body, h("div", { class: "columns" },
      h("div", { class: "column" },
        h("section", { class: "card" }, parts.head),
        card("How it adds up", { note: "the lead over the runner-up in raw logits, before temperature" }, parts.sum),
        card("Neighbours", { note: "what each adds to the lead, and what the lead loses without it, in logits" }, parts.neighbours)),
      h("div", { class: "column" },
        card("Probabilities", { note: base ? "a tick is where it was before your changes" : "" }, parts.scores),
        written ? card("Try one", { note: "change it here, or beside the bars", actions: back }, parts.changed, h("label", { for: "raw", class: "note" }, "The arrival as JSON"), parts.raw) : null,
        card("Features", { note: "those that are not 0, the largest first" }, parts.features))));
    if (written) parts.raw.value = pretty(written);
  }

  // edited asks for the answer to what is written now, once nothing has changed for a moment.
  function edited(byText) {
    if (!byText) {
      parts.raw.value = pretty(written);
      parts.raw.removeAttribute("aria-invalid");
    }
    text(parts.changed, "asking …");
    clearTimeout(timer);
    timer = setTimeout(async () => {
      asking?.abort();
      asking = new AbortController();
      const own = asking;
      try {
        const answer = await post("api/try", JSON.stringify(written), own.signal);
        if (own.signal.aborted) return;
        now = answer;
        base ??= answer;
        say(null);
        draw();
      } catch (error) {
        if (own.signal.aborted || ended.signal.aborted) return;
        text(parts.changed, "no answer to this");
        say(error);
        if (!now) terms();
      }
    }, 150);
  }

  const differs = () => JSON.stringify(original) !== JSON.stringify(written);

  function draw() {
    head();
    scores();
    sums();
    terms();
    text(parts.changed, !base.place ? "" : differs() ? "changed: the answer above is to what is written here" : "not changed");
  }

  function head() {
    const p = base.published;
    const facts = [];
    const fact = (title, ...value) => facts.push(h("dt", null, title), h("dd", null, ...value));
    if (base.place) fact("Arrival", `partition ${base.place.partition}, offset ${base.place.offset}`);
    if (p) {
      fact("Published", className(p), ` with ${percent(p.probability)}, ${date(p.time)}, ${duration(p.latency_ms)} after its ingest`);
      if (p.artifact !== now.artifact) fact("By version", p.artifact, h("span", { class: "muted" }, " – the answer here is the one of the version that serves now"));
    }
    fact("Answered by", now.artifact);
    fact("Neighbours", `${now.known} known, ${now.arrived} arrived earlier, ${now.unknown} unknown`);
    if (p?.in_batch) fact("Graph batch", `${p.in_batch} neighbours were in its batch; here it is answered on its own`);
    if (now.runner_up_name) fact("Runner-up", className({ name: now.runner_up_name }), `, behind by ${now.logit.margin.toFixed(3)} in logits`);
    if (now.propagation_text) fact("Propagation", now.propagation_text);
    const changed = now !== base && now.class !== base.class;
    put(parts.head, 
      h("p", { class: "eyebrow" }, "Arrival"), h("h2", { class: "big-id" }, now.id),
      h("p", { class: "verdict" }, h("span", { class: "dot big", style: { "--dot": colour(now.class) }, "aria-hidden": "true" }),
        h("strong", { id: "verdict" }, className(now)), " ", h("span", { id: "probability", "data-probability": now.probability }, percent(now.probability)),
        changed ? h("span", { class: "badge warn" }, "was " + className(base)) : null,
        now.abstained ? h("span", { class: "badge" }, "abstains") : null, now.degraded ? h("span", { class: "badge warn" }, "degraded") : null),
      h("dl", { class: "facts" }, facts));
  }

  function scores() {
    const before = new Map(base.scores.map((c) => [c.class, c.probability]));
    const row = (c, share, was) => h("tr", null,
      h("th", { scope: "row" }, h("span", { class: "dot", style: { "--dot": colour(c.class) }, "aria-hidden": "true" }), h("span", { class: "clip", title: className(c) }, className(c))),
      h("td", { class: "bar-cell" }, h("div", { class: "bar-track", "aria-hidden": "true" }, h("div", { class: "bar", style: { width: 100 * share + "%", "--bar": colour(c.class) } }),
        now !== base && was !== undefined ? h("div", { class: "tick", style: { left: 100 * was + "%" } }) : null)),
      h("td", { class: "number" }, percent(share)));
    put(parts.scores, h("table", { class: "bars" }, h("colgroup", null, h("col", { class: "name" }), h("col"), h("col", { class: "amount" })), h("tbody", null, now.scores.map((c) => row(c, c.probability, before.get(c.class))),
      now.others ? row({ class: -1, name: `${count(now.others)} others` }, now.other_scores) : null)));
  }

  function sums() {
    if (!now.shares) {
      put(parts.sum, empty("Only a linear model in frozen attachment has shares that add up. The bars show what the lead loses without a term."));
      return;
    }
    const total = (terms, rest) => terms.reduce((s, t) => s + (t.share?.margin ?? 0), rest.margin);
    const lines = [["bias", now.bias.margin], ["centring", now.centring.margin], ...(now.own ? [["own features' model", now.own.margin]] : []), ["features", total(now.features, now.other_features)], ["neighbours", total(now.neighbours, now.other_neighbours)]];
    const sum = lines.reduce((s, l) => s + l[1], 0);
    const most = Math.max(...lines.map((l) => Math.abs(l[1])), 1e-9);
    put(parts.sum, h("table", { class: "bars" }, h("colgroup", null, h("col", { class: "name" }), h("col"), h("col", { class: "amount" })), h("tbody", null, lines.map(([name, x]) => h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "bar-cell" }, balance(x, most)), h("td", { class: "number" }, signed(x)))),
      h("tr", { class: "total" }, h("th", { scope: "row" }, now.runner_up_name ? "lead over " + className({ name: now.runner_up_name }) : "lead"), h("td"), h("td", { class: "number" }, signed(sum))))));
  }

  // balance is a bar from the middle: to the right for the class, to the left for the runner-up.
  function balance(x, most) {
    const width = (50 * Math.abs(x)) / most + "%";
    return h("div", { class: "balance", "aria-hidden": "true" }, h("div", { class: x < 0 ? "against" : "for", style: x < 0 ? { width, right: "50%" } : { width, left: "50%" } }));
  }

  const lead = (t) => t.share?.margin ?? t.without?.margin ?? 0;

  function terms() {
    const all = now ? [...now.neighbours, ...now.features] : [];
    const most = Math.max(...all.map((t) => Math.abs(lead(t))), 1e-9);
    neighbours(most);
    features(most);
  }

  function termRow(t, most, name, extra, remove) {
    const synthetic = (t.synthetic ?? []).slice(0, 3).map((n) => `${n.node} (${signed(n.share.margin)})`).join(", ");
    return h("tr", null, h("th", { scope: "row" }, name), extra,
      h("td", { class: "bar-cell" }, balance(lead(t), most),
        synthetic ? h("span", { class: "sub" }, "through synthetic nodes ", synthetic) : null),
      h("td", { class: "number" }, t.share ? signed(t.share.margin) : none), h("td", { class: "number muted" }, t.without ? signed(t.without.margin) : none),
      written ? h("td", { class: "action" }, remove) : null);
  }

  const columns = (what, second) => [h("colgroup", null, h("col", { class: "name" }), h("col", { class: "state" }), h("col"), h("col", { class: "amount" }), h("col", { class: "amount" }), written ? h("col", { class: "act" }) : null),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, what), h("th", { scope: "col" }, second), h("th"), h("th", { scope: "col", class: "number" }, "adds"),
      h("th", { scope: "col", class: "number", title: "what the lead loses without it, the degree included" }, "without"), written ? h("th", null, h("span", { class: "visually-hidden" }, "Leave out")) : null))];

  const remover = (what, act) => h("button", { type: "button", class: "quiet", "aria-label": "Leave out " + what, title: "leave out", onclick: act }, "×");

  function neighbours(most) {
    const list = now?.neighbours ?? [];
    const leave = (id) => () => { written.edges = (written.edges ?? []).filter((e) => String(e) !== id); edited(); };
    const gone = written && original ? (original.edges ?? []).filter((e) => !(written.edges ?? []).map(String).includes(String(e))) : [];
    const rows = (some) => scroller("Neighbours", h("table", { class: "bars terms" }, columns("Id", ""), h("tbody", null, some.map((t) =>
      termRow(t, most, h("span", { class: "clip", title: t.id }, t.id), h("td", null, h("span", { class: "badge " + t.state }, states[t.state] ?? t.state)), remover("neighbour " + t.id, leave(t.id)))))));
    const heard = list.filter((t) => t.state !== "unknown");
    const unknown = list.filter((t) => t.state === "unknown");
    const table = [heard.length ? rows(heard) : empty(unknown.length ? "No neighbour is known." : "No neighbours."),
      unknown.length ? h("details", { open: unfolded, ontoggle: (event) => { unfolded = event.target.open; } }, h("summary", null, `${count(unknown.length)} unknown, without any influence`), rows(unknown)) : null];
    const input = h("input", { id: "add-neighbour", autocomplete: "off", spellcheck: "false" });
    put(parts.neighbours, table,
      rest(now?.other_neighbours, "smaller ones"),
      gone.length ? h("p", { class: "note" }, "left out: ", gone.map((e) => h("button", { type: "button", class: "chip", onclick: () => { written.edges = [...(written.edges ?? []), e]; edited(); } }, "+ ", e))) : null,
      written ? h("form", { class: "add", onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) { written.edges = [...(written.edges ?? []), input.value.trim()]; edited(); }
      } }, h("label", { for: "add-neighbour" }, "Add a neighbour by id"), input, h("button", { type: "submit" }, "Add")) : null);
  }

  const rest = (r, what) => (r?.terms ? h("p", { class: "note" }, `and ${count(r.terms)} ${what}${now.shares ? ` with ${signed(r.margin)} together` : ""}`) : null);

  function features(most) {
    const list = now?.features ?? [];
    const f = written?.features;
    const edit = f ? editor(f) : null;
    const table = list.length ? scroller("Features", h("table", { class: "bars terms" }, columns("Feature", written ? "Value" : ""), h("tbody", null, list.map((t) => {
      const value = edit?.value(t.name);
      const field = value === undefined ? h("td") : h("td", null, h("input", { class: "value", type: "number", step: "any", value, "aria-label": "Value of feature " + t.name, onchange: (event) => {
        edit.set(t.name, Number(event.target.value));
        edited();
      } }));
      return termRow(t, most, h("span", { class: "clip", title: t.name }, t.name), field, value === undefined ? null : remover("feature " + t.name, () => { edit.set(t.name, 0); edited(); }));
    })))) : empty("All features are 0.");
    put(parts.features, named(f), table, rest(now?.other_features, "smaller ones"), edit ? adder(edit) : null);
  }

  function adder(edit) {
    const at = h("input", { id: "add-feature", type: "number", min: "0", step: "1", required: true });
    const value = h("input", { id: "add-value", type: "number", step: "any", value: "1", required: true });
    return h("form", { class: "add", onsubmit: (event) => {
      event.preventDefault();
      edit.set(at.value, Number(value.value));
      edited();
    } }, h("label", { for: "add-feature" }, "Feature at position"), at, h("label", { for: "add-value" }, "value"), value, h("button", { type: "submit" }, "Set"));
  }

  // named are the values by the names that the artifact's schema has; nothing for features by position.
  function named(f) {
    if (!f?.named) return null;
    return h("table", { class: "named" }, h("tbody", null, Object.entries(f.named).map(([name, value]) => h("tr", null, h("th", { scope: "row" }, name),
      h("td", null, h("input", { value: typeof value === "string" ? value : JSON.stringify(value), "aria-label": "Value of " + name, onchange: (event) => {
        f.named[name] = typed(event.target.value, value);
        edited();
      } }))))));
  }

  load();
  return {
    path: null,
    update() {},
    end() {
      ended.abort();
      asking?.abort();
      clearTimeout(timer);
    },
    pause: 60_000,
  };
}

// typed reads what was written as what the value was before.
function typed(entry, before) {
  if (typeof before === "string") return entry;
  try {
    return JSON.parse(entry);
  } catch {
    return entry;
  }
}

// editor reads and changes a row of features by position, dense or sparse; null for features by name.
function editor(f) {
  if (Array.isArray(f)) {
    return { value: (name) => f[Number(name)], set: (name, x) => { f[Number(name)] = x; } };
  }
  if (!f.indices) return null;
  return {
    value(name) {
      const k = f.indices.indexOf(Number(name));
      return k < 0 ? undefined : f.values ? f.values[k] : 1;
    },
    set(name, x) {
      const at = Number(name);
      const k = f.indices.indexOf(at);
      f.values ??= f.indices.map(() => 1);
      if (k >= 0 && x === 0) {
        f.indices.splice(k, 1);
        f.values.splice(k, 1);
      } else if (k >= 0) f.values[k] = x;
      else if (x !== 0) {
        f.indices.push(at);
        f.values.push(x);
      }
    },
  };
}

// pretty writes an arrival with a line a field, and its lists in one line each.
function pretty(a) {
  if (a === null || typeof a !== "object") return JSON.stringify(a);
  return "{\n" + Object.entries(a).map(([k, v]) => `  ${JSON.stringify(k)}: ${JSON.stringify(v)}`).join(",\n") + "\n}";
}
