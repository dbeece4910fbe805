// The view of S in the plane.

import { card, empty, h } from "./dom.js";

export function map(root) {
  root.append(card("Map", null, empty("The artifact that serves has no map. ", h("code", null, "trainer train --map"), " writes one.")));
  return { path: () => "api/about", update() {}, pause: 5000 };
}
