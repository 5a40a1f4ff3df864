// Hands on a timeline: pointer, wheel and keys.

import { span } from "../base/time.js";
import { head } from "./pane.js";

/** States of a segment by the shares of a span. */
const STATES = ["running", "waiting for a processor", "blocked in the kernel", "not known"];

/** Pixels a pointer may move and still click. */
const STILL = 4;

/** Pixels from a cursor within which a pointer takes it. */
const NEAR = 7;

/** @param {import("./pane.js").Pane} pane */
export function listen(pane) {
  const { canvas } = pane;
  /** @type {{ x: number, y: number, from: number, to: number, moved: boolean, anchor: number | null, scroll: number } | null} */
  let held = null;
  const time = (/** @type {number} */ x) => pane.from + (x / pane.width) * (pane.to - pane.from);

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const anchor = event.shiftKey ? (otherCursor(pane, event.offsetX) ?? time(event.offsetX)) : null;
    const scroll = pane.scroll.scrollTop;
    held = { x: event.offsetX, y: event.offsetY, from: pane.from, to: pane.to, moved: false, anchor, scroll };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) {
      hover(pane, event);
      return;
    }
    const by = event.offsetX - held.x;
    held.moved ||= Math.abs(by) + Math.abs(event.offsetY - held.y) > STILL;
    if (!held.moved) return;
    pane.tip.hidden = true;
    if (held.anchor !== null) {
      pane.place([held.anchor, time(event.offsetX)]);
      return;
    }
    const shift = (by / pane.width) * (held.to - held.from);
    pane.show(held.from - shift, held.to - shift);
    pane.scroll.scrollTop = held.scroll - (event.offsetY - held.y);
  });
  canvas.addEventListener("pointerup", (event) => {
    const was = held;
    held = null;
    if (!was) return;
    if (was.moved && was.anchor !== null) pane.measure([was.anchor, time(event.offsetX)]);
    else if (!was.moved) click(pane, event, time(event.offsetX));
  });
  canvas.addEventListener("pointercancel", () => (held = null));
  canvas.addEventListener("pointerleave", () => (pane.tip.hidden = true));
  canvas.addEventListener("dblclick", () => pane.showJob());

  const wheel = (/** @type {WheelEvent} */ event) => {
    const lines = event.deltaMode === 1 ? 16 : 1;
    const overTime = event.currentTarget === pane.axis || event.currentTarget === pane.strip;
    if (event.ctrlKey || event.metaKey || overTime) {
      event.preventDefault();
      const place = event.currentTarget === pane.strip ? pane.width / 2 : event.offsetX;
      pane.show(...pane.zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY * lines)) * 0.003), time(place)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = (event.deltaX || event.deltaY) * lines;
      const shift = (by / pane.width) * (pane.to - pane.from);
      pane.show(pane.from + shift, pane.to + shift);
    }
  };
  for (const element of [canvas, pane.axis, pane.strip]) element.addEventListener("wheel", wheel, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (key(pane, event)) event.preventDefault();
  });
}

/**
 * The cursor that stays where it is when a pointer takes the other one; none if there is no cursor near.
 * @param {import("./pane.js").Pane} pane
 * @param {number} x
 */
function otherCursor(pane, x) {
  const { measured, from, to, width } = pane;
  if (!measured) return null;
  const away = (/** @type {number} */ at) => Math.abs(((at - from) / (to - from)) * width - x);
  const [first, second] = [away(measured.from), away(measured.to)];
  if (Math.min(first, second) > NEAR) return null;
  return first < second ? measured.to : measured.from;
}

/**
 * Does what the key says; whether it says anything.
 * @param {import("./pane.js").Pane} pane
 * @param {KeyboardEvent} event
 */
function key(pane, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const length = pane.to - pane.from;
  const by = length * (event.shiftKey ? 0.9 : 0.2);
  switch (event.key) {
    case "ArrowLeft":
    case "a":
    case "A":
      pane.glideTo(pane.from - by, pane.to - by);
      return true;
    case "ArrowRight":
    case "d":
    case "D":
      pane.glideTo(pane.from + by, pane.to + by);
      return true;
    case "+":
    case "=":
    case "w":
      pane.glideTo(...pane.zoom(1 / 1.8));
      return true;
    case "-":
    case "s":
      pane.glideTo(...pane.zoom(1.8));
      return true;
    case "ArrowUp":
      pane.step(-1);
      return true;
    case "ArrowDown":
      pane.step(1);
      return true;
    case "Home":
      pane.glideTo(0, length);
      return true;
    case "End":
      pane.glideTo(pane.whole - length, pane.whole);
      return true;
    case "f":
    case "0":
      pane.glideTo(0, pane.whole);
      return true;
    case "z":
      pane.showJob();
      return true;
    case "Enter":
      if (pane.chosen !== null) pane.choose(pane.chosen);
      return true;
    case "n":
    case "p": {
      const job = pane.answer?.job?.job;
      if (pane.chosen === null || job === undefined) return true;
      const next = Math.max(0, job + (event.key === "n" ? 1 : -1));
      pane.choose(pane.chosen, { job: next }).then(() => pane.followJob());
      return true;
    }
    case "[":
    case "]": {
      // A cursor comes to the middle of the window, the other one stays; at first it is at that end of the window.
      const middle = (pane.from + pane.to) / 2;
      const { from, to } = pane.measured ?? pane;
      pane.measure(event.key === "[" ? [middle, to] : [from, middle]);
      return true;
    }
    case "g": {
      const pid = pane.info.rows.find((row) => row.row === pane.chosen)?.pid;
      if (pid) pane.fold(head(pid));
      return true;
    }
    case "Escape":
      pane.spot = null;
      if (pane.measured) pane.measure(null);
      else pane.choose(null);
      return true;
    default:
      return false;
  }
}

/**
 * @param {import("./pane.js").Pane} pane
 * @param {number} y
 */
function lineAt(pane, y) {
  return pane.lines.find((line) => y >= line.y && y < line.y + line.height);
}

/**
 * The span under a point of the picture.
 * @param {import("./pane.js").Pane} pane
 * @param {number} row
 * @param {number} at ns
 */
function spanAt(pane, row, at) {
  const tile = pane.tiles.tiles.get(row);
  if (!tile) return null;
  const unit = (tile.to - tile.from) / tile.pixels;
  const x = (at - tile.from) / unit;
  let [low, high] = [0, tile.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tile.floats[tile.first + 4 * middle] ?? 0) <= x) low = middle + 1;
    else high = middle;
  }
  const place = tile.first + 4 * (low - 1);
  if (low === 0) return null;
  const begin = tile.floats[place] ?? 0;
  const width = tile.floats[place + 1] ?? 0;
  const slack = (pane.to - pane.from) / pane.width / unit;
  if (x > begin + Math.max(width, slack)) return null;
  const share = tile.words[place + 3] ?? 0;
  const shares = [0, 8, 16, 24].map((shift) => (share >>> shift) & 255);
  return { key: tile.words[place + 2] ?? 0, ns: width * unit, shares };
}

/**
 * @param {import("./pane.js").Pane} pane
 * @param {PointerEvent} event
 * @param {number} at
 */
function click(pane, event, at) {
  const line = lineAt(pane, event.offsetY);
  if (!line) {
    pane.choose(null);
    return;
  }
  if (line.kind === "cpu") {
    const found = spanAt(pane, line.row, at);
    if (found && (found.shares[0] ?? 0) > 0 && pane.names.has(found.key)) {
      pane.choose(found.key, { at });
      return;
    }
  }
  if (line.kind === "process") pane.fold(line.row);
  else pane.choose(line.row, { at });
}

/**
 * @param {import("./pane.js").Pane} pane
 * @param {PointerEvent} event
 */
function hover(pane, event) {
  const line = lineAt(pane, event.offsetY);
  const at = pane.from + (event.offsetX / pane.width) * (pane.to - pane.from);
  const found = line && spanAt(pane, line.row, at);
  if (!line || !found) {
    pane.tip.hidden = true;
    return;
  }
  const state = found.shares.findIndex((share) => share === 255);
  const whole = state >= 0 && found.shares.filter((share) => share > 0).length === 1;
  const who = pane.names.get(found.key);
  const parts = [];
  if (line.kind === "slices") {
    const slice = pane.info.names[found.key] ?? "";
    parts.push(whole ? `${slice} for ${span(found.ns)}` : `mostly ${slice}, closer: see each`);
  } else if (whole) {
    parts.push(`${STATES[state]} for ${span(found.ns)}`);
    if (line.kind === "cpu" && state === 0 && who) parts.unshift(who);
    if (line.kind === "thread" && state === 0) parts.push(`on CPU ${found.key}`);
    if (line.kind === "thread" && state === 1 && who) parts.push(`because of ${who}`);
  } else {
    found.shares.forEach((share, index) => {
      if (share > 0) parts.push(`${share < 3 ? "under 1" : Math.round((share / 255) * 100)} % ${STATES[index]}`);
    });
    if (line.kind === "cpu" && who) parts.push(`mostly ${who}`);
    parts.push("closer: see each");
  }
  pane.tip.textContent = [line.name, parts.join(", ")].filter(Boolean).join(": ");
  pane.tip.hidden = false;
  const box = pane.element.getBoundingClientRect();
  const left = Math.min(event.clientX - box.left + 14, box.width - pane.tip.offsetWidth - 8);
  pane.tip.style.transform = `translate(${Math.max(0, left)}px, ${event.clientY - box.top + 18}px)`;
}
