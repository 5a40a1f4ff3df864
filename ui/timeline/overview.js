// The whole recording in a strip: how busy it was, where events are missing, what was missed, and where we are.

import { bytes } from "../base/api.js";

const HEIGHT = 36;

export class Overview {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(from: number, to: number) => void} choose
   */
  constructor(canvas, choose) {
    this.canvas = canvas;
    this.choose = choose;
    /** How long the strip is, and the recording in it, ns. */
    this.duration = 1;
    this.length = 1;
    /** The share of all processors' time in each column, and the unknown part of it. */
    this.busy = new Float32Array(0);
    this.unknown = new Float32Array(0);
    /** @type {number[]} */
    this.misses = [];
    this.window = { from: 0, to: 1 };
    /** @type {{ at: number, from: number, to: number, grip: "begin" | "end" | "middle" } | null} */
    this.held = null;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", () => (this.held = null));
    canvas.addEventListener("pointercancel", () => (this.held = null));
  }

  /**
   * @param {number} recording
   * @param {RecordingInfo} info
   */
  async load(recording, info) {
    this.length = Math.max(1, info.duration_ns);
    const cpus = info.rows.filter((row) => row.kind === "cpu");
    const pixels = 1000;
    const rows = cpus.length > 0 ? cpus : info.rows.filter((row) => row.kind === "thread").slice(0, 50);
    if (rows.length === 0) return;
    const about = { r: recording, from: 0, to: Math.ceil(this.length), px: pixels };
    const buffer = await bytes("window", { ...about, rows: rows.map((row) => row.row).join(",") });
    const floats = new Float32Array(buffer);
    const words = new Uint32Array(buffer);
    this.busy = new Float32Array(pixels);
    this.unknown = new Float32Array(pixels);
    for (let at = 1, row = 0; row < rows.length; row++) {
      const count = words[at++] ?? 0;
      for (let n = 0; n < count; n++, at += 4) {
        const x = floats[at] ?? 0;
        const end = x + (floats[at + 1] ?? 0);
        const share = words[at + 3] ?? 0;
        for (let column = Math.floor(x); column < Math.min(pixels, Math.max(end, x + 0.01)); column++) {
          const part = Math.min(end, column + 1) - Math.max(x, column);
          this.busy[column] = (this.busy[column] ?? 0) + (part * (share & 255)) / 255 / rows.length;
          this.unknown[column] = (this.unknown[column] ?? 0) + (part * (share >>> 24)) / 255 / rows.length;
        }
      }
    }
  }

  /**
   * @param {number} width
   * @param {number} ratio
   * @param {{ from: number, to: number, whole: number }} window
   * @param {import("../base/colour.js").Theme} theme
   */
  paint(width, ratio, window, theme) {
    this.window = window;
    this.duration = window.whole;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.round(HEIGHT * ratio);
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.card;
    context.fillRect(0, 0, width, HEIGHT);
    const step = ((this.length / this.duration) * width) / Math.max(1, this.busy.length);
    const x = (/** @type {number} */ at) => (at / this.duration) * width;
    context.fillStyle = theme.soft;
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(0, HEIGHT);
    this.busy.forEach((share, column) => {
      const y = HEIGHT - share * (HEIGHT - 4);
      context.lineTo(column * step, y);
      context.lineTo((column + 1) * step, y);
    });
    context.lineTo(this.busy.length * step, HEIGHT);
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = theme.late;
    this.unknown.forEach((share, column) => {
      if (share > 0) context.fillRect(column * step, 0, Math.max(1.5, step), 4);
    });
    const left = Math.max(0, x(window.from));
    const right = Math.min(width, x(window.to));
    context.fillStyle = theme.paper;
    context.globalAlpha = 0.6;
    context.fillRect(0, 0, left, HEIGHT);
    context.fillRect(right, 0, width - right, HEIGHT);
    context.globalAlpha = 1;
    context.fillStyle = theme.late;
    for (const miss of this.misses) context.fillRect(x(miss) - 0.75, HEIGHT - 9, 1.5, 9);
    context.fillStyle = theme.accent;
    context.fillRect(left - 1, 0, 2, HEIGHT);
    context.fillRect(right - 1, 0, 2, HEIGHT);
    if (right - left < 2) context.fillRect(left - 1, 0, 3, HEIGHT);
  }

  /** @param {PointerEvent} event */
  down(event) {
    const width = this.canvas.clientWidth;
    const at = (event.offsetX / width) * this.duration;
    const near = (6 / width) * this.duration;
    let { from, to } = this.window;
    const grip = Math.abs(at - from) < near ? "begin" : Math.abs(at - to) < near ? "end" : "middle";
    if (grip === "middle" && (at < from || at > to)) {
      // Elsewhere: the window comes here.
      const half = (to - from) / 2;
      [from, to] = [at - half, at + half];
      this.choose(from, to);
    }
    this.held = { at, from, to, grip };
    this.canvas.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.held) return;
    const at = (event.offsetX / this.canvas.clientWidth) * this.duration;
    const by = at - this.held.at;
    const { from, to, grip } = this.held;
    if (grip === "middle") this.choose(from + by, to + by);
    else if (grip === "begin") this.choose(Math.min(from + by, to - 1), to);
    else this.choose(from, Math.max(to + by, from + 1));
  }
}
