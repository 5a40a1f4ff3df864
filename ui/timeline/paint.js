// Puts rows into a canvas: bars as pixels in memory, words and job brackets over them.

import { span as length } from "../base/time.js";

/** Words written into bars at once. */
const WORDS_MAX = 300;

/**
 * @typedef {{ row: number, kind: RowInfo["kind"] | "process", y: number, height: number, name: string, place: Place }} Line a row on the screen, or the head of a process
 * @typedef {"" | "inside" | "after"} Place among the rows below the head of its process, or the first row after those
 * @typedef {{
 *   from: number, to: number, width: number, height: number, ratio: number, lines: Line[],
 *   tiles: Map<number, import("./tiles.js").Tile>, details: Map<number, RowDetails>,
 *   colours: { plain: Uint32Array, muted: Uint32Array }, named: Uint32Array, theme: import("../base/colour.js").Theme,
 *   focus: number | null, job: JobBrief | null, names: Map<number, string>, marks: string[], steps: number[],
 * }} Scene
 */

export class Painter {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser draws no canvas");
    this.context = context;
    this.image = new ImageData(1, 1);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.keys = new Uint32Array(1);
    this.shares = new Uint32Array(1);
    /** @type {{ x: number, width: number, line: Line, key: number }[]} */
    this.words = [];
  }

  /** @param {Scene} scene */
  paint(scene) {
    const width = Math.max(1, Math.round(scene.width * scene.ratio));
    const height = Math.max(1, Math.round(scene.height * scene.ratio));
    if (this.image.width !== width || this.image.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.keys = new Uint32Array(width);
      this.shares = new Uint32Array(width);
    }
    const paper = toPixel(scene.theme.paper);
    const band = toPixel(scene.theme.band);
    this.pixels.fill(paper);
    this.words.length = 0;
    for (const line of scene.lines) {
      if (line.row === scene.focus) this.fill(line.y, line.height, scene.ratio, band);
      this.columns(scene, line);
      this.bars(scene, line);
    }
    this.context.putImageData(this.image, 0, 0);
    this.over(scene);
  }

  /**
   * @param {number} y
   * @param {number} height
   * @param {number} ratio
   * @param {number} colour
   */
  fill(y, height, ratio, colour) {
    const width = this.image.width;
    const top = Math.max(0, Math.round(y * ratio));
    const bottom = Math.min(this.image.height, Math.round((y + height) * ratio));
    if (bottom > top) this.pixels.fill(colour, top * width, bottom * width);
  }

  /**
   * What each column of pixels of a row shows.
   * @param {Scene} scene
   * @param {Line} line
   */
  columns(scene, line) {
    const { keys, shares } = this;
    const width = shares.length;
    shares.fill(0);
    const tile = scene.tiles.get(line.row);
    if (!tile) return;
    const unit = (scene.to - scene.from) / width;
    const scale = (tile.to - tile.from) / tile.pixels / unit;
    const shift = (tile.from - scene.from) / unit;
    const { floats, words } = tile;
    const wordy = line.kind === "cpu" ? 46 * scene.ratio : line.kind === "slices" ? 24 * scene.ratio : Infinity;
    for (let n = 0, at = tile.first; n < tile.count; n++, at += 4) {
      const x = /** @type {number} */ (floats[at]) * scale + shift;
      if (x >= width) break;
      const end = x + /** @type {number} */ (floats[at + 1]) * scale;
      if (end < 0) continue;
      const key = /** @type {number} */ (words[at + 2]);
      const share = /** @type {number} */ (words[at + 3]);
      const first = x < 0 ? 0 : x | 0;
      let last = end | 0;
      if (last > width) last = width;
      if (last <= first) {
        // Less than a column: of several in one, the one that ran most is seen.
        if ((share & 255) >= ((shares[first] ?? 0) & 255)) {
          keys[first] = key;
          shares[first] = share;
        }
        continue;
      }
      for (let column = first; column < last; column++) {
        keys[column] = key;
        shares[column] = share;
      }
      if (end - x > wordy && (share & 255) === 255 && this.words.length < WORDS_MAX) {
        const left = Math.max(0, x);
        this.words.push({ x: left, width: Math.min(end, width) - left, line, key });
      }
    }
  }

  /**
   * @param {Scene} scene
   * @param {Line} line
   */
  bars(scene, line) {
    const { keys, shares, pixels } = this;
    const width = shares.length;
    const { ratio, theme, colours } = scene;
    const inset = line.kind === "slices" ? 1 : line.kind === "irq" ? 2 : 3;
    // Below the bars of a thread is room for the brackets of its jobs.
    const below = line.kind === "thread" ? 7 : inset;
    const top = Math.round((line.y + inset) * ratio);
    const bottom = Math.round((line.y + line.height - below) * ratio);
    const tall = bottom - top;
    const least = Math.max(1, Math.round(2 * ratio));
    const dots = Math.max(3, Math.round(3 * ratio));
    const own = /** @type {number} */ (colours.plain[line.row]);
    for (let column = 0; column < width;) {
      const share = /** @type {number} */ (shares[column]);
      const key = /** @type {number} */ (keys[column]);
      let end = column + 1;
      while (end < width && shares[end] === share && keys[end] === key) end++;
      if (share !== 0) {
        let colour = own;
        if (line.kind === "cpu") {
          const muted = scene.focus !== null && key !== scene.focus;
          colour = (muted ? colours.muted[key] : colours.plain[key]) ?? own;
        } else if (line.kind === "slices") colour = scene.named[key] ?? own;
        const stop = end - column > 4 * ratio ? end - Math.round(ratio) : end;
        // From the bottom up: ran, waited, was blocked, unknown.
        let y = bottom;
        for (let slot = 0; slot < 4; slot++) {
          const part = (share >>> (8 * slot)) & 255;
          if (part === 0) continue;
          const high = Math.min(y - top, Math.max(least, Math.round((part * tall) / 255)));
          const paint = slot === 0 ? colour : slot === 1 ? theme.ready : slot === 2 ? theme.blocked : theme.unknown;
          for (let n = 0; n < high; n++) {
            y--;
            if (y < 0 || y >= this.image.height) continue;
            const start = y * width;
            if (slot < 2) pixels.fill(paint, start + column, start + stop);
            else {
              // Told apart without colour too: blocked is dotted, unknown is hatched.
              for (let x = column; x < stop; x++) {
                const on = slot === 3 ? (x + y) % (2 * dots) < dots : (x % dots) + (y % dots) < dots;
                if (on) pixels[start + x] = paint;
              }
            }
          }
        }
      }
      column = end;
    }
  }

  /** @param {Scene} scene */
  over(scene) {
    const { context } = this;
    const { ratio, theme } = scene;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (/** @type {number} */ at) => ((at - scene.from) / (scene.to - scene.from)) * scene.width;
    context.globalAlpha = 0.35;
    context.fillStyle = theme.rule;
    for (const step of scene.steps) context.fillRect(Math.round(x(step)), 0, 1, scene.height);
    context.globalAlpha = 1;
    for (const line of scene.lines) {
      if (line.kind !== "thread" && line.kind !== "slices") continue;
      context.fillStyle = theme.rule;
      if (line.kind === "thread") context.fillRect(0, line.y + line.height - 0.5, scene.width, 0.5);
      const details = scene.details.get(line.row);
      if (details) this.details(scene, line, details, x);
    }
    if (scene.job && scene.focus !== null) this.job(scene, scene.job, x);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const word of this.words) {
      const ofSlice = word.line.kind === "slices";
      const name = ofSlice ? scene.marks[word.key] : scene.names.get(word.key);
      if (!name) continue;
      const muted = !ofSlice && scene.focus !== null && word.key !== scene.focus;
      const room = word.width / ratio - 8;
      const text = fit(context, name, room);
      if (!text) continue;
      context.fillStyle = muted ? theme.soft : theme.dark ? "#0d1015" : "#ffffff";
      context.fillText(text, word.x / ratio + 4, word.line.y + word.line.height / 2 + 0.5);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  /**
   * Brackets of jobs, red where late, and marks.
   * @param {Scene} scene
   * @param {Line} line
   * @param {RowDetails} details
   * @param {(at: number) => number} x
   */
  details(scene, line, details, x) {
    const { context } = this;
    const base = line.y + line.height - 3.5;
    // Signs that would cover each other say nothing.
    const deadlines = details.jobs.length * 14 < scene.width;
    const marks = details.marks.length * 9 < scene.width ? details.marks : [];
    for (const job of details.jobs) {
      const left = x(job.release);
      const right = Math.max(left + 1, x(job.finish));
      if (right < 0 || left > scene.width) continue;
      context.fillStyle = job.late ? scene.theme.late : scene.theme.soft;
      context.globalAlpha = job.whole ? 1 : 0.45;
      context.fillRect(left, base, right - left, job.late ? 2.5 : 1.5);
      if (right - left > 4) {
        context.fillRect(left, base - 3, 1, 4);
        context.fillRect(right - 1, base - 3, 1, 4);
      }
      if (job.deadline !== null && (deadlines || job.late) && x(job.deadline) < scene.width) {
        // A deadline hangs from above.
        const at = x(job.deadline);
        context.beginPath();
        context.moveTo(at - 3, line.y + 1);
        context.lineTo(at + 3, line.y + 1);
        context.lineTo(at, line.y + 6);
        context.fill();
      }
    }
    context.globalAlpha = 1;
    context.fillStyle = scene.theme.ink;
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "middle";
    marks.forEach(([at, name], index) => {
      const place = x(at);
      if (place < -3 || place > scene.width + 3) return;
      context.fillRect(place - 0.5, line.y + 2, 1, line.height - 8);
      context.fillRect(place - 1.5, line.y + 1, 3, 3);
      // The name, where the next mark leaves room for it.
      const next = marks[index + 1];
      const room = (next ? x(next[0]) : scene.width) - place - 10;
      const text = room > 16 ? fit(context, scene.marks[name] ?? "", room) : "";
      if (text) context.fillText(text, place + 5, line.y + line.height / 2);
    });
  }

  /**
   * The job that is looked at: a frame over all rows.
   * @param {Scene} scene
   * @param {JobBrief} job
   * @param {(at: number) => number} x
   */
  job(scene, job, x) {
    const { context } = this;
    const left = x(job.release);
    const right = x(job.finish);
    context.fillStyle = scene.theme.accent;
    context.globalAlpha = 0.09;
    context.fillRect(left, 0, Math.max(1, right - left), scene.height);
    context.globalAlpha = 0.9;
    context.fillRect(left - 0.5, 0, 1, scene.height);
    context.fillRect(right - 0.5, 0, 1, scene.height);
    context.globalAlpha = 1;
    if (job.deadline !== null) {
      context.fillStyle = scene.theme.late;
      context.fillRect(x(job.deadline) - 0.5, 0, 1, scene.height);
    }
  }
}

/** @type {Map<string, number>} */
const pixelsOf = new Map();

/** @param {string} colour */
function toPixel(colour) {
  let value = pixelsOf.get(colour);
  if (value === undefined) {
    const number = parseInt(colour.slice(1), 16);
    value = ((255 << 24) | ((number & 255) << 16) | (number & 0xff00) | ((number >> 16) & 255)) >>> 0;
    pixelsOf.set(colour, value);
  }
  return value;
}

/**
 * As much of the text as there is room for.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
export function fit(context, text, room) {
  if (room < 12) return "";
  if (context.measureText(text).width <= room) return text;
  let letters = Math.floor((room / context.measureText(text).width) * text.length) - 1;
  while (letters > 1 && context.measureText(`${text.slice(0, letters)}…`).width > room) letters--;
  return letters > 1 ? `${text.slice(0, letters)}…` : "";
}

/**
 * The axis: steps with their times, and how much the window holds.
 * @param {HTMLCanvasElement} canvas
 * @param {{ width: number, ratio: number, from: number, to: number, steps: number[], name: (at: number) => string, theme: import("../base/colour.js").Theme }} scene
 */
export function ruler(canvas, scene) {
  const height = 24;
  canvas.width = Math.max(1, Math.round(scene.width * scene.ratio));
  canvas.height = Math.round(height * scene.ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(scene.ratio, 0, 0, scene.ratio, 0, 0);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const at of scene.steps) {
    const x = ((at - scene.from) / (scene.to - scene.from)) * scene.width;
    context.fillStyle = scene.theme.rule;
    context.fillRect(Math.round(x), 15, 1, 9);
    context.fillStyle = scene.theme.soft;
    const name = scene.name(at);
    const half = context.measureText(name).width / 2;
    if (x > half && x < scene.width - half) context.fillText(name, x - half, 8);
  }
  canvas.title = `${length(scene.to - scene.from)} shown`;
}
