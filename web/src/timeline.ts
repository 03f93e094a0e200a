// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline: lanes on a canvas, zoomed by wheel, keys and fingers, with a table of what is in view.
import { ON_FILL, ofKind, ofNumber, theme } from "./colours";
import { calls, lanesOf, served, type Data, type Wait } from "./data";
import { duration, moment } from "./format";
import { callRows, closer, lanes, told, type Item, type Row } from "./lanes";
import { LEAST_NS, type Store, type View } from "./store";

const CLOSE_NS = 2e6, CLOSE_PARTS = 200; /* so short a part of the time has single calls */
const NEAR_PARTS = 4;                    /* … and so short a one more than the page itself has */
const ROW = 18, AXIS = 24, LETTER = 7, TWIN_ROWS = 200, ARROWS = 150;

export class Timeline {
  private rows: Row[];
  private readonly always: Row[]; /* rows that are there however close one is */
  private near: { rows: Row[]; waits: Wait[]; from: number; to: number } | null = null; /* … with all that a part of the time has */
  private detail: Row[] = [];     /* rows of calls */
  private readonly canvas = document.getElementById("lanes-canvas") as HTMLCanvasElement;
  private readonly byProcess = new Map<number, number>(); /* process → row */
  private readonly readable = new WeakMap<Row, Item[]>(); /* sorted, of rows that are there still */
  private readonly patterns = new Map<string, CanvasPattern>(); /* by colour */
  private theme = theme();   /* as it was when all was painted last */
  private readonly box = document.getElementById("lanes")!;
  private printed = false;   /* all is painted, not only what is in sight */
  private left = 0;          /* where times begin, and how wide they are, as painted last */
  private width = 1;
  private asked = 0;

  constructor(private readonly data: Data, private readonly store: Store, private readonly point: (text: string, x: number, y: number) => void) {
    this.rows = this.always = lanes(data);
    this.show([]);
    this.listen();
    store.listen((_, changed) => {
      if (["from", "to", "phase", "process", "cause"].some((k) => changed.has(k as keyof View))) this.draw();
      if (changed.has("from") || changed.has("to")) this.ask();
    });
    this.box.addEventListener("scroll", () => this.draw());
    for (const [when, printed] of [["beforeprint", true], ["afterprint", false]] as const)
      addEventListener(when, () => ((this.printed = printed), this.paint()));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    setTimeout(() => this.ask());
  }

  private x(ns: number): number {
    const { from, to } = this.store.view;
    return this.left + ((ns - from) / (to - from)) * this.width;
  }

  private ns(x: number): number {
    const { from, to } = this.store.view;
    return from + ((x - this.left) / this.width) * (to - from);
  }

  /** Rows of calls stand below those of CPUs. */
  private show(detail: Row[]): void {
    const base = this.near?.rows ?? this.always, at = base.findLastIndex((r) => r.lane.startsWith("CPU")) + 1;
    this.detail = detail;
    this.rows = [...base.slice(0, at), ...detail, ...base.slice(at)];
    this.byProcess.clear();
    this.rows.forEach((r, i) => r.process >= 0 && this.byProcess.set(r.process, i));
    this.draw();
  }

  private asking: AbortController | null = null;

  /** More of what is in view, and of as much before and behind it, than the page itself has. */
  private async come(asking: AbortController): Promise<void> {
    const { from, to } = this.store.view, length = to - from, has = this.near;
    if (has && has.from <= from && has.to >= to && has.to - has.from < 6 * length) return;
    const part = { from: Math.max(0, from - length), to: Math.min(this.data.end, to + length) };
    const found = await lanesOf(part.from, part.to, asking.signal), rows = lanes({ ...this.data, ...found });
    if (asking.signal.aborted) return;
    this.near = { rows: closer(this.always, rows), waits: found.waits, ...part };
    this.show(this.detail);
  }

  /** What is close enough has its single calls, if somebody serves them. A later question ends an earlier one. */
  private ask(): void {
    const { from, to } = this.store.view, isClose = to - from <= Math.max(CLOSE_NS, this.data.end / CLOSE_PARTS);
    this.asking?.abort();
    if (!served) return;
    if ((to - from) * NEAR_PARTS > this.data.end) this.near = null;
    if (!isClose) this.show([]);
    if (!isClose && (to - from) * NEAR_PARTS > this.data.end) return;
    const asking = (this.asking = new AbortController());
    setTimeout(async () => {
      if (asking.signal.aborted) return;
      try {
        await this.come(asking);
        if (!isClose || asking.signal.aborted) return;
        const answer = await calls(from, to, Math.floor((to - from) / this.width / 2), asking.signal);
        const rows = callRows(this.data, answer.calls);
        this.show(rows);
        document.getElementById("lanes-status")!.textContent = answer.complete ? told(rows, answer.calls) : "more calls than can be shown: zoom closer";
      } catch (e) {
        if (!asking.signal.aborted) document.getElementById("lanes-status")!.textContent = String(e instanceof Error ? e.message : e);
      }
    }, 120);
  }

  /** Closer or farther, around a time that stays where it is. */
  zoom(factor: number, around?: number): void {
    const { from, to } = this.store.view, at = around ?? (from + to) / 2;
    const length = Math.min(this.data.end, Math.max(100, (to - from) * factor));
    const start = Math.max(0, Math.min(this.data.end - length, at - ((at - from) / (to - from)) * length));
    this.store.set({ from: Math.round(start), to: Math.round(start + length) });
  }

  private pan(part: number): void {
    const { from, to } = this.store.view, length = to - from;
    const start = Math.max(0, Math.min(this.data.end - length, from + part * length));
    this.store.set({ from: Math.round(start), to: Math.round(start + length) });
  }

  all(): void {
    this.store.set({ from: 0, to: this.data.end });
  }

  private listen(): void {
    const c = this.canvas;
    document.getElementById("zoom-in")!.addEventListener("click", () => this.zoom(0.5));
    document.getElementById("zoom-out")!.addEventListener("click", () => this.zoom(2));
    document.getElementById("zoom-all")!.addEventListener("click", () => this.all());
    document.getElementById("lanes-twin")!.addEventListener("toggle", () => this.twin());
    c.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.shiftKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
      e.preventDefault();
      if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(e.deltaY / 300), this.ns(e.offsetX));
      else this.pan((e.deltaX || e.deltaY) / this.width);
    }, { passive: false });
    c.addEventListener("keydown", (e) => {
      const keys: Record<string, () => void> = {
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), "0": () => this.all(),
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), Home: () => this.pan(-1e9), End: () => this.pan(1e9),
        Escape: () => this.store.set({ phase: null, span: null, process: null, from: 0, to: this.data.end }),
      };
      const act = keys[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
    });
    this.listenToPointer();
  }

  private listenToPointer(): void {
    const c = this.canvas, down = new Map<number, { x: number; start: number }>();
    let moved = false, spread = 0;
    c.addEventListener("pointerdown", (e) => {
      down.set(e.pointerId, { x: e.offsetX, start: e.offsetX });
      moved = false;
      spread = 0;
    });
    c.addEventListener("pointermove", (e) => {
      const d = down.get(e.pointerId);
      if (!d) {
        const item = this.at(e.offsetX, e.offsetY);
        this.point(item ? `${item.what}\nfrom ${moment(item.start)}` : "", e.clientX, e.clientY);
        return;
      }
      if (Math.abs(e.offsetX - d.start) > 4) moved = true;
      if (down.size === 1 && moved) this.pan((d.x - e.offsetX) / this.width);
      d.x = e.offsetX;
      if (down.size === 2) {
        const [a, b] = [...down.values()] as unknown as [{ x: number }, { x: number }], now = Math.abs(a.x - b.x);
        if (spread && now > 10) this.zoom(spread / now, this.ns((a.x + b.x) / 2));
        spread = now;
        moved = true;
      }
    });
    for (const over of ["pointerup", "pointercancel", "pointerleave"] as const)
      c.addEventListener(over, (e) => {
        if (over === "pointerup" && down.has(e.pointerId) && !moved) this.click(e.offsetX, e.offsetY);
        down.delete(e.pointerId);
        if (over === "pointerleave") this.point("", 0, 0);
      });
  }

  private click(x: number, y: number): void {
    const row = this.rows[Math.floor((y - AXIS) / ROW)], item = this.at(x, y);
    if (!row) return;
    if (x < this.left && row.process >= 0) return this.store.set({ process: row.process });
    if (item) this.choose(row, item);
  }

  private choose(row: Row, item: Item): void {
    document.getElementById("lanes-status")!.textContent = `${item.what}, from ${moment(item.start)}`;
    this.store.set(this.narrowedTo(row, item) ?? {});
  }

  /** What is seen of whatever is chosen; null: nothing is to be told of it alone. */
  private narrowedTo(row: Row, item: Item): Partial<View> | null {
    const part = { from: item.start, to: Math.max(item.end, item.start + LEAST_NS) }, thread = this.data.threads[item.thread];
    if (item.kind === "phase") return { phase: item.span, span: null, ...part };
    if (row.process >= 0) return { process: row.process };
    if (item.span >= 0) return { span: item.span, ...part };
    if (item.fill) return part;
    return thread ? { process: thread.process } : null;
  }

  /** The item there: also one that is narrower than a finger, if it is near. */
  private at(x: number, y: number): Item | undefined {
    const row = this.rows[Math.floor((y - AXIS) / ROW)], ns = this.ns(x), near = this.ns(x + 3) - ns;
    if (!row || x < this.left || y < AXIS) return undefined;
    const first = this.first(row.items, ns - near);
    for (let i = first; i < row.items.length && row.items[i]!.start <= ns + near; i++)
      if (row.items[i]!.end >= ns - near) return row.items[i];
    return undefined;
  }

  /** The number of the first that ends at or behind a time. */
  private first(items: Item[], ns: number): number {
    let low = 0, high = items.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (items[mid]!.end < ns) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  draw(): void {
    if (!this.asked) this.asked = requestAnimationFrame(() => ((this.asked = 0), this.paint()));
  }

  private paint(): void {
    const c = this.canvas, ratio = devicePixelRatio, height = AXIS + this.rows.length * ROW + 4, t = (this.theme = theme());
    const { from, to } = this.store.view;
    this.left = Math.min(170, c.clientWidth * 0.28);
    this.width = c.clientWidth - this.left;
    if (c.width !== Math.round(c.clientWidth * ratio) || c.height !== Math.round(height * ratio)) {
      c.style.height = `${height}px`;
      c.width = Math.round(c.clientWidth * ratio);
      c.height = Math.round(height * ratio);
    }
    const g = c.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = t.back;
    g.fillRect(0, 0, c.clientWidth, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    this.paintAxis(g, height);
    const box = this.box, first = Math.floor((box.scrollTop - AXIS) / ROW) - 1, last = (box.scrollTop + box.clientHeight) / ROW;
    this.rows.forEach((row, i) => (this.printed || (i >= first && i <= last)) && this.paintRow(g, row, AXIS + i * ROW));
    this.paintPath(g);
    this.paintWakes(g);
    c.setAttribute("aria-label", `Timeline of ${this.rows.length} rows, from ${moment(from)} to ${moment(to)}. Arrow keys move, plus and minus zoom, 0 shows all.`);
    document.getElementById("range")!.textContent = `${moment(from)} to ${moment(to)}: ${duration(to - from)}`;
    this.twin();
  }

  private paintAxis(g: CanvasRenderingContext2D, height: number): void {
    const { from, to } = this.store.view, t = this.theme;
    const step = [1, 2, 5, 10].map((n) => n * 10 ** Math.floor(Math.log10((to - from) / 6))).find((s) => (s / (to - from)) * this.width >= 80) ?? to - from;
    g.fillStyle = t.quiet;
    g.strokeStyle = t.line;
    g.beginPath();
    for (let ns = Math.ceil(from / step) * step; ns <= to; ns += step) {
      const x = Math.round(this.x(ns)) + 0.5;
      g.moveTo(x, AXIS - 6);
      g.lineTo(x, height);
      const places = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
      g.fillText(`${(ns / 1e9).toFixed(places)} s`, x + 3, AXIS / 2 - 2, 90);
    }
    g.stroke();
  }

  private isNarrowedOut(row: Row): boolean {
    const { process } = this.store.view;
    return process !== null && row.process >= 0 && row.process !== process;
  }

  private paintRow(g: CanvasRenderingContext2D, row: Row, y: number): void {
    const { from, to, process } = this.store.view, t = this.theme;
    g.globalAlpha = this.isNarrowedOut(row) ? 0.3 : 1;
    g.fillStyle = row.process >= 0 && row.process === process ? t.accent : t.front;
    g.fillText(row.label, 4, y + ROW / 2, this.left - 8);
    g.save();
    g.beginPath();
    g.rect(this.left, y, this.width, ROW);
    g.clip();
    let drawn = -1;
    for (let i = this.first(row.items, from); i < row.items.length; i++) {
      const item = row.items[i]!;
      if (item.start > to) break;
      const x = this.x(item.start), end = Math.max(this.x(item.end), x + 1);
      if (end - drawn < 0.6) continue; /* it would not be seen beside the one before */
      this.paintItem(g, item, Math.max(x, this.left - 2), y, Math.min(end, this.left + this.width + 2));
      drawn = end;
    }
    g.restore();
    g.globalAlpha = 1;
  }

  private paintItem(g: CanvasRenderingContext2D, item: Item, x: number, y: number, end: number): void {
    const width = end - x, fill = item.fill ?? (item.kind && item.kind !== "wait" ? ofKind(item.kind) : ofNumber(item.number));
    g.fillStyle = fill;
    if (item.waits) {
      /* a thin dashed line: told from what runs by more than its colour */
      g.fillStyle = this.dashes(g, fill);
      g.fillRect(x, y + ROW / 2 - 1, width, 2);
      return;
    }
    g.fillRect(x, y + 2, width, ROW - 4);
    if (item.label && width > 4 * LETTER) {
      g.fillStyle = item.kind === "unit" || item.kind === "stage" || item.number % 7 === 4 ? "#fff" : ON_FILL;
      const room = Math.floor((width - 6) / LETTER);
      g.fillText(item.label.length > room ? `${item.label.slice(0, room - 1)}…` : item.label, x + 3, y + ROW / 2);
    }
  }

  /** A fill of three pixels' dashes. */
  private dashes(g: CanvasRenderingContext2D, colour: string): CanvasPattern {
    let pattern = this.patterns.get(colour);
    if (!pattern) {
      const tile = document.createElement("canvas"), of = tile.getContext("2d")!;
      tile.width = 6;
      tile.height = 1;
      of.fillStyle = colour;
      of.fillRect(0, 0, 3, 1);
      this.patterns.set(colour, (pattern = g.createPattern(tile, "repeat")!));
    }
    return pattern;
  }

  /** What decided when it was done, along the rows of those who did it; a cause's links stand out. */
  private paintPath(g: CanvasRenderingContext2D): void {
    const { from, to, cause } = this.store.view, why = this.data.why, drawn = new Map<number, number>(), falls = new Map<number, [number, number]>();
    let before: { y: number } | undefined;
    g.fillStyle = this.theme.path;
    for (const link of why?.chain ?? []) {
      if (link.end < from || link.start > to) continue;
      const thread = this.data.threads[link.thread], row = thread && this.byProcess.get(thread.process);
      if (row === undefined) continue;
      const x = Math.max(this.x(link.start), this.left), end = Math.max(this.x(link.end), x + 1), y = AXIS + row * ROW + ROW - 2, chosen = cause === link.cause;
      if (before && before.y !== y) {
        const fall = falls.get(Math.round(x)) ?? [y, y];
        falls.set(Math.round(x), [Math.min(fall[0], y, before.y), Math.max(fall[1], y, before.y)]);
      }
      before = { y };
      if (!chosen && end - (drawn.get(row) ?? -1) < 0.6) continue;
      drawn.set(row, end);
      g.globalAlpha = cause === null || chosen ? 1 : 0.25;
      g.fillRect(x, y - (chosen ? 3 : 0), end - x, chosen ? 5 : 2);
    }
    g.globalAlpha = cause === null ? 0.6 : 0.2;
    for (const [x, [y, end]] of falls) g.fillRect(x, y, 1, end - y);
    g.globalAlpha = 1;
  }

  /** From who wakes to who was waiting, where they are few enough to be told apart. */
  private paintWakes(g: CanvasRenderingContext2D): void {
    const { from, to, process } = this.store.view, t = this.theme;
    const near = (this.near ?? this.data).waits.filter((w) => {
      const theirs = this.data.threads[w.thread]?.process, wakers = this.data.threads[w.waker]?.process;
      return w.wake !== null && w.waker >= 0 && w.wake >= from && w.wake <= to && theirs !== wakers && (process === null || process === theirs || process === wakers);
    });
    if (near.length > ARROWS) return;
    g.strokeStyle = g.fillStyle = t.mark;
    for (const w of near) {
      const a = this.byProcess.get(this.data.threads[w.waker]!.process), b = this.byProcess.get(this.data.threads[w.thread]!.process);
      if (a === undefined || b === undefined) continue;
      const x = this.x(w.wake!), y = AXIS + a * ROW + ROW / 2, end = AXIS + b * ROW + ROW / 2, down = Math.sign(end - y);
      g.beginPath();
      g.moveTo(x, y);
      g.lineTo(x, end);
      g.stroke();
      g.beginPath();
      g.moveTo(x, end);
      g.lineTo(x - 3, end - 6 * down);
      g.lineTo(x + 3, end - 6 * down);
      g.fill();
    }
  }

  private twin(): void {
    const box = document.getElementById("lanes-twin") as HTMLDetailsElement;
    if (!box.open) return;
    const { from, to, process } = this.store.view, body = box.querySelector("tbody")!;
    const list = this.rows.filter((r) => process === null || r.process < 0 || r.process === process)
      .flatMap((row) => this.inView(row, from, to).map((item) => ({ row, item })));
    list.sort((a, b) => b.item.end - b.item.start - (a.item.end - a.item.start));
    const focused = body.contains(document.activeElement) ? document.activeElement!.closest("tr")!.textContent : null;
    body.replaceChildren(...list.slice(0, TWIN_ROWS).map(({ row, item }) => this.line(row, item)));
    if (focused === null) return;
    /* whoever goes by keys stays at the same, or is not thrown out at least */
    const same = [...body.rows].find((line) => line.textContent === focused) ?? body;
    same.querySelector("button")?.focus();
  }

  /** Of the table: what a click in the picture does, a button does here. */
  private line(row: Row, item: Item): HTMLTableRowElement {
    const line = document.createElement("tr"), cells = [item.label || item.what.split(":")[0]!, row.label || row.lane, moment(item.start), duration(item.end - item.start)]
      .map((text) => {
        const cell = line.appendChild(document.createElement("td"));
        cell.textContent = text;
        return cell;
      });
    if (!this.narrowedTo(row, item)) return line;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = cells[0]!.textContent;
    button.addEventListener("click", () => this.choose(row, item));
    cells[0]!.replaceChildren(button);
    return line;
  }

  /** The longest of them: a table of thousands helps nobody. */
  private inView(row: Row, from: number, to: number): Item[] {
    let sorted = this.readable.get(row);
    if (!sorted) this.readable.set(row, (sorted = [...row.items].sort((a, b) => b.end - b.start - (a.end - a.start))));
    const ret: Item[] = [];
    for (const item of sorted) {
      if (item.end >= from && item.start <= to) ret.push(item);
      if (ret.length === 20) break;
    }
    return ret;
  }
}

