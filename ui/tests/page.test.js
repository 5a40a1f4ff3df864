// The page in a real browser: what a user does with pointer, keys and without eyes, and how fast the picture is.
//
//   node page.test.js ADDRESS_OF_TWO_RECORDINGS ADDRESS_OF_A_LARGE_ONE ADDRESS_OF_A_SMALL_ONE ADDRESS_OF_ANOTHER_PROGRAMS
//     ADDRESS_OF_ONE_WITH_SYSTEM_CALLS ADDRESS_OF_ONE_WITHOUT_AND_ONE_WITH_MISSES ADDRESS_OF_TWO_DAMAGED_ONES
//
// All events of the small one are in `exact`, crates/cli/tests/view.rs, those of another program's in `foreign`, those of
// the one with system calls in `calls`, and those of the last four in `jobs`.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browser, colours, end, test as tested } from "./browser.js";
import { labelled, settled } from "./timelines.js";

const [two, large, exact, foreign, calls, misses, damaged] = process.argv.slice(2);

/** The window in the address, once it has stood still. */
async function place(page) {
  await page.waitForTimeout(450);
  const all = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
  return { ...all, from: Number(all.from), to: Number(all.to) };
}

/** A test of a page whose timelines show what was asked for. */
const test = (name, address, options, body) => tested(name, address, { settled, ...options }, body);

await test("both recordings are drawn and the tables filled", two, {}, async (page) => {
  assert.equal(await page.locator(".pane").count(), 2);
  assert.ok((await colours(page, ".pane .picture canvas")) > 5);
  await page.waitForSelector("#panel tbody tr");
  const head = await page.locator("#panel thead th").allInnerTexts();
  assert.ok(
    ["C mean", "T", "U", "R max"].every((word) => head.includes(word)),
    head.join(),
  );
  await page.waitForFunction(() => !document.querySelector("#panel .note"));
  const row = await page.locator('#panel tbody tr:has(button:text-is("control"))').innerText();
  assert.match(row, /1\.00 ms/, row);
});

await test("wheel and drag zoom and move about the pointer, both recordings together", two, {}, async (page) => {
  const box = await page.locator(".picture canvas").first().boundingBox();
  const before = await place(page);
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  await page.keyboard.down("Control");
  for (let n = 0; n < 5; n++) await page.mouse.wheel(0, -120);
  await page.keyboard.up("Control");
  const near = await place(page);
  assert.ok(near.to - near.from < (before.to - before.from) / 3);
  const middle = (near.from + near.to) / 2;
  assert.ok(Math.abs(middle - (before.from + before.to) / 2) < (before.to - before.from) / 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + 40, { steps: 4 });
  await page.mouse.up();
  const moved = await place(page);
  assert.ok(moved.from > near.from && Math.abs(moved.to - moved.from - (near.to - near.from)) < 3);
  await settled(page);
  const words = await page.locator(".picture canvas").evaluateAll((all) => all.map((canvas) => canvas.ariaLabel));
  assert.equal(words.length, 2);
});

await test("the keyboard alone leads to a thread, its jobs and a missed deadline", two, {}, async (page) => {
  await page.locator(".picture canvas").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector("#detail h3");
  const title = await page.locator("#detail h3").first().innerText();
  await page.keyboard.press("n");
  await page.waitForFunction((old) => document.querySelector("#detail h3")?.textContent !== old, title);
  await page.keyboard.press("z");
  const job = await place(page);
  assert.ok(job.to - job.from < 100e6, JSON.stringify(job));
  await page.waitForFunction(() => /running/.test(document.querySelector("#said")?.textContent ?? ""));
  await page.waitForSelector("#tab-misses .badge");
  await page.keyboard.press("m");
  await page.waitForSelector("#detail .lateness");
  assert.match(await page.locator("#detail .lateness").innerText(), /late/);
  await page.keyboard.press("+");
  const nearer = await place(page);
  await page.keyboard.press("f");
  const whole = await place(page);
  assert.ok(nearer.to - nearer.from < whole.to - whole.from && whole.from === 0);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector("#detail")?.childElementCount === 0);
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "search");
});

await test("the list of missed deadlines leads to the place, with who was to blame", two, {}, async (page) => {
  await page.click("#tab-misses");
  await page.waitForSelector("#panel .list button");
  await page.locator("#panel .list button").first().click();
  await page.waitForSelector("#detail .lateness");
  const blame = await page.locator("#detail").innerText();
  assert.match(blame, /preempted by|waiting while/);
  assert.match(blame, /median/);
  const { from, to } = await place(page);
  assert.ok(to - from < 20e6);
});

/** What the open tab says of each recording: its name, and its text. */
const parts = (page) =>
  page.locator("#panel section").evaluateAll((all) =>
    all.map((part) => [part.querySelector("h2")?.textContent, part.querySelector("div > p")?.textContent]),
  );

await test("a tab says of which recording it is, and missed deadlines are those of all", misses, {}, async (page) => {
  await page.waitForSelector("#tab-misses .badge");
  assert.equal(await page.locator("#tab-misses .badge").innerText(), "2");
  await page.click("#tab-misses");
  assert.deepEqual(await parts(page), [
    ["met.trace", "Every deadline was met."],
    ["missed.trace", "2 deadlines were missed. M leads to the next."],
  ]);
  // The key leads to a miss of the second recording although the first is chosen.
  await page.keyboard.press("m");
  await page.waitForSelector("#detail .lateness");
  assert.equal(await page.locator("#detail .recording").innerText(), "missed.trace");
  await page.keyboard.press("m");
  await page.waitForFunction(() => document.querySelector("#detail h3")?.textContent === "Job 2 of 4");
  assert.match(await page.locator("#detail").innerText(), /Of task work; its program's number: 11\./);
  for (const tab of ["verdict", "about"]) {
    await page.click(`#tab-${tab}`);
    assert.deepEqual((await parts(page)).map(([name]) => name), ["met.trace", "missed.trace"]);
  }
  await page.click("#tab-threads");
  const chosen = () => page.locator("#panel .recordings [aria-pressed=true]").innerText();
  const missed = () => page.locator("#panel .threads td .late").count();
  assert.deepEqual([await chosen(), await missed()], ["missed.trace", 1]);
  await page.click('#panel .recordings button:text-is("met.trace")');
  assert.deepEqual([await chosen(), await missed()], ["met.trace", 0]);
  // The thread of the same name is chosen there, with its job.
  await page.waitForFunction(() => document.querySelector("#detail h3"));
  assert.equal(await page.locator("#detail .recording").innerText(), "met.trace");
});

await test("of a recording of which something is lost, nobody says that every deadline was met", damaged, {}, async (page) => {
  await page.waitForSelector("#tab-misses .badge");
  await page.click("#tab-misses");
  const [[, once], [, never]] = await parts(page);
  assert.match(once, /^1 deadline was missed\. There may be more: the trace ends within .*\. M leads to the next\.$/);
  assert.match(never, /^No missed deadline was seen, but not everything was: the trace ends within/);
  assert.match(await page.locator("#trouble").innerText(), /^once\.trace: the trace .* · never\.trace: the trace /);
});

await test("without a deadline, nobody says that every deadline was met", exact, {}, async (page) => {
  await page.click("#tab-misses");
  await page.waitForFunction(() => document.querySelector("#panel p")?.textContent?.startsWith("No deadline is known"));
});

await test("from the table of threads a search leads to the marks", exact, {}, async (page) => {
  await page.fill("#search", "retry");
  await page.locator("#panel button", { hasText: "Find marks and events" }).click();
  await page.waitForSelector('#panel .list[data-text="retry"] button');
  assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Found");
});

await test("a range is measured between two cursors, and a link keeps it", two, {}, async (page, context) => {
  // Places are shares of the width, which shrinks when the panel opens.
  const drag = async (from, to) => {
    const box = await page.locator(".picture canvas").first().boundingBox();
    await page.mouse.move(box.x + from * box.width, box.y + 40);
    await page.keyboard.down("Shift");
    await page.mouse.down();
    await page.mouse.move(box.x + to * box.width, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await page.waitForSelector("#detail [data-measured]");
    return (await place(page)).range.split("-").map(Number);
  };
  const { from, to } = await place(page);
  const [first, second] = await drag(0.25, 0.5);
  const quarter = (to - from) / 4;
  assert.ok(Math.abs(second - first - quarter) < quarter / 50, `${first} to ${second}`);
  // The server's sums stand in the table.
  const answer = await page.evaluate(
    async ([from, to]) => (await fetch(`api/range?r=0&from=${from}&to=${to}`)).json(),
    [first, second],
  );
  const busiest = answer.threads[0];
  const row = await page.locator(`#detail [data-measured="${busiest.row}"]`).innerText();
  assert.match(row, new RegExp(`\\(${((100 * busiest.running) / (second - first)).toFixed(1)} %\\)`));
  assert.ok(busiest.running > 0 && answer.threads.some((thread) => thread.jobs > 0 && thread.execution_max > 0));
  // A cursor is taken and moved; the other one stays.
  const [kept, moved] = await drag(0.5, 0.75);
  assert.equal(kept, first);
  assert.ok(Math.abs(moved - first - 2 * quarter) < quarter / 50, `${kept} to ${moved}`);
  const other = await context.newPage();
  await other.goto(page.url());
  await other.waitForSelector("#detail [data-measured]");
  assert.equal((await place(other)).range, `${kept}-${moved}`);
  await other.close();
  await page.locator("#detail .buttons button", { hasText: "Zoom to it" }).click();
  const zoomed = await place(page);
  assert.ok(Math.abs(zoomed.from - kept) < 2 && Math.abs(zoomed.to - moved) < 2, JSON.stringify(zoomed));
  await page.locator(".picture canvas").first().focus();
  await page.keyboard.press("]");
  const nearer = (await place(page)).range.split("-").map(Number);
  assert.ok(nearer[0] === kept && nearer[1] < moved);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelector("#detail")?.childElementCount === 0);
  assert.equal((await place(page)).range, undefined);
});

await test("a pinned thread is the first, and a link keeps it", two, {}, async (page, context) => {
  const first = async (page) => {
    await page.locator(".pane .tracks").first().evaluate((tracks) => (tracks.scrollTop = 0));
    await place(page);
    const labels = page.locator(".pane").first().locator(".label.thread");
    const tops = await labels.evaluateAll((all) =>
      all.map((label) => [new DOMMatrix(label.style.transform).m42, label.textContent]),
    );
    return tops.sort((a, b) => a[0] - b[0])[0][1];
  };
  assert.equal(await first(page), "sensors");
  await page.locator('#panel tbody .go:text-is("network")').click();
  await page.locator('#detail button:text-is("Pin to the top")').click();
  assert.equal(await first(page), "network");
  const other = await context.newPage();
  await other.goto(page.url());
  await other.waitForSelector('#detail button:text-is("Unpin")');
  assert.equal(await first(other), "network");
  await other.close();
  await page.locator('#detail button:text-is("Unpin")').click();
  assert.equal(await first(page), "sensors");
});

await test("search narrows rows and table", two, {}, async (page) => {
  await page.fill("#search", "video");
  await page.waitForFunction(() => document.querySelectorAll("#panel tbody tr").length === 1);
  const rows = await page.locator(".pane").first().locator(".label.thread").allInnerTexts();
  assert.deepEqual(rows, ["video"]);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#detail h2");
  assert.equal(await page.locator("#detail h2").innerText(), "video");
});

const CPUS = ["CPU 0", "CPU 1"];
const CLIENT = ["client 200: 2 threads", "client", "sender"];
const SERVER = ["server 100: 3 threads", "worker a", "worker b", "server"];

await test("threads are grouped by process, the traced program first", exact, {}, async (page, context) => {
  await labelled(page, [...CPUS, ...CLIENT, ...SERVER, "alone"]);
  // A process is folded and unfolded by pointer and by key, and a link keeps it.
  await page.locator(".label.process", { hasText: "server" }).click();
  await labelled(page, [...CPUS, ...CLIENT, SERVER[0], "alone"]);
  await place(page);
  const other = await context.newPage();
  await other.goto(page.url());
  await other.waitForSelector("html[data-ready=true]");
  await labelled(other, [...CPUS, ...CLIENT, SERVER[0], "alone"]);
  await other.close();
  await page.locator('#panel tbody .go:text-is("worker a")').click();
  await page.locator(".picture canvas").focus();
  await page.keyboard.press("g");
  await labelled(page, [...CPUS, ...CLIENT, ...SERVER, "alone"]);
  // A process is pinned as a whole, and its threads alone are shown.
  await page.locator('#detail button:text-is("Pin its process")').click();
  await labelled(page, [...CPUS, ...SERVER, ...CLIENT, "alone"]);
  await page.locator('#detail button:text-is("Only its process")').click();
  await labelled(page, [...CPUS, ...SERVER]);
  assert.equal(await page.inputValue("#search"), "pid:100");
  await page.waitForFunction(() => document.querySelectorAll("#panel tbody tr").length === 3);
});

await test("a thread that is alone in its process stands apart from the process above it", exact, {}, async (page) => {
  const place = (name) =>
    page.locator(`.label:text-is("${name}")`).evaluate((label) => {
      const { paddingLeft, borderTopWidth } = getComputedStyle(label);
      return { indent: Number.parseFloat(paddingLeft), rule: Number.parseFloat(borderTopWidth) };
    });
  await labelled(page, [...CPUS, ...CLIENT, ...SERVER, "alone"]);
  const [inside, alone] = [await place("worker a"), await place("alone")];
  assert.ok(inside.indent > alone.indent + 8, JSON.stringify([inside, alone]));
  assert.ok(inside.rule === 0 && alone.rule > 0, JSON.stringify([inside, alone]));
  // So does one that follows a process whose threads are hidden.
  await page.locator(".label.process", { hasText: "server" }).click();
  await labelled(page, [...CPUS, ...CLIENT, SERVER[0], "alone"]);
  assert.deepEqual(await place("alone"), alone);
});

await test("arrows lead from the thread that wakes to the one that is woken", exact, {}, async (page) => {
  const rows = await page.evaluate(async () => {
    const { rows, duration_ns } = await (await fetch("api/recording?r=0")).json();
    return { ...Object.fromEntries(rows.map((row) => [row.name, row.row])), duration_ns };
  });
  const arrows = () =>
    page.locator(".arrows path").evaluateAll((all) =>
      all.map((path) => {
        const box = path.getBoundingClientRect();
        const { waker, woken, at } = path.dataset;
        return { waker: Number(waker), woken: Number(woken), at: Number(at), x: box.x + box.width / 2, y: box.y, end: box.bottom };
      }),
    );
  const arrived = async (count) => {
    await page.waitForFunction((count) => document.querySelectorAll(".arrows path").length === count, count);
    return (await arrows()).sort((a, b) => a.at - b.at);
  };
  // The timer that wakes worker b is no thread.
  const all = await arrived(2);
  const ends = (arrow) => [arrow.at, arrow.waker, arrow.woken];
  assert.deepEqual(ends(all[0]), [1e6, rows.client, rows["worker a"]]);
  assert.deepEqual(ends(all[1]), [2e6, rows["worker a"], rows.sender]);
  // Each stands at its time, from the middle of one row to that of the other.
  const picture = await page.locator(".picture canvas").boundingBox();
  const middle = async (name) => {
    const box = await page.locator(`.label.thread:text-is("${name}")`).boundingBox();
    return box.y + box.height / 2;
  };
  for (const [arrow, upper, lower] of [
    [all[0], "client", "worker a"],
    [all[1], "sender", "worker a"],
  ]) {
    assert.ok(Math.abs(arrow.x - picture.x - (arrow.at / rows.duration_ns) * picture.width) < 1.5, JSON.stringify(arrow));
    const [top, bottom] = [await middle(upper), await middle(lower)];
    assert.ok(Math.abs(arrow.y - top) < 2 && Math.abs(arrow.end - bottom) < 2, JSON.stringify({ arrow, top, bottom }));
  }
  // Of a chosen thread only its own; the panel leads to the thread that woke it.
  await page.locator('#panel tbody .go:text-is("sender")').click();
  assert.deepEqual((await arrived(1)).map(ends), [[2e6, rows["worker a"], rows.sender]]);
  assert.equal(await page.locator("#detail .woken").innerText(), "Woken by worker a.");
  await page.locator("#detail .woken button").click();
  await page.waitForFunction(() => document.querySelector("#detail h2")?.textContent === "worker a");
  assert.equal((await arrived(2)).length, 2);
});

await test("marks, events and times are found, and each result leads to its place", exact, {}, async (page) => {
  const list = async (text) => {
    await page.fill("#search", text);
    await page.waitForSelector(`#panel .list[data-text="${text}"]`, { state: "attached" });
    return page.locator("#panel .list button").evaluateAll((all) =>
      all.map((button) => [...button.children].map((part) => part.textContent)),
    );
  };
  const spot = async (at) => {
    const { from, to } = await place(page);
    const picture = await page.locator(".picture canvas").boundingBox();
    const line = await page.locator(".spot").boundingBox();
    const wanted = picture.x + ((at - from) / (to - from)) * picture.width;
    assert.ok(Math.abs(line.x - wanted) < 1.5 && at >= from && at <= to, JSON.stringify({ line, wanted, from, to }));
    assert.ok(to - from <= 500e3, `${to - from}`);
  };
  await page.click("#tab-found");
  assert.match(await page.locator("#panel").innerText(), /preempted/);
  assert.deepEqual(await list("frame"), [
    ["1.500 ms", "client", "frame drawn"],
    ["9.000 ms", "client", "frame drawn"],
  ]);
  // No thread is called so; all stay.
  await labelled(page, [...CPUS, ...CLIENT, ...SERVER, "alone"]);
  assert.deepEqual(await list("preempted"), [["2.500 ms", "client", "preempted by sender"]]);
  assert.deepEqual(await list("woken sender"), [["2.000 ms", "sender", "woken by worker a"]]);
  assert.deepEqual(await list("woken"), [
    ["1.000 ms", "worker a", "woken by client"],
    ["2.000 ms", "sender", "woken by worker a"],
    ["6.000 ms", "worker b", "woken by a timer or device"],
  ]);
  await page.locator("#panel .list button").nth(1).click();
  await page.waitForFunction(() => document.querySelector("#detail h2")?.textContent === "sender");
  await spot(2e6);
  await page.locator(".picture canvas").focus();
  await page.keyboard.press("f");
  await place(page);
  await page.fill("#search", "retry");
  await page.focus("#search");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#detail h2")?.textContent === "client");
  await spot(6e6);
  await page.fill("#search", "2.5 ms");
  await page.keyboard.press("Enter");
  await spot(2.5e6);
  assert.equal(await page.locator("#trouble").isVisible(), false);
});

/** The top of each row of slices in the picture. */
const sliceRows = (page) =>
  page.$eval(".pane", (pane) =>
    [...pane.querySelectorAll(".label.slices")].map((label) => new DOMMatrix(label.style.transform).m42).sort((a, b) => a - b),
  );

await test("system calls are slices below their thread", calls, {}, async (page) => {
  await labelled(page, ["CPU 0", "reader", "system calls"]);
  const picture = await page.locator(".picture canvas").boundingBox();
  const [row] = await sliceRows(page);
  const at = (ns) => [picture.x + (ns / 10e6) * picture.width, picture.y + row + 8];
  for (const [ns, words] of [
    [4e6, "system calls: read for 6.00 ms"],
    [8.5e6, "system calls: write for 1.00 ms"],
  ]) {
    await page.mouse.move(...at(ns));
    assert.equal(await page.locator(".tip").textContent(), words);
  }
  await page.mouse.move(...at(7.5e6));
  assert.equal(await page.locator(".tip").isVisible(), false);
  await page.mouse.click(...at(4e6));
  await page.waitForSelector("#detail .slice");
  assert.equal(await page.locator("#detail .slice").textContent(), "read: from 1.00 ms, 6.00 ms long.");
});

await test("slices of other programs stand below their thread, with their names", foreign, {}, async (page) => {
  await labelled(page, ["worker 700: 1 thread, 1 track", "worker", "", "", "connections"]);
  const picture = await page.locator(".picture canvas").boundingBox();
  const rows = await sliceRows(page);
  const at = (row, ns) => [picture.x + (ns / 10e6) * picture.width, picture.y + rows[row] + 8];
  for (const [row, ns, words] of [
    [0, 3e6, "request for 4.00 ms"],
    [1, 1.5e6, "parse for 1.00 ms"],
    [2, 6e6, "connections: open for 9.50 ms"],
  ]) {
    await page.mouse.move(...at(row, ns));
    assert.equal(await page.locator(".tip").textContent(), words);
  }
  await page.mouse.move(...at(1, 5e6));
  assert.equal(await page.locator(".tip").isVisible(), false);
  await page.mouse.click(...at(1, 1.5e6));
  await page.waitForSelector("#detail .slice");
  assert.equal(await page.locator("#detail .slice").textContent(), "parse: from 1.00 ms, 1.00 ms long.");
  // Two slices have two colours.
  const colour = (row, ns) =>
    page.$eval(
      ".picture canvas",
      (canvas, [share, y]) => {
        const ratio = canvas.height / canvas.clientHeight;
        const { data } = canvas.getContext("2d").getImageData(Math.round(share * canvas.width), Math.round(y * ratio), 1, 1);
        return data.join(" ");
      },
      [ns / 10e6, rows[row] + 3],
    );
  assert.notEqual(await colour(0, 3.5e6), await colour(1, 1.9e6));
  assert.notEqual(await colour(0, 3.5e6), await colour(0, 5e6));
  await page.click("#tab-plots");
  await page.waitForFunction(() => document.querySelector("#panel")?.textContent?.includes("worker queue (jobs)"));
});

await test("the figures of a range are those of the recording", `${exact}#range=1000000-4000000`, {}, async (page) => {
  await page.waitForSelector("#detail [data-measured]");
  assert.match(await page.locator("#detail").innerText(), /Range of 3\.00 ms/);
  const cells = await page.locator("#detail [data-measured]").evaluateAll((all) =>
    all.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
  assert.deepEqual(cells, [
    ["worker a", "2.99 ms (99.7 %)", "10.0 µs", "–", "–", "–", "–"],
    ["client", "1.50 ms (50.0 %)", "1.50 ms", "–", "–", "–", "–"],
    ["sender", "1.50 ms (50.0 %)", "500 µs", "–", "1", "1.50 ms", "1.50 ms"],
  ]);
});

/**
 * The cells of the tables shown, as text beside the heading above which each stands: `heading: cell`. A cell without a
 * heading of its own width, or under none, has the heading `?`.
 */
const underHeadings = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("#panel table")].flatMap((table) => {
      const boxes = [...table.querySelectorAll("thead th")].map((head) => [head.textContent, head.getBoundingClientRect()]);
      return [...table.querySelectorAll("tbody tr > *")].map((cell) => {
        const { left, right } = cell.getBoundingClientRect();
        const above = boxes.find(([, box]) => Math.abs(box.left - left) < 1 && Math.abs(box.right - right) < 1);
        return `${above?.[0] ?? "?"}: ${cell.textContent}`;
      });
    }),
  );

await test("each figure of verdict and comparison stands under its heading", two, {}, async (page) => {
  await page.click("#tab-verdict");
  await page.waitForSelector("#panel table");
  const verdict = await underHeadings(page);
  assert.ok(verdict.includes("Task: control"), verdict.join("\n"));
  assert.ok(verdict.some((cell) => /^T: [0-9.]+ ms$/.test(cell)), verdict.join("\n"));
  for (const cell of verdict) assert.doesNotMatch(cell, /^\?/);
  const answer = page.waitForResponse((response) => response.url().includes("/api/compare?"));
  await page.click("#tab-compare");
  const { tables } = await (await answer).json();
  await page.waitForSelector("#panel table");
  const expected = tables.flatMap((/** @type {{ columns: [string, string][], rows: string[][] }} */ { columns, rows }) =>
    rows.flatMap((cells) => cells.map((cell, index) => `${columns[index]?.[0]}: ${cell}`)),
  );
  assert.ok(expected.length > 20, expected.join("\n"));
  assert.deepEqual(await underHeadings(page), expected);
});

await test("plots, verdict, comparison and conditions are there", two, {}, async (page) => {
  await page.locator("#panel tbody .go", { hasText: "sensors" }).click();
  await page.click("#tab-plots");
  await page.waitForFunction(() => document.querySelectorAll("#panel svg").length >= 3);
  await page.click("#tab-verdict");
  await page.waitForFunction(() => (document.querySelector("#panel")?.textContent ?? "").length > 80);
  await page.click("#tab-compare");
  await page.waitForSelector("#panel table");
  await page.click("#tab-about");
  await page.waitForSelector("#panel dl");
  assert.match(await page.locator("#panel").innerText(), /a simulation/);
});

await test(
  "a link shows the same view again",
  two,
  { permissions: ["clipboard-read", "clipboard-write"] },
  async (page, context) => {
    await page.locator("#panel tbody .go", { hasText: "control" }).click();
    await page.waitForSelector("#detail h3");
    await page.locator(".picture canvas").first().focus();
    await page.keyboard.press("z");
    await page.click("#tab-verdict");
    const before = await place(page);
    await page.click("#link");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await context.newPage();
    await other.goto(link);
    await other.waitForSelector("#detail h3");
    assert.deepEqual(await place(other), before);
    assert.equal(await other.locator("[role=tab][aria-selected=true]").innerText(), "Verdict");
  },
);

await test("a picture of the view can be kept", two, {}, async (page) => {
  const folder = await mkdtemp(join(tmpdir(), "hemiola-picture-"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#picture")]);
  const path = join(folder, "view.png");
  await download.saveAs(path);
  const bytes = await readFile(path);
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.length > 5_000);
  await rm(folder, { recursive: true });
});

await test("dark and light are followed, changed and remembered", two, { colorScheme: "dark" }, async (page) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.click("#theme");
  assert.notEqual(await paper(), dark);
  const light = await paper();
  await page.reload();
  await page.waitForSelector("html[data-ready=true]");
  assert.equal(await paper(), light);
});

await test("everything that is used has a name, and every tab is reached by keys", two, {}, async (page) => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, a[href], input, select, [role=application], [role=separator], [role=img]")]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const label = element.id && document.querySelector(`label[for="${element.id}"]`);
        const text =
          element.textContent || element.getAttribute("aria-label") || label || element.closest("label")?.textContent;
        return !text || !String(text).trim();
      })
      .map((element) => element.outerHTML.slice(0, 120)),
  );
  assert.deepEqual(nameless, []);
  await page.focus("#tab-threads");
  const seen = [];
  for (let n = 0; n < 6; n++) {
    seen.push(await page.evaluate(() => document.activeElement?.textContent));
    await page.keyboard.press("ArrowRight");
  }
  assert.equal(new Set(seen).size, 6, seen.join());
  await page.focus("#splitter");
  const before = await page.locator("#tables").evaluate((element) => element.clientHeight);
  await page.keyboard.press("ArrowUp");
  assert.ok((await page.locator("#tables").evaluate((element) => element.clientHeight)) > before);
});

await test("texts have enough contrast in both themes", two, {}, async (page) => {
  for (const theme of ["light", "dark"]) {
    if ((await page.evaluate(() => document.documentElement.dataset.theme)) !== theme) await page.click("#theme");
    const ratios = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const light = (name) => {
        const value = parseInt(style.getPropertyValue(`--${name}`).trim().slice(1), 16);
        const part = (shift) => {
          const share = ((value >> shift) & 255) / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        };
        return 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0);
      };
      const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
      const pairs = ["ink", "soft", "late", "good"].flatMap((text) =>
        ["paper", "card", "band"].map((on) => [text, on]),
      );
      return pairs.map(([text, on]) => [text, on, ratio(text, on)]);
    });
    for (const [text, on, ratio] of ratios) assert.ok(ratio >= 4.5, `${theme}: ${text} on ${on}: ${ratio.toFixed(2)}`);
  }
});

// How fast it is: printed, for a machine under load promises nothing.
{
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const begin = performance.now();
  await page.goto(large, { waitUntil: "commit" });
  await page.waitForFunction(
    () => {
      const canvas = document.querySelector(".picture canvas");
      const pane = document.querySelector(".pane");
      if (!(canvas instanceof HTMLCanvasElement) || Number(pane?.dataset.painted ?? 0) < 2) return false;
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 60);
      return new Set(new Uint32Array(data.buffer)).size > 3;
    },
    undefined,
    { polling: "raf" },
  );
  const seen = performance.now() - begin;
  await settled(page);
  const events = await page.evaluate(async () => (await (await fetch("api/recording?r=0")).json()).events);
  const frames = await page.evaluate(async () => {
    const canvas = document.querySelector(".picture canvas");
    const box = canvas.getBoundingClientRect();
    const lengths = [];
    let last = 0;
    const wheel = (deltaY, shiftKey) =>
      canvas.dispatchEvent(
        new WheelEvent("wheel", {
          deltaY,
          ctrlKey: !shiftKey,
          shiftKey,
          clientX: box.x + box.width * 0.4,
          clientY: box.y + 30,
          bubbles: true,
          cancelable: true,
        }),
      );
    // Closer by a factor of thousands, along, and out again: a step in each frame, as a hand does.
    const steps = [
      ...Array(110).fill([-30, false]),
      ...Array(120).fill([25, true]),
      ...Array(110).fill([30, false]),
      ...Array(60).fill([-60, true]),
    ];
    for (const [delta, shift] of steps) {
      const now = await new Promise(requestAnimationFrame);
      if (last > 0) lengths.push(now - last);
      last = now;
      wheel(delta, shift);
    }
    return lengths;
  });
  frames.sort((a, b) => a - b);
  const within = frames.filter((length) => length < 33).length / frames.length;
  const at = (share) => frames[Math.min(frames.length - 1, Math.floor(share * frames.length))].toFixed(1);
  console.log(
    `figures ${events} events: first picture after ${seen.toFixed(0)} ms; ` +
      `${(within * 100).toFixed(1)} % of ${frames.length} frames of zoom and pan under 33 ms ` +
      `(p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, max ${at(1)} ms)`,
  );
  await context.close();
}

await end();
