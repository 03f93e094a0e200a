// SPDX-License-Identifier: GPL-2.0-or-later
// Looks at what upto ui serves: node ui.mjs WEB ADDRESS FROM_NS TO_NS [PICTURE]
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [web, address, from, to, picture] = process.argv.slice(2), { chromium } = createRequire(join(resolve(web), "package.json"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } }), seen = { messages: [], requests: [] }, here = new URL(address).origin;
tab.on("console", (m) => seen.messages.push(m.text()));
tab.on("pageerror", (e) => seen.messages.push(e.message));
tab.on("request", (r) => r.url().startsWith(here) || r.url().startsWith("data:") || seen.requests.push(r.url()));
tab.setDefaultTimeout(100000);
await tab.goto(address);
await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
seen.address = tab.url();
seen.sentence = await tab.textContent("#sentence");
const countRows = () => tab.textContent("#table-count");
seen.all_rows = await countRows();
const answered = tab.waitForResponse((r) => r.url().includes("/calls?"));
await tab.evaluate(([a, b]) => (location.hash = `from=${a}&to=${b}`), [from, to]);
seen.asked = (await answered).url();
await tab.waitForFunction(() => /\d+ calls\b/.test(document.getElementById("lanes-status").textContent));
seen.status = await tab.textContent("#lanes-status");
await tab.click("#lanes-twin summary");
/* it is filled once the browser tells the page that it is open */
await tab.waitForFunction(() => [...document.querySelectorAll("#lanes-twin tbody tr")].some((r) => r.cells[1].textContent.startsWith("calls of ")));
seen.rows = await tab.evaluate(() => [...document.querySelectorAll("#lanes-twin tbody tr")].map((r) => [...r.cells].map((c) => c.textContent)));
await tab.click("#lanes-twin summary");
await tab.check("#flame-seen");
await tab.waitForFunction(() => document.getElementById("flame-part").textContent.startsWith("of "));
seen.part = await tab.textContent("#flame-part");
seen.part_rows = await countRows();
/* asked for once, not for ever */
seen.flames = 0;
tab.on("request", (r) => r.url().includes("/flame?") && seen.flames++);
await tab.waitForTimeout(800);
/* close up, who woke whom is drawn of all waits there, and not only of those that the page itself has */
const wake = await tab.evaluate(async () => {
  const data = await (await fetch("data")).json(), process = (thread) => data.threads[thread]?.[6] ?? -1;
  return data.waits.find((w) => w[2] && w[2] > w[1] + 1000 && w[6] >= 0 && process(w[0]) >= 0 && process(w[6]) >= 0 && process(w[0]) !== process(w[6]))?.[2];
});
await tab.route("**/data", async (route) => {
  const answer = await route.fetch();
  await route.fulfill({ response: answer, json: { ...(await answer.json()), waits: [] } });
});
await tab.goto(`${here}/#from=${wake - 1000000}&to=${wake + 1000000}`);
await tab.reload();
await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
/* no row is filled with the colour of arrows */
seen.arrows = await tab.waitForFunction(() => {
  const c = document.getElementById("lanes-canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(c, 0, 0);
  const data = copy.getImageData(0, 0, c.width, c.height).data;
  const mark = /^#(..)(..)(..)$/.exec(getComputedStyle(document.documentElement).getPropertyValue("--mark").trim()).slice(1).map((h) => parseInt(h, 16));
  let n = 0;
  for (let i = 0; i < data.length; i += 4) n += mark.every((v, k) => data[i + k] === v);
  return n;
}, undefined, { timeout: 60000 }).then((n) => n.jsonValue(), () => 0);
if (picture) await tab.screenshot({ path: picture, fullPage: true });
await browser.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
