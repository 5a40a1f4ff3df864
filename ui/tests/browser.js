// A browser for the tests of the pages, and a test that fails at each error of a page and each request to elsewhere.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
let failures = 0;

/**
 * Opens an address. `settled` waits until the page shows what was asked for; `expected` are the statuses of answers
 * that are no error of the page, although the browser reports them.
 */
async function open(address, { settled = async () => {}, expected = [], ...options }) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  const is_expected = (text) => expected.some((status) => text.includes(`status of ${status}`));
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !is_expected(message.text())) troubles.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (!["blob:", "data:"].includes(protocol) && host !== new URL(address).host) troubles.push(`asked ${host}`);
  });
  await page.goto(address);
  await page.waitForSelector("html[data-ready=true]");
  await settled(page);
  return { page, context, troubles };
}

/** How many different colours are in a canvas: 1 is an empty picture. */
export async function colours(page, selector) {
  return page.$eval(selector, (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
}

export async function test(name, address, options, body) {
  const { page, context, troubles } = await open(address, options);
  try {
    await body(page, context);
    assert.deepEqual(troubles, []);
    console.log(`ok      ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
  await context.close();
}

/** Ends the browser and the process, which has failed if a test has. */
export async function end() {
  await browser.close();
  process.exit(failures > 0 ? 1 : 0);
}
