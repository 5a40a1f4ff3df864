// A new definition as text or files, and its plan. Nothing is applied here.

import { post } from "../base/api.js";
import { el, say } from "../base/dom.js";

/** Kept while another tab is open. */
const text = el("textarea", { id: "plan-text", spellcheck: "false", "aria-label": "The text of the new definition" });
const files = el("input", { id: "plan-files", type: "file", multiple: true, accept: ".uml,text/plain" });
const result = el("pre", { id: "plan-result", hidden: true });

let asked = 0;

/**
 * @param {HTMLElement} place
 * @param {string} run the name of the universe
 * @param {(error: unknown) => void} failed
 */
export function show(place, run, failed) {
  const button = el("button", { id: "plan-ask", text: "Show the plan", onclick: () => plan().catch(failed) });
  place.replaceChildren(
    el(
      "div",
      { class: "plan" },
      el("p", {
        class: "note",
        text: "The universe checks the texts of a new definition, plans, and tries the redefinition with the rows of now. It stays as it is.",
      }),
      text,
      el("div", { class: "buttons" }, el("label", { class: "field" }, el("span", { text: "or files" }), files), button),
      result,
      el("p", { class: "note" }, "To apply it: ", el("code", { text: `hemiola universe apply FILE --run ${run}` })),
    ),
  );
}

async function plan() {
  const now = ++asked;
  const chosen = [...(files.files ?? [])];
  const texts =
    chosen.length > 0
      ? await Promise.all(chosen.map(async (file) => ({ name: file.name, text: await file.text() })))
      : [{ name: "new.uml", text: text.value }];
  const answer = await post("plan", texts);
  // Something else was asked for meanwhile.
  if (now !== asked) return;
  result.textContent = answer.text;
  result.dataset.outcome = answer.outcome;
  result.hidden = false;
  say(answer.outcome === "possible" ? "The redefinition is possible." : "The redefinition is not possible.");
}
