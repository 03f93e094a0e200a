// SPDX-License-Identifier: GPL-2.0-or-later
// Tables: sorted by a column, narrowed like everything else. Only rows in sight are made.
import { threadAt, type Cell, type Column, type Data, type Table, type Thread } from "./data";
import { graph, REST, sums } from "./flame";
import { amount, count, duration, moment, shown } from "./format";
import type { Store, View } from "./store";

const ROW = 26, AROUND = 20, PRINTED = 200;
const NAMES: Record<string, string> = {
  functions: "functions", first: "first calls", syscalls: "system calls", processes: "processes", wait_sums: "waits by kind", waits: "longest waits", log: "kernel log",
};

function text(cell: Cell | undefined, type: string): string {
  if (cell === null || cell === undefined) return "";
  if (Array.isArray(cell)) return cell.map(shown).join(" ← ");
  if (typeof cell !== "number") return shown(String(cell));
  switch (type) {
    case "duration": return duration(cell);
    case "seconds": return moment(cell);
    case "amount": return amount(cell);
    case "count": return count(cell);
    case "percent": return cell.toFixed(2);
    default: return String(cell);
  }
}

/** Columns that a terminal has no room for. */
const WIDE: Record<string, string[]> = { functions: ["total_insns", "total_ns", "total_pct"] };

/** What a table is sorted by at first. */
export const ORDER: Record<string, string> = { syscalls: "-total_ns", wait_sums: "-asleep_ns", waits: "-asleep_ns" };

const isNumber = (type: string) => !["text", "list", "address"].includes(type);

/** Compares numbers as such, nothing as the least. */
function compare(a: Cell | undefined, b: Cell | undefined): number {
  if (a === null || a === undefined || b === null || b === undefined) return (a === null || a === undefined ? 0 : 1) - (b === null || b === undefined ? 0 : 1);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

export class Tables {
  private readonly box = document.getElementById("table-box")!;
  private readonly tabs = document.getElementById("tabs")!;
  private readonly filter = document.getElementById("table-filter") as HTMLInputElement;
  private rows: Cell[][] = [];
  private columns: { column: Column; at: number }[] = [];
  private body!: HTMLTableSectionElement;
  private printed = false;
  private first = -1; /* rows that are made */
  private last = -1;
  private readonly byPid = new Map<number, Thread[]>();

  constructor(private readonly data: Data, private readonly store: Store) {
    for (const t of data.threads) {
      const had = this.byPid.get(t.pid);
      if (had) had.push(t);
      else this.byPid.set(t.pid, [t]);
    }
    for (const [name, title] of Object.entries(NAMES)) if (data.tables[name]?.rows.length) this.addTab(name, title);
    this.filter.value = store.view.filter;
    this.filter.addEventListener("input", () => store.set({ filter: this.filter.value }));
    this.box.addEventListener("scroll", () => this.fill());
    for (const [when, printed] of [["beforeprint", true], ["afterprint", false]] as const)
      addEventListener(when, () => ((this.printed = printed), this.fill()));
    store.listen((_, changed) => {
      if (["table", "sort", "filter", "phase", "span", "process", "graph"].some((k) => changed.has(k as keyof View))) this.show();
    });
    this.show();
  }

  private addTab(name: string, title: string): void {
    const tab = this.tabs.appendChild(document.createElement("button"));
    tab.type = "button";
    tab.role = "tab";
    tab.id = `tab-${name}`;
    tab.textContent = title;
    tab.setAttribute("aria-controls", "table-box");
    tab.addEventListener("click", () => this.store.set({ table: name, sort: "", filter: "" }));
    tab.addEventListener("keydown", (e) => {
      const all = [...this.tabs.children] as HTMLElement[], step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
      if (!step) return;
      const next = all[(all.indexOf(tab) + step + all.length) % all.length]!;
      next.focus();
      next.click();
    });
  }

  /** Sums of functions are of what is asked for, as far as the flame graph has it. */
  private functions(table: Table): Cell[][] {
    const { phase, process } = this.store.view, f = this.data.flame, at = (name: string) => table.columns.findIndex((c) => c.name === name);
    if (phase === null && process === null && !f.part) return table.rows;
    const rows = new Map<number, Cell[]>();
    for (const clock of ["insns", "ns"] as const) {
      const root = graph(this.data, { phase, process, clock, reversed: false });
      for (const sum of sums(root).values()) {
        const row = rows.get(sum.name) ?? table.columns.map((): Cell => null);
        rows.set(sum.name, row);
        row[at("function")] = f.names[sum.name]!;
        row[at("calls")] = sum.name === REST ? null : sum.calls;
        row[at(`self_${clock}`)] = sum.self;
        row[at(`total_${clock}`)] = sum.total;
        if (clock === (this.data.hasInsns ? "insns" : "ns")) row[at("self_pct")] = (100 * sum.self) / root.total, (row[at("total_pct")] = (100 * sum.total) / root.total);
      }
    }
    return [...rows.values()];
  }

  private isAsked(table: Table): (row: Cell[]) => boolean {
    const { phase, span: chosen, process } = this.store.view, at = (type: (c: Column) => boolean) => table.columns.findIndex(type);
    const pid = at((c) => c.name === "pid"), time = at((c) => c.type === "seconds"), end = at((c) => c.name === "end_ns");
    const span = this.data.spans.find((s) => s.number === (chosen ?? phase));
    return (row) => {
      if (process !== null && pid >= 0 && this.threadOf(table, row)?.process !== process) return false;
      if (!span || time < 0 || typeof row[time] !== "number") return true;
      const from = row[time] as number, to = end >= 0 ? ((row[end] as number | null) ?? Infinity) : from;
      return from < span.end && to >= span.start;
    };
  }

  /** The name of the table that is shown: that which is asked for, if there is such a one. */
  private shown(): string {
    const { table } = this.store.view;
    return Object.hasOwn(this.data.tables, table) ? table : "functions";
  }

  /** Whose row it is, by its PID at its time, as far as it has these. */
  private threadOf(table: Table, row: Cell[]): Thread | undefined {
    const pid = row[table.columns.findIndex((c) => c.name === "pid")], time = row[table.columns.findIndex((c) => c.type === "seconds")];
    return typeof pid === "number" ? threadAt(this.byPid.get(pid) ?? [], pid, typeof time === "number" ? time : null) : undefined;
  }

  private show(): void {
    const { view } = this.store, name = this.shown(), table = this.data.tables[name];
    for (const tab of this.tabs.children) {
      const is = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(is));
      (tab as HTMLElement).tabIndex = is ? 0 : -1;
    }
    if (!table) return;
    const rows = name === "functions" ? this.functions(table) : table.rows.filter(this.isAsked(table));
    const want = view.filter.toLowerCase();
    this.columns = table.columns.map((column, at) => ({ column, at })).filter(({ column, at }) => (column.shown || WIDE[name]?.includes(column.name)) &&
      (this.data.hasInsns || !column.name.includes("insns")) && rows.some((r) => r[at] !== null));
    this.rows = want ? rows.filter((r) => this.columns.some(({ column, at }) => text(r[at], column.type).toLowerCase().includes(want))) : [...rows];
    if (this.filter.value !== view.filter) this.filter.value = view.filter;
    this.sort(table, name);
    this.make();
    document.getElementById("table-count")!.textContent = `${count(this.rows.length)} of ${count(table.rows.length)} rows${this.note(table, name)}`;
  }

  /** What the table cannot be narrowed to, and how its sums are found where they are. */
  private note(table: Table, name: string): string {
    const { phase, span, process } = this.store.view, has = (is: (c: Column) => boolean) => table.columns.some(is), not: string[] = [];
    if (name === "functions") return phase !== null || process !== null || this.data.flame.part ? ", with what the flame graph tells apart" : "";
    if (process !== null && !has((c) => c.name === "pid")) not.push("processes");
    if ((phase !== null || span !== null) && !has((c) => c.type === "seconds")) not.push("times");
    return not.length ? `, of all ${not.join(" and ")}` : "";
  }

  private order(name: string): { column: string; down: boolean } {
    const sort = this.store.view.sort || (name === "functions" ? (this.data.hasInsns ? "-self_insns" : "-self_ns") : (ORDER[name] ?? ""));
    return { column: sort.replace(/^-/, ""), down: sort.startsWith("-") };
  }

  private sort(table: Table, name: string): void {
    const { column, down } = this.order(name), at = table.columns.findIndex((c) => c.name === column);
    if (at >= 0) this.rows.sort((a, b) => (down ? -1 : 1) * compare(a[at], b[at]));
  }

  private make(): void {
    const name = this.shown(), order = this.order(name);
    const table = document.createElement("table"), head = table.createTHead().insertRow();
    for (const { column } of this.columns) {
      const th = head.appendChild(document.createElement("th")), sorted = order.column === column.name;
      const button = th.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = `${(column.title || column.name).toLowerCase()}${sorted ? (order.down ? " ↓" : " ↑") : ""}`;
      button.title = column.help;
      th.className = isNumber(column.type) ? "number" : "";
      th.setAttribute("aria-sort", sorted ? (order.down ? "descending" : "ascending") : "none");
      button.addEventListener("click", () => this.store.set({ sort: sorted ? (order.down ? column.name : `-${column.name}`) : isNumber(column.type) ? `-${column.name}` : column.name }));
    }
    const focused = this.focusedHeading();
    this.body = table.createTBody();
    this.box.replaceChildren(table);
    this.first = this.last = -1;
    this.fill();
    if (focused !== null) head.cells[focused]?.querySelector("button")?.focus();
  }

  /** Whoever sorts by the keyboard stays at the heading. */
  private focusedHeading(): number | null {
    const th = this.box.contains(document.activeElement) ? document.activeElement!.closest("th") : null;
    return th ? th.cellIndex : null;
  }

  /** On paper, there is room for the first rows. */
  private fillPaper(): void {
    const left = this.rows.length - PRINTED, note = document.createElement("tr"), cell = note.appendChild(document.createElement("td"));
    cell.colSpan = Math.max(1, this.columns.length);
    cell.textContent = `${count(left)} more rows are not printed`;
    this.body.replaceChildren(...this.rows.slice(0, PRINTED).map((r) => this.line(r)), ...(left > 0 ? [note] : []));
  }

  /** The rows in sight, between two that have the height of all others. */
  private fill(): void {
    if (this.printed) return (this.first = -1), this.fillPaper();
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - AROUND), n = Math.ceil(this.box.clientHeight / ROW) + 2 * AROUND;
    const last = Math.min(this.rows.length, first + n), room = (rows: number) => {
      const line = document.createElement("tr"), cell = line.appendChild(document.createElement("td"));
      cell.style.height = `${rows * ROW}px`;
      cell.colSpan = Math.max(1, this.columns.length);
      line.setAttribute("aria-hidden", "true");
      return line;
    };
    if (first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const focused = this.body.contains(document.activeElement) ? document.activeElement!.closest("td") : null;
    const at = focused && { text: focused.parentElement!.textContent, cell: focused.cellIndex };
    this.body.replaceChildren(...(first ? [room(first)] : []), ...this.rows.slice(first, last).map((r) => this.line(r)), ...(last < this.rows.length ? [room(this.rows.length - last)] : []));
    if (at) [...this.body.rows].find((line) => line.textContent === at.text)?.cells[at.cell]?.querySelector("button")?.focus();
  }

  private line(row: Cell[]): HTMLTableRowElement {
    const line = document.createElement("tr");
    for (const { column, at } of this.columns) {
      const cell = line.appendChild(document.createElement("td")), shownText = text(row[at], column.type);
      cell.className = isNumber(column.type) ? "number" : "";
      if (column.name === "pid" && typeof row[at] === "number") this.link(cell, shownText, () => this.narrow(row));
      else if (column.name === "function" && row[at]) this.link(cell, shownText, () => this.store.set({ search: String(row[at]) }));
      else cell.textContent = shownText;
      if (shownText.length > 40) cell.title = shownText;
    }
    return line;
  }

  private link(cell: HTMLElement, what: string, act: () => void): void {
    const button = cell.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = what;
    button.addEventListener("click", act);
  }

  private narrow(row: Cell[]): void {
    const thread = this.threadOf(this.data.tables[this.shown()]!, row);
    if (thread) this.store.set({ process: thread.process });
  }
}
