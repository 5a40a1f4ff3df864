// What tests of the page of `hemiola view` wait for.

import assert from "node:assert/strict";

/** Waits until every timeline shows what was last asked for. */
export async function settled(page) {
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".pane")].every(
      (pane) => pane.dataset.idle === "true" && Number(pane.dataset.painted) > 1,
    ),
  );
}

/** The names beside the rows of the first timeline, from top to bottom. */
export const labels = (page) =>
  page.evaluate(() => {
    const all = [...document.querySelector(".pane").querySelectorAll(".label")];
    const top = (label) => new DOMMatrix(label.style.transform).m42;
    return all.sort((a, b) => top(a) - top(b)).map((label) => label.textContent);
  });

/** Waits until these names are beside the rows. */
export async function labelled(page, expected) {
  const same = async () => JSON.stringify(await labels(page)) === JSON.stringify(expected);
  for (let n = 0; n < 50 && !(await same()); n++) await page.waitForTimeout(50);
  assert.deepEqual(await labels(page), expected);
}
