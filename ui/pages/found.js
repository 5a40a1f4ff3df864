// What a search found: events and marks, each of which leads to its place.

import { json } from "../base/api.js";
import { el } from "../base/dom.js";
import { count, point } from "../base/time.js";
import { name as who } from "./detail.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */

/** A place is shown in at most this part of the recording. */
const CLOSE = 1 / 20;

let asked = 0;

/**
 * Searches from the beginning of the window on.
 * @param {Pane} pane
 * @returns {Promise<Found>}
 */
export function find(pane) {
  return json("find", { r: pane.recording, text: pane.filter, from: Math.max(0, Math.floor(pane.from)) });
}

/**
 * Leads to a place.
 * @param {Pane} pane
 * @param {FoundPlace} place
 */
export function go(pane, { at, row }) {
  visit(pane, at);
  return pane.choose(row, { at, reveal: true });
}

/**
 * Brings a moment to the middle of the window, with a line there.
 * @param {Pane} pane
 * @param {number} at ns
 */
export function visit(pane, at) {
  const half = Math.min(pane.to - pane.from, pane.whole * CLOSE) / 2;
  pane.spot = Math.min(Math.max(0, at), pane.whole);
  pane.glideTo(at - half, at + half);
}

/**
 * @param {HTMLElement} element
 * @param {Pane} pane
 */
export async function show(element, pane) {
  const now = ++asked;
  const text = pane.filter;
  if (!text.trim()) {
    const words = "running, woken, preempted, blocked, throttled, lost";
    const help = `Type what to find: a part of the name of a mark, a thread or its number, one of the events ${words}, or several of these; or a time, such as 12.5 ms.`;
    element.replaceChildren(el("p", { text: help }));
    return;
  }
  const { places, more } = await find(pane);
  // Something else was searched for meanwhile.
  if (now !== asked) return;
  const items = places.map((place) =>
    el(
      "li",
      {},
      el(
        "button",
        { onclick: () => go(pane, place), "data-at": place.at },
        el("span", { text: point(place.at, 1e3, pane.whole) }),
        el("span", { text: pane.names.get(place.row) ?? "" }),
        el("span", { text: words(pane, place) }),
      ),
    ),
  );
  const said =
    places.length === 0
      ? `Nothing from here on: no mark or event is “${text}”.`
      : `${more ? `The first ${count(places.length)}` : count(places.length)} from the beginning of the window on.`;
  const again = el("button", { text: "Search from here", onclick: () => show(element, pane) });
  element.replaceChildren(el("p", { text: said }), el("p", {}, again), el("ul", { class: "list", "data-text": text }, ...items));
}

/**
 * The name of the mark, or the event in words.
 * @param {Pane} pane
 * @param {FoundPlace} place
 */
function words(pane, { mark, state, key }) {
  if (mark !== null) return pane.info.names[mark] ?? "";
  switch (state) {
    case 1:
      return `begins to run on CPU ${key}`;
    case 2:
      return `woken by ${who(pane, key)}`;
    case 3:
      return `preempted by ${who(pane, key)}`;
    case 4:
      return "blocked";
    case 5:
      return "lost from sight";
    default:
      return "throttled";
  }
}
