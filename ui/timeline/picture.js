// A timeline as a picture to keep: names, axis and bars in one PNG.

import { point } from "../base/time.js";
import { fit } from "./paint.js";

const NAMES = 190;
const HEAD = 56;

/** @param {import("./pane.js").Pane} pane */
export async function save(pane) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const { theme } = pane;
  const width = NAMES + pane.width;
  const rows = pane.lines.reduce((end, line) => Math.max(end, line.y + line.height), 0);
  const height = HEAD + Math.min(pane.scroll.clientHeight, rows);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.scale(ratio, ratio);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
  context.drawImage(pane.canvas, NAMES, HEAD, pane.width, pane.scroll.clientHeight);
  context.drawImage(pane.axis, NAMES, HEAD - 24, pane.width, 24);
  context.textBaseline = "middle";
  context.font = "600 13px system-ui, sans-serif";
  context.fillStyle = theme.ink;
  const step = (pane.to - pane.from) / 100;
  const title = `${pane.source.name}: ${point(pane.from, step)} to ${point(pane.to, step)}`;
  context.fillText(fit(context, title, width - 24), 12, 16);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = theme.paper;
  context.fillRect(0, HEAD, NAMES, height - HEAD);
  for (const line of pane.lines) {
    context.fillStyle = line.row === pane.chosen ? theme.ink : theme.soft;
    const left = line.place === "inside" ? 26 : 12;
    context.fillText(fit(context, line.name, NAMES - 12 - left), left, HEAD + line.y + line.height / 2);
  }
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  if (!(blob instanceof Blob)) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${pane.source.name.replace(/[^\w.-]+/g, "_")}.png`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
