// The table of threads: C, T, U, response times, and who took their processor.

import { word } from "../base/colour.js";
import { el } from "../base/dom.js";
import { count, percent, span } from "../base/time.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */
/**
 * @typedef {{ head: string, title: string, left?: boolean, value: (row: Line) => number | string | null, show: (row: Line) => string | Node }} Column
 * @typedef {{ row: RowInfo, name: string, figures: any }} Line
 */

/** Rows shown before more are asked for. */
const FEW = 150;

const NONE = "–";

/** @param {number | null | undefined} ns */
const time = (ns) => (ns === null || ns === undefined ? NONE : span(ns));

/** @type {Column[]} */
const COLUMNS = [
  { head: "Thread", title: "Name", left: true, value: (line) => line.name, show: (line) => line.name },
  {
    head: "TID",
    title: "Number of the thread",
    value: (line) => line.row.tid ?? 0,
    show: (line) => String(line.row.tid),
  },
  {
    head: "Running",
    title: "Processor time altogether",
    value: (line) => line.row.running_ns,
    show: (line) => span(line.row.running_ns),
  },
  {
    head: "Waiting",
    title: "Able to run, but without a processor",
    value: (line) => line.row.waiting_ns,
    show: (line) => span(line.row.waiting_ns),
  },
  {
    head: "Jobs",
    title: "Jobs seen whole: as marked, or from a wake-up to going to sleep",
    value: (line) => line.figures?.invocations ?? null,
    show: (line) => (line.figures ? count(line.figures.invocations) : NONE),
  },
  distribution("C mean", "Execution time of a job, free of preemption", "execution_ns", "mean"),
  distribution("C max", "The longest execution time observed; no bound", "execution_ns", "max"),
  {
    head: "T",
    title: "Period, given or found",
    value: (line) => line.figures?.period_ns ?? null,
    show: (line) => time(line.figures?.period_ns),
  },
  {
    head: "U",
    title: "C mean / T; without a period, the share of the time it ran",
    value: (line) => line.figures?.utilization ?? null,
    show: (line) => (line.figures ? percent(line.figures.utilization) : NONE),
  },
  distribution("R p50", "Response time: from release to end, median", "response_ns", "p50"),
  distribution("R max", "The longest response time observed", "response_ns", "max"),
  distribution("Latency max", "From release to first running", "latency_ns", "max"),
  {
    head: "Missed",
    title: "Deadlines missed",
    value: (line) => line.figures?.missed ?? null,
    show: (line) =>
      line.figures
        ? line.figures.missed > 0
          ? el("span", { class: "late", text: count(line.figures.missed) })
          : "0"
        : NONE,
  },
  {
    head: "Most delayed by",
    title: "Who had the processor while it was ready to run",
    left: true,
    value: (line) => line.figures?.preempted_by?.[0]?.ns ?? null,
    show: (line) => {
      const by = line.figures?.preempted_by?.[0];
      return by ? `${by.name}, ${span(by.ns)}` : NONE;
    },
  },
];

/**
 * @param {string} head
 * @param {string} title
 * @param {string} key
 * @param {"mean" | "p50" | "p99" | "max"} figure
 * @returns {Column}
 */
function distribution(head, title, key, figure) {
  return {
    head,
    title,
    value: (line) => line.figures?.[key]?.[figure] ?? null,
    show: (line) => time(line.figures?.[key]?.[figure]),
  };
}

/** The column sorted by; before one is chosen, those that mark their jobs come first, then the busiest. */
let sorted = -1;
let descending = true;
let all = false;

/**
 * @param {HTMLElement} place
 * @param {Pane} pane
 * @param {any} report the figures, or nothing yet
 * @param {() => void} search leads to the marks and events that were found
 */
export function show(place, pane, report, search) {
  const again = () => show(place, pane, report, search);
  /** @type {Map<number, any[]>} */
  const known = new Map();
  for (const thread of report?.threads ?? []) {
    known.set(thread.tid, [...(known.get(thread.tid) ?? []), thread]);
  }
  /** @type {Map<number, any[]>} */
  const tasks = new Map();
  for (const task of report?.tasks ?? []) tasks.set(task.row, [...(tasks.get(task.row) ?? []), task]);
  const lines = pane.info.rows
    .filter((row) => row.kind === "thread" && pane.matches(row))
    .flatMap((row) => {
      const name = row.name ?? "";
      const thread = match(known, row);
      const marked = tasks.get(row.row) ?? [];
      if (marked.length === 0) return [{ row, name, figures: thread }];
      // A thread that marks its jobs has the figures of those, task by task.
      return marked.map((task) => {
        const own = task.name === name || marked.length === 1 ? name : `${name}: ${task.name}`;
        return { row, name: own, figures: { ...thread, ...task, invocations: task.jobs } };
      });
    });
  const column = COLUMNS[sorted];
  const order = (/** @type {Line} */ a, /** @type {Line} */ b) => {
    if (!column) {
      const marked = Number((b.row.marked ?? 0) > 0) - Number((a.row.marked ?? 0) > 0);
      return marked || b.row.running_ns - a.row.running_ns;
    }
    const [left, right] = [column.value(a), column.value(b)];
    // Rows without a figure are last in either order.
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const by = typeof left === "string" ? left.localeCompare(String(right)) : left - Number(right);
    return descending ? -by : by;
  };
  lines.sort(order);
  const heads = COLUMNS.map((column, index) => {
    const order = index === sorted ? (descending ? "descending" : "ascending") : undefined;
    const choose = () => {
      [sorted, descending] = index === sorted ? [index, !descending] : [index, !column.left];
      again();
      const button = place.querySelectorAll("thead button")[index];
      if (button instanceof HTMLElement) button.focus();
    };
    return el(
      "th",
      { scope: "col", class: column.left ? undefined : "right", "aria-sort": order, title: column.title },
      el("button", { text: column.head, onclick: choose }),
    );
  });
  const shown = all ? lines : lines.slice(0, FEW);
  const body = shown.map((line) => {
    const choose = () => pane.choose(line.row.row, { reveal: true });
    const cells = COLUMNS.slice(1).map((column) =>
      el("td", { class: column.left ? undefined : "right" }, column.show(line)),
    );
    const swatch = el("span", { class: "swatch", "aria-hidden": true });
    swatch.style.setProperty("--own", word(line.name, pane.theme.dark));
    return el(
      "tr",
      { class: line.row.row === pane.chosen ? "chosen" : undefined, "data-row": line.row.row },
      el("th", { scope: "row" }, swatch, el("button", { class: "go", text: line.name, onclick: choose })),
      ...cells,
    );
  });
  const note = report ? "" : "C, T, U and response times are being computed…";
  place.replaceChildren(
    note ? el("p", { class: "note", text: note }) : "",
    el(
      "table",
      { class: "threads" },
      el("caption", { class: "unseen", text: "Threads" }),
      el("thead", {}, el("tr", {}, ...heads)),
      el("tbody", {}, ...body),
    ),
    lines.length > shown.length
      ? el("p", {}, el("button", { text: `Show all ${count(lines.length)}`, onclick: () => ((all = true), again()) }))
      : "",
    lines.length === 0 ? nobody(pane.filter, search) : "",
  );
}

/**
 * Says that no thread is called so, and leads to the marks and events.
 * @param {string} name
 * @param {() => void} search
 */
function nobody(name, search) {
  const elsewhere = el("button", { text: "Find marks and events", onclick: search });
  return el("p", {}, `No thread is called “${name}”. `, elsewhere);
}

/**
 * The figures of a row's thread; a number used again has several, told apart by the time they ran.
 * @param {Map<number, any[]>} known
 * @param {RowInfo} row
 */
function match(known, row) {
  const found = known.get(row.tid ?? -1) ?? [];
  if (found.length < 2) return found[0];
  return found.reduce((best, one) =>
    Math.abs(one.running_ns - row.running_ns) < Math.abs(best.running_ns - row.running_ns) ? one : best,
  );
}
