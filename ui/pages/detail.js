// The job that is looked at: its times, who delayed it, and how the median job of its thread went.

import { word } from "../base/colour.js";
import { el, say } from "../base/dom.js";
import { count, percent, point, span } from "../base/time.js";
import { head } from "../timeline/pane.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */

const STATES = ["asleep", "running", "woken, waiting", "preempted", "blocked", "not known", "throttled"];
const NOBODY = (1 << 27) - 1;

/**
 * @param {HTMLElement} place
 * @param {Pane} pane
 */
export function show(place, pane) {
  if (pane.chosen === null) return;
  const row = pane.info.rows.find((row) => row.row === pane.chosen);
  const title = pane.names.get(pane.chosen) ?? "";
  place.append(
    el("button", {
      class: "close",
      title: "Close (Esc)",
      "aria-label": "Close",
      text: "×",
      onclick: () => pane.choose(null),
    }),
    el("h2", { text: title }),
  );
  if (!row) return;
  place.append(el("p", { class: "soft", text: about(pane, row) }));
  if (row.kind === "slices" && pane.slice) place.append(slice(pane, pane.slice));
  if (row.kind !== "thread") return;
  place.append(places(pane, row));
  const { answer } = pane;
  if (!answer) {
    place.append(el("p", { class: "soft", text: "Looking for its job…" }));
    return;
  }
  const { job, median } = answer;
  if (!job) {
    place.append(el("p", { text: "No job of it is in the recording: it was neither woken nor did it sleep." }));
    return;
  }
  place.append(
    el("h3", { text: `${which(job)} of ${count(answer.all)}` }),
    ...(job.cycle === null ? [] : [el("p", { class: "soft", text: `${task(job)}${count(job.cycle)}.` })]),
    el("p", { class: job.late ? "lateness" : undefined, text: sentence(job) }),
    buttons(pane, answer),
  );
  if (!job.whole) {
    const why = "a part of it was not recorded, so its times are lower bounds, or its thread started up or ended in it";
    place.append(el("p", { text: `It is in no figure: ${why}.` }));
  }
  place.append(sequence(pane, job, median && median.job !== job.job ? median : null));
  place.append(table(job, median && median.job !== job.job ? median : null));
  place.append(delays(pane, job, median));
  say(`${title}: ${sentence(job)}`);
}

/**
 * @param {Pane} pane
 * @param {RowInfo} row
 */
function about(pane, row) {
  if (row.kind === "slices") return `${pane.about(row.row)}.`;
  const share = percent(row.running_ns / Math.max(1, pane.info.duration_ns));
  const who = row.kind === "thread" ? `Thread ${row.tid}${row.pid ? ` of process ${row.pid}` : ""}. ` : "";
  return `${who}${span(row.running_ns)} running (${share}), ${span(row.waiting_ns)} waiting for a processor.`;
}

/**
 * The slice that is looked at.
 * @param {Pane} pane
 * @param {NonNullable<SliceAnswer["slice"]>} slice
 */
function slice(pane, { name, from, to }) {
  const text = `${pane.info.names[name] ?? ""}: from ${point(from, (to - from) / 100)}, ${span(to - from)} long.`;
  say(text);
  return el("p", { class: "slice", text });
}

/**
 * Where the thread and its process stand in the picture.
 * @param {Pane} pane
 * @param {RowInfo} row
 */
function places(pane, row) {
  const pin = pane.pinned.has(row.row) ? "Unpin" : "Pin to the top";
  const key = head(row.pid ?? 0);
  const both = pane.pinned.has(key) ? "Unpin its process" : "Pin its process";
  const fold = pane.folded.has(key) ? "Unfold its process" : "Fold its process";
  return el(
    "div",
    { class: "buttons", role: "group", "aria-label": "Place" },
    el("button", { text: pin, onclick: () => pane.pin(row.row) }),
    row.pid ? el("button", { text: both, onclick: () => pane.pin(key) }) : null,
    row.pid ? el("button", { text: fold, title: "G", onclick: () => pane.fold(key) }) : null,
    row.pid ? el("button", { text: "Only its process", onclick: () => pane.events.search(`pid:${row.pid}`) }) : null,
  );
}

/**
 * The name for the key of a wake-up or a delay.
 * @param {Pane} pane
 * @param {number | null} key
 */
export function name(pane, key) {
  if (key === null || key === NOBODY) return "somebody not recorded";
  if (key === NOBODY - 1) return "a timer or device";
  if (key === NOBODY - 2) return "its reservation";
  return pane.names.get(key) ?? "somebody not recorded";
}

/**
 * By which words the program names a job, but for its number: several tasks may mark jobs in one thread.
 * @param {Job} job
 */
function task(job) {
  return job.task ? `Of task ${job.task}; its program's number: ` : "Its program's number: ";
}

/** @param {Job} job */
function which(job) {
  const first = count(job.number + 1);
  return job.jobs > 1 ? `Jobs ${first} to ${count(job.number + job.jobs)}` : `Job ${first}`;
}

/** @param {Job} job */
function sentence(job) {
  const step = Math.max(1, job.response / 100);
  const began = `Released at ${point(job.release, Math.min(step, 1e6))}`;
  const took = `done ${span(job.response)} later`;
  if (job.deadline === null) return `${began}, ${took}.`;
  if (job.late) return `${began}. ${job.words ?? took}.`;
  return `${began}, ${took}, ${span(job.deadline - job.finish)} before its deadline.`;
}

/**
 * @param {Pane} pane
 * @param {JobAnswer} answer
 */
function buttons(pane, { job, median, slowest, count: all }) {
  const go = (/** @type {number | null | undefined} */ number) => () => {
    if (pane.chosen === null || number === null || number === undefined) return;
    pane.choose(pane.chosen, { job: number }).then(() => pane.followJob());
  };
  const now = job?.job ?? 0;
  return el(
    "div",
    { class: "buttons", role: "group", "aria-label": "Other jobs" },
    el("button", { text: "Previous", title: "P", disabled: now === 0, onclick: go(now - 1) }),
    el("button", { text: "Next", title: "N", disabled: now + 1 >= all, onclick: go(now + 1) }),
    el("button", { text: "Slowest", disabled: slowest === null, onclick: go(slowest) }),
    el("button", { text: "Median", disabled: !median, onclick: go(median?.job) }),
    el("button", { text: "Show", title: "Z", onclick: () => pane.showJob() }),
  );
}

/**
 * Both jobs as bars of one scale.
 * @param {Pane} pane
 * @param {Job} job
 * @param {Job | null} median
 */
function sequence(pane, job, median) {
  const longest = Math.max(job.response, median?.response ?? 0, 1);
  const bar = (/** @type {Job} */ job, /** @type {string} */ label) => {
    const line = el("div", { class: "bar", role: "img", "aria-label": `${label}: ${span(job.response)}` });
    for (const [at, length, state, key] of job.pieces) {
      if (state === 0) continue;
      const by = state === 3 ? ` by ${name(pane, key)}` : "";
      const piece = el("i", { class: `state-${state}`, title: `${STATES[state]}${by}: ${span(length)}` });
      piece.style.left = `${((at - job.release) / longest) * 100}%`;
      piece.style.width = `${(length / longest) * 100}%`;
      line.append(piece);
    }
    return [el("span", { class: "soft", text: label }), line];
  };
  const place = el(
    "div",
    { class: "sequence" },
    ...bar(job, "This job"),
    ...(median ? bar(median, "The median job") : []),
  );
  place.style.setProperty("--own", word(pane.names.get(pane.chosen ?? 0) ?? "", pane.theme.dark));
  return place;
}

/**
 * @param {Job} job
 * @param {Job | null} median
 */
function table(job, median) {
  /** @type {[string, (job: Job) => number][]} */
  const rows = [
    ["response", (job) => job.response],
    ["running", (job) => job.running],
    ["waiting for a processor", (job) => job.waiting],
    ["interrupted", (job) => job.interrupted],
    ["blocked", (job) => job.blocked],
    ["asleep within", (job) => job.asleep],
    ["not known", (job) => job.unknown],
  ];
  const shown = rows.filter(([, of], index) => index < 3 || of(job) > 0 || (median && of(median) > 0));
  return el(
    "table",
    {},
    el("caption", { class: "unseen", text: "Where its time went" }),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col", text: "Time" }),
        el("th", { scope: "col", class: "right", text: "this" }),
        median && el("th", { scope: "col", class: "right", text: "median" }),
        median && el("th", { scope: "col", class: "right", text: "more" }),
      ),
    ),
    el(
      "tbody",
      {},
      ...shown.map(([name, of]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row", text: name }),
          el("td", { class: "right", text: span(of(job)) }),
          median && el("td", { class: "right", text: span(of(median)) }),
          median && el("td", { class: "right", text: difference(of(job) - of(median)) }),
        ),
      ),
    ),
  );
}

/** @param {number} ns */
function difference(ns) {
  return ns > 0 ? `+${span(ns)}` : ns < 0 ? span(ns) : "–";
}

/**
 * Whether two delays have the same culprit.
 * @param {Delay} a
 * @param {Delay} b
 */
function same(a, b) {
  return JSON.stringify(a.who) === JSON.stringify(b.who);
}

/**
 * @param {Pane} pane
 * @param {Job} job
 * @param {Job | null} median
 */
function delays(pane, job, median) {
  const place = el("div", {}, el("h3", { text: "Who delayed it" }));
  if (job.delays.length === 0) {
    place.append(el("p", { class: "soft", text: "Nobody: it had the processor from its release to its end." }));
  } else {
    const list = el("tbody");
    for (const delay of job.delays.slice(0, 12)) {
      const usual = median?.delays.find((other) => other.kind === delay.kind && same(other, delay))?.ns ?? 0;
      const named = delay.by !== null && pane.names.has(delay.by);
      const go = () => pane.choose(delay.by, { at: job.release, reveal: true });
      list.append(
        el(
          "tr",
          {},
          el("th", { scope: "row" }, named ? el("button", { class: "go", text: delay.words, onclick: go }) : delay.words),
          el("td", { class: "right soft", title: "in the median job", text: usual ? span(usual) : "–" }),
        ),
      );
    }
    const heads = [
      el("th", { scope: "col", text: "Delay" }),
      el("th", { scope: "col", class: "right", text: "median" }),
    ];
    place.append(el("table", {}, el("thead", {}, el("tr", {}, ...heads)), list));
  }
  if (job.woken_by !== NOBODY) {
    const text = name(pane, job.woken_by);
    const go = () => pane.choose(job.woken_by, { at: job.release, reveal: true });
    const waker = pane.names.has(job.woken_by) ? el("button", { class: "go", text, onclick: go }) : text;
    place.append(el("p", { class: "soft woken" }, "Woken by ", waker, "."));
  }
  return place;
}
