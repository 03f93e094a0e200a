// SPDX-License-Identifier: GPL-2.0-or-later
import { load, served } from "./data";
import { FlameGraph } from "./flame";
import { follow } from "./follow";
import { Seen } from "./seen";
import { Store } from "./store";
import { causes, head, narrowed } from "./summary";
import { Tables } from "./tables";
import { Timeline } from "./timeline";

/** A word at what is pointed at. */
function point(text: string, x: number, y: number): void {
  const tip = document.getElementById("tip")!;
  tip.hidden = !text;
  tip.textContent = text;
  tip.style.left = `${Math.min(x + 12, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 8 : y + 18}px`;
}

async function start(): Promise<void> {
  const data = await load();
  const store = new Store({
    phase: null, span: null, process: null, from: 0, to: Math.max(1, data.end), cause: null, clock: data.hasInsns ? "insns" : "ns", reversed: false, search: "", zoom: [],
    table: "functions", sort: "", filter: "", seen: false,
  }, data);
  head(data);
  causes(data, store);
  narrowed(data, store);
  new Timeline(data, store, point).draw();
  new FlameGraph(data, store, point).draw();
  new Tables(data, store);
  new Seen(data, store);
  document.documentElement.dataset.ready = "yes";
  if (served) follow(data.reading);
}

start().catch((e: unknown) => {
  document.getElementById("sentence")!.textContent = `This page cannot be shown: ${e instanceof Error ? e.message : String(e)}`;
});
