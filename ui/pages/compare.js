// Two recordings side by side: what differs, and whether by more than noise.

import { json } from "../base/api.js";
import { el } from "../base/dom.js";
import { draw } from "./verdict.js";

/**
 * @param {HTMLElement} place
 * @param {number} first
 * @param {number} second
 */
export async function show(place, first, second) {
  place.replaceChildren(el("p", { class: "note", text: "Being compared…" }));
  const answer = await json("compare", { a: first, b: second });
  place.replaceChildren(
    ...answer.tables.map(draw),
    ...answer.remarks.map((/** @type {string} */ words) => el("p", { class: "note", text: words })),
  );
}
