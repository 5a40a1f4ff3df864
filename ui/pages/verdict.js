// Tables that the server has made: the verdict on the task set, and the conditions of a recording.

import { el } from "../base/dom.js";
import { count, counted, span } from "../base/time.js";

/** @typedef {import("../timeline/pane.js").Pane} Pane */
/** @typedef {{ title: string, note: string, columns: [string, string][], rows: string[][] }} Table */

/**
 * The class of a cell; a difference beyond noise stands out.
 * @param {string} cell
 * @param {string | undefined} side
 */
function marked(cell, side) {
  return cell.startsWith("differs") ? "differs" : side;
}

/**
 * @param {Table} table
 */
export function draw(table) {
  const side = (/** @type {number} */ index) => table.columns[index]?.[1] || undefined;
  const heads = table.columns.map(([name], index) => el("th", { scope: "col", class: side(index), text: name }));
  const rows = table.rows.map((cells) =>
    el(
      "tr",
      {},
      ...cells.map((cell, index) =>
        index === 0
          ? el("th", { scope: "row", text: cell })
          : el("td", { class: marked(cell, side(index)), text: cell }),
      ),
    ),
  );
  const body = el(
    "table",
    {},
    el("caption", { text: table.title }),
    el("thead", {}, el("tr", {}, ...heads)),
    el("tbody", {}, ...rows),
  );
  return el("div", {}, body, table.note ? el("p", { class: "note", text: table.note }) : "");
}

/**
 * @param {HTMLElement} place
 * @param {any} report
 */
export function show(place, report) {
  if (!report) {
    place.replaceChildren(el("p", { class: "note", text: "Being computed…" }));
    return;
  }
  const { verdict } = report;
  place.replaceChildren(
    ...(verdict?.words ?? []).map((/** @type {string} */ words) => el("p", { text: words })),
    ...(verdict?.tables ?? []).map(draw),
  );
}

/**
 * What the recording is and under what it was made.
 * @param {HTMLElement} place
 * @param {Pane} pane
 * @param {any} report
 */
export function about(place, pane, report) {
  const { info } = pane;
  const list = el("dl");
  const put = (/** @type {string} */ name, /** @type {string} */ value) =>
    list.append(el("dt", { text: name }), el("dd", { text: value }));
  put("file", pane.source.path);
  if (info.began_unix_ms) put("began", new Date(info.began_unix_ms).toLocaleString());
  put("length", span(info.duration_ns));
  put("events of the kernel", count(info.events));
  put("switches", count(info.switches));
  const lost = info.lost > 0 || info.gaps_lost > 0;
  put("events lost", lost ? `${count(info.lost)} known, in ${counted(info.gaps_lost, "gap", "gaps")}` : "none");
  if (info.pauses > 0) put("not recorded", counted(info.pauses, "stretch", "stretches"));
  for (const [name, value] of info.conditions) if (!/^(proc|sched)\./.test(name)) put(name, value);
  const words = [...info.problems, ...(report?.notes ?? [])];
  place.replaceChildren(
    words.length > 0
      ? el(
          "div",
          { class: "prose" },
          el("h2", { text: "What to know before trusting a figure" }),
          el("ul", {}, ...words.map((word) => el("li", { text: word }))),
        )
      : "",
    list,
  );
}
