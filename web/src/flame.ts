// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph: of all, or of what the view is narrowed to; by instructions or time; from the callers or the callees.
import { ON_FILL, ofFunction, theme, type Theme } from "./colours";
import type { Data } from "./data";
import { amount, count, duration, percent, shown } from "./format";
import type { Store, View } from "./store";

/** The name of what is small and joined: how many calls that were is not known of all of it. */
export const REST = 0;

const ROW = 17, LETTER = 7, TWIN_ROWS = 300, CALLERS = 30, CANVAS_MOST = 32000;
const CUT = "Deeper calls are not shown: click a box to see what is below it.";

export interface Node { name: number; total: number; self: number; calls: number; children: Node[]; parent: Node | null; depth: number }

interface Box { node: Node; x: number; y: number; width: number }

/** Sums of the functions in a graph: a recursion counts once. */
export interface Sum { name: number; total: number; self: number; calls: number }

/** Tell of every node below the root, callers first; where `enter` says false, of nothing below. Calls may be deeper than functions here may call themselves. */
function walk(root: Node, enter: (node: Node) => boolean): void {
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop())
    if (node === root || enter(node)) for (let i = node.children.length; i--;) todo.push(node.children[i]!);
}

/** The tree of what is asked for. Its numbers are of that clock; the root's name is -1. */
export function graph(data: Data, view: Pick<View, "phase" | "process" | "clock" | "reversed">): Node {
  const f = data.flame, weight = f[view.clock], root: Node = { name: -1, total: 0, self: 0, calls: 0, children: [], parent: null, depth: 0 };
  const asked = f.groups.map((g) => (view.phase === null || f.part || g.phase === view.phase) && (view.process === null || g.process === view.process));
  const known = new Map<Node, Map<number, Node>>(), nodes: (Node | null)[] = [], made = [root];

  const child = (parent: Node, name: number): Node => {
    let of = known.get(parent);
    if (!of) known.set(parent, (of = new Map()));
    let node = of.get(name);
    if (!node) {
      node = { name, total: 0, self: 0, calls: 0, children: [], parent, depth: parent.depth + 1 };
      of.set(name, node);
      made.push(node);
      parent.children.push(node);
    }
    return node;
  };

  for (let i = 0; i < f.parent.length; i++) {
    if (!asked[f.group[i]!]) continue;
    const name = f.name[i]!, self = weight[i]!;
    if (view.reversed) {
      let at = root;
      for (let k = i, n = 0; k >= 0 && n < CALLERS && self; k = f.parent[k]!, n++) {
        at = child(at, f.name[k]!);
        at.total += self;
        if (!n) at.self += self, (at.calls += f.calls[i]!);
      }
      root.total += self;
      continue;
    }
    const parent = f.parent[i]!, node = child(parent < 0 ? root : nodes[parent]!, name);
    nodes[i] = node;
    node.self += self;
    node.total += self;
    node.calls += f.calls[i]!;
  }
  /* children come after their parents */
  for (let i = made.length; i--;) {
    const node = made[i]!;
    node.children.sort((a, b) => b.total - a.total);
    if (!view.reversed && node.parent) node.parent.total += node.total;
  }
  return root;
}

/** By function, of a graph that is not reversed. */
export function sums(root: Node): Map<number, Sum> {
  const all = new Map<number, Sum>(), on = new Set<number>();
  const path: { node: Node; outermost: boolean }[] = [];
  walk(root, (node) => {
    while (path.length && path[path.length - 1]!.node !== node.parent) {
      const left = path.pop()!;
      if (left.outermost) on.delete(left.node.name);
    }
    const sum = all.get(node.name) ?? { name: node.name, total: 0, self: 0, calls: 0 }, outermost = !on.has(node.name);
    all.set(node.name, sum);
    sum.self += node.self;
    sum.calls += node.calls;
    if (outermost) sum.total += node.total;
    on.add(node.name);
    path.push({ node, outermost });
    return true;
  });
  return all;
}

export class FlameGraph {
  private readonly canvas = document.getElementById("flame-canvas") as HTMLCanvasElement;
  private readonly search = document.getElementById("flame-search") as HTMLInputElement;
  private readonly clock = document.getElementById("flame-clock") as HTMLSelectElement;
  private readonly reversed = document.getElementById("flame-reversed") as HTMLInputElement;
  private root!: Node;
  private top!: Node;       /* that is shown as wide as there is room */
  private focus: Node | null = null;
  private boxes: Box[] = [];
  private isCut = false;    /* rows are left out: a canvas can only be so high */
  private asked = 0;

  constructor(private readonly data: Data, private readonly store: Store, private readonly point: (text: string, x: number, y: number) => void) {
    if (!data.hasInsns) this.clock.querySelector("[value=insns]")?.remove();
    this.make();
    this.listen();
    store.listen((_, changed) => {
      this.setControls();
      if (["phase", "process", "clock", "reversed", "graph"].some((k) => changed.has(k as keyof View))) this.make();
      if (changed.has("zoom")) this.find();
      if (["phase", "process", "clock", "reversed", "graph", "search", "zoom"].some((k) => changed.has(k as keyof View))) this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  name(node: Node): string {
    return node.name < 0 ? "all" : shown(this.data.flame.names[node.name] ?? "?");
  }

  private weight(n: number): string {
    return this.store.view.clock === "ns" ? duration(n) : `${amount(n)} instructions`;
  }

  private make(): void {
    this.root = graph(this.data, this.store.view);
    this.find();
  }

  /** The node that the view's names lead to, as far as they do. */
  private find(): void {
    let node = this.root;
    for (const name of this.store.view.zoom) {
      const next = node.children.find((c) => this.data.flame.names[c.name] === name);
      if (!next) break;
      node = next;
    }
    this.top = node;
    this.focus = null;
  }

  private zoom(node: Node): void {
    const names: string[] = [];
    for (let at = node; at.parent; at = at.parent) names.unshift(this.data.flame.names[at.name]!);
    this.store.set({ zoom: names });
  }

  /** The view may be changed by its link, too. */
  private setControls(): void {
    const { view } = this.store;
    this.clock.value = view.clock;
    this.reversed.checked = view.reversed;
    if (this.search.value !== view.search) this.search.value = view.search;
  }

  private listen(): void {
    const c = this.canvas;
    this.setControls();
    this.clock.addEventListener("change", () => this.store.set({ clock: this.clock.value as View["clock"] }));
    this.reversed.addEventListener("change", () => this.store.set({ reversed: this.reversed.checked, zoom: [] }));
    this.search.addEventListener("input", () => this.store.set({ search: this.search.value }));
    document.getElementById("flame-all")!.addEventListener("click", () => this.store.set({ zoom: [] }));
    document.getElementById("flame-twin")!.addEventListener("toggle", () => this.twin());
    c.addEventListener("pointermove", (e) => {
      const node = this.at(e.offsetX, e.offsetY);
      this.point(node ? this.told(node) : "", e.clientX, e.clientY);
    });
    c.addEventListener("pointerleave", () => this.point("", 0, 0));
    c.addEventListener("click", (e) => {
      const node = this.at(e.offsetX, e.offsetY);
      if (node) this.zoom(node), this.tell(node);
    });
    c.addEventListener("keydown", (e) => this.key(e));
  }

  private key(e: KeyboardEvent): void {
    const at = this.focus ?? this.top, siblings = at.parent?.children ?? [at], i = siblings.indexOf(at);
    const steps: Record<string, Node | undefined | null> = {
      ArrowDown: at.children[0], ArrowUp: at.parent, ArrowRight: siblings[i + 1], ArrowLeft: siblings[i - 1],
    };
    if (e.key in steps) {
      e.preventDefault();
      this.focus = steps[e.key] ?? at;
      this.tell(this.focus);
      this.draw();
    } else if (e.key === "Enter") {
      this.zoom(at);
    } else if (e.key === "Escape") {
      this.store.set({ zoom: [] });
    }
  }

  private told(node: Node): string {
    return `${this.name(node)}\n${this.weight(node.total)}, ${percent(node.total, this.root.total)} of what is shown; itself ${this.weight(node.self)}${node.name === REST ? "" : `; ${count(node.calls)} calls`}`;
  }

  private tell(node: Node): void {
    document.getElementById("flame-status")!.textContent = this.told(node).replace("\n", ": ");
  }

  private at(x: number, y: number): Node | undefined {
    return this.boxes.find((b) => x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + ROW)?.node;
  }

  draw(): void {
    if (!this.asked) this.asked = requestAnimationFrame(() => ((this.asked = 0), this.paint()));
  }

  /** Where everything is that is wide enough to be seen, in at most so many rows: around the top, as far as half of them are enough, and below it. */
  private lay(width: number, most: number): number {
    const around: Node[] = [], end = (most - 1) * ROW; /* the last row is for a word that others are left out */
    for (let at: Node | null = this.top; at && around.length < most / 2; at = at.parent) around.unshift(at);
    this.boxes = around.map((node, i) => ({ node, x: 0, y: i * ROW, width }));
    this.isCut = false;
    /* row after row */
    for (let i = around.length - 1; i < this.boxes.length; i++) {
      const b = this.boxes[i]!, y = b.y + ROW;
      let x = b.x;
      for (const node of b.node.children) {
        const w = b.node.total ? (node.total / b.node.total) * b.width : 0;
        if (w < 0.5) break; /* the others are narrower */
        this.isCut ||= y >= end;
        if (y < end) this.boxes.push({ node, x, y, width: w });
        x += w;
      }
    }
    return this.boxes.at(-1)!.y / ROW + (this.isCut ? 2 : 1);
  }

  private matches(): (node: Node) => boolean {
    const { search } = this.store.view;
    if (!search) return () => false;
    const want = search.toLowerCase(), names = this.data.flame.names.map((n) => n.toLowerCase().includes(want));
    return (node) => node.name >= 0 && names[node.name]!;
  }

  private paint(): void {
    const c = this.canvas, width = c.clientWidth, ratio = devicePixelRatio, t = theme();
    const height = this.lay(width, Math.floor((CANVAS_MOST / ratio - 2) / ROW)) * ROW + 2;
    c.style.height = `${height}px`;
    c.width = Math.round(width * ratio);
    c.height = Math.round(height * ratio);
    const g = c.getContext("2d")!, marked = this.matches();
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = t.back;
    g.fillRect(0, 0, width, height);
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "middle";
    for (const b of this.boxes) this.paintBox(g, b, marked(b.node), t);
    g.fillStyle = t.front;
    if (this.isCut) g.fillText(CUT, 3, height - 2 - ROW / 2);
    this.share(marked);
    const where = this.top === this.root ? "" : ` below ${this.name(this.top)}`;
    c.setAttribute("aria-label", `Flame graph of ${this.weight(this.top.total)}${where}. Arrow keys go through it, Enter zooms, Escape shows all.${this.isCut ? ` ${CUT}` : ""}`);
    this.twin();
  }

  private paintBox(g: CanvasRenderingContext2D, b: Box, marked: boolean, t: Theme): void {
    const name = this.name(b.node), kind = b.node.name < 0 ? "o" : this.data.flame.kinds[b.node.name]!;
    g.globalAlpha = b.node.depth < this.top.depth ? 0.55 : 1; /* around the top */
    g.fillStyle = marked ? t.mark : ofFunction(name, kind);
    g.fillRect(b.x, b.y, Math.max(0.5, b.width - 0.5), ROW - 1);
    g.globalAlpha = 1;
    if (b.node === this.focus) {
      g.strokeStyle = t.accent;
      g.lineWidth = 2;
      g.strokeRect(b.x + 1, b.y + 1, Math.max(1, b.width - 2), ROW - 3);
    }
    if (b.width < 3.5 * LETTER) return;
    g.fillStyle = marked ? t.back : ON_FILL;
    const room = Math.floor((b.width - 4) / LETTER);
    g.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, b.x + 3, b.y + ROW / 2);
  }

  /** How much of all is in what the search found: within others that it found, it counts once. */
  private share(marked: (node: Node) => boolean): void {
    let found = 0;
    if (this.store.view.search)
      walk(this.root, (node) => {
        if (!marked(node)) return true;
        found += node.total;
        return false;
      });
    document.getElementById("flame-share")!.textContent = this.store.view.search ? `found: ${percent(found, this.root.total)}` : "";
  }

  private twin(): void {
    const box = document.getElementById("flame-twin") as HTMLDetailsElement;
    if (!box.open) return;
    /* from the callees each path ends after some frames: of all that is shown, what outer functions had is not all there */
    const of = this.store.view.reversed && this.top === this.root ? graph(this.data, { ...this.store.view, reversed: false }) : this.top;
    const list = [...sums(of).values()].sort((a, b) => b.total - a.total).slice(0, TWIN_ROWS);
    box.querySelector("tbody")!.replaceChildren(...list.map((sum) => {
      const line = document.createElement("tr");
      [shown(this.data.flame.names[sum.name]!), this.weight(sum.total), this.weight(sum.self), sum.name === REST ? "" : count(sum.calls)].forEach((text, i) => {
        const cell = line.appendChild(document.createElement("td"));
        cell.textContent = text;
        if (i) cell.className = "number";
      });
      return line;
    }));
  }
}
