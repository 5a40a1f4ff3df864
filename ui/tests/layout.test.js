// The page in small and usual windows: no part of it lies over another one.
//
//   node layout.test.js ADDRESS_OF_TWO_RECORDINGS

import assert from "node:assert/strict";
import { end, test } from "./browser.js";
import { settled } from "./timelines.js";

const [two] = process.argv.slice(2);

/** The parts of the page as far as they are seen: what is scrolled out of the work beside the panel is not. */
const parts = (page) =>
  page.evaluate(() => {
    const selector = "header, .corner, .strip, .axis, .gutter, .picture, #splitter, [role=tablist], #panel, #detail";
    const seen = (element) => {
      const box = element.getBoundingClientRect();
      const work = element.closest(".work")?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
      const [top, bottom] = [Math.max(box.top, work.top), Math.min(box.bottom, work.bottom)];
      const name = element.id || element.className || element.tagName;
      return { name, left: box.left, right: box.right, top, bottom };
    };
    return [...document.querySelectorAll(selector)].map(seen).filter(({ top, bottom }) => bottom > top);
  });

for (const viewport of [
  { width: 700, height: 500 },
  { width: 1280, height: 800 },
]) {
  const name = `nothing overlaps in a window of ${viewport.width} by ${viewport.height}`;
  await test(name, two, { settled, viewport }, async (page) => {
    for (const step of ["nothing is chosen", "a thread is chosen", "a range is measured"]) {
      if (step === "a thread is chosen") await page.locator("#panel tbody .go").first().click();
      if (step === "a range is measured") {
        const box = await page.locator(".picture canvas").first().boundingBox();
        await page.keyboard.down("Shift");
        await page.mouse.move(box.x + box.width / 4, box.y + 40);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width / 2, box.y + 40, { steps: 4 });
        await page.mouse.up();
        await page.keyboard.up("Shift");
        await page.waitForSelector("#detail [data-measured]");
      }
      await settled(page);
      const all = await parts(page);
      const along = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const meet = (a, b) => along(a, b) > 1 && down(a, b) > 1;
      const pairs = all.flatMap((a, n) => all.slice(n + 1).map((b) => [a, b]));
      const overlaps = pairs.filter(([a, b]) => meet(a, b)).map(([a, b]) => `${a.name} and ${b.name}`);
      assert.deepEqual(overlaps, [], step);
      const low = all.filter(({ name, top, bottom }) => name === "picture" && bottom - top < 50);
      assert.equal(low.length, 0, `${step}: a timeline is too low`);
      assert.equal(all.filter(({ name }) => name === "picture").length, 2, step);
    }
    // The tables are reached.
    await page.locator("#panel").scrollIntoViewIfNeeded();
    const [panel] = (await parts(page)).filter(({ name }) => name === "panel");
    assert.ok(panel.bottom - panel.top > 30, JSON.stringify(panel));
  });
}

await end();
