// The page: which recordings are open, what is chosen, and what stands in the address.

import { json } from "./base/api.js";
import { el, say, the } from "./base/dom.js";
import { parse } from "./base/time.js";
import * as compare from "./pages/compare.js";
import * as detail from "./pages/detail.js";
import * as found from "./pages/found.js";
import * as misses from "./pages/misses.js";
import * as plots from "./pages/plots.js";
import * as range from "./pages/range.js";
import * as threads from "./pages/threads.js";
import * as verdict from "./pages/verdict.js";
import { Pane } from "./timeline/pane.js";
import { save } from "./timeline/picture.js";

/** How often the server is asked whether a recording has grown, ms. */
const FOLLOW = 1000;

/** Recordings that do not grow are asked after less often: one in so many times. */
const SELDOM = 5;

/** @type {Sources} */
let sources = { recordings: [], shown: [0], version: "" };
/** @type {Pane[]} */
let panes = [];
/** The pane that is chosen: keys and searches are about it, and so are tables that show one recording. */
let current = 0;
/** @type {Map<string, any>} by recording and version */
const reports = new Map();
let tab = "threads";

const first = /** @type {HTMLSelectElement} */ (the("first"));
const second = /** @type {HTMLSelectElement} */ (the("second"));
const search = /** @type {HTMLInputElement} */ (the("search"));
const panel = the("panel");
/** Says which of several recordings a tab is about, and leads to the others. */
const choice = el("div", { class: "group recordings", role: "group", "aria-label": "Recording" });
/** What the open tab shows. Each tab that is opened gets a new one, which late answers to another do not reach. */
let content = el("div");

const pane = () => panes[current] ?? panes[0];

/** @param {unknown} error */
function failed(error) {
  const place = the("trouble");
  place.textContent = error instanceof Error ? error.message : String(error);
  place.hidden = false;
}

/** @type {import("./timeline/pane.js").Events} */
const events = {
  window(changed) {
    // Two recordings are looked at over the same stretch, each from its own beginning.
    for (const other of panes) {
      if (other !== changed && (other.from !== changed.from || other.to !== changed.to)) {
        other.from = changed.from;
        other.to = changed.to;
        other.draw();
      }
    }
    remember();
    if (tab === "plots") later(refresh);
  },
  chosen(changed) {
    const moved = current !== panes.indexOf(changed);
    current = Math.max(0, panes.indexOf(changed));
    // The thread of the same name in the recording beside it.
    const name = changed.chosen === null ? undefined : changed.names.get(changed.chosen);
    for (const other of panes) {
      if (other === changed) continue;
      const same = other.all.find((line) => line.name === name);
      [other.chosen, other.answer] = [same?.row ?? null, null];
      other.draw();
    }
    beside(changed);
    if (moved || tab === "plots") refresh();
    else mark();
    remember();
  },
  job(changed) {
    beside(changed);
    remember();
  },
  measured(changed) {
    beside(changed);
    remember();
  },
  search(text) {
    search.value = text;
    narrow();
  },
  failed,
};

/** Shows what the search box says. */
function narrow() {
  for (const pane of panes) {
    pane.filter = search.value;
    pane.scroll.scrollTop = 0;
    pane.arrange();
  }
  later(refresh);
  remember();
}

/** Goes to what the search box says: a time, a thread, or the first event or mark. */
async function go() {
  const now = pane();
  if (!now) return;
  const at = parse(search.value);
  const line = now.info.rows.find((row) => row.kind === "thread" && now.matches(row)) && now.all.find(isThread);
  if (at !== null) found.visit(now, at);
  else if (line) await now.choose(line.row, { reveal: true });
  else {
    open("found");
    const [place] = (await found.find(now)).places;
    if (place) await found.go(now, place);
  }
}

/** @param {import("./timeline/paint.js").Line} line */
const isThread = (line) => line.kind === "thread";

/**
 * What stands beside the timelines: the measured range, then the chosen job.
 * @param {Pane} pane
 */
function beside(pane) {
  const place = the("detail");
  place.replaceChildren();
  range.show(place, pane);
  detail.show(place, pane);
  const filled = place.childElementCount > 0;
  if (filled && panes.length > 1) place.prepend(el("p", { class: "soft recording", text: pane.source.name }));
}

/** The row of the table that is chosen. */
function mark() {
  for (const row of panel.querySelectorAll("tr[data-row]")) {
    const chosen = row instanceof HTMLElement && row.dataset.row === String(pane()?.chosen);
    row.classList.toggle("chosen", chosen);
  }
}

let waits = 0;

/** @param {() => void} work */
function later(work) {
  clearTimeout(waits);
  waits = window.setTimeout(work, 200);
}

/**
 * The figures of a pane's recording, asked for once.
 * @param {Pane} of
 */
function report(of) {
  const key = `${of.recording}:${of.info.version}`;
  if (!reports.has(key)) {
    reports.set(key, null);
    json("report", { r: of.recording }).then((found) => {
      reports.set(key, found);
      if (panes.includes(of)) {
        of.overview.misses = (found?.misses ?? []).map((/** @type {any} */ miss) => misses.place(of, miss));
        of.draw();
        badge();
        refresh();
      }
    }, failed);
  }
  return reports.get(key);
}

/** How many deadlines were missed in all recordings shown, on the tab. */
function badge() {
  const missed = panes.reduce((sum, pane) => sum + (report(pane)?.missed_deadlines ?? 0), 0);
  const button = the("tab-misses");
  button.querySelector(".badge")?.remove();
  if (missed > 0) button.append(el("span", { class: "badge", text: String(missed) }));
}

/** What stands under the tabs. */
function refresh() {
  const now = pane();
  if (!now) return;
  panel.setAttribute("aria-labelledby", `tab-${tab}`);
  choice.hidden = panes.length < 2 || !["threads", "plots", "found"].includes(tab);
  [...choice.children].forEach((button, index) => button.setAttribute("aria-pressed", String(index === current)));
  switch (tab) {
    case "misses":
      each(misses.show);
      break;
    case "found":
      found.show(content, now).catch(failed);
      break;
    case "plots":
      plots.show(content, now).catch(failed);
      break;
    case "verdict":
      each((place, _, figures) => verdict.show(place, figures));
      break;
    case "compare":
      if (panes[1]) compare.show(content, panes[0]?.recording ?? 0, panes[1].recording).catch(failed);
      break;
    case "about":
      each(verdict.about);
      break;
    default:
      threads.show(content, now, report(now), () => open("found"));
  }
}

/**
 * Fills a tab with a part for each recording, under its name if there are several.
 * @param {(place: HTMLElement, pane: Pane, figures: any) => void} fill
 */
function each(fill) {
  const parts = panes.map((pane) => {
    const place = el("div");
    fill(place, pane, report(pane));
    return el("section", {}, panes.length > 1 && el("h2", { text: pane.source.name }), place);
  });
  content.replaceChildren(...parts);
}

/**
 * Chooses a recording.
 * @param {number} index
 */
function turn(index) {
  const now = panes[index];
  if (!now) return;
  current = index;
  beside(now);
  refresh();
  remember();
  if (now.chosen !== null && !now.answer) now.choose(now.chosen).catch(failed);
}

/** @param {string} name */
function open(name) {
  if (the(`tab-${name}`).hidden) return;
  tab = name;
  for (const button of document.querySelectorAll("[role=tab]")) {
    const chosen = button.id === `tab-${name}`;
    button.setAttribute("aria-selected", String(chosen));
    button.setAttribute("tabindex", chosen ? "0" : "-1");
  }
  panel.scrollTop = 0;
  content = el("div");
  panel.replaceChildren(choice, content);
  refresh();
  remember();
}

let remembered = 0;

/** Keeps what is seen in the address, so that a reload and a link show the same. */
function remember() {
  clearTimeout(remembered);
  remembered = window.setTimeout(() => {
    const now = pane();
    if (!now) return;
    const place = new URLSearchParams();
    place.set("r", String(panes[0]?.recording ?? 0));
    if (panes[1]) place.set("b", String(panes[1].recording));
    place.set("from", String(Math.round(now.from)));
    place.set("to", String(Math.round(now.to)));
    if (now.chosen !== null) place.set("row", String(now.chosen));
    if (current === 1) place.set("in", "b");
    if (now.answer?.job) place.set("job", String(now.answer.job.job));
    if (now.pinned.size > 0) place.set("pin", [...now.pinned].join(","));
    if (now.folded.size > 0) place.set("fold", [...now.folded].join(","));
    if (now.measured) place.set("range", `${now.measured.from}-${now.measured.to}`);
    if (now.filter) place.set("find", now.filter);
    if (tab !== "threads") place.set("tab", tab);
    history.replaceState(null, "", `#${place}`);
  }, 150);
}

/**
 * Opens one recording, or two.
 * @param {number[]} which
 */
async function show(which) {
  const loaded = await Promise.all(which.map((index) => json("recording", { r: index })));
  the("detail").replaceChildren();
  panes = which.map((index, at) => {
    const source = sources.recordings[index] ?? {
      name: `recording ${index}`,
      path: "",
      report: false,
      grows: false,
      version: 0,
    };
    return new Pane(index, source, loaded[at], events);
  });
  current = 0;
  the("panes").replaceChildren(...panes.map((pane) => pane.element));
  const button = (/** @type {Pane} */ pane, /** @type {number} */ index) =>
    el("button", { text: pane.source.name, onclick: () => turn(index) });
  choice.replaceChildren(...panes.map(button));
  const longest = Math.max(...panes.map((pane) => pane.info.duration_ns));
  for (const pane of panes) {
    pane.filter = search.value;
    pane.whole = longest;
    pane.arrange();
    pane.show(0, longest);
  }
  first.value = String(which[0]);
  second.value = which.length > 1 ? String(which[1]) : "";
  the("tab-compare").hidden = which.length < 2;
  if (tab === "compare" && which.length < 2) tab = "threads";
  const folder = /** @type {HTMLAnchorElement} */ (the("folder-report"));
  folder.hidden = !sources.recordings[which[0] ?? 0]?.report;
  folder.href = `report?r=${which[0]}`;
  document.title = `${panes.map((pane) => pane.source.name).join(" and ")} · Hemiola`;
  warn();
  open(tab);
  badge();
}

/** Shows the first problem of each recording, as they are now. */
function warn() {
  const damaged = panes.filter((pane) => pane.info.problems.length > 0);
  const problems = damaged.map((pane) => `${pane.source.name}: ${pane.info.problems[0]}`);
  if (problems.length > 0) failed(problems.join(" · "));
  else the("trouble").hidden = true;
}

/** Fills the lists of recordings. */
function list() {
  const option = (/** @type {SourceInfo} */ source, /** @type {number} */ index) =>
    el("option", { value: index, text: source.name });
  const [left, right] = [first.value, second.value];
  first.replaceChildren(...sources.recordings.map(option));
  second.replaceChildren(el("option", { value: "", text: "none" }), ...sources.recordings.map(option));
  [first.value, second.value] = [left, right];
}

/** Looks whether a recording has grown, and shows what came. */
async function follow() {
  let rounds = 0;
  for (;;) {
    await new Promise((done) => setTimeout(done, FOLLOW));
    rounds += 1;
    const grows = panes.some((pane) => sources.recordings[pane.recording]?.grows);
    if (document.hidden || (!grows && rounds % SELDOM !== 0)) continue;
    try {
      const before = sources.recordings.length;
      sources = await json("sources");
      if (sources.recordings.length !== before) list();
      the("live").hidden = !panes.some((pane) => sources.recordings[pane.recording]?.grows);
      for (const pane of panes) {
        const version = sources.recordings[pane.recording]?.version ?? 0;
        if (version > pane.info.version) {
          pane.take(await json("recording", { r: pane.recording }));
          warn();
          refresh();
          badge();
        }
      }
    } catch (error) {
      failed(error);
      return;
    }
  }
}

/**
 * Goes to the next missed deadline or the one before it, through all recordings shown, one after the other.
 * @param {-1 | 1} by
 */
function nextMiss(by) {
  const all = panes.flatMap((pane, index) =>
    (report(pane)?.misses ?? []).map((/** @type {any} */ miss) => {
      return { pane, index, miss, at: misses.place(pane, miss) };
    }),
  );
  if (all.length === 0) {
    const name = (/** @type {Pane} */ of) => (panes.length > 1 ? `${of.source.name}: ` : "");
    say(panes.map((of) => name(of) + misses.words(of, report(of))).join(" "));
    return;
  }
  const here = pane()?.answer?.job?.release ?? (by > 0 ? -1 : Infinity);
  const ordered = by > 0 ? all : all.reverse();
  const follows = (/** @type {(typeof all)[number]} */ { index, at }) =>
    index === current ? (at - here) * by > 1 : (index - current) * by > 0;
  const next = ordered.find(follows) ?? ordered[0];
  misses.go(next.pane, next.miss).catch(failed);
}

/** @param {string} theme */
function dress(theme) {
  document.documentElement.dataset.theme = theme;
  the("theme").textContent = theme === "dark" ? "Light" : "Dark";
  for (const pane of panes) pane.repaint();
  if (panes.length > 0) refresh();
}

function listen() {
  const chosen = () =>
    show(
      second.value === "" || second.value === first.value
        ? [Number(first.value)]
        : [Number(first.value), Number(second.value)],
    );
  first.addEventListener("change", () => chosen().catch(failed));
  second.addEventListener("change", () => chosen().catch(failed));
  search.addEventListener("input", narrow);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go().catch(failed);
    if (event.key === "Escape") pane()?.canvas.focus();
  });
  const zoom = (/** @type {number} */ factor) => {
    const now = pane();
    if (now) now.glideTo(...now.zoom(factor));
  };
  the("closer").addEventListener("click", () => zoom(1 / 1.8));
  the("wider").addEventListener("click", () => zoom(1.8));
  the("whole").addEventListener("click", () => pane()?.glideTo(0, pane()?.whole ?? 1));
  the("picture").addEventListener("click", () => {
    const now = pane();
    if (now) save(now).catch(failed);
  });
  the("link").addEventListener("click", async () => {
    const path = pane()?.source.path ?? "FILE";
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied.");
      the("link").textContent = "Copied";
    } catch {
      the("link").textContent = "In the address bar";
    }
    the("link").title = `Works while hemiola view runs. Later: hemiola view ${path} --at '${location.hash}'`;
    setTimeout(() => (the("link").textContent = "Link"), 2000);
  });
  the("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", theme);
    dress(theme);
  });
  const keys = /** @type {HTMLDialogElement} */ (the("keys"));
  the("help").addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
    } else if (event.key === "?") keys.showModal();
    else if (event.key === "m" || event.key === "M") nextMiss(event.key === "m" ? 1 : -1);
  });
  const tabs = () =>
    [...document.querySelectorAll("[role=tab]")].filter((tab) => tab instanceof HTMLElement && !tab.hidden);
  for (const button of document.querySelectorAll("[role=tab]")) {
    button.addEventListener("click", () => open(button.id.slice(4)));
    button.addEventListener("keydown", (event) => {
      if (!(event instanceof KeyboardEvent)) return;
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (by === 0) return;
      const all = tabs();
      const next = all[(all.indexOf(button) + by + all.length) % all.length];
      if (next instanceof HTMLElement) {
        open(next.id.slice(4));
        next.focus();
      }
    });
  }
  split();
}

/** The line between timeline and tables is moved by pointer and keys. */
function split() {
  const splitter = the("splitter");
  const set = (/** @type {number} */ share) => {
    const now = Math.round(Math.min(80, Math.max(10, share)));
    the("tables").style.height = `${now}vh`;
    splitter.setAttribute("aria-valuenow", String(now));
  };
  splitter.addEventListener("pointerdown", (event) => splitter.setPointerCapture(event.pointerId));
  splitter.addEventListener("pointermove", (event) => {
    if (splitter.hasPointerCapture(event.pointerId)) set(((innerHeight - event.clientY) / innerHeight) * 100);
  });
  splitter.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowUp" ? 4 : event.key === "ArrowDown" ? -4 : 0;
    if (by === 0) return;
    event.preventDefault();
    set(Number(splitter.getAttribute("aria-valuenow")) + by);
  });
}

/** As the address says. */
async function restore() {
  const place = new URLSearchParams(location.hash.slice(1));
  const number = (/** @type {string} */ name) => (place.has(name) ? Number(place.get(name)) : null);
  const known = (/** @type {number | null} */ index) => index !== null && index in sources.recordings;
  const which = [number("r"), number("b")].filter(known).map(Number);
  tab = document.getElementById(`tab-${place.get("tab")}`) ? (place.get("tab") ?? tab) : tab;
  search.value = place.get("find") ?? "";
  await show(which.length > 0 ? which : sources.shown);
  const [from, to, row, job] = [number("from"), number("to"), number("row"), number("job")];
  if (from !== null && to !== null && from < to) pane()?.show(from, to);
  const within = place.get("in") === "b" ? panes[1] : panes[0];
  const rows = (/** @type {string} */ name) => new Set((place.get(name) ?? "").split(",").filter(Boolean).map(Number));
  if (within && (place.has("pin") || place.has("fold"))) {
    [within.pinned, within.folded] = [rows("pin"), rows("fold")];
    within.arrange();
  }
  const ends = (place.get("range") ?? "").split("-").map(Number);
  if (ends.length === 2 && ends.every(Number.isFinite)) within?.measure([ends[0] ?? 0, ends[1] ?? 0]);
  if (within && within !== pane()) turn(panes.indexOf(within));
  if (row !== null && within) await within.choose(row, { reveal: true, ...(job === null ? {} : { job }) });
}

async function start() {
  const kept = localStorage.getItem("theme");
  dress(kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
  listen();
  sources = await json("sources");
  list();
  await restore();
  document.documentElement.dataset.ready = "true";
  await follow();
}

start().catch(failed);
