// The frame: which view is shown, by the address; and what the server says of itself.

import { h, link, text, empty } from "./dom.js";
import { get, setToken, Refused } from "./api.js";
import { time } from "./format.js";
import { stream } from "./stream.js";
import { arrival } from "./arrival.js";
import { dead } from "./dead.js";
import { versions } from "./versions.js";
import { map } from "./map.js";

const views = { stream, map, arrival, dead, versions };
const titles = { stream: "Stream", map: "Map", arrival: "One arrival", dead: "Dead letters", versions: "Versions" };

const main = document.getElementById("main");
const status = document.getElementById("status");
const nav = document.getElementById("nav");
const serving = document.getElementById("serving");

let shown = null; // the view, with its update and its end
let name = "";
let lost = null; // since when this page's server does not answer
let timer = 0;
let asked = null;

nav.append(...Object.entries(titles).map(([view, title]) => link({ view }, { class: "tab", "data-view": view }, title)));

// show shows the view that the address names.
function show(moved) {
  const query = new URLSearchParams(location.search);
  const wanted = Object.hasOwn(views, query.get("view")) ? query.get("view") : "stream";
  asked?.abort();
  shown?.end?.();
  name = wanted;
  main.replaceChildren();
  document.title = titles[name] + " · Rivulet";
  for (const tab of nav.children) {
    if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  main.append(h("h1", { class: "visually-hidden" }, titles[name]));
  shown = views[name](main, query, { go, refresh });
  if (moved) main.focus({ preventScroll: false });
  refresh();
}

// go moves to another address within the page.
export function go(query) {
  history.pushState(null, "", "?" + new URLSearchParams(query));
  show(true);
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[data-in]");
  if (!anchor || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(new URLSearchParams(anchor.getAttribute("href").slice(1)));
});
addEventListener("popstate", () => show(true));

// refresh asks for what the view shows, now and once a second, unless nobody looks.
async function refresh() {
  clearTimeout(timer);
  asked?.abort();
  const own = new AbortController();
  asked = own;
  const view = shown;
  try {
    if (!document.hidden && view.path) {
      const data = await get(view.path(), own.signal);
      if (own.signal.aborted) return;
      lost = null;
      view.update(data);
      say(data.status?.troubles ?? []);
    }
  } catch (error) {
    if (own.signal.aborted) return;
    if (error instanceof Refused && error.status === 401) return askForToken();
    lost ??= Date.now();
    say([{ what: "the page's own server", since: lost, error: error.message }]);
  }
  timer = setTimeout(refresh, view.pause ?? 1000);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

// say shows what is amiss.
function say(troubles) {
  const words = troubles.map((t) => `${t.what} · since ${time(t.since)} · ${t.error}`);
  if (status.dataset.words === words.join("\n")) return;
  status.dataset.words = words.join("\n");
  status.replaceChildren(...troubles.map((t) => h("div", { class: "trouble" },
    h("strong", null, "Not seen: ", t.what), h("span", null, " since ", time(t.since), ". What is shown is from before. "), h("span", { class: "detail" }, t.error))));
}

function askForToken() {
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  main.replaceChildren(h("h1", { class: "visually-hidden" }, "Token"), h("form", { class: "card token", onsubmit: (event) => {
    event.preventDefault();
    setToken(input.value);
    start();
  } }, h("h2", null, "This page wants its token"),
  h("p", { class: "note" }, "It is in the file that page.token_file names on the server. It stays in this tab."),
  h("label", { for: "token" }, "Token"), input, h("button", { class: "primary", type: "submit" }, "Show the page")));
  input.focus();
}

async function about() {
  try {
    const a = await get("api/about");
    text(serving, a.serves ? `${a.serves} · ${a.model}` : "no version yet");
    serving.title = a.serves ? "the version that answers on this page, and its model" : "";
  } catch { /* refresh says what is amiss */ }
  setTimeout(about, 5000);
}

let begun = false;
function start() {
  show(false);
  if (!begun) about();
  begun = true;
}

start();
