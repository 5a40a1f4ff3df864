// The data of each row, fetched one screen ahead on both sides and kept until better data arrives.

import { bytes, json, Refused } from "../base/api.js";

/** How far beyond the window on each side is fetched, in windows. */
const AHEAD = 1;

/** A tile serves until its pixels are this much larger or smaller than those of the screen. */
const STRETCH = 1.6;

/**
 * @typedef {{ from: number, to: number, pixels: number, words: Uint32Array, floats: Float32Array, bytes: Uint8Array, first: number, count: number }} Tile
 * @typedef {{ from: number, to: number, width: number, rows: number[] }} Wish
 */

export class Tiles {
  /**
   * @param {number} recording
   * @param {number} duration ns
   * @param {() => void} changed is called when something new can be drawn
   * @param {(error: Refused) => void} failed
   */
  constructor(recording, duration, changed, failed) {
    this.recording = recording;
    this.duration = duration;
    this.changed = changed;
    this.failed = failed;
    /** @type {Map<number, Tile>} */
    this.tiles = new Map();
    /** @type {Map<number, RowDetails & { from: number, to: number }>} */
    this.details = new Map();
    /** @type {Wish | null} */
    this.wish = null;
    this.busy = false;
    this.settle = 0;
    /** The last request. */
    this.asked = "";
  }

  /** Whether everything last asked for is there. */
  get idle() {
    return !this.busy && !this.wish && !this.settle;
  }

  /**
   * Sees to it that the rows can be drawn soon.
   * @param {Wish} wish
   */
  want(wish) {
    const missing = wish.rows.filter((row) => !this.serves(this.tiles.get(row), wish, STRETCH));
    if (missing.length > 0) this.request(missing.length < wish.rows.length ? { ...wish, rows: missing } : wish);
    const now = `${wish.from} ${wish.to} ${wish.width} ${wish.rows}`;
    if (now === this.asked) return;
    this.asked = now;
    // Once the hand rests: exactly as wide as the screen, with jobs and marks.
    clearTimeout(this.settle);
    this.settle = window.setTimeout(() => {
      this.settle = 0;
      const rows = wish.rows.filter((row) => !this.serves(this.tiles.get(row), wish, 1.02));
      if (rows.length > 0) this.request({ ...wish, rows });
      else this.changed();
      this.describe(wish);
    }, 90);
  }

  /**
   * @param {Tile | undefined} tile
   * @param {Wish} wish
   * @param {number} stretch
   */
  serves(tile, wish, stretch) {
    if (!tile) return false;
    const ratio = (tile.to - tile.from) / tile.pixels / ((wish.to - wish.from) / wish.width);
    const from = Math.max(0, wish.from);
    const to = Math.min(this.duration, wish.to);
    return tile.from <= from && tile.to >= to && ratio < stretch && ratio > 1 / stretch;
  }

  /** @param {Wish} wish */
  async request(wish) {
    this.wish = wish;
    if (this.busy) return;
    this.busy = true;
    while (this.wish) {
      const now = this.wish;
      this.wish = null;
      try {
        await this.fetch(now);
      } catch (error) {
        if (error instanceof Refused) this.failed(error);
        else throw error;
      }
    }
    this.busy = false;
    this.changed();
  }

  /** @param {Wish} wish */
  async fetch({ from, to, width, rows }) {
    const length = to - from;
    const begin = Math.max(0, Math.floor(from - AHEAD * length));
    const end = Math.min(Math.ceil(this.duration), Math.ceil(to + AHEAD * length));
    const pixels = Math.max(1, Math.round(((end - begin) / length) * width));
    if (end <= begin) return;
    const about = { r: this.recording, from: begin, to: end, px: pixels, rows: rows.join(",") };
    const buffer = await bytes("window", about);
    const words = new Uint32Array(buffer);
    const floats = new Float32Array(buffer);
    const all = new Uint8Array(buffer);
    let at = 1;
    for (const row of rows) {
      const count = words[at] ?? 0;
      this.tiles.set(row, { from: begin, to: end, pixels, words, floats, bytes: all, first: at + 1, count });
      at += 1 + 4 * count;
    }
    this.changed();
  }

  /** @param {Wish} wish */
  async describe({ from, to, rows }) {
    const missing = rows.filter((row) => {
      const known = this.details.get(row);
      return !known || known.from !== from || known.to !== to;
    });
    if (missing.length === 0) return;
    const begin = Math.max(0, Math.floor(from));
    const end = Math.max(begin, Math.ceil(to));
    try {
      const answer = await json("details", { r: this.recording, from: begin, to: end, rows: missing.join(",") });
      for (const row of missing) {
        const found = answer[row];
        if (found) this.details.set(row, { ...found, from, to });
      }
      this.changed();
    } catch (error) {
      if (error instanceof Refused) this.failed(error);
      else throw error;
    }
  }

  /** Forgets everything: the recording has grown. */
  forget() {
    this.tiles.clear();
    this.details.clear();
    this.asked = "";
  }
}
