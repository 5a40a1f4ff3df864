// Lengths and points of time as text. Everything is nanoseconds.

/** @type {[number, string][]} */
const UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/**
 * A length with three digits that count: `12.3 ms`.
 * @param {number} ns
 * @returns {string}
 */
export function span(ns) {
  if (ns === 0) return "0";
  if (ns < 0) return `−${span(-ns)}`;
  // What would be rounded up to 1000 takes the next unit.
  const [size, unit] = UNITS.find(([size]) => ns >= size * 0.9995) ?? [1, "ns"];
  const value = ns / size;
  const digits = value >= 100 || size === 1 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`;
}

/**
 * A point of time with as many digits as a step of that length needs.
 * @param {number} ns
 * @param {number} step
 * @param {number} [most] the greatest of those it stands beside, which have the same unit
 * @returns {string}
 */
export function point(ns, step, most = ns) {
  const [size, unit] = UNITS.find(([size]) => Math.max(Math.abs(most), step) >= size) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ns / size).toFixed(Math.min(digits, 9))} ${unit}`;
}

/**
 * The time that a text says, such as `12.5 ms`, ns; nothing if it says none.
 * @param {string} text
 * @returns {number | null}
 */
export function parse(text) {
  const found = /^([0-9]+(?:[.,][0-9]*)?)\s*(ns|us|µs|ms|s)$/i.exec(text.trim());
  if (!found) return null;
  const unit = (found[2] ?? "").toLowerCase().replace("us", "µs");
  return Number((found[1] ?? "").replace(",", ".")) * (UNITS.find(([, name]) => name === unit)?.[0] ?? 1);
}

/**
 * A round step, 1, 2 or 5 times a power of ten, at least so long.
 * @param {number} least
 * @returns {number}
 */
export function round(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? power * 10;
}

/**
 * A share as per cent.
 * @param {number} share
 * @returns {string}
 */
export function percent(share) {
  const value = share * 100;
  return `${value >= 10 || value === 0 ? value.toFixed(1) : value.toPrecision(2)} %`;
}

/**
 * A whole number with thin spaces between thousands.
 * @param {number} value
 * @returns {string}
 */
export function count(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/**
 * A number with the words that it counts: `1 gap`, `2 gaps`.
 * @param {number} value
 * @param {string} one
 * @param {string} several
 */
export function counted(value, one, several) {
  return `${count(value)} ${value === 1 ? one : several}`;
}
