// Elements. Whatever comes from outside becomes text and never markup: there is no innerHTML in these modules.

// h makes an element with properties and children. Children are elements, texts or numbers; what is null is left out.
// Properties that begin with "on" are listeners, class and aria-… are attributes.
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

// s is h for SVG.
export function s(tag, properties, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return element;
}

// put replaces an element's children; what is null is left out.
export function put(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

// text sets an element's text, if it is another one.
export function text(element, value) {
  value = String(value);
  if (element.textContent !== value) element.textContent = value;
}

// card is a titled part of a view.
export function card(title, properties, ...children) {
  const { note, actions, ...rest } = properties ?? {};
  return h("section", { ...rest, class: "card " + (rest.class ?? "") },
    h("div", { class: "card-head" }, h("h2", null, title), note ? h("p", { class: "note" }, note) : null, actions ?? null),
    ...children);
}

export const empty = (...children) => h("p", { class: "empty" }, ...children);

// link is an anchor within the page: a plain one for whoever opens it elsewhere, and without a reload here.
export function link(query, properties, ...children) {
  return h("a", { ...properties, href: "?" + new URLSearchParams(query), "data-in": true }, ...children);
}

// scroller is a box around a wide table that can be scrolled by keyboard, too.
export function scroller(label, ...children) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
}
