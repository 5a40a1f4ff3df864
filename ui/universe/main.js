// The page of `hemiola universe view`: follows a universe that runs, and keeps its last state when it has ended.

import { Refused, bytes as ask, json } from "../base/api.js";
import { el, the } from "../base/dom.js";
import * as histograms from "./histograms.js";
import * as plan from "./plan.js";
import { Scatter } from "./scatter.js";
import * as tables from "./tables.js";
import * as tree from "./tree.js";

/** How long the page rests between two looks at the universe, ms. */
const REST = 500;
/** Answers that figures of now count from: the first of the last so many. */
const KEPT = 4;
/** The answers of the server: the definition is another one; the universe has ended. */
const [CONFLICT, GONE] = [409, 410];

/** @typedef {"x" | "y" | "z" | "colour"} AxisName */
/** @type {AxisName[]} */
const AXES = ["x", "y", "z", "colour"];

/** @type {UniverseDefinition | null} */
let definition = null;
/** The name of the element that is looked at; a redefinition may give it another number. */
let element = "";
/** @type {UniverseAnswer | null} */
let now = null;
/** @type {UniverseAnswer[]} */
let before = [];
let tab = "columns";
/** Goes up with each choice, so that an answer to an older one is dropped. */
let choice = 0;
/** The choice whose rows are shown. */
let shown = -1;
/** Ends the rest before the next look. */
let wake = () => {};

const panel = the("panel");
const hold = /** @type {HTMLInputElement} */ (the("hold"));
const scatter = new Scatter(/** @type {HTMLCanvasElement} */ (the("scatter")), ranges);

/** @param {AxisName} name */
const axis = (name) => /** @type {HTMLSelectElement} */ (the(`axis-${name}`));
const looked = () => definition?.elements.find((of) => of.name === element);

/** @param {unknown} error */
function failed(error) {
  if (error instanceof Refused && error.status === GONE) return ended(error.message);
  if (error instanceof Refused && error.status === CONFLICT) {
    definition = null;
    return;
  }
  the("trouble").textContent = error instanceof Error ? error.message : String(error);
  the("trouble").hidden = false;
}

/** @param {string} words */
function ended(words) {
  const { state } = document.documentElement.dataset;
  if (state === "ended") return;
  document.documentElement.dataset.state = "ended";
  const last = now ? ` What is shown was last seen after step ${now.status.step}.` : "";
  the("ended").textContent = `${words}.${last}`;
  the("ended").hidden = false;
  the("live").hidden = true;
}

/** Looks at the universe once. */
async function look() {
  const answer = /** @type {UniverseAnswer} */ (await json("status"));
  if (definition?.definition !== answer.status.definition) await learn();
  now = answer;
  before = [...before.filter((of) => of.status.step < answer.status.step), answer].slice(-KEPT);
  the("name").textContent = `universe ${answer.status.universe}`;
  the("pace").textContent = tables.pace(answer, before[0] ?? answer);
  the("live").hidden = false;
  the("trouble").hidden = true;
  refresh();
  const held = hold.checked && shown === choice;
  document.documentElement.dataset.held = String(held);
  if (held) return;
  const asked = choice;
  await Promise.all([sample(), columns()]);
  shown = asked;
}

/** Asks for the definition, and keeps what was chosen as far as it is still there. */
async function learn() {
  const learnt = /** @type {UniverseDefinition} */ (await json("definition"));
  definition = learnt;
  const [most] = [...learnt.elements].sort((a, b) => b.entities - a.entities);
  choose(looked() ?? most ?? null);
}

/** @param {ElementInfo | null} of */
function choose(of) {
  choice += 1;
  const kept = new Map(AXES.map((name) => [name, axis(name).value]));
  const other = element !== of?.name;
  element = of?.name ?? "";
  if (definition) tree.show(the("tree"), definition, of?.number ?? null, (chosen) => (choose(chosen), wake()));
  const all = of?.columns ?? [];
  for (const [at, name] of AXES.entries()) {
    const none = at < 2 ? [] : [el("option", { value: "", text: "none" })];
    const options = all.map((column) => el("option", { value: column.name, text: `${column.name} : ${column.ty}` }));
    axis(name).replaceChildren(...none, ...options);
    const known = all.some((column) => column.name === kept.get(name)) || (at >= 2 && kept.get(name) === "");
    const first = at < 2 ? (all[Math.min(at, all.length - 1)]?.name ?? "") : "";
    axis(name).value = !other && known ? (kept.get(name) ?? first) : first;
  }
  if (tab === "columns") panel.replaceChildren(el("p", { class: "note", text: "Asking for rows…" }));
}

/** Draws the rows as they are now. */
async function sample() {
  const [of, asked, about] = [looked(), choice, definition];
  if (!of || !about) return;
  const infos = AXES.map((name) => of.columns.find((column) => column.name === axis(name).value) ?? null);
  const wanted = infos.filter((info) => info !== null);
  if (wanted.length === 0) return scatter.set(of.name, [], null);
  const buffer = await ask("sample", {
    definition: about.definition,
    element: of.number,
    columns: wanted.map((info) => info.number).join(","),
  });
  if (asked !== choice) return;
  const length = new DataView(buffer).getUint32(0, true);
  const head = /** @type {SampleInfo} */ (JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))));
  const values = (/** @type {number} */ at) => new Float64Array(buffer, 4 + length + at * head.chosen * 8, head.chosen);
  const all = infos.map((info) => info && { name: info.name, ty: info.ty, values: values(wanted.indexOf(info)) });
  scatter.set(of.name, all.slice(0, 3).filter((axis) => axis !== null), all[3] ?? null);
  the("sampled").textContent = tables.sampled(head);
  the("scatter").dataset.points = String(head.chosen);
}

async function columns() {
  const [of, asked] = [looked(), choice];
  if (tab !== "columns" || !of || !definition) return;
  await histograms.show(panel, definition.definition, of, () => asked === choice && tab === "columns");
}

/** Tells which part of each axis is shown. */
function ranges() {
  const words = (/** @type {number} */ value) => String(Number(value.toPrecision(4)));
  const windows = scatter.windows();
  const parts = scatter.axes.map((axis, at) => {
    const { low, high } = windows[at] ?? { low: 0, high: 0 };
    return `${"xyz"[at]}: ${axis.name} : ${axis.ty} from ${words(low)} to ${words(high)}`;
  });
  the("ranges").textContent = parts.join(" · ");
}

/** What stands under the tabs. Columns are asked for with each look. */
function refresh() {
  if (!now) return;
  panel.setAttribute("aria-labelledby", `tab-${tab}`);
  if (tab === "monitors") tables.monitors(panel, now.status);
  else if (tab === "phases") tables.steps(panel, now, before[0] ?? now);
}

/** @param {string} name */
function open(name) {
  tab = name;
  choice += 1;
  for (const button of document.querySelectorAll("[role=tab]")) {
    const chosen = button.id === `tab-${name}`;
    button.setAttribute("aria-selected", String(chosen));
    button.setAttribute("tabindex", chosen ? "0" : "-1");
  }
  panel.replaceChildren();
  if (name === "plan") plan.show(panel, now?.name ?? "", failed);
  refresh();
  wake();
}

/** @param {string} theme */
function dress(theme) {
  document.documentElement.dataset.theme = theme;
  the("theme").textContent = theme === "dark" ? "Light" : "Dark";
  scatter.tint();
}

function listen() {
  const tabs = [...document.querySelectorAll("[role=tab]")].filter((of) => of instanceof HTMLElement);
  for (const [at, button] of tabs.entries()) {
    button.addEventListener("click", () => open(button.id.slice(4)));
    button.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const next = tabs[(at + by + tabs.length) % tabs.length];
      if (by === 0 || !next) return;
      open(next.id.slice(4));
      next.focus();
    });
  }
  for (const name of AXES) {
    axis(name).addEventListener("change", () => {
      choice += 1;
      wake();
    });
  }
  hold.addEventListener("change", () => wake());
  the("closer").addEventListener("click", () => scatter.scale(1.5));
  the("wider").addEventListener("click", () => scatter.scale(1 / 1.5));
  the("whole").addEventListener("click", () => scatter.fit());
  the("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", theme);
    dress(theme);
  });
}

async function follow() {
  while (document.documentElement.dataset.state !== "ended") {
    await look().catch(failed);
    document.documentElement.dataset.ready = "true";
    await new Promise((resolve) => {
      wake = () => resolve(null);
      setTimeout(wake, REST);
    });
  }
}

listen();
dress(localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
follow().catch(failed);
