// SPDX-License-Identifier: GPL-2.0-or-later
// Watches what upto ui serves of a trace that is being recorded, until it has its end: node growing.mjs WEB ADDRESS
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [web, address] = process.argv.slice(2), { chromium } = createRequire(join(resolve(web), "package.json"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } }), seen = { messages: [], guests: [] };
const ready = () => tab.waitForFunction(() => document.documentElement.dataset.ready === "yes", undefined, { timeout: 120000 });
tab.on("console", (m) => seen.messages.push(m.text()));
tab.on("pageerror", (e) => seen.messages.push(e.message));
await tab.goto(address);
await ready();
/* the person's view stays */
await tab.evaluate(() => (location.hash = "search=vfs"));
for (let grows = true; grows;) {
  seen.guests.push(await tab.textContent("#guest"));
  /* of the page that has told it: another may be loaded at any time */
  grows = (await (await tab.waitForFunction(() => document.documentElement.dataset.grows, undefined, { timeout: 60000 })).jsonValue()) === "yes";
  if (grows) await tab.waitForEvent("load", { timeout: 120000 }), await ready();
}
seen.hash = new URL(tab.url()).hash;
await browser.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
