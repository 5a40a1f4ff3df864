// Missed deadlines: a list in which each leads to its place.

import { el } from "../base/dom.js";
import { count, counted, point, span } from "../base/time.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */

/** Problems of a recording that are named where a deadline may have been missed unseen. */
const PROBLEMS_MAX = 3;

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
  if (miss.row === null) return;
  await pane.choose(miss.row, { at: place(pane, miss) + 1, reveal: true });
  pane.showJob();
}

/**
 * Whether a deadline was missed, in a sentence or two.
 * @param {Pane} pane
 * @param {any} report the figures, or nothing yet
 */
export function words(pane, report) {
  if (!report) return "Being computed…";
  const unseen = lost(pane, report);
  const all = report.missed_deadlines;
  if (all > 0) {
    const more = unseen ? ` There may be more: ${unseen}.` : "";
    return `${counted(all, "deadline was", "deadlines were")} missed.${more}`;
  }
  if (!judged(report)) {
    const known = "No deadline is known: programs say theirs with the marks of hemiola_mark.h.";
    return unseen ? `${known} Not everything was seen: ${unseen}.` : known;
  }
  return unseen ? `No missed deadline was seen, but not everything was: ${unseen}.` : "Every deadline was met.";
}

/**
 * Whether there is a job with a deadline that was seen to its end.
 * @param {any} report
 */
function judged(report) {
  const task = (/** @type {any} */ task) => task.jobs > 0 && task.deadline_ns !== null;
  const thread = (/** @type {any} */ thread) =>
    thread.invocations > 0 && (thread.period_from === "given" || thread.period_from === "reservation");
  return report.tasks.some(task) || report.threads.some(thread);
}

/**
 * What of a recording was not seen, so that a deadline may have been missed there; empty if all was.
 * @param {Pane} pane
 * @param {any} report
 */
function lost({ info }, report) {
  const unfinished = sum(report.tasks, (/** @type {any} */ task) => task.incomplete);
  const more = info.problems.length - PROBLEMS_MAX;
  return [
    ...info.problems.slice(0, PROBLEMS_MAX),
    more > 0 && `${counted(more, "more problem", "more problems")}, listed under Recording`,
    info.in_progress && "the recording is still being written",
    info.pauses > 0 && paused(info.pauses),
    unfinished > 0 && `${counted(unfinished, "job was", "jobs were")} not seen from beginning to end`,
  ]
    .filter(Boolean)
    .join("; ");
}

/**
 * What nobody wanted to record is not lost.
 * @param {number} pauses
 */
export function paused(pauses) {
  const stretches = counted(pauses, "stretch", "stretches");
  return `nothing was recorded in ${stretches}, because the recording was paused or a processor was offline`;
}

/**
 * @param {any[]} list
 * @param {(of: any) => number} figure
 */
function sum(list, figure) {
  return list.reduce((sum, of) => sum + figure(of), 0);
}

/**
 * @param {HTMLElement} element
 * @param {Pane} pane
 * @param {any} report the figures, or nothing yet
 */
export function show(element, pane, report) {
  const said = words(pane, report);
  if (!report || report.missed_deadlines === 0) {
    element.replaceChildren(el("p", { class: report ? undefined : "note", text: said }));
    return;
  }
  const listed = sum(report.misses, (/** @type {any} */ miss) => miss.missed);
  const first = listed < report.missed_deadlines ? ` The first ${count(listed)} are listed.` : "";
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
    el("p", { text: `${said}${first} M leads to the next.` }),
    el("ul", { class: "list" }, ...items),
  );
}
