// Plots: how busy each processor was over time, the numbers that programs marked, and the response times of a thread.

import { text } from "../base/api.js";
import { el } from "../base/dom.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */

let asked = 0;

/**
 * @param {HTMLElement} place
 * @param {Pane} pane
 */
export async function show(place, pane) {
  const now = ++asked;
  const about = { r: pane.recording, from: Math.max(0, Math.floor(pane.from)), to: Math.ceil(pane.to) };
  const busy = text("plot/utilization", about);
  const response = pane.chosen === null ? null : text("plot/response", { r: pane.recording, row: pane.chosen });
  const [first, numbers, second] = await Promise.all([busy, text("plot/counters", about), response]);
  // Something else was asked for meanwhile.
  if (now !== asked) return;
  const name = pane.chosen === null ? "" : pane.names.get(pane.chosen);
  place.replaceChildren(
    el(
      "div",
      { class: "plots" },
      drawing("Processor utilisation in the window shown", first),
      numbers === "" ? "" : drawing("Marked numbers in the window shown", numbers),
      second === null
        ? el(
            "div",
            {},
            el("h2", { text: "Response times" }),
            el("p", { class: "soft", text: "Choose a thread to see its response times." }),
          )
        : drawing(`Response times of ${name}`, second),
    ),
  );
}

/**
 * A drawing of the server, which escapes all text in it.
 * @param {string} title
 * @param {string} svg
 */
function drawing(title, svg) {
  const place = el("div", {}, el("h2", { text: title }));
  const holder = el("div");
  holder.innerHTML = svg;
  place.append(holder);
  return place;
}
