// SPDX-License-Identifier: GPL-2.0-or-later
// What the page is about, as src/report/report_data.c and flame.c put it. Times are guest time in nanoseconds.

export type Cell = string | number | boolean | null | string[];

export interface Column { name: string; title: string; type: string; help: string; shown: boolean }
export interface Table { columns: Column[]; rows: Cell[][] }

export interface Thread { name: string; pid: number; tgid: number; kernel: boolean; start: number; end: number | null; process: number }
export interface Span { number: number; kind: string; name: string; parent: number; thread: number; start: number; end: number; insns: number; cpu: number }
export interface Wait { thread: number; start: number; wake: number | null; end: number | null; kind: string; what: string; waker: number }
/** A record of a trace event or a probe. */
export interface Recorded { ns: number; thread: number; text: string }
export interface Run { cpu: number; thread: number; start: number; end: number }
export interface Cause { ns: number; kind: string; name: string; what: string; stack: string[] }
export interface Link { start: number; end: number; kind: string; thread: number; cause: number }
export interface Why { until: string; from: number; to: number; causes: Cause[]; chain: Link[] }

/** Columns by node. A node's parent comes before it; -1: it is an outermost call of its group. */
export interface Flame {
  groups: { phase: number | null; process: number | null }[];
  names: string[]; kinds: string;
  group: number[]; parent: number[]; name: number[]; calls: number[]; insns: number[]; ns: number[];
  part: boolean;           /* it is of a part of the time: its groups are not of phases */
}

export interface Data {
  title: string; kernel: string | null; ended: string; boots: number; cpus: number; end: number; insns: number; ns: number;
  hasInsns: boolean;       /* else all is by time */
  reading: number;         /* of a trace that grows: how often it had been read before */
  halted: number; events: number; why: Why | null; threads: Thread[]; runs: Run[]; spans: Span[]; waits: Wait[]; records: Recorded[];
  recordOf: number;        /* one of so many is in `records` */
  tables: Record<string, Table>; flame: Flame;
}

/** What the timeline's lanes are made of. */
export type InLanes = Pick<Data, "runs" | "spans" | "waits" | "records" | "recordOf">;

/** The thread that had the PID at a time: several may have had it, one after the other, or in several boots. */
export function threadAt(threads: Thread[], pid: number, ns: number | null): Thread | undefined {
  const had = threads.filter((t) => t.pid === pid);
  return had.findLast((t) => ns === null || t.start <= ns) ?? had[0];
}

/** Whoever serves the page has its data; a page from disk has it within. */
export let served = false;
/** Where the page was scrolled to before it was loaded anew, in the session's storage. */
export const SCROLL = "upto-scroll";
let reading = 0;

/** From whoever serves the page. What it has read since has other numbers: then the page is loaded anew. */
async function ask(what: string, signal: AbortSignal): Promise<any> {
  const answer = await fetch(`${what}&version=${reading}`, { signal });
  if (answer.status === 409) sessionStorage.setItem(SCROLL, String(scrollY)), location.reload();
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

/** The data, once whoever serves the page has read the trace; until then, how far that is. */
async function read(): Promise<Response> {
  const bar = document.getElementById("reading") as HTMLProgressElement, sentence = document.getElementById("sentence")!;
  let done = false;
  const look = setInterval(async () => {
    const { pass, part } = await (await fetch("progress")).json();
    if (done) return;
    bar.hidden = false;
    bar.value = part;
    sentence.textContent = `Reading the trace${pass > 1 ? `, time ${pass}` : ""}: ${Math.round(part * 100)} %`;
  }, 300);
  try {
    return await fetch("data");
  } finally {
    done = true;
    clearInterval(look);
    bar.hidden = true;
  }
}

async function unpack(text: string): Promise<any> {
  if (!text.trim()) {
    const answer = await read();
    if (!answer.ok) throw new Error(await answer.text());
    served = true;
    return answer.json();
  }
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function runs(columns: { cpu: number[]; thread: number[]; gap: number[]; length: number[] }): Run[] {
  const list: Run[] = [];
  columns.cpu.forEach((cpu, i) => {
    const before = list[i - 1], start = (before?.cpu === cpu ? before.end : 0) + columns.gap[i]!;
    list.push({ cpu, thread: columns.thread[i]!, start, end: start + columns.length[i]! });
  });
  return list;
}

export interface Call { thread: number; depth: number; start: number; end: number; name: string }

/** The calls of a part of the time, from whoever serves the page. */
export async function calls(from: number, to: number, min: number, signal: AbortSignal): Promise<{ calls: Call[]; complete: boolean }> {
  const raw = await ask(`calls?from=${from}&to=${to}&min=${min}`, signal);
  return {
    complete: raw.complete,
    calls: raw.calls.map(([thread, depth, start, end, name]: number[]): Call => ({ thread: thread!, depth: depth!, start: start!, end: end!, name: raw.names[name!] })),
  };
}

type Raw = any;

async function part(what: string, from: number, to: number, signal: AbortSignal): Promise<Raw> {
  return ask(`${what}?from=${Math.floor(from)}&to=${Math.ceil(to)}`, signal);
}

/** The flame graph of a part of the time, from whoever serves the page. */
export async function flameOf(from: number, to: number, signal: AbortSignal): Promise<Flame> {
  return flame((await part("flame", from, to, signal)).flame, true);
}

/** What ran and waited in a part of the time, told apart as far as there is room. */
export async function lanesOf(from: number, to: number, signal: AbortSignal): Promise<InLanes> {
  return inLanes(await part("lanes", from, to, signal));
}

function flame(raw: Raw, isPart: boolean): Flame {
  return { ...raw, part: isPart, groups: raw.groups.map(([phase, process]: any[]) => ({ phase, process })) };
}

function inLanes(raw: Raw): InLanes {
  return {
    runs: runs(raw.runs),
    spans: raw.spans.map(([number, kind, name, parent, thread, start, end, insns, cpu]: any[]): Span =>
      ({ number, kind, name: name ?? "", parent, thread, start, end, insns, cpu })),
    waits: raw.waits.map(([thread, start, wake, end, kind, what, waker]: any[]): Wait => ({ thread, start, wake, end, kind, what: what ?? "", waker })),
    records: raw.records.map(([ns, thread, text]: any[]): Recorded => ({ ns, thread, text: text ?? "" })),
    recordOf: raw.record_of,
  };
}

export async function load(): Promise<Data> {
  const raw = await unpack(document.getElementById("data")!.textContent!);
  const why = raw.why && {
    until: raw.why.until, from: raw.why.from_ns, to: raw.why.until_ns,
    causes: raw.why.causes.map(([ns, kind, name, what, stack]: any[]): Cause => ({ ns, kind, name: name ?? "", what: what ?? "", stack })),
    chain: raw.why.chain.map(([start, end, kind, thread, cause]: any[]): Link => ({ start, end, kind, thread, cause })),
  };
  reading = raw.reading;
  return {
    hasInsns: raw.has_insns, reading,
    title: raw.title, kernel: raw.kernel, ended: raw.ended, boots: raw.boots, cpus: raw.cpus, end: raw.end_ns, insns: raw.insns,
    ns: raw.ns, halted: raw.halted_ns, events: raw.events, why,
    threads: raw.threads.map(([name, pid, tgid, kernel, start, end, process]: any[]): Thread =>
      ({ name: name ?? "", pid, tgid, kernel, start, end, process })),
    ...inLanes(raw),
    tables: raw.tables,
    flame: flame(raw.flame, false),
  };
}
