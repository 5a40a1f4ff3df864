// Arrows from the thread that wakes another one to the one that is woken.

/** Arrows in a picture; more would cover it, so there are none. */
const MOST = 300;

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {{
 *   from: number, to: number, width: number, lines: import("./paint.js").Line[], details: Map<number, RowDetails>,
 *   middles: Map<number, number>, focus: number | null,
 * }} Scene `middles` are the places of all rows from the top of the picture, also of those above and below it
 */

/** A layer over the picture. */
export function layer() {
  const element = document.createElementNS(SVG, "svg");
  element.setAttribute("class", "arrows");
  element.setAttribute("aria-hidden", "true");
  return element;
}

/**
 * Draws the arrows between the rows that are seen; of a chosen thread only its own.
 * @param {SVGSVGElement} layer
 * @param {Scene} scene
 */
export function paint(layer, scene) {
  const found = wakes(scene);
  layer.replaceChildren(...(found.length <= MOST ? found.map((wake) => arrow(scene, wake)) : []));
}

/**
 * @typedef {{ at: number, waker: number, woken: number }} Wake
 * @param {Scene} scene
 */
function wakes({ from, to, lines, details, middles, focus }) {
  /** @type {Wake[]} */
  const found = [];
  for (const { row } of lines) {
    for (const [at, waker] of details.get(row)?.wakes ?? []) {
      const wanted = focus === null || focus === row || focus === waker;
      if (wanted && waker !== row && middles.has(waker) && at >= from && at <= to) found.push({ at, waker, woken: row });
    }
  }
  return found;
}

/**
 * @param {Scene} scene
 * @param {Wake} wake
 */
function arrow({ from, to, width, middles }, { at, waker, woken }) {
  const x = ((at - from) / (to - from)) * width;
  const [begin, end] = [middles.get(waker) ?? 0, middles.get(woken) ?? 0];
  const back = end > begin ? -5 : 5;
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", `M${x} ${begin}V${end}M${x - 3} ${end + back}L${x} ${end}L${x + 3} ${end + back}`);
  path.dataset.waker = String(waker);
  path.dataset.woken = String(woken);
  path.dataset.at = String(at);
  return path;
}
