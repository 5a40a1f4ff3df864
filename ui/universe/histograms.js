// The columns of an element as histograms, which the server draws from a sample of the rows.

import { json } from "../base/api.js";
import { el } from "../base/dom.js";
import { sampled } from "./tables.js";

/** Columns that are drawn; each one costs the universe a copy. */
const DRAWN_MAX = 16;

/**
 * @param {HTMLElement} place
 * @param {number} definition
 * @param {ElementInfo} element
 * @param {() => boolean} wanted whether this is still what stands there when the answer comes
 */
export async function show(place, definition, element, wanted) {
  const columns = element.columns.slice(0, DRAWN_MAX);
  if (columns.length === 0) {
    place.replaceChildren(el("p", { class: "note", text: `${element.name} has no columns of numbers or truth values.` }));
    return;
  }
  const answer = await json("histograms", {
    definition,
    element: element.number,
    columns: columns.map((column) => column.number).join(","),
  });
  if (!wanted()) return;
  const more = element.columns.length - columns.length;
  const words = `${element.name}: ${sampled(answer.sample)}`;
  place.replaceChildren(
    el("p", { class: "note", text: more > 0 ? `${words}; the first ${DRAWN_MAX} columns are drawn` : words }),
    el("div", { class: "histograms" }, ...columns.map((column, at) => drawing(column, answer.histograms[at] ?? ""))),
  );
}

/**
 * A drawing of the server, which escapes all text in it.
 * @param {ColumnInfo} column
 * @param {string} svg
 */
function drawing(column, svg) {
  const holder = el("div");
  holder.innerHTML = svg;
  return el("div", { "data-column": column.name }, el("h2", { text: `${column.name} : ${column.ty}` }), holder);
}
