// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline's lanes: what is in which row. A row's items do not overlap, and are in the order of time.
import { ofFunction } from "./colours";
import type { Call, Data, Span } from "./data";
import { duration, shown } from "./format";

export interface Item {
  start: number; end: number;
  label: string; what: string;     /* in the box; of it, for who points at it */
  kind: string;                    /* for its colour */
  number: number;                  /* of its colour, where that is not by kind; -1 */
  fill?: string;                   /* its colour, where it is by neither */
  waits: boolean;                  /* it does not run: hatched */
  span: number; thread: number;    /* -1: none */
}
export interface Row { lane: string; label: string; items: Item[]; process: number }

const KINDS_BELOW = ["initcall", "probe", "module", "module-init", "mount", "initramfs", "smp", "test", "work", "exec"];
const DEEPEST = 5, PROCESSES = 60, MORE = "more processes";

function name(data: Data, thread: number): string {
  const t = data.threads[thread];
  return t ? `${shown(t.name)} (${t.pid})` : "nobody";
}

export function processName(data: Data, process: number): string {
  const t = data.threads[process];
  return !t ? "before there were processes" : t.kernel && t.pid ? "kernel threads" : name(data, process);
}

function ofSpan(data: Data, s: Span): Item {
  const label = shown(s.name);
  return {
    start: s.start, end: s.end, label, kind: s.kind, number: -1, waits: false, span: s.number, thread: s.thread,
    what: `${s.kind} ${label}: ${duration(s.end - s.start)}${s.thread >= 0 ? `, of ${name(data, s.thread)}` : ""}`,
  };
}

/** Nested spans in rows, each in the first that has room for it. */
function stacked(lane: string, items: Item[]): Row[] {
  const rows: Row[] = [], more: Item[] = [];
  for (const item of [...items].sort((a, b) => a.start - b.start || b.end - a.end)) {
    let row = rows.find((r) => r.items[r.items.length - 1]!.end <= item.start);
    if (!row) {
      if (rows.length > DEEPEST) {
        more.push(item);
        continue;
      }
      rows.push((row = { lane, label: rows.length ? "" : lane, items: [], process: -1 }));
    }
    row.items.push(item);
  }
  if (more.length) rows.push({ lane, label: `  ${more.length} more, at once`, items: behindEachOther(more), process: -1 });
  return rows;
}

function cpus(data: Data): Row[] {
  const rows: Row[] = Array.from({ length: data.cpus }, (_, i) => ({ lane: `CPU ${i}`, label: `CPU ${i}`, items: [], process: -1 }));
  for (const r of data.runs) {
    const t = data.threads[r.thread];
    rows[r.cpu]?.items.push({
      start: r.start, end: r.end, label: t ? shown(t.name) : "boot", kind: "", number: t ? t.process : 7, waits: false, span: -1, thread: r.thread,
      what: `${name(data, r.thread)} ran on CPU ${r.cpu}: ${duration(r.end - r.start)}`,
    });
  }
  return rows;
}

/** What ran and what waited in each process, those that ran most first in the order of their beginning. */
function processes(data: Data): Row[] {
  const rows = new Map<number, Item[]>(), ran = new Map<number, number>();
  for (const r of data.runs) {
    const t = data.threads[r.thread];
    if (!t || t.process < 0 || !t.pid) continue;
    ran.set(t.process, (ran.get(t.process) ?? 0) + r.end - r.start);
    const items = rows.get(t.process) ?? [];
    rows.set(t.process, items);
    items.push({
      start: r.start, end: r.end, label: "", kind: "", number: t.process, waits: false, span: -1, thread: r.thread,
      what: `${name(data, r.thread)} ran: ${duration(r.end - r.start)}`,
    });
  }
  for (const w of data.waits) {
    const t = data.threads[w.thread], end = w.end ?? data.end;
    if (!t || t.process < 0) continue;
    const items = rows.get(t.process) ?? [];
    rows.set(t.process, items);
    items.push({
      start: w.start, end, label: "", kind: "wait", number: t.process, waits: true, span: -1, thread: w.thread,
      what: `${name(data, w.thread)} waited for ${w.kind}${w.what ? ` in ${shown(w.what)}` : ""}: ${duration(end - w.start)}` +
        (w.waker >= 0 ? `, woken by ${name(data, w.waker)}` : ""),
    });
  }
  const decided = new Set(data.why?.chain.map((l) => data.threads[l.thread]?.process)); /* the red path goes through them */
  const all = [...rows.keys()].sort((a, b) => (ran.get(b) ?? 0) - (ran.get(a) ?? 0));
  const most = all.filter((process, i) => i < PROCESSES || decided.has(process)), others = all.filter((process) => !most.includes(process));
  const ret: Row[] = most.sort((a, b) => data.threads[a]!.start - data.threads[b]!.start).map((process) => ({
    lane: "processes", label: processName(data, process), process, items: flattened(rows.get(process)!),
  }));
  if (others.length)
    ret.push({ lane: MORE, label: `${others.length} more processes`, process: -1, items: flattened(others.flatMap((process) => rows.get(process)!)) });
  return ret;
}

/** Those that are in the order of their beginning, each from where the ones before it have ended. */
function behindEachOther(items: Item[]): Item[] {
  let until = 0;
  return items.sort((a, b) => a.start - b.start).flatMap((item) => {
    const start = Math.max(item.start, until);
    until = Math.max(until, item.end);
    return start < item.end || item.start === item.end ? [{ ...item, start }] : [];
  });
}

/** Of a process's threads, what runs is seen before what waits; of those that do so at once, which began first. */
function flattened(items: Item[]): Item[] {
  const runs = behindEachOther(items.filter((i) => !i.waits)), ret: Item[] = [];
  let k = 0;
  for (const w of behindEachOther(items.filter((i) => i.waits))) {
    let at = w.start;
    while (k < runs.length && runs[k]!.end <= at) k++;
    for (let i = k; at < w.end; i++) {
      const next = runs[i], end = Math.min(w.end, next?.start ?? Infinity);
      if (end > at) ret.push({ ...w, start: at, end });
      if (!next || next.start >= w.end) break;
      at = next.end;
    }
  }
  return [...runs, ...ret].sort((a, b) => a.start - b.start);
}

function log(data: Data): Row[] {
  const table = data.tables.log;
  if (!table?.rows.length) return [];
  const at = (column: string) => table.columns.findIndex((c) => c.name === column);
  const ns = at("ns"), text = at("text"), severity = at("severity");
  const items = table.rows.filter((r) => typeof r[ns] === "number").map((r): Item => ({
    start: r[ns] as number, end: r[ns] as number, label: "", kind: "console", number: -1, waits: false, span: -1, thread: -1,
    what: `${moment(r[ns] as number)} ${String(r[severity])}: ${shown(String(r[text] ?? ""))}`,
  }));
  return [{ lane: "kernel log", label: "kernel log", items: items.sort((a, b) => a.start - b.start), process: -1 }];
}

function records(data: Data): Row[] {
  const items = data.records.map((r): Item => ({
    start: r.ns, end: r.ns, label: "", kind: "event", number: -1, waits: false, span: -1, thread: r.thread,
    what: `${moment(r.ns)} ${r.thread >= 0 ? `${name(data, r.thread)}: ` : ""}${shown(r.text)}`,
  }));
  return [{ lane: "events", label: data.recordOf > 1 ? `events, one of ${data.recordOf}` : "events", items, process: -1 }];
}

function moment(ns: number): string {
  return (ns / 1e9).toFixed(6);
}

const THREADS = 4, DEEP = 40;

/** Single calls: of the threads that have most of them, a row for each level that is there. */
export function callRows(data: Data, calls: Call[]): Row[] {
  const threads = new Map<number, Call[]>(), kinds = new Map(data.flame.names.map((n, i) => [n, data.flame.kinds[i] ?? "k"]));
  for (const call of calls) {
    const list = threads.get(call.thread);
    if (list) list.push(call);
    else threads.set(call.thread, [call]);
  }
  const most = [...threads.entries()].sort((a, b) => b[1].length - a[1].length).slice(0, THREADS);
  const rows = most.flatMap(([thread, list]) => {
    const top = list.reduce((least, c) => Math.min(least, c.depth), Infinity), rows: Row[] = [], lane = `calls of ${name(data, thread)}`;
    for (const c of list.sort((a, b) => a.start - b.start)) {
      const level = c.depth - top, label = shown(c.name);
      if (level > DEEP) continue;
      while (rows.length <= level) rows.push({ lane, label: rows.length ? "" : lane, items: [], process: -1 });
      rows[level]!.items.push({
        start: c.start, end: c.end, label, kind: "", number: -1, fill: ofFunction(label, kinds.get(c.name) ?? "k"), waits: false, span: -1, thread,
        what: `${label}: ${duration(c.end - c.start)}, of ${name(data, thread)}`,
      });
    }
    return rows;
  });
  return rows;
}

/** How many of the calls those rows have, where it is not all of them. */
export function told(rows: Row[], calls: Call[]): string {
  const there = rows.reduce((n, r) => n + r.items.length, 0);
  return there === calls.length ? `${there} calls` : `${there} of ${calls.length} calls: of the ${THREADS} threads that have most, ${DEEP} levels`;
}

export function lanes(data: Data): Row[] {
  const of = (...kinds: string[]) => data.spans.filter((s) => kinds.includes(s.kind)).map((s) => ofSpan(data, s));
  return [
    ...stacked("phases", of("phase")), ...stacked("stages", of("stage")), ...cpus(data), ...stacked("units", of("unit")),
    ...stacked("kernel's work", of(...KINDS_BELOW)), ...records(data), ...log(data), ...processes(data),
  ].filter((r) => r.items.length);
}

/** What tells a row from others: its process, or its place in its lane. */
function keys(rows: Row[]): string[] {
  const seen = new Map<string, number>();
  return rows.map((r) => {
    const n = seen.get(r.lane) ?? 0;
    seen.set(r.lane, n + 1);
    return r.process >= 0 ? `${r.lane} ${r.process}` : `${r.lane} ${r.label.startsWith("CPU") ? "" : n}`;
  });
}

/** The rows of all, with the items of a part of the time, but for processes that do nothing in it. What only that part has stands behind its lane's. */
export function closer(all: Row[], part: Row[]): Row[] {
  const of = new Map(keys(part).map((key, i) => [key, part[i]!])), ret: Row[] = [];
  const known = keys(all);
  all.forEach((row, i) => {
    const near = of.get(known[i]!), items = row.lane === "kernel log" ? row.items : (near?.items ?? []);
    of.delete(known[i]!);
    if (items.length || (row.process < 0 && row.lane !== MORE)) ret.push({ ...row, items, label: row.process < 0 && near ? near.label : row.label });
    if (all[i + 1]?.lane === row.lane) return;
    for (const [key, more] of of) if (more.lane === row.lane) ret.push(more), of.delete(key);
  });
  return ret;
}
