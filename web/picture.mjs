// SPDX-License-Identifier: GPL-2.0-or-later
// Makes a picture of a page in Chromium: node picture.mjs PAGE.html PICTURE.png [WIDTH HEIGHT] [dark] [FRAGMENT]
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, picture, width = "1280", height = "900", scheme = "light", fragment = ""] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
const tab = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: scheme === "dark" ? "dark" : "light", reducedMotion: "reduce" });
tab.on("console", (m) => console.error("console:", m.text()));
tab.on("pageerror", (e) => console.error("error:", e.message));
await tab.goto(pathToFileURL(resolve(page)).href + (fragment && `#${fragment}`));
await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes", undefined, { timeout: 30000 });
await tab.waitForTimeout(300);
await tab.screenshot({ path: picture, fullPage: process.env.WHOLE === "1" });
await browser.close();
