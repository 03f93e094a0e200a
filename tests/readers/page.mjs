// SPDX-License-Identifier: GPL-2.0-or-later
// Uses a page of upto report as people do, in Chromium: node page.mjs WEB PAGE.html
// WEB has the page's npm packages. Prints what was seen as one object of JSON; a request, a message or an error is in it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [web, file] = process.argv.slice(2), need = createRequire(join(resolve(web), "package.json"));
const { chromium } = need("playwright-core");
const axe = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");
const address = pathToFileURL(resolve(file)).href, seen = { messages: [], requests: [] };

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});

async function open(options, fragment = "") {
  const context = await browser.newContext({ reducedMotion: "reduce", offline: true, bypassCSP: options.axe ?? false, ...options.context });
  const tab = await context.newPage();
  tab.on("console", (m) => seen.messages.push(m.text()));
  tab.on("pageerror", (e) => seen.messages.push(`error: ${e.message}`));
  tab.on("request", (r) => r.url().split("#")[0] === address || r.url().startsWith("data:") || seen.requests.push(r.url()));
  tab.on("dialog", (d) => (seen.messages.push(`dialog: ${d.message()}`), d.dismiss()));
  await tab.goto(address + fragment);
  await tab.waitForFunction(() => document.documentElement.dataset.ready === "yes" || /cannot be shown/.test(document.body.textContent));
  await settle(tab);
  return tab;
}

// Two frames: drawing is asked for in one, and done in the next.
const settle = (tab) => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))));

const text = (tab, id) => tab.evaluate((at) => document.getElementById(at).textContent, id);
const label = (tab, id) => tab.evaluate((at) => document.getElementById(at).getAttribute("aria-label"), id);
const rows = (tab, box) => tab.evaluate((at) => [...document.querySelectorAll(`${at} tbody tr:not([aria-hidden])`)].map((r) => [...r.cells].map((c) => c.textContent)), box);

// What part of a canvas is not its background, and how many colours there are.
const inked = (tab, id) => tab.evaluate((at) => {
  const c = document.getElementById(at), data = c.getContext("2d").getImageData(0, 0, c.width, Math.min(c.height, 2000)).data, colours = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const key = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
    colours.set(key, (colours.get(key) ?? 0) + 1);
  }
  const all = data.length / 4;
  return { colours: colours.size, share: 1 - Math.max(...colours.values()) / all };
}, id);

async function use() {
  const started = Date.now(), tab = await open({ context: { viewport: { width: 1280, height: 900 } } });
  seen.ready_ms = Date.now() - started;
  seen.title = await text(tab, "title");
  seen.sentence = await text(tab, "sentence");
  seen.guest = await text(tab, "guest");
  seen.causes = await tab.evaluate(() => [...document.querySelectorAll("#causes button")].map((b) => b.textContent));
  seen.lanes = await inked(tab, "lanes-canvas");
  seen.flame = await inked(tab, "flame-canvas");
  seen.tabs = await tab.evaluate(() => [...document.querySelectorAll("[role=tab]")].map((b) => b.textContent));
  seen.functions = await rows(tab, "#table-box");
  // the flame graph as a table
  await tab.click("#flame-twin summary");
  await tab.waitForFunction(() => document.querySelector("#flame-twin tbody tr"));
  seen.flame_rows = await rows(tab, "#flame-twin");
  await tab.fill("#flame-search", "vfs_read");
  await settle(tab);
  seen.share = await text(tab, "flame-share");
  await tab.fill("#flame-search", "");
  await tab.check("#flame-reversed");
  await settle(tab);
  seen.reversed_rows = await rows(tab, "#flame-twin");
  await tab.uncheck("#flame-reversed");
  await tab.selectOption("#flame-clock", "ns");
  await settle(tab);
  seen.by_time = await label(tab, "flame-canvas");
  await tab.selectOption("#flame-clock", "insns");
  // keys: closer, to the right, all
  const ranges = [await text(tab, "range")];
  await tab.focus("#lanes-canvas");
  for (const key of ["+", "ArrowRight", "-", "0"]) {
    await tab.keyboard.press(key);
    await settle(tab);
    ranges.push(await text(tab, "range"));
  }
  seen.ranges = ranges;
  await tab.focus("#flame-canvas");
  await tab.keyboard.press("ArrowDown");
  seen.focused = await text(tab, "flame-status");
  await tab.keyboard.press("Enter");
  await settle(tab);
  seen.zoomed = await label(tab, "flame-canvas");
  await tab.keyboard.press("Escape");
  await settle(tab);
  seen.unzoomed = await label(tab, "flame-canvas");
  // a cause's links, and what were without it
  await tab.click("#causes button >> nth=0");
  await settle(tab);
  seen.what_if = await text(tab, "what-if");
  await tab.click("#causes button >> nth=0");
  // a phase: a click on the first row's last box
  const box = await (await tab.$("#lanes-canvas")).boundingBox();
  await tab.mouse.click(box.x + box.width - 30, box.y + 33);
  await settle(tab);
  seen.narrowed_phase = await text(tab, "narrowed");
  seen.phase_label = await label(tab, "flame-canvas");
  await tab.waitForTimeout(350);
  seen.phase_hash = await tab.evaluate(() => location.hash);
  await tab.click("#narrowed button");
  // a process, by the table
  await tab.click("#tab-processes");
  await settle(tab);
  seen.processes = await rows(tab, "#table-box");
  await tab.evaluate(() => [...document.querySelectorAll("#table-box td button")].find((b) => b.textContent === "1").click());
  await settle(tab);
  seen.narrowed_process = await text(tab, "narrowed");
  seen.process_label = await label(tab, "flame-canvas");
  seen.process_rows = await rows(tab, "#table-box");
  await tab.waitForTimeout(350);
  seen.hash = await tab.evaluate(() => location.hash);
  // the same view by its address
  const again = await open({ context: { viewport: { width: 1280, height: 900 } } }, seen.hash);
  seen.again = { narrowed: await text(again, "narrowed"), flame: await label(again, "flame-canvas"), rows: await rows(again, "#table-box") };
  await again.close();
  // sorted by another column, and filtered
  await tab.click("#narrowed button");
  await tab.click("#tab-functions");
  await tab.click("#table-box thead button >> nth=0");
  await settle(tab);
  seen.sorted = (await rows(tab, "#table-box")).map((r) => r[0]);
  seen.order = await tab.evaluate((names) => ({
    goes: names.every((name, i) => !i || names[i - 1].localeCompare(name) <= 0), told: document.querySelector("#table-box th").getAttribute("aria-sort"),
    focused: document.querySelector("#table-box th").contains(document.activeElement),
  }), seen.sorted);
  await tab.fill("#table-filter", "vfs_");
  await settle(tab);
  seen.filtered = (await rows(tab, "#table-box")).map((r) => r[0]);
  // a link that changes the view changes what it is chosen with
  const controls = () => tab.evaluate(() => [document.getElementById("flame-search").value, document.getElementById("flame-clock").value, document.getElementById("flame-reversed").checked]);
  await tab.evaluate(() => (location.hash = "search=vfs_read&clock=ns&reversed=true"));
  await settle(tab);
  seen.controls = await controls();
  await tab.evaluate(() => (location.hash = ""));
  await settle(tab);
  seen.no_controls = await controls();
  // by keys alone: the table's buttons do what clicks on the picture do
  await tab.click("#tab-log");
  await tab.click("#lanes-twin summary");
  seen.chosen = {};
  for (const lane of ["phases", "stages"]) {
    await tab.waitForFunction((of) => [...document.querySelectorAll("#lanes-twin tbody tr")].some((r) => r.cells[1].textContent === of), lane);
    const at = (await rows(tab, "#lanes-twin")).findIndex((r) => r[1] === lane);
    await tab.focus(`#lanes-twin tbody tr >> nth=${at} >> button`);
    await tab.keyboard.press("Enter");
    await settle(tab);
    seen.chosen[lane] = { narrowed: await text(tab, "narrowed"), count: await text(tab, "table-count"), range: await text(tab, "range"), focused: await tab.evaluate(() => !!document.activeElement.closest("#lanes-twin")) };
    await tab.waitForTimeout(350);
    seen.chosen[lane].hash = await tab.evaluate(() => location.hash);
    for (const button of await tab.$$("#narrowed button")) await button.click();
    await settle(tab);
  }
  await tab.click("#lanes-twin summary");
  // on paper
  await tab.click("#tab-functions");
  await settle(tab);
  seen.pages = (await tab.pdf()).toString("latin1").match(/\/Type\s*\/Page\b/g).length;
  seen.after_paper = (await rows(tab, "#table-box")).length;
  await tab.evaluate(() => dispatchEvent(new Event("beforeprint")));
  seen.paper_rows = await rows(tab, "#table-box");
  await tab.evaluate(() => dispatchEvent(new Event("afterprint")));
  // whatever a link asks for
  seen.links = {};
  for (const fragment of ["#from=1000000&to=1000000.0000000001", "#from=1e300&to=1e301", "#table=constructor", "#phase=3&process=1e9&span=x", "#from=5&to=6"]) {
    const link = await open({ context: { viewport: { width: 1280, height: 900 } } }, fragment);
    seen.links[fragment] = [await text(link, "range"), await text(link, "table-count"), await text(link, "narrowed")];
    await link.close();
  }
  // 60 frames a second while panning?
  seen.frame_ms = await tab.evaluate(async () => {
    const canvas = document.getElementById("lanes-canvas"), times = [];
    const key = (k) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: k }));
    key("0");
    key("+");
    key("+");
    for (let i = 0; i < 60; i++) {
      const began = performance.now();
      key(i % 2 ? "ArrowLeft" : "ArrowRight");
      await new Promise(requestAnimationFrame);
      await new Promise((done) => setTimeout(done, 0));
      times.push(performance.now() - began);
    }

    return times.sort((a, b) => a - b)[30];
  });
  await tab.close();
}

async function look() {
  seen.wide = {};
  for (const [name, context] of Object.entries({
    light: { viewport: { width: 1280, height: 900 }, colorScheme: "light" }, dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
    phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
  })) {
    const tab = await open({ context, axe: true });
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    seen.wide[name] = {
      axe: found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).slice(0, 3)} ${v.nodes[0]?.failureSummary ?? ""}`),
      overflow: await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      back: await tab.evaluate(() => getComputedStyle(document.body).backgroundColor), lanes: await inked(tab, "lanes-canvas"),
    };
    await tab.close();
  }
}

await use();
await look();
await browser.close();
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
