// The measured range: its length, and how long each thread ran and waited in it.

import { word } from "../base/colour.js";
import { el } from "../base/dom.js";
import { count, percent, point, span } from "../base/time.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */

/** Threads listed beside the timeline. */
const FEW = 20;

/**
 * @param {HTMLElement} place
 * @param {Pane} pane
 */
export function show(place, pane) {
  const { measured } = pane;
  if (!measured) return;
  const { from, to, answer } = measured;
  const length = to - from;
  const step = Math.max(1, length / 1000);
  place.append(
    el("button", {
      class: "close",
      title: "Measure nothing",
      "aria-label": "Measure nothing",
      text: "×",
      onclick: () => pane.measure(null),
    }),
    el("h2", { text: `Range of ${span(length)}` }),
    el("p", { class: "soft", text: `From ${point(from, step, to)} to ${point(to, step)}; ${rate(length)}.` }),
    el(
      "div",
      { class: "buttons", role: "group", "aria-label": "Range" },
      el("button", { text: "Zoom to it", onclick: () => pane.glideTo(from, to) }),
    ),
  );
  if (!answer) {
    place.append(el("p", { class: "soft", text: "Adding up…" }));
    return;
  }
  place.append(processors(pane, answer, length), threads(pane, answer, length));
}

/**
 * How often it would fit into a second.
 * @param {number} ns
 */
function rate(ns) {
  const hertz = 1e9 / ns;
  const [size, unit] = hertz >= 1e6 ? [1e6, "MHz"] : hertz >= 1e3 ? [1e3, "kHz"] : [1, "Hz"];
  return `as a period ${(hertz / size).toPrecision(3)} ${unit}`;
}

/**
 * @param {Pane} pane
 * @param {RangeAnswer} answer
 * @param {number} length
 */
function processors(pane, { cpus }, length) {
  const words = cpus.map(({ row, running }) => `${pane.names.get(row)} ${percent(running / length)}`);
  return el("p", { text: `Busy: ${words.join(", ")}.` });
}

/**
 * @param {Pane} pane
 * @param {RangeAnswer} answer
 * @param {number} length
 */
function threads(pane, answer, length) {
  const shown = answer.threads.slice(0, FEW);
  const heads = ["Running", "Waiting", "Blocked", "Jobs", "C mean", "C max"];
  const row = (/** @type {RangeThread} */ of) => {
    const name = pane.names.get(of.row) ?? "";
    const swatch = el("span", { class: "swatch", "aria-hidden": true });
    swatch.style.setProperty("--own", word(name, pane.theme.dark));
    const choose = () => pane.choose(of.row, { reveal: true });
    const time = (/** @type {number} */ ns) => (ns > 0 ? span(ns) : "–");
    const cells = [
      `${time(of.running)} (${percent(of.running / length)})`,
      time(of.waiting),
      time(of.blocked),
      of.jobs > 0 ? count(of.jobs) : "–",
      time(of.execution_mean ?? 0),
      time(of.execution_max),
    ];
    return el(
      "tr",
      { "data-measured": of.row },
      el("th", { scope: "row" }, swatch, el("button", { class: "go", text: name, onclick: choose })),
      ...cells.map((text) => el("td", { class: "right", text })),
    );
  };
  const more = answer.count - shown.length;
  return el(
    "div",
    { class: "wide" },
    el(
      "table",
      {},
      el("caption", { class: "unseen", text: "Threads in the range; jobs that lie whole in it" }),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col", text: "Thread" }),
          ...heads.map((text) => el("th", { scope: "col", class: "right", text })),
        ),
      ),
      el("tbody", {}, ...shown.map(row)),
    ),
    more > 0 && el("p", { class: "soft", text: `${count(more)} more threads, each with less.` }),
  );
}
