// One recording's timeline: its window, its rows, what is chosen in it.

import { json, Refused } from "../base/api.js";
import { named, table, theme, word } from "../base/colour.js";
import { el, say } from "../base/dom.js";
import { count, counted, percent, point, round, span } from "../base/time.js";
import { layer, paint as paintArrows } from "./arrows.js";
import { listen } from "./input.js";
import { Overview } from "./overview.js";
import { Painter, ruler } from "./paint.js";
import { Tiles } from "./tiles.js";

/** Row heights, pixels. */
const HEIGHTS = { cpu: 28, irq: 16, process: 20, thread: 24, slices: 16 };

/** The shortest window, ns. */
const SHORTEST = 200;

/** How long a change of the window by a key takes, ms. */
const GLIDE = 110;

/**
 * @typedef {import("./paint.js").Line} Line
 * @typedef {import("./paint.js").Place} Place
 * @typedef {{ from: number, to: number, answer: RangeAnswer | null }} Measured
 * @typedef {{ window: (pane: Pane) => void, chosen: (pane: Pane) => void, job: (pane: Pane) => void, measured: (pane: Pane) => void, search: (text: string) => void, failed: (error: Error) => void }} Events
 */

export class Pane {
  /**
   * @param {number} recording
   * @param {SourceInfo} source
   * @param {RecordingInfo} info
   * @param {Events} events
   */
  constructor(recording, source, info, events) {
    this.recording = recording;
    this.source = source;
    this.info = info;
    this.events = events;
    /** The longest window, ns: with two recordings, the length of the longer one. */
    this.whole = Math.max(SHORTEST, info.duration_ns);
    this.from = 0;
    this.to = this.whole;
    /** @type {number | null} */
    this.chosen = null;
    /** @type {JobAnswer | null} */
    this.answer = null;
    /** @type {SliceAnswer["slice"]} the slice that is looked at */
    this.slice = null;
    /** @type {Set<number>} the rows, and heads of processes, that stand before all others of their kind */
    this.pinned = new Set();
    /** @type {Set<number>} the processes whose threads are not shown */
    this.folded = new Set();
    /** @type {number | null} a moment with a line, ns */
    this.spot = null;
    /** @type {Measured | null} the range between the two cursors */
    this.measured = null;
    /** Done when what was last chosen is there. */
    this.choosing = Promise.resolve();
    this.questions = 0;
    this.filter = "";
    /** @type {Line[]} */
    this.lines = [];
    /** @type {Line[]} every row, with its place from the top */
    this.all = [];
    this.width = 1;
    this.tall = 0;
    this.frame = 0;
    this.glide = 0;
    this.painted = 0;
    this.theme = theme();

    this.gutter = el("div", { class: "gutter", "aria-hidden": true });
    this.canvas = el("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "timeline",
      "aria-describedby": "timeline-keys",
    });
    this.axis = el("canvas", { class: "axis" });
    this.strip = el("canvas", { class: "strip", "aria-hidden": true });
    /** @type {Map<number, string>} */
    this.names = new Map();
    /** @type {Map<number, string>} the names of processes by number */
    this.processes = new Map();
    this.colours = table([], this.theme.dark);
    /** The colours of slices by the place of their name. */
    this.named = named([], this.theme.dark);
    this.tip = el("div", { class: "tip", hidden: true });
    this.band = el("div", { class: "measured", hidden: true });
    this.line = el("div", { class: "spot", hidden: true });
    this.arrows = layer();
    this.scroll = el(
      "div",
      { class: "tracks", tabindex: -1 },
      el("div", { class: "stick" }, this.gutter, el("div", { class: "picture" }, this.canvas, this.arrows, this.band, this.line)),
      (this.spacer = el("div", { class: "spacer" })),
    );
    this.element = el(
      "section",
      { class: "pane", "aria-label": `Timeline of ${source.name}` },
      el("div", { class: "row strip-row" }, el("div", { class: "corner" }, this.summary()), this.strip),
      el("div", { class: "row" }, el("div", { class: "corner soft", text: "time" }), this.axis),
      this.scroll,
      this.tip,
    );
    this.painter = new Painter(this.canvas);
    this.overview = new Overview(this.strip, (from, to) => this.show(from, to));
    this.tiles = new Tiles(recording, info.duration_ns, () => this.draw(), events.failed);
    this.take(info);
    listen(this);
    new ResizeObserver(() => this.layout()).observe(this.scroll);
    this.scroll.addEventListener("scroll", () => this.draw());
  }

  /** The recording's name, and a warning where events are missing. */
  summary() {
    const { info } = this;
    const missing = info.lost > 0 || info.gaps_lost > 0 || info.pauses > 0;
    const [gaps, pauses] = [counted(info.gaps_lost, "gap", "gaps"), counted(info.pauses, "pause", "pauses")];
    const words = info.lost > 0 ? `${count(info.lost)} lost` : info.gaps_lost > 0 ? gaps : pauses;
    const where = `${gaps}, ${count(info.lost)} events known to be lost, ${pauses}. No figure reaches across a gap or a pause.`;
    return el(
      "span",
      { class: "file", title: this.source.path },
      el("span", { class: "file-name", text: this.source.name }),
      missing && el("span", { class: "warn", title: where, text: words }),
    );
  }

  /**
   * The recording as it is now.
   * @param {RecordingInfo} info
   */
  take(info) {
    const follows = this.to >= this.info.duration_ns;
    const length = this.to - this.from;
    this.whole = Math.max(this.whole, info.duration_ns);
    this.info = info;
    this.tiles.duration = info.duration_ns;
    this.tiles.forget();
    this.names = new Map(info.rows.map((row) => [row.row, name(row)]));
    this.processes = processes(info.rows);
    this.colours = table(info.rows, this.theme.dark);
    this.named = named(info.names, this.theme.dark);
    this.arrange();
    this.overview.load(this.recording, info).then(() => this.draw(), this.events.failed);
    if (follows) this.show(this.from === 0 ? 0 : info.duration_ns - length, info.duration_ns);
  }

  /**
   * Whether a thread is one of those that are searched for.
   * @param {RowInfo} row
   */
  matches(row) {
    const wanted = this.filter.trim().toLowerCase();
    if (wanted.startsWith("pid:")) return String(row.pid) === wanted.slice(4).trim();
    const about = `${name(row)} ${row.tid} ${row.pid} ${this.processes.get(row.pid ?? 0) ?? ""}`;
    return about.toLowerCase().includes(wanted);
  }

  /**
   * Which rows are shown, in which order: processors, pinned threads, and processes with their threads and tracks. Slices
   * stand below the thread or the track to which they belong.
   */
  arrange() {
    const { rows } = this.info;
    const rank = { cpu: 0, irq: 1, thread: 2, slices: 3 };
    const processors = rows.filter((row) => row.kind === "cpu" || row.kind === "irq");
    processors.sort((a, b) => rank[a.kind] - rank[b.kind] || (a.cpu ?? 0) - (b.cpu ?? 0));
    const all = rows.filter((row) => row.kind === "thread" || (row.kind === "slices" && row.below === null));
    all.sort((a, b) => marks(b) - marks(a) || rank[a.kind] - rank[b.kind] || runs(b) - runs(a) || a.row - b.row);
    /** @type {Map<number, RowInfo[]>} slices by the row above them */
    const below = new Map();
    for (const row of rows) {
      if (typeof row.below === "number") below.set(row.below, [...(below.get(row.below) ?? []), row]);
    }
    const append = (/** @type {RowInfo} */ row, /** @type {Place} */ place = "") => {
      const [first, ...others] = [row, ...(below.get(row.row) ?? [])];
      this.append(first.row, first.kind, name(first), place);
      for (const line of others) this.append(line.row, line.kind, name(line), place === "inside" ? place : "");
    };
    // A search for marks, events and times hides no thread.
    const found = all.filter((row) => this.matches(row));
    const threads = found.length > 0 ? found : all;
    const pinned = threads.filter((row) => this.pinned.has(row.row));
    /** @type {Map<number, RowInfo[]>} threads by process, those of no known process each alone */
    const groups = new Map();
    for (const row of threads.filter((row) => !this.pinned.has(row.row))) {
      const key = row.pid ? head(row.pid) : row.row;
      groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    const traced = Number(this.info.conditions.find(([name]) => name === "process")?.[1] ?? Number.NaN);
    // Pinned processes, the traced program, those that mark their jobs, then the busiest.
    const first = (/** @type {number} */ key, /** @type {RowInfo[]} */ group) =>
      4 * Number(this.pinned.has(key)) + 2 * Number(key === head(traced)) + Math.max(...group.map(marks));
    const busy = (/** @type {RowInfo[]} */ group) => group.reduce((sum, row) => sum + runs(row), 0);
    const ordered = [...groups].sort(([a, one], [b, other]) => first(b, other) - first(a, one) || busy(other) - busy(one));
    this.tall = 0;
    this.all = [];
    for (const row of [...processors, ...pinned]) append(row);
    /** @type {Place} */
    let alone = "";
    for (const [key, group] of ordered) {
      const has_head = group.length > 1;
      if (has_head) this.append(key, "process", this.title(key, group));
      const place = has_head ? "inside" : alone;
      alone = has_head ? "after" : "";
      if (has_head && this.folded.has(key)) continue;
      for (const row of group) append(row, place);
    }
    this.layout();
  }

  /**
   * Adds a line below all others.
   * @param {number} row
   * @param {Line["kind"]} kind
   * @param {string} name
   * @param {Place} place
   */
  append(row, kind, name, place = "") {
    const height = HEIGHTS[kind];
    this.all.push({ row, kind, y: this.tall, height, name, place });
    this.tall += height;
  }

  /**
   * What the head of a process says.
   * @param {number} key
   * @param {RowInfo[]} group
   */
  title(key, group) {
    const pid = process(key);
    const threads = group.filter((row) => row.kind === "thread").length;
    const tracks = group.length - threads;
    const say = (/** @type {number} */ n, /** @type {string} */ what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
    const said = [threads > 0 ? say(threads, "thread") : "", tracks > 0 ? say(tracks, "track") : ""];
    return `${this.processes.get(pid) ?? "process"} ${pid}: ${said.filter(Boolean).join(", ")}`;
  }

  /**
   * Hides the threads of a process, or shows them again.
   * @param {number} key
   */
  fold(key) {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.arrange();
    this.events.window(this);
  }

  /**
   * Takes a row to the top, or back.
   * @param {number} row
   */
  pin(row) {
    if (!this.pinned.delete(row)) this.pinned.add(row);
    this.arrange();
    this.events.chosen(this);
  }

  layout() {
    const height = this.scroll.clientHeight;
    this.spacer.style.height = `${Math.max(0, this.tall - height)}px`;
    this.width = Math.max(1, this.scroll.clientWidth - this.gutter.offsetWidth);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${height}px`;
    for (const canvas of [this.axis, this.strip]) canvas.style.width = `${this.width}px`;
    this.draw();
  }

  /** The colours of the page have changed. */
  repaint() {
    this.theme = theme();
    this.colours = table(this.info.rows, this.theme.dark);
    this.named = named(this.info.names, this.theme.dark);
    this.gutter.replaceChildren();
    this.draw();
  }

  draw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  paint() {
    const height = this.scroll.clientHeight;
    const { width } = this;
    if (height === 0 || width <= 1 || !this.element.isConnected) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const top = this.scroll.scrollTop;
    this.lines = this.all
      .filter((line) => line.y + line.height > top && line.y < top + height)
      .map((line) => ({ ...line, y: line.y - top }));
    const { from, to, theme } = this;
    const step = round(((to - from) / width) * 110);
    const steps = [];
    for (let at = Math.ceil(from / step) * step; at <= to && steps.length < 100; at += step) steps.push(at);
    const rows = this.lines.filter((line) => line.kind !== "process").map((line) => line.row);
    this.tiles.want({ from, to, width: Math.round(width * ratio), rows });
    this.painter.paint({
      from,
      to,
      width,
      height,
      ratio,
      lines: this.lines,
      tiles: this.tiles.tiles,
      details: this.tiles.details,
      colours: this.colours,
      named: this.named,
      theme,
      focus: this.chosen,
      job: this.answer?.job ?? null,
      names: this.names,
      marks: this.info.names,
      steps,
    });
    ruler(this.axis, { width, ratio, from, to, steps, name: (at) => point(at, step, to), theme });
    this.overview.paint(width, ratio, this, theme);
    const middles = new Map(this.all.map((line) => [line.row, line.y - top + line.height / 2]));
    const { lines, chosen: focus } = this;
    paintArrows(this.arrows, { from, to, width, lines, details: this.tiles.details, middles, focus });
    this.labels();
    this.cursors();
    this.painted += 1;
    this.element.dataset.painted = String(this.painted);
    this.element.dataset.idle = String(this.tiles.idle);
  }

  /** The two cursors over the picture, with the length between them. */
  cursors() {
    const { measured, spot, width, from, to } = this;
    this.line.hidden = spot === null || spot < from || spot > to;
    this.line.style.left = `${(((spot ?? from) - from) / (to - from)) * width}px`;
    this.band.hidden = !measured || measured.to <= from || measured.from >= to;
    if (!measured || this.band.hidden) return;
    // Beyond the picture, an end is not seen.
    const place = (/** @type {number} */ at) => Math.min(width + 5, Math.max(-5, ((at - from) / (to - from)) * width));
    this.band.style.left = `${place(measured.from)}px`;
    this.band.style.width = `${place(measured.to) - place(measured.from)}px`;
    this.band.dataset.length = span(measured.to - measured.from);
  }

  /**
   * Measures the range between two moments in any order, or nothing.
   * @param {[number, number] | null} ends ns
   */
  async measure(ends) {
    this.place(ends);
    const { measured } = this;
    this.events.measured(this);
    if (!measured) return;
    say(`Range of ${span(measured.to - measured.from)}`);
    try {
      const { from, to } = measured;
      measured.answer = await json("range", { r: this.recording, from, to });
      if (this.measured === measured) this.events.measured(this);
    } catch (error) {
      if (error instanceof Refused) this.events.failed(error);
      else throw error;
    }
  }

  /**
   * Puts the cursors there, as long as the hand moves.
   * @param {[number, number] | null} ends ns
   */
  place(ends) {
    const inside = (/** @type {number} */ at) => Math.round(Math.min(this.whole, Math.max(0, at)));
    const [from = 0, to = 0] = ends ? ends.map(inside).sort((a, b) => a - b) : [];
    this.measured = to > from ? { from, to, answer: null } : null;
    this.draw();
  }

  /** The names beside the rows. */
  labels() {
    /** @type {Map<string, HTMLElement>} */
    const old = new Map();
    for (const label of this.gutter.children) {
      if (label instanceof HTMLElement) old.set(label.dataset.row ?? "", label);
    }
    for (const line of this.lines) {
      const key = String(line.row);
      let label = old.get(key);
      if (label) old.delete(key);
      else {
        const title = line.kind === "process" ? line.name : this.about(line.row);
        label = el("div", { class: `label ${line.kind}`, "data-row": key, title });
        if (line.kind === "thread") label.style.setProperty("--own", word(line.name, this.theme.dark));
        label.addEventListener("click", () => (line.row < 0 ? this.fold(line.row) : this.choose(line.row)));
        this.gutter.append(label);
      }
      label.style.transform = `translateY(${line.y}px)`;
      label.style.height = `${line.height}px`;
      label.textContent = line.name;
      label.classList.toggle("chosen", line.row === this.chosen);
      label.classList.toggle("folded", this.folded.has(line.row));
      label.classList.toggle("inside", line.place === "inside");
      label.classList.toggle("after", line.place === "after");
    }
    for (const label of old.values()) label.remove();
  }

  /**
   * A row in a sentence.
   * @param {number} row
   */
  about(row) {
    const info = this.info.rows.find((info) => info.row === row);
    if (!info) return "";
    if (info.kind === "slices") {
      const above = typeof info.below === "number" ? `${this.names.get(info.below) ?? ""} ` : "";
      const depth = info.depth ? `, inside ${count(info.depth)} others` : "";
      return `Slices of ${above}${name(info)}${depth}`.trimEnd();
    }
    const share = percent(info.running_ns / Math.max(1, this.info.duration_ns));
    const who =
      info.kind === "thread" ? `${name(info)}, thread ${info.tid} of process ${info.pid || "unknown"}` : name(info);
    return `${who}: ${span(info.running_ns)} running, ${share}`;
  }

  /**
   * Shows that stretch, as far as there is one.
   * @param {number} from
   * @param {number} to
   */
  show(from, to) {
    const { whole } = this;
    const length = Math.min(whole, Math.max(SHORTEST, to - from));
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(0, middle - length / 2), whole - length);
    this.to = this.from + length;
    this.canvas.setAttribute("aria-label", this.words());
    this.draw();
    this.events.window(this);
  }

  /** The picture in words. */
  words() {
    const step = (this.to - this.from) / 100;
    const where = `${point(this.from, step)} to ${point(this.to, step)} of ${span(this.info.duration_ns)}`;
    const who = this.chosen === null ? "" : `, ${this.about(this.chosen)} chosen`;
    return `Timeline of ${this.source.name}, ${where}${who}`;
  }

  /**
   * Shows that stretch, gliding there.
   * @param {number} from
   * @param {number} to
   */
  glideTo(from, to) {
    cancelAnimationFrame(this.glide);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.show(from, to);
      return;
    }
    const begin = { at: performance.now(), from: this.from, to: this.to };
    const step = () => {
      const share = Math.min(1, (performance.now() - begin.at) / GLIDE);
      const part = share * (2 - share);
      this.show(begin.from + (from - begin.from) * part, begin.to + (to - begin.to) * part);
      if (share < 1) this.glide = requestAnimationFrame(step);
      else say(this.words());
    };
    this.glide = requestAnimationFrame(step);
  }

  /**
   * @param {number} factor below 1: closer
   * @param {number} [at] what stays where it is
   */
  zoom(factor, at = (this.from + this.to) / 2) {
    const length = Math.min(this.whole, Math.max(SHORTEST, (this.to - this.from) * factor));
    const share = (at - this.from) / (this.to - this.from);
    return /** @type {const} */ ([at - share * length, at + (1 - share) * length]);
  }

  /**
   * Chooses a row, and the job at a moment of it.
   * @param {number | null} row
   * @param {{ at?: number, job?: number, reveal?: boolean }} [where]
   */
  choose(row, where = {}) {
    this.choosing = this.ask(row, where);
    return this.choosing;
  }

  /**
   * @param {number | null} row
   * @param {{ at?: number, job?: number, reveal?: boolean }} where
   */
  async ask(row, { at, job, reveal }) {
    // Another job of the same thread takes the place of the one that is seen when it is there.
    if (row !== this.chosen) this.answer = null;
    this.slice = null;
    this.chosen = row;
    const now = ++this.questions;
    if (row !== null && reveal) this.reveal(row);
    this.draw();
    this.canvas.setAttribute("aria-label", this.words());
    this.events.chosen(this);
    const kind = this.info.rows.find((info) => info.row === row)?.kind;
    if (row === null || (kind !== "thread" && kind !== "slices")) {
      if (row !== null) say(this.about(row));
      this.events.job(this);
      return;
    }
    try {
      if (kind === "slices") {
        const answer = await json("slice", { r: this.recording, row, at: Math.max(0, Math.round(at ?? 0)) });
        if (this.questions !== now) return;
        this.slice = answer.slice;
        this.events.job(this);
        return;
      }
      const about = job === undefined ? { at: Math.max(0, Math.round(at ?? (this.from + this.to) / 2)) } : { job };
      const answer = await json("job", { r: this.recording, row, ...about });
      // Something else was chosen meanwhile.
      if (this.questions !== now) return;
      this.answer = answer;
      this.events.job(this);
      this.draw();
    } catch (error) {
      if (error instanceof Refused) this.events.failed(error);
      else throw error;
    }
  }

  /** The job that is looked at, or about to be, with room around it. */
  async showJob() {
    await this.choosing;
    const job = this.answer?.job;
    if (!job) return;
    // A deadline far behind the end would make the job itself invisible.
    const near = job.deadline !== null && job.deadline - job.release < 3 * job.response;
    const end = Math.max(job.finish, near && job.deadline !== null ? job.deadline : job.finish);
    const room = Math.max(SHORTEST, (end - job.release) * 0.35);
    this.glideTo(job.release - room, end + room);
  }

  /** Brings the job into the window if it is outside. */
  followJob() {
    const job = this.answer?.job;
    if (!job) return;
    const length = this.to - this.from;
    if (job.release >= this.from && job.finish <= this.to) return;
    if (job.finish - job.release > length) this.showJob();
    else this.glideTo((job.release + job.finish - length) / 2, (job.release + job.finish + length) / 2);
  }

  /**
   * Scrolls until the row is seen.
   * @param {number} row
   */
  reveal(row) {
    const line = this.all.find((line) => line.row === row);
    if (!line) return;
    const { scrollTop, clientHeight } = this.scroll;
    if (line.y < scrollTop) this.scroll.scrollTop = line.y;
    else if (line.y + line.height > scrollTop + clientHeight) {
      this.scroll.scrollTop = line.y + line.height - clientHeight;
    }
  }

  /**
   * The next row below (1) or above (−1).
   * @param {1 | -1} by
   */
  step(by) {
    const all = this.all.filter((line) => line.kind !== "process");
    const now = all.findIndex((line) => line.row === this.chosen);
    const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by))];
    if (next) this.choose(next.row, { reveal: true }).then(() => say(this.about(next.row)));
  }
}

/**
 * How long a thread ran, ns; the slices of a track are no processor time.
 * @param {RowInfo} row
 */
const runs = (row) => (row.kind === "thread" ? row.running_ns : 0);

/**
 * Whether a thread marks its jobs, as a number.
 * @param {RowInfo} row
 */
const marks = (row) => Number((row.marked ?? 0) > 0);

/**
 * The key of the head of a process among rows, which are not less than 0.
 * @param {number} pid
 */
export const head = (pid) => -1 - pid;

/** @param {number} key */
const process = (key) => -1 - key;

/**
 * The names of processes by number: each has the name of its first thread.
 * @param {RowInfo[]} rows
 */
function processes(rows) {
  /** @type {Map<number, string>} */
  const names = new Map();
  for (const row of rows) {
    if (row.pid && name(row) && (row.tid === row.pid || !names.has(row.pid))) names.set(row.pid, name(row));
  }
  return names;
}

/**
 * What a row is called.
 * @param {RowInfo} row
 * @returns {string}
 */
export function name(row) {
  if (row.kind === "cpu") return `CPU ${row.cpu}`;
  if (row.kind === "irq") return `interrupts ${row.cpu}`;
  return row.name ?? `thread ${row.tid}`;
}
