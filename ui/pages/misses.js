// Missed deadlines: a list in which each leads to its place.

import { el } from "../base/dom.js";
import { count, point, span } from "../base/time.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */

/**
 * Where a miss is, from the first moment of the recording, ns.
 * @param {Pane} pane
 * @param {any} miss
 */
export function place(pane, miss) {
  return Math.max(0, miss.job.release_ns - pane.info.from_ns);
}

/**
 * Leads to a miss.
 * @param {Pane} pane
 * @param {any} miss
 */
export async function go(pane, miss) {
  const row = pane.info.rows.find((row) => row.kind === "thread" && row.tid === miss.job.tid)?.row;
  if (row === undefined) return;
  await pane.choose(row, { at: place(pane, miss) + 1, reveal: true });
  pane.showJob();
}

/**
 * @param {HTMLElement} element
 * @param {Pane} pane
 * @param {any} report
 */
export function show(element, pane, report) {
  if (!report) {
    element.replaceChildren(el("p", { class: "note", text: "Being computed…" }));
    return;
  }
  const all = report.missed_deadlines;
  if (all === 0) {
    const known =
      report.tasks.length > 0 || report.threads.some((/** @type {any} */ thread) => thread.period_from === "given");
    const words = known
      ? "Every deadline was met."
      : "No deadline is known: programs say theirs with the marks of hemiola_mark.h.";
    element.replaceChildren(el("p", { text: words }));
    return;
  }
  const first = report.misses.length < all ? `, the first ${count(report.misses.length)} here` : "";
  const items = report.misses.map((/** @type {any} */ miss) =>
    el(
      "li",
      {},
      el(
        "button",
        { onclick: () => go(pane, miss) },
        el("span", { class: "late", text: `${miss.jobs > 1 ? "up to " : ""}${span(miss.late_ns)} late` }),
        el("span", { text: `at ${point(place(pane, miss), 1e5)}` }),
        el("span", { text: `${miss.name}: ${miss.explanation}` }),
      ),
    ),
  );
  element.replaceChildren(
    el("p", { text: `${count(all)} deadlines were missed${first}. M leads to the next.` }),
    el("ul", { class: "list" }, ...items),
  );
}
