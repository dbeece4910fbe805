// The view of versions: what serves where, and activating another one.

import { h, card, empty, scroller } from "./dom.js";
import { post } from "./api.js";
import { ago, bytes, count, date, none } from "./format.js";

export function versions(root, query, { refresh }) {
  const columns = ["Version", "State", "Published", "Accuracy by labels", "At training", "Held by"];
  const cell = (k, ...children) => h("td", { "data-column": columns[k] }, ...children); // on a phone the column's name is before it
  const body = h("tbody");
  const note = h("p", { class: "note" });
  const said = h("div", { role: "status" });
  const dialog = h("dialog", { "aria-labelledby": "activate-title" });
  const table = h("table", { class: "versions" }, h("thead", null, h("tr", null, [...columns, ""].map((c) => h("th", { scope: "col" }, c || h("span", { class: "visually-hidden" }, "Actions"))))), body);
  root.append(said, card("Versions", { class: "wide" }, note, scroller("Versions", table)), dialog);
  let before = "";

  // ask shows both versions, and moves CURRENT only if it still names the one that is shown.
  function ask(current, to) {
    const fault = h("p", { role: "alert", class: "fault", hidden: true });
    const facts = (v, title) => h("div", { class: "side" }, h("h3", null, title), h("p", null, h("code", null, v?.version ?? "none")),
      v ? h("dl", { class: "facts" }, h("dt", null, "Published"), h("dd", null, date(v.published)), h("dt", null, "Synthetic nodes"), h("dd", null, count(v.synthetic)), h("dt", null, "Rows of M"), h("dd", null, count(v.rows)),
        h("dt", null, "Accuracy by labels"), h("dd", null, accuracy(v))) : null);
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Leave it");
    const yes = h("button", { type: "submit", class: "danger" }, "Activate");
    dialog.replaceChildren(h("form", { onsubmit: async (event) => {
      event.preventDefault();
      yes.disabled = true;
      try {
        await post("api/activate", JSON.stringify({ version: to.version, expect: current?.version ?? "" }));
        dialog.close();
        said.replaceChildren(h("p", { class: "done" }, `CURRENT names ${to.version} now. Consumers take it within their redis.poll_interval.`));
        refresh();
      } catch (error) {
        fault.hidden = false;
        fault.textContent = error.message;
        yes.disabled = false;
      }
    } }, h("h2", { id: "activate-title" }, "Activate this version?"),
    h("div", { class: "sides" }, facts(current, "CURRENT now"), h("span", { class: "arrow", "aria-hidden": "true" }, "→"), facts(to, "CURRENT then")),
    h("p", { class: "note" }, "All consumers that follow CURRENT change to it between two batches. If somebody else moves CURRENT meanwhile, nothing happens."), fault, h("div", { class: "buttons" }, close, yes)));
    dialog.showModal();
    close.focus();
  }

  const accuracy = (v) => (v.accuracy ? `${((100 * v.accuracy.right) / v.accuracy.labels).toFixed(1)}% of ${count(v.accuracy.labels)}` : none);

  return {
    path: () => "api/versions",
    pause: 2000,
    update(d) {
      const stamp = JSON.stringify([d.versions, d.can_activate, d.listed]);
      if (stamp === before || body.contains(document.activeElement) && stamp.length === before.length) return;
      before = stamp;
      note.textContent = d.pinned ? "A pinned artifact is served from its directory; Redis is not used." : d.can_activate ? "" :
        "Versions cannot be activated here: the page has no credentials for that (page.activate). trainer activate does it.";
      note.hidden = !note.textContent;
      if (!d.versions.length) {
        body.replaceChildren(h("tr", null, h("td", { colspan: "7" }, empty(d.listed ? "Nothing is published yet: trainer publish does it." : "Redis has not answered yet."))));
        return;
      }
      const current = d.versions.find((v) => v.current);
      body.replaceChildren(...d.versions.map((v) => h("tr", null,
        h("th", { scope: "row" }, h("code", null, v.version), h("span", { class: "sub" }, `${count(v.synthetic)} synthetic nodes, ${count(v.rows)} rows of M`, v.file_bytes ? ", " + bytes(v.file_bytes) : "")),
        cell(1, v.current ? h("span", { class: "badge good" }, "CURRENT") : null, h("span", { class: "badge" }, v.state), v.last_predicted ? h("span", { class: "sub" }, "predicted ", ago(v.last_predicted, Date.now())) : null),
        cell(2, v.published ? date(v.published) : none),
        cell(3, accuracy(v)), cell(4, v.trained === null ? none : v.trained.toFixed(1) + "%"),
        cell(5, v.holders.length ? h("ul", { class: "plain" }, v.holders.slice(0, 8).map((x) => h("li", null, h("code", null, x))), v.holders.length > 8 ? h("li", { class: "muted" }, `and ${v.holders.length - 8} more`) : null) : h("span", { class: "muted" }, "nobody")),
        h("td", null, d.can_activate && !v.current && v.state === "complete" ? h("button", { type: "button", onclick: () => ask(current, v) }, "Activate") : null))));
    },
    end() { if (dialog.open) dialog.close(); },
  };
}
