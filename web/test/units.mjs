// SPDX-License-Identifier: GPL-2.0-or-later
// What the page's views are made of, without a browser: node --test test/units.mjs
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const src = join(dirname(fileURLToPath(import.meta.url)), "../src");

async function load(file) {
  const { outputFiles } = await build({ entryPoints: [join(src, file)], bundle: true, write: false, format: "esm", target: "es2022" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const { threadAt } = await load("data.ts"), { partOf, spanName, spanOf, processLink, processOf } = await load("store.ts");
const { graph, sums } = await load("flame.ts"), { callRows, closer, lanes } = await load("lanes.ts"), format = await load("format.ts");

/** The same numbers each time. */
function drawing(seed) {
  return (n) => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
}

function drawnFlame(seed, nodes) {
  const draw = drawing(seed), f = { groups: [], names: [], kinds: "", group: [], parent: [], name: [], calls: [], insns: [], ns: [], part: false };
  for (const phase of [3, 5]) for (const process of [0, 7]) f.groups.push({ phase, process });
  for (let i = 0; i < 9; i++) f.names.push(`f${i}`), (f.kinds += "kum"[i % 3]);
  for (let i = 0; i < nodes; i++) {
    const parent = draw(4) && i ? draw(i) : -1;
    f.parent.push(parent);
    f.group.push(parent < 0 ? draw(4) : f.group[parent]);
    f.name.push(draw(9));
    for (const key of ["calls", "insns", "ns"]) f[key].push(draw(1000));
  }
  return f;
}

const added = (numbers) => numbers.reduce((a, b) => a + b, 0);
const nodes = (root) => [root, ...root.children.flatMap(nodes)];
const all = { phase: null, process: null, clock: "insns", reversed: false };

test("a graph adds up, by whatever it is narrowed to and from either side", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const flame = drawnFlame(seed, 200), data = { flame };
    for (const clock of ["insns", "ns"]) {
      const whole = graph(data, { ...all, clock });
      assert.equal(whole.total, added(flame[clock]));
      assert.equal(added(nodes(whole).map((n) => n.self)), whole.total);
      for (const n of nodes(whole)) assert.equal(n.total, n.self + added(n.children.map((c) => c.total)));
      assert.equal(graph(data, { ...all, clock, reversed: true }).total, whole.total);
      const parts = [3, 5].flatMap((phase) => [0, 7].map((process) => graph(data, { ...all, clock, phase, process }).total));
      assert.equal(added(parts), whole.total);
      const bySum = [...sums(whole).values()];
      assert.equal(added(bySum.map((s) => s.self)), whole.total);
      for (const s of bySum) assert.ok(s.total >= s.self && s.total <= whole.total);
    }
  }
});

test("a recursion counts once in a function's total", () => {
  const flame = { groups: [{ phase: 1, process: 0 }], names: ["f", "g"], kinds: "kk", group: [0, 0, 0], parent: [-1, 0, 1], name: [0, 1, 0], calls: [1, 1, 1], insns: [1, 2, 4], ns: [0, 0, 0], part: false };
  const of = sums(graph({ flame }, all));
  assert.deepEqual([of.get(0).total, of.get(0).self, of.get(1).total], [7, 5, 6]);
});

test("calls may be deeper than functions here may call themselves", () => {
  const deep = 65000, each = (value) => Array.from({ length: deep }, (_, i) => value(i));
  const flame = { groups: [{ phase: 1, process: 0 }], names: ["f", "g"], kinds: "kk", group: each(() => 0), parent: each((i) => i - 1), name: each((i) => i % 2), calls: each(() => 1), insns: each(() => 1), ns: each(() => 1), part: false };
  const root = graph({ flame }, all), of = sums(root);
  assert.deepEqual([root.total, of.get(0).total, of.get(1).total, of.get(1).self], [deep, deep, deep - 1, deep / 2]);
});

test("of a part of the time there are no phases to narrow to", () => {
  const flame = { ...drawnFlame(4, 50), part: true };
  flame.groups.forEach((g) => (g.phase = null));
  assert.equal(graph({ flame }, { ...all, phase: 3 }).total, added(flame.insns));
});

function drawnData(seed) {
  const draw = drawing(seed), data = { cpus: 2, end: 100000, runs: [], spans: [], waits: [], records: [], tables: {}, flame: drawnFlame(seed, 3) };
  data.threads = Array.from({ length: 6 }, (_, i) => ({ name: `t${i}`, pid: i, tgid: i, kernel: false, start: i, end: null, process: i % 4 }));
  for (let cpu = 0; cpu < 2; cpu++)
    for (let at = 0; at < 90000;) {
      const start = at + draw(500), end = start + 1 + draw(900);
      data.runs.push({ cpu, thread: draw(6), start, end });
      at = end;
    }
  for (let i = 0; i < 40; i++) data.records.push({ ns: i * 1000 + draw(1000), thread: draw(7) - 1, text: `sched_switch: ${i}` });
  for (let i = 0; i < 80; i++) {
    const start = draw(90000);
    data.spans.push({ number: i, kind: ["phase", "unit", "initcall", "work"][draw(4)], name: `s${i}`, parent: -1, thread: draw(6), start, end: start + draw(9000), insns: 0, cpu: 0 });
    data.waits.push({ thread: draw(6), start, wake: null, end: start + draw(5000), kind: "sleep", what: "", waker: -1 });
  }
  return data;
}

test("in a row, nothing is over anything else, and all is in the order of time", () => {
  for (let seed = 1; seed <= 50; seed++)
    for (const row of lanes(drawnData(seed)))
      row.items.forEach((item, i) => {
        assert.ok(item.end >= item.start);
        const before = row.items[i - 1];
        if (before) assert.ok(item.start >= before.end, `${row.lane} ${row.label}`);
      });
});

test("what waits is never over what runs in the same process", () => {
  for (let seed = 1; seed <= 30; seed++)
    for (const row of lanes(drawnData(seed)).filter((r) => r.process >= 0))
      for (const wait of row.items.filter((i) => i.waits))
        assert.ok(row.items.every((run) => run.waits || run.end <= wait.start || run.start >= wait.end));
});

test("closer, rows stay, with what the part has in them, but for idle processes; its own stand behind their lanes", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const whole = lanes(drawnData(seed)), part = lanes(drawnData(seed + 100)), rows = closer(whole, part);
    for (const w of whole) assert.equal(rows.some((r) => r.lane === w.lane && r.process === w.process), w.process < 0 || part.some((r) => r.process === w.process));
    const items = (list, lane) => added(list.filter((r) => r.lane === lane).map((r) => r.items.length));
    for (const lane of new Set(whole.map((r) => r.lane))) assert.equal(items(rows, lane), items(part, lane), lane);
    const order = [...new Set(rows.map((r) => r.lane))];
    assert.deepEqual(order, [...new Set(whole.map((r) => r.lane))]);
  }
});

test("single calls are in rows by their depth", () => {
  const data = drawnData(1), rows = callRows(data, [
    { thread: 1, depth: 4, start: 0, end: 10, name: "f" }, { thread: 1, depth: 5, start: 2, end: 4, name: "g" }, { thread: 1, depth: 5, start: 5, end: 6, name: "g" },
  ]);
  assert.deepEqual(rows.map((r) => r.items.map((i) => [i.label, i.start])), [[["f", 0]], [["g", 2], ["g", 5]]]);
});

test("whose a PID was depends on the time", () => {
  const threads = [{ pid: 1, start: 5, end: 100, process: 0 }, { pid: 2, start: 6, end: 50, process: 1 }, { pid: 2, start: 60, end: 100, process: 2 }, { pid: 1, start: 200, end: null, process: 3 }];
  const of = (pid, ns) => threadAt(threads, pid, ns)?.process;
  assert.deepEqual([of(1, 5), of(1, 150), of(1, 200), of(1, 4), of(1, null), of(2, 59), of(2, 60), of(3, 1)], [0, 0, 3, 0, 3, 1, 2, undefined]);
});

test("a link names the same phase and process, also when a trace that grew has given them other numbers", () => {
  const spans = [{ number: 3, kind: "phase", name: "kernel", start: 10 }, { number: 5, kind: "phase", name: "kernel", start: 90 }];
  const threads = [{ pid: 0, start: 0, process: 0 }, { pid: 7, start: 20, process: 1 }, { pid: 8, start: 30, process: 1 }, { pid: 7, start: 95, process: 3 }];
  const grown = {
    spans: [{ number: 4, kind: "module", name: "m", start: 4 }, ...spans.map((s) => ({ ...s, number: s.number + 9 }))],
    threads: [threads[0], { pid: 5, start: 1, process: 1 }, { ...threads[1], process: 2 }, { ...threads[2], process: 2 }, { ...threads[3], process: 4 }],
  };
  const before = { spans, threads };
  assert.deepEqual([3, 5].map((n) => spanOf(grown, spanName(before, n))), [12, 14]);
  assert.deepEqual([1, 3].map((n) => processOf(grown, processLink(before, n))), [2, 4]);
  assert.deepEqual([spanName(before, 99), spanOf(before, "3"), processLink(before, -1), processOf(before, "constructor")], [undefined, null, undefined, null]);
});

test("whatever is asked for, a part of the time can be shown", () => {
  const end = 2000000;
  for (const [from, to] of [[1e6, 1e6 + 1e-10], [0, 1e300], [3e6, 4e6], [end - 1, end], [5, 6], [-5, 3], [100.4, 300.6]]) {
    const part = partOf(from, to, end);
    assert.ok(Number.isInteger(part.from) && Number.isInteger(part.to) && part.from >= 0 && part.to <= end && part.to - part.from >= 100, `${from} ${to}`);
  }
  assert.deepEqual([partOf(100.4, 300.6, end), partOf(0, 5, 50), partOf(0, 0, 1)], [{ from: 100, to: 301 }, { from: 0, to: 50 }, { from: 0, to: 1 }]);
});

test("however many calls a thread has, all are there", () => {
  const many = Array.from({ length: 200000 }, (_, i) => ({ thread: 1, depth: 0, start: 2 * i, end: 2 * i + 1, name: "f" }));
  assert.equal(added(callRows(drawnData(1), many).map((r) => r.items.length)), many.length);
});

test("numbers have three figures, and names of any origin are text", () => {
  assert.deepEqual([0, 999, 1000, 1234567, 999999999, 1e9, 123456e6].map(format.duration), ["0 ns", "999 ns", "1.00 us", "1.23 ms", "1.00 s", "1.00 s", "123 s"]);
  assert.deepEqual([0, 999, 1000, 999999, 7039890719, 4e12].map(format.amount), ["0", "999", "1.00 k", "1.00 M", "7.04 G", "4000 G"]);
  assert.equal(format.percent(1, 0), "0.00 %");
  assert.equal(format.shown("a\u202eb\u0007\n<b>"), "a\\u202eb\\u0007\\u000a<b>");
});
