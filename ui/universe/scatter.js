// Rows as points of two or three axes, drawn pixel by pixel into one picture: no element and no path for a point.

import { pixel, theme } from "../base/colour.js";

/** The edge of a point, CSS pixels. */
const POINT = 2;

/** Colours of a scale from low to high (those of viridis, at equal distances). */
const STOPS = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"];

/** @typedef {{ name: string, ty: string, values: Float64Array }} Axis */
/** @typedef {{ low: number, high: number }} Range */

export class Scatter {
  /** @type {Axis[]} x, y and perhaps z */
  axes = [];
  /** @type {Axis | null} */
  colour = null;
  /** @type {Range[]} what a range of 1 stands for, by axis */
  ranges = [];
  /** Values by axis, of which the range is −1 to 1. @type {Float32Array[]} */
  places = [];
  /** @type {Uint32Array} a colour for each point */
  colours = new Uint32Array();
  zoom = 1;
  /** Of the middle, in ranges. */
  pan = [0, 0];
  yaw = 0.6;
  pitch = 0.4;
  painted = 0;
  waits = false;
  /** What the axes were fitted to. */
  fitted = "";
  /** Whether the user has chosen a window. */
  chosen = false;
  /** @type {ImageData | null} */
  picture = null;
  depth = new Float32Array();

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {() => void} changed the window is another one
   */
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser draws no pictures");
    this.context = context;
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.listen();
  }

  /**
   * Shows other values. The window stays if the axes are the same, so that points move in it, unless they leave a window
   * that nobody has chosen.
   * @param {string} what names what is shown
   * @param {Axis[]} axes
   * @param {Axis | null} colour
   */
  set(what, axes, colour) {
    [this.axes, this.colour] = [axes, colour];
    const key = [what, ...axes.map((axis) => axis.name)].join("\n");
    const other = key !== this.fitted;
    if ((axes[0]?.values.length ?? 0) > 0 && (other || (!this.chosen && this.leaves()))) {
      this.fitted = key;
      this.fit();
    } else {
      this.place();
    }
  }

  /** Whether a point is outside of the window of all points. */
  leaves() {
    return this.axes.some((axis, at) => {
      const [now, { low, high }] = [range(axis.values), this.ranges[at] ?? { low: 0, high: 0 }];
      return now.low < low || now.high > high;
    });
  }

  /** Shows all points. */
  fit() {
    this.chosen = false;
    this.ranges = this.axes.map((axis) => range(axis.values));
    [this.zoom, this.pan] = [0.95, [0, 0]];
    this.place();
  }

  place() {
    this.places = this.axes.map((axis, at) => {
      const { low, high } = this.ranges[at] ?? range(axis.values);
      // Half of each, because the difference of two numbers may be too great for a number.
      const [middle, half] = [low / 2 + high / 2, high / 2 - low / 2];
      return Float32Array.from(axis.values, (value) => (value - middle) / half);
    });
    this.tint();
  }

  /** Gives each point its colour. */
  tint() {
    const [accent, unknown] = [pixel(theme().accent), theme().unknown];
    const of = this.colour?.values;
    if (!of) {
      this.colours = new Uint32Array(this.places[0]?.length ?? 0).fill(accent);
    } else {
      const { low, high } = range(of);
      this.colours = Uint32Array.from(of, (value) => {
        const share = (value - low) / (high - low);
        return share >= 0 && share <= 1 ? (SCALE[Math.min(255, Math.floor(share * 256))] ?? unknown) : unknown;
      });
    }
    this.draw();
  }

  /** Draws in the next frame. */
  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.paint();
    });
  }

  paint() {
    const { canvas, context } = this;
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (width < 1 || height < 1) return;
    if (canvas.width !== width || canvas.height !== height || !this.picture) {
      [canvas.width, canvas.height] = [width, height];
      this.picture = context.createImageData(width, height);
      this.depth = new Float32Array(width * height);
    }
    const pixels = new Uint32Array(this.picture.data.buffer);
    pixels.fill(pixel(theme().paper));
    const drawn = this.places.length > 2 ? this.solid(pixels, width, height) : this.flat(pixels, width, height);
    context.putImageData(this.picture, 0, 0);
    this.painted += 1;
    canvas.dataset.painted = String(this.painted);
    canvas.dataset.drawn = String(drawn);
    const names = this.axes.map((axis) => axis.name).join(", ");
    canvas.setAttribute("aria-label", `${drawn} points over ${names}`);
    this.changed();
  }

  /**
   * Two axes. Returns the points within the picture.
   * @param {Uint32Array} pixels
   * @param {number} width
   * @param {number} height
   */
  flat(pixels, width, height) {
    const [xs, ys] = this.places;
    if (!xs || !ys) return 0;
    const edge = Math.max(1, Math.round(POINT * devicePixelRatio));
    const [panX = 0, panY = 0] = this.pan;
    const [scaleX, scaleY] = [(this.zoom * width) / 2, (this.zoom * height) / 2];
    const [middleX, middleY] = [width / 2 - panX * scaleX, height / 2 + panY * scaleY];
    let drawn = 0;
    for (let at = 0; at < xs.length; at++) {
      const x = Math.round(middleX + (xs[at] ?? 0) * scaleX);
      const y = Math.round(middleY - (ys[at] ?? 0) * scaleY);
      // A value that is not a number is nowhere.
      if (!(x >= 0 && x < width && y >= 0 && y < height)) continue;
      drawn += 1;
      const colour = this.colours[at] ?? 0;
      const right = Math.min(width, x + edge);
      for (let row = y; row < Math.min(height, y + edge); row++) pixels.fill(colour, row * width + x, row * width + right);
    }
    return drawn;
  }

  /**
   * Three axes, turned; the nearest point of a pixel is seen. Returns the points within the picture.
   * @param {Uint32Array} pixels
   * @param {number} width
   * @param {number} height
   */
  solid(pixels, width, height) {
    const [xs, ys, zs] = this.places;
    if (!xs || !ys || !zs) return 0;
    this.depth.fill(-Infinity);
    const edge = Math.max(1, Math.round(POINT * devicePixelRatio));
    const [panX = 0, panY = 0] = this.pan;
    // The corners of the turned cube stay within the picture.
    const scale = (this.zoom * Math.min(width, height)) / 2 / Math.sqrt(3);
    const [middleX, middleY] = [width / 2 - panX * scale, height / 2 + panY * scale];
    const [sinYaw, cosYaw] = [Math.sin(this.yaw), Math.cos(this.yaw)];
    const [sinPitch, cosPitch] = [Math.sin(this.pitch), Math.cos(this.pitch)];
    let drawn = 0;
    for (let at = 0; at < xs.length; at++) {
      const [a, b, c] = [xs[at] ?? 0, ys[at] ?? 0, zs[at] ?? 0];
      const far = b * cosYaw - a * sinYaw;
      const x = Math.round(middleX + (a * cosYaw + b * sinYaw) * scale);
      const y = Math.round(middleY - (c * cosPitch + far * sinPitch) * scale);
      const near = c * sinPitch - far * cosPitch;
      if (!(x >= 0 && x < width && y >= 0 && y < height)) continue;
      drawn += 1;
      const colour = this.colours[at] ?? 0;
      for (let row = y; row < Math.min(height, y + edge); row++) {
        for (let column = x; column < Math.min(width, x + edge); column++) {
          const place = row * width + column;
          if (near >= (this.depth[place] ?? 0)) [this.depth[place], pixels[place]] = [near, colour];
        }
      }
    }
    return drawn;
  }

  /**
   * Moves by so many CSS pixels, or turns three axes.
   * @param {number} dx
   * @param {number} dy
   * @param {boolean} turns
   */
  move(dx, dy, turns) {
    if (turns && this.axes.length > 2) {
      this.yaw += dx * 0.01;
      this.pitch = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, this.pitch + dy * 0.01));
    } else {
      const [width, height] = this.halves();
      this.pan = [(this.pan[0] ?? 0) - dx / (this.zoom * width), (this.pan[1] ?? 0) + dy / (this.zoom * height)];
      this.chosen = true;
    }
    this.draw();
  }

  /**
   * Half of the sides of the picture, or of the cube in it, at the scale 1, CSS pixels.
   * @returns {[number, number]}
   */
  halves() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const side = Math.min(width, height) / 2 / Math.sqrt(3);
    return this.axes.length > 2 ? [side, side] : [width / 2, height / 2];
  }

  /**
   * @param {number} factor
   * @param {number} x what stays where it is, CSS pixels from the middle to the right
   * @param {number} y and upwards
   */
  scale(factor, x = 0, y = 0) {
    const zoom = Math.min(1e5, Math.max(0.1, this.zoom * factor));
    const [width, height] = this.halves();
    const by = 1 / this.zoom - 1 / zoom;
    this.pan = [(this.pan[0] ?? 0) + (x / width) * by, (this.pan[1] ?? 0) + (y / height) * by];
    this.zoom = zoom;
    this.chosen = true;
    this.draw();
  }

  /** The window of each axis; with three axes that of all points. @returns {Range[]} */
  windows() {
    if (this.axes.length > 2) return this.ranges;
    return this.ranges.map(({ low, high }, at) => {
      const [middle, half] = [low / 2 + high / 2, high / 2 - low / 2];
      const place = (/** @type {number} */ side) => middle + half * ((this.pan[at] ?? 0) + side / this.zoom);
      return { low: place(-1), high: place(1) };
    });
  }

  listen() {
    const { canvas } = this;
    let last = [0, 0];
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      last = [event.clientX, event.clientY];
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!canvas.hasPointerCapture(event.pointerId)) return;
      const [x = 0, y = 0] = last;
      last = [event.clientX, event.clientY];
      this.move(event.clientX - x, event.clientY - y, !event.shiftKey);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const box = canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - box.x - box.width / 2, box.height / 2 - (event.clientY - box.y)];
        this.scale(Math.exp(-event.deltaY * 0.002), x, y);
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
      const by = moves[/** @type {keyof typeof moves} */ (event.key)];
      if (by) this.move(by[0] ?? 0, by[1] ?? 0, !event.shiftKey);
      else if (event.key === "+") this.scale(1.5);
      else if (event.key === "-") this.scale(1 / 1.5);
      else if (event.key.toLowerCase() === "f") this.fit();
      else return;
      event.preventDefault();
    });
  }
}

/**
 * The least and the greatest finite value, apart.
 * @param {Float64Array} values
 * @returns {Range}
 */
function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return { low: 0, high: 1 };
  // One value stands in the middle.
  const least = Math.max(Math.abs(low), Math.abs(high)) * 1e-12;
  if (high - low > least) return { low, high };
  const room = Math.max(Math.abs(low) * 0.5, 0.5);
  return { low: low - room, high: high + room };
}

const SCALE = Uint32Array.from({ length: 256 }, (_, at) => {
  const place = (at / 255) * (STOPS.length - 1);
  const [from, share] = [Math.floor(place), place % 1];
  const [a, b] = [STOPS[from] ?? "", STOPS[Math.min(from + 1, STOPS.length - 1)] ?? ""];
  const part = (/** @type {number} */ digit) => {
    const [x, y] = [a, b].map((colour) => parseInt(colour.slice(digit, digit + 2), 16));
    return Math.round((x ?? 0) + ((y ?? 0) - (x ?? 0)) * share)
      .toString(16)
      .padStart(2, "0");
  };
  return pixel(`#${part(1)}${part(3)}${part(5)}`);
});
