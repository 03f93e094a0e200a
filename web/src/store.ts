// SPDX-License-Identifier: GPL-2.0-or-later
// What is seen. It is the address's fragment, too, so that a link names a view. Views read it, and are told when it changes.

export interface View {
  phase: number | null;    /* number of a span */
  process: number | null;  /* number of its first thread */
  from: number; to: number; /* of the timeline, ns */
  cause: number | null;
  clock: "insns" | "ns"; reversed: boolean; search: string;
  zoom: string[];          /* names from the outermost call to the one that the flame graph shows */
  table: string; sort: string; filter: string;
  seen: boolean;           /* the flame graph is of what the timeline shows */
}

/** What has changed: the view, or the flame graph's data that it is of. */
export type Changed = Set<keyof View | "graph">;
type Listener = (view: View, changed: Changed) => void;

export class Store {
  view: View;
  private listeners: Listener[] = [];
  private timer = 0;

  constructor(private readonly first: View) {
    this.view = { ...first, ...this.read() };
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.text()) this.set({ ...this.first, ...this.read() });
    });
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(change: Partial<View>): void {
    const changed: Changed = new Set((Object.keys(change) as (keyof View)[]).filter((k) => JSON.stringify(change[k]) !== JSON.stringify(this.view[k])));
    if (!changed.size) return;
    this.view = { ...this.view, ...change };
    for (const listener of this.listeners) listener(this.view, changed);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => history.replaceState(null, "", `#${this.text()}`), 200);
  }

  /** The flame graph's data has changed, and not the view. */
  tellOfGraph(): void {
    for (const listener of this.listeners) listener(this.view, new Set(["graph"]));
  }

  private text(): string {
    const words = new URLSearchParams();
    for (const [key, value] of Object.entries(this.view))
      if (JSON.stringify(value) !== JSON.stringify(this.first[key as keyof View]))
        words.set(key, Array.isArray(value) ? value.join("\n") : String(value));
    return words.toString();
  }

  /** A fragment may be anybody's: what is no value of its kind is left out. */
  private read(): Partial<View> {
    const words = new URLSearchParams(location.hash.slice(1)), ret: Record<string, unknown> = {};
    const number = (key: string) => {
      const n = Number(words.get(key));
      if (words.get(key) && Number.isFinite(n) && n >= 0) ret[key] = n;
    };
    for (const key of ["phase", "process", "from", "to", "cause"]) number(key);
    for (const key of ["search", "table", "sort", "filter"]) if (words.has(key)) ret[key] = words.get(key);
    if (words.get("clock") === "ns") ret.clock = "ns";
    for (const key of ["reversed", "seen"]) if (words.get(key) === "true") ret[key] = true;
    if (words.get("zoom")) ret.zoom = words.get("zoom")!.split("\n");
    if (!(((ret.from as number) ?? this.first.from) < ((ret.to as number) ?? this.first.to))) delete ret.from, delete ret.to;
    return ret as Partial<View>;
  }
}
