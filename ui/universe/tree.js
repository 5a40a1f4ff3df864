// The tree of a definition: elements with their entities, properties, functions and constraints; constants; functions.

import { el } from "../base/dom.js";
import { count } from "../base/time.js";

/**
 * @param {HTMLElement} place
 * @param {UniverseDefinition} definition
 * @param {number | null} chosen the element that is looked at
 * @param {(element: ElementInfo) => void} choose
 */
export function show(place, definition, chosen, choose) {
  const open = new Set([...place.querySelectorAll("details[open]")].map((of) => of.getAttribute("data-element")));
  const { elements, constants, functions, left_out, next } = definition;
  const parts = [
    el("h2", { text: "Elements" }),
    ...elements.map((of) => element(of, of.number === chosen, open.has(of.name), choose)),
    next !== null && el("p", { class: "note", text: `The first ${elements.length} elements are shown.` }),
    ...lines("Functions of the universe", functions),
    ...lines("Constants", constants),
    left_out > 0 && el("p", { class: "note", text: `${count(left_out)} more lines are left out.` }),
  ];
  place.replaceChildren(...parts.filter((part) => part !== false));
}

/**
 * @param {ElementInfo} of
 * @param {boolean} chosen
 * @param {boolean} open
 * @param {(element: ElementInfo) => void} choose
 */
function element(of, chosen, open, choose) {
  const base = of.base === null ? "" : ` : ${of.base}`;
  const about = `${count(of.entities)} entities, ${count(of.row_len)} bytes each`;
  const button = el("button", {
    class: "choose",
    text: "Show",
    "aria-pressed": String(chosen),
    "aria-label": `Show the rows of ${of.name}`,
    onclick: (/** @type {Event} */ event) => {
      event.preventDefault();
      choose(of);
    },
  });
  return el(
    "details",
    { open: open || chosen, "data-element": of.name },
    el("summary", {}, el("b", { text: `${of.name}${base}` }), button, el("div", { class: "soft", text: about })),
    list(of.properties),
    list(of.functions),
  );
}

/** @param {string[]} of */
function list(of) {
  return of.length > 0 && el("ul", {}, ...of.map((line) => el("li", {}, el("code", { text: line }))));
}

/**
 * @param {string} title
 * @param {string[]} of
 */
function lines(title, of) {
  return of.length > 0 ? [el("h2", { text: title }), list(of)] : [];
}
