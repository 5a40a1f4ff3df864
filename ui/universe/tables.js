// Monitors with what became of their rows, and steps with their phases; sizes and samples in words.

import { el } from "../base/dom.js";
import { count, percent, span } from "../base/time.js";

/**
 * What a sample is, in words.
 * @param {SampleInfo} sample
 */
export function sampled(sample) {
  const { chosen, rows, stride, steps, waited_ns } = sample;
  const part = stride > 1 ? `${count(chosen)} of ${count(rows)} entities, one of each ${stride}` : `all ${count(rows)} entities`;
  const [first, last] = steps;
  const when = first === last ? `after step ${count(first)}` : `after the steps ${count(first)} to ${count(last)}`;
  return `${part}, ${when}; a step waited ${span(waited_ns)} at most`;
}

/**
 * A size, such as `12.3 MB`.
 * @param {number} value
 */
export function bytes(value) {
  for (const [size, unit] of /** @type {[number, string][]} */ ([[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]])) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  }
  return `${value} B`;
}

/**
 * @param {HTMLElement} place
 * @param {UniverseStatus} status
 */
export function monitors(place, status) {
  if (status.monitors.length === 0) {
    place.replaceChildren(el("p", { class: "note", text: "The universe has no monitors." }));
    return;
  }
  const rows = status.monitors.map((of, at) => {
    const all = of.sent + of.outside + of.unchanged + of.faults + of.held;
    const len = status.row_lens[at] ?? 0;
    return [
      of.monitor,
      count(of.sent),
      count(of.outside),
      count(of.unchanged),
      count(of.faults),
      count(of.held),
      all === 0 ? "–" : percent(1 - of.sent / all),
      bytes(of.sent * len),
      bytes((all - of.sent) * len),
    ];
  });
  const heads = ["monitor", "rows sent", "outside", "unchanged", "faults", "held", "saved", "bytes sent", "bytes saved"];
  place.replaceChildren(
    table("monitors", heads, rows),
    el("p", {
      class: "note",
      text: "outside: a condition on the row alone did not hold, such as a box; unchanged: one that reads last_sent, such as a threshold; held: a manager had not read enough of what it was sent before; bytes: the columns of the monitor, without the numbers of the entities.",
    }),
  );
}

/**
 * @param {HTMLElement} place
 * @param {UniverseAnswer} now
 * @param {UniverseAnswer} before what the figures of now count from
 */
export function steps(place, now, before) {
  const { status, phase_names } = now;
  const made = Math.max(1, status.step - before.status.step);
  const times = now.pace.phases.map((of, at) => (of - (before.pace.phases[at] ?? 0)) / made);
  const sum = times.reduce((sum, of) => sum + of, 0);
  const rows = phase_names.map((name, at) => {
    const time = times[at] ?? 0;
    const mean = (now.pace.phases[at] ?? 0) / Math.max(1, status.step);
    return [name, span(time), sum > 0 ? percent(time / sum) : "–", span(mean)];
  });
  const { last } = status;
  const back = last?.no_way_back ? `cannot be rolled back: ${last.no_way_back}` : "can be rolled back";
  const changed = last ? `Redefined after step ${count(last.step)}: ${last.what}; ${back}.` : "Not redefined.";
  place.replaceChildren(
    table("phases", ["phase", "a step now", "share", "a step since the start"], rows),
    el("p", { class: "note", text: changed }),
  );
}

/**
 * @param {UniverseAnswer} now
 * @param {UniverseAnswer} before
 */
export function pace(now, before) {
  const { step, entities } = now.status;
  const [made, elapsed] =
    step > before.status.step
      ? [step - before.status.step, now.pace.elapsed - before.pace.elapsed]
      : [step, now.pace.elapsed];
  const rate = elapsed > 0 ? (made / elapsed) * 1e9 : 0;
  const { period, late, skipped } = now.pace;
  const due = period === null ? "" : ` of ${(1e9 / period).toFixed(1)}; ${count(late)} late, ${count(skipped)} left out`;
  return `step ${count(step)}, ${rate.toFixed(1)} steps/s${due}; ${count(entities)} entities`;
}

/**
 * @param {string} name
 * @param {string[]} heads
 * @param {string[][]} rows
 */
function table(name, heads, rows) {
  const side = (/** @type {number} */ at) => (at === 0 ? "" : "right");
  const row = (/** @type {string[]} */ cells) =>
    el(
      "tr",
      {},
      ...cells.map((text, at) => (at === 0 ? el("th", { scope: "row", text }) : el("td", { class: "right", text }))),
    );
  return el(
    "table",
    { class: name },
    el("thead", {}, el("tr", {}, ...heads.map((text, at) => el("th", { scope: "col", class: side(at), text })))),
    el("tbody", {}, ...rows.map(row)),
  );
}
