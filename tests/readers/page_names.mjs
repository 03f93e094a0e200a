// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the names in a page's table of functions: node page_names.mjs WEB PAGE.html
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [web, file] = process.argv.slice(2), { chromium } = createRequire(join(resolve(web), "package.json"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
const tab = await browser.newPage(), seen = { messages: [] };
tab.on("console", (m) => seen.messages.push(m.text()));
tab.on("pageerror", (e) => seen.messages.push(e.message));
tab.on("dialog", (d) => (seen.messages.push(`dialog: ${d.message()}`), d.dismiss()));
await tab.goto(pathToFileURL(resolve(file)).href);
await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
seen.names = await tab.evaluate(() => [...document.querySelectorAll("#table-box tbody tr td:first-child")].map((c) => c.textContent));
seen.elements = await tab.evaluate(() => document.querySelectorAll("img, b, i, a, script[src], #table-box td :not(button)").length);
await browser.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
