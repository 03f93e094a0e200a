// SPDX-License-Identifier: GPL-2.0-or-later
// Opens the file that upto ui --open gives a browser: node opened.mjs WEB FILE
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [web, file] = process.argv.slice(2), { chromium } = createRequire(join(resolve(web), "package.json"))("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
const tab = await browser.newPage();
tab.setDefaultTimeout(100000);
await tab.goto(pathToFileURL(file).href);
await tab.waitForURL((u) => u.protocol === "http:" && !u.search);
await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes");
const seen = { address: tab.url(), sentence: await tab.textContent("#sentence") };
await browser.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
