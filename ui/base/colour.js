// Colours of threads and states, for a light and a dark page, as words and as pixels.

/** Hues far enough apart to tell neighbours; no amber, red or grey, which mean waiting, late and unknown. */
const HUES = [212, 158, 275, 188, 325, 132, 240, 84, 300, 200, 172, 256];

/** @typedef {{ dark: boolean, ready: number, blocked: number, unknown: number, late: string, ink: string, soft: string, rule: string, paper: string, card: string, accent: string, band: string }} Theme */

/**
 * The colours of the page as its style sheet has them now.
 * @returns {Theme}
 */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    dark: of("dark") === "1",
    ready: pixel(of("ready")),
    blocked: pixel(of("blocked")),
    unknown: pixel(of("unknown")),
    late: of("late"),
    ink: of("ink"),
    soft: of("soft"),
    rule: of("rule"),
    paper: of("paper"),
    card: of("card"),
    accent: of("accent"),
    band: of("band"),
  };
}

/**
 * A colour #rrggbb as the pixel of a canvas.
 * @param {string} colour
 * @returns {number}
 */
export function pixel(colour) {
  const value = parseInt(colour.slice(1), 16);
  return pack((value >> 16) & 255, (value >> 8) & 255, value & 255);
}

/**
 * @param {number} red
 * @param {number} green
 * @param {number} blue
 */
function pack(red, green, blue) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/**
 * A number that depends on the name alone, so that a thread has its colour in every recording.
 * @param {string} name
 */
function hash(name) {
  let value = 2166136261;
  for (let index = 0; index < name.length; index++) {
    value = Math.imul(value ^ name.charCodeAt(index), 16777619);
  }
  return (value ^ (value >>> 15)) >>> 0;
}

/**
 * @param {string} name
 * @param {boolean} dark
 * @param {boolean} muted
 * @returns {[number, number, number]} red, green, blue
 */
function rgb(name, dark, muted) {
  const value = hash(name);
  const hue = HUES[value % HUES.length] ?? 212;
  const shade = ((value >>> 8) % 3) - 1;
  const saturation = muted ? 0.1 : dark ? 0.52 : 0.56;
  // Blue and violet look darker than they are.
  const lift = muted || hue < 222 || hue > 290 ? 0 : 0.1;
  const lightness = (dark ? (muted ? 0.3 : 0.6) : muted ? 0.84 : 0.48) + lift + shade * (muted ? 0.01 : 0.05);
  const chroma = (1 - Math.abs(2 * lightness - 1)) * saturation;
  const part = (/** @type {number} */ at) => {
    const k = (at + hue / 30) % 12;
    return Math.round(255 * (lightness - (chroma / 2) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

/**
 * The pixels of threads by row, and their muted forms for when another one is looked at.
 * @param {RowInfo[]} rows
 * @param {boolean} dark
 */
export function table(rows, dark) {
  const length = rows.reduce((most, row) => Math.max(most, row.row), 0) + 1;
  const plain = new Uint32Array(length);
  const muted = new Uint32Array(length);
  for (const row of rows) {
    const name = row.name ?? `${row.kind}`;
    plain[row.row] = pack(...rgb(name, dark, false));
    muted[row.row] = pack(...rgb(name, dark, true));
  }
  return { plain, muted };
}

/**
 * The pixels of names.
 * @param {string[]} names
 * @param {boolean} dark
 */
export function named(names, dark) {
  return Uint32Array.from(names, (name) => pack(...rgb(name, dark, false)));
}

/**
 * The colour of a name as a word for a style sheet.
 * @param {string} name
 * @param {boolean} dark
 */
export function word(name, dark) {
  return `rgb(${rgb(name, dark, false).join(" ")})`;
}
