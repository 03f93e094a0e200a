// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of what the timeline shows, where somebody serves the page: asked for anew as one moves.
import { flameOf, served, type Data, type Flame } from "./data";
import { duration } from "./format";
import type { Store } from "./store";

const STILL_MS = 150; /* so long nothing moves before it is asked */

export class Seen {
  private readonly box = document.getElementById("flame-seen") as HTMLInputElement;
  private readonly said = document.getElementById("flame-part")!;
  private readonly whole: Flame;
  private asking: AbortController | null = null;
  private timer = 0;

  constructor(private readonly data: Data, private readonly store: Store) {
    this.whole = data.flame;
    if (!served) return;
    (this.box.parentElement as HTMLElement).hidden = false;
    this.box.checked = store.view.seen;
    this.box.addEventListener("change", () => store.set({ seen: this.box.checked }));
    store.listen((_, changed) => {
      if (changed.has("from") || changed.has("to") || changed.has("seen")) this.follow();
    });
    if (store.view.seen) this.follow();
  }

  private isAll(): boolean {
    const { from, to, seen } = this.store.view;
    return !seen || (from <= 0 && to >= this.data.end);
  }

  private follow(): void {
    this.box.checked = this.store.view.seen;
    this.asking?.abort();
    clearTimeout(this.timer);
    if (this.isAll()) return this.show(this.whole, "");
    this.timer = setTimeout(() => this.ask(), STILL_MS);
  }

  private show(flame: Flame, said: string): void {
    this.said.textContent = said;
    if (this.data.flame === flame) return;
    this.data.flame = flame;
    this.store.tellOfGraph();
  }

  private async ask(): Promise<void> {
    const { from, to } = this.store.view, asking = (this.asking = new AbortController());
    this.said.textContent = "reading …";
    try {
      const flame = await flameOf(from, to, asking.signal);
      if (!asking.signal.aborted) this.show(flame, `of ${duration(to - from)}`);
    } catch (e) {
      if (!asking.signal.aborted) this.said.textContent = String(e instanceof Error ? e.message : e);
    }
  }
}
