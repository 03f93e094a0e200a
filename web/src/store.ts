// SPDX-License-Identifier: GPL-2.0-or-later
// What is seen. It is the address's fragment, too, so that a link names a view. Views read it, and are told when it changes.
import type { Data } from "./data";

export interface View {
  phase: number | null;    /* number of a span */
  span: number | null;     /* likewise, of any kind: rows of tables are of its time */
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
/** So much of the time is seen at least. */
export const LEAST_NS = 100;

/** A part of the time as it can be shown: whole nanoseconds of those up to the end, and not too few. */
export function partOf(from: number, to: number, end: number): { from: number; to: number } {
  const least = Math.min(LEAST_NS, end), within = (ns: number) => Math.round(Math.max(0, Math.min(end, ns)));
  const start = Math.min(within(from), end - least);
  return { from: start, to: Math.max(within(to), start + least) };
}

/*
 * Spans and processes have numbers, which are others once a trace that grows is read again. A link has what stays: when
 * a span began, and its name; a process's PID, and when it began.
 */
type Named = Pick<Data, "spans" | "threads">;

export function spanName(data: Named, number: number): string | undefined {
  const span = data.spans.find((s) => s.number === number);
  return span && `${span.start} ${span.kind} ${span.name}`;
}

export function spanOf(data: Named, name: string): number | null {
  return data.spans.find((s) => `${s.start} ${s.kind} ${s.name}` === name)?.number ?? null;
}

export function processLink(data: Named, number: number): string | undefined {
  const thread = data.threads[number];
  return thread && `${thread.pid} ${thread.start}`;
}

export function processOf(data: Named, link: string): number | null {
  const at = data.threads.findIndex((t, i) => t.process === i && `${t.pid} ${t.start}` === link);
  return at < 0 ? null : at;
}

type Listener = (view: View, changed: Changed) => void;

export class Store {
  view: View;
  private listeners: Listener[] = [];
  private timer = 0;

  constructor(private readonly first: View, private readonly data: Named) {
    this.view = { ...first, ...this.read() };
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.text()) this.set({ ...this.first, ...this.read() });
    });
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(asked: Partial<View>): void {
    const { from = this.view.from, to = this.view.to } = asked, change = { ...asked, ...partOf(from, to, this.first.to) };
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
    for (const [key, name] of [["phase", spanName], ["span", spanName], ["process", processLink]] as const) {
      const number = this.view[key], link = number === null ? undefined : name(this.data, number);
      if (link === undefined) words.delete(key);
      else words.set(key, link);
    }
    return words.toString();
  }

  /** A fragment may be anybody's: what is no value of its kind is left out. */
  private read(): Partial<View> {
    const words = new URLSearchParams(location.hash.slice(1)), ret: Record<string, unknown> = {};
    const number = (key: string) => {
      const n = Number(words.get(key));
      if (words.get(key) && Number.isFinite(n) && n >= 0) ret[key] = n;
    };
    for (const key of ["from", "to", "cause"]) number(key);
    for (const key of ["phase", "span"]) if (words.has(key)) ret[key] = spanOf(this.data, words.get(key)!);
    if (words.has("process")) ret.process = processOf(this.data, words.get("process")!);
    for (const key of ["search", "table", "sort", "filter"]) if (words.has(key)) ret[key] = words.get(key);
    if (words.get("clock") === "ns") ret.clock = "ns";
    for (const key of ["reversed", "seen"]) if (words.get(key) === "true") ret[key] = true;
    if (words.get("zoom")) ret.zoom = words.get("zoom")!.split("\n");
    const { from, to } = { ...this.first, ...ret };
    return { ...ret, ...(from < to ? partOf(from, to, this.first.to) : { from: this.first.from, to: this.first.to }) } as Partial<View>;
  }
}
