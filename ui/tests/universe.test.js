// The page of a universe in a real browser: what a user sees and does while the universe runs, is redefined and ends.
//
//   node universe.test.js ADDRESS_OF_POINTS ADDRESS_OF_ANOTHER PROGRAM RUN NEW_TEXT PROCESS
//
// The universes are in crates/cli/tests/universe_view.rs. The last four are those of the other universe: the command
// with which it is redefined, its name, the text, and the process that is killed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { colours, end, test } from "./browser.js";

const [points, other, program, run, text, process_id] = process.argv.slice(2);
const STARS = 100_000;

/** What the server answers to the page. */
const asked = (page, path) => page.evaluate(async (path) => (await fetch(`api/${path}`)).json(), path);

/** The number that an attribute of the canvas has. */
const drawn = (page, name) => page.$eval("#scatter", (canvas, name) => Number(canvas.dataset[name] ?? 0), name);

const until = (page, body, about) => page.waitForFunction(body, about, { timeout: 120_000 });

const all_points = (page) => until(page, (stars) => document.querySelector("#scatter").dataset.points === String(stars), STARS);

/** Holds the picture, so that only the user changes it. */
async function held(page) {
  await page.check("#hold");
  await until(page, () => document.documentElement.dataset.held === "true");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

await test("the tree has the elements, properties with units, functions and constants", points, {}, async (page) => {
  await page.waitForSelector("#tree details");
  const tree = await page.locator("#tree").innerText();
  for (const part of ["star : thing", "100\u202f000 entities", "constant", "FAR : real<m> = 2000.0"]) {
    assert.ok(tree.toLowerCase().includes(part.toLowerCase()), `${part} is not in ${tree}`);
  }
  const lines = await page.locator("#tree details[open] code").allInnerTexts();
  assert.ok(lines.some((line) => line.startsWith("position : real<m>[3] = ")), lines.join("\n"));
  assert.ok(lines.some((line) => line.startsWith("constraint near(")), lines.join("\n"));
  // A text of the definition is text on the page.
  assert.ok(lines.some((line) => line.includes("<img src=x>")), lines.join("\n"));
  assert.equal(await page.locator("#tree img").count(), 0);
  assert.match(await page.locator("#pace").innerText(), /^step [\d\u202f]+, [\d.]+ steps\/s; 100\u202f000 entities$/);
});

await test("each column is a histogram, and says of how many entities", points, {}, async (page) => {
  await until(page, () => document.querySelectorAll("#panel .histograms svg").length === 5);
  const names = await page.locator("#panel .histograms h2").allInnerTexts();
  assert.deepEqual(names.slice(0, 3), ["position[0] : real<m>", "position[1] : real<m>", "position[2] : real<m>"]);
  assert.match(await page.locator("#panel .note").innerText(), /^star: 10\u202f000 of 100\u202f000 entities, one of each 10, after /);
  assert.equal(await page.locator('[data-column="position[0]"] rect').count(), 40);
  assert.match(await page.locator('[data-column="mass"]').textContent(), /2 in all 10\s000 rows/);
});

await test("monitors show what they were sent and what they saved", points, {}, async (page) => {
  await page.click("#tab-monitors");
  await page.waitForSelector("#panel table.monitors");
  const { status } = await asked(page, "status");
  const cells = await page.locator("#panel table.monitors tbody tr").first().locator("th, td").allInnerTexts();
  assert.equal(cells[0], "star:position:near([0,0,0], 500<m>)");
  // Nothing moves: each row was told once, and is outside or unchanged from then on.
  const [of] = status.monitors;
  assert.ok(of.sent === 0 && of.outside > 0 && of.unchanged > 0 && status.row_lens[0] === 24, JSON.stringify(status));
  const heads = await page.locator("#panel table.monitors thead th").allInnerTexts();
  const under = (head) => cells[heads.indexOf(head)];
  assert.deepEqual(["rows sent", "faults", "held", "saved", "bytes sent"].map(under), ["0", "0", "0", "100.0 %", "0 B"]);
  assert.match(under("bytes saved"), /^[\d.]+(e\+\d+)? [kMGT]B$/);
  await page.click("#tab-phases");
  const phases = await page.locator("#panel table.phases tbody th").allInnerTexts();
  assert.deepEqual(phases, ["begin", "update", "filter", "apply", "close"]);
  assert.match(await page.locator("#panel .note").innerText(), /^Not redefined\./);
});

await test("100,000 points are drawn, and each move draws them again", points, {}, async (page) => {
  await all_points(page);
  await held(page);
  assert.equal(await drawn(page, "drawn"), STARS);
  assert.ok((await colours(page, "#scatter")) === 2);
  // Frames for a fixed number of moves, one after the other.
  const MOVES = 60;
  const frames = await page.evaluate(async (moves) => {
    const canvas = document.querySelector("#scatter");
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const before = Number(canvas.dataset.painted);
    const seen = [];
    for (let n = 0; n < moves; n++) {
      const key = n < moves / 2 ? "ArrowRight" : "ArrowLeft";
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
      await frame();
      await frame();
      seen.push(Number(canvas.dataset.drawn));
    }
    return { painted: Number(canvas.dataset.painted) - before, seen };
  }, MOVES);
  assert.ok(frames.painted >= MOVES, `${frames.painted}`);
  // Half of the moves lead points out of the picture, the others bring them back.
  const [middle, last] = [frames.seen[MOVES / 2 - 1], frames.seen[MOVES - 1]];
  assert.ok(middle < STARS && last === STARS, frames.seen.join());
  // No element stands for a point.
  assert.ok((await page.evaluate(() => document.querySelectorAll("*").length)) < 2000);
});

await test("wheel and drag zoom and move about the pointer", points, {}, async (page) => {
  await all_points(page);
  await held(page);
  const box = await page.locator("#scatter").boundingBox();
  const x_range = async () => {
    const words = await page.locator("#ranges").innerText();
    const [, low, high] = /x: position\[0\] : real<m> from (\S+) to (\S+)/.exec(words);
    return [Number(low), Number(high)];
  };
  const [low, high] = await x_range();
  assert.ok(low < 0 && high > 1000, `${low} ${high}`);
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
  await page.mouse.wheel(0, -350);
  await page.waitForFunction((stars) => Number(document.querySelector("#scatter").dataset.drawn) < stars, STARS);
  const [near, far] = await x_range();
  assert.ok(Math.abs((far - near) / (high - low) - Math.exp(-0.7)) < 0.01);
  // The same place is under the pointer.
  assert.ok(Math.abs((near * 3 + far) / 4 - (low * 3 + high) / 4) < (high - low) / 100, `${near} ${far}`);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 4 + 100, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((near) => !document.querySelector("#ranges").textContent.includes(`from ${near} `), near);
  const [moved] = await x_range();
  assert.ok(Math.abs(near - moved - (100 / box.width) * (far - near)) < (far - near) / 100, `${near} ${moved}`);
  await page.click("#whole");
  await page.waitForFunction((stars) => Number(document.querySelector("#scatter").dataset.drawn) === stars, STARS);
  assert.deepEqual(await x_range(), [low, high]);
});

await test("a third axis turns, and a column gives the colour", points, {}, async (page) => {
  await all_points(page);
  await page.selectOption("#axis-z", "position[2]");
  await page.selectOption("#axis-colour", "brightness");
  await until(page, () => document.querySelector("#scatter").ariaLabel?.includes("position[2]"));
  await held(page);
  assert.equal(await drawn(page, "drawn"), STARS);
  assert.ok((await colours(page, "#scatter")) > 100);
  const picture = () => page.$eval("#scatter", (canvas) => canvas.toDataURL().length + canvas.toDataURL().slice(-4000));
  const [before, painted] = [await picture(), await drawn(page, "painted")];
  const box = await page.locator("#scatter").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 80, box.y + box.height / 2 + 30, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((painted) => Number(document.querySelector("#scatter").dataset.painted) > painted, painted);
  assert.equal(await drawn(page, "drawn"), STARS);
  assert.notEqual(await picture(), before);
});

await test("the plan of a text is shown with problems and carets, and nothing is applied", other, {}, async (page) => {
  await page.click("#tab-plan");
  const plan = async (text) => {
    await page.fill("#plan-text", text);
    await page.evaluate(() => (document.querySelector("#plan-result").textContent = ""));
    await page.click("#plan-ask");
    await page.waitForFunction(() => document.querySelector("#plan-result").textContent !== "");
    return [await page.getAttribute("#plan-result", "data-outcome"), await page.locator("#plan-result").textContent()];
  };
  const [unsound, problems] = await plan("universe u { element e { property n : integer = true; } }");
  assert.equal(unsound, "unsound");
  assert.match(problems, /--> new\.uml:1:\d+[^]*\^\^\^\^/);
  const [refused, reason] = await plan("universe u { }");
  assert.equal(refused, "refused", reason);
  const [possible, steps] = await plan(readFileSync(text, "utf8"));
  assert.equal(possible, "possible");
  assert.match(steps, /insert property e\.more : real<kg>[^]*possible after step \d+: no monitor ends/);
  const files = [{ name: "<img src=x>.uml", mimeType: "text/plain", buffer: Buffer.from("universe u { nonsense }") }];
  await page.setInputFiles("#plan-files", files);
  const [, named] = await plan("");
  assert.ok(named.includes("--> <img src=x>.uml:1:"), named);
  assert.equal(await page.locator("#panel img").count(), 0);
  assert.equal((await asked(page, "status")).status.last, null);
});

const changing = { expected: [409, 410] };
await test("two pages follow a redefinition and keep their axes, then the end", other, changing, async (page, context) => {
  const second = await context.newPage();
  await second.goto(other);
  const both = [page, second];
  for (const one of both) {
    await until(one, () => document.querySelector("#scatter").dataset.points === "2");
    await one.selectOption("#axis-y", "twice");
  }
  execFileSync(program, ["universe", "apply", text, "--run", run]);
  for (const one of both) {
    await until(one, () => document.querySelector("#tree").innerText.includes("more : real<kg>"));
    assert.equal(await one.inputValue("#axis-y"), "twice");
    await until(one, () => document.querySelectorAll("#panel .histograms svg").length === 3);
    await one.selectOption("#axis-colour", "more");
    await one.click("#tab-phases");
    await until(one, () => document.querySelector("#panel .note")?.textContent.startsWith("Redefined after step"));
    await until(one, () => document.querySelector("#scatter").dataset.points === "2");
  }
  process.kill(Number(process_id), "SIGKILL");
  for (const one of both) {
    await until(one, () => !document.querySelector("#ended").hidden);
    const words = await one.locator("#ended").innerText();
    assert.match(words, /^the universe \S+ has ended\. What is shown was last seen after step \d+\.$/);
    assert.equal(await one.locator("#live").isVisible(), false);
    // The last state stays.
    assert.equal(await drawn(one, "drawn"), 2);
    assert.ok((await one.locator("#tree").innerText()).includes("more : real<kg>"));
    await one.click("#tab-monitors");
    assert.equal(await one.locator("#panel table.monitors tbody tr").count(), 1);
  }
});

await end();
