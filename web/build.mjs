// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the page one file of HTML, and that a file of C: node build.mjs PAGE_BYTES.c
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

async function bundled(file, format) {
  const result = await build({
    entryPoints: [join(here, "src", file)], bundle: true, minify: true, write: false, format, target: "es2022",
    charset: "ascii", legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
}

function hash(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

function bytes(name, text) {
  const data = Buffer.from(text), lines = [];
  for (let i = 0; i < data.length; i += 32) lines.push([...data.subarray(i, i + 32)].join(",") + ",");
  return `const unsigned char ${name}[] = {\n${lines.join("\n")}\n};\nconst size_t ${name}_size = sizeof ${name};\n`;
}

const script = await bundled("app.ts", "iife"), style = await bundled("page.css");
const page = readFileSync(join(here, "src/page.html"), "utf8");
const filled = page
  .replace("@SECURITY@", () => `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'`)
  .replace("@STYLE@", () => style)
  .replace("@SCRIPT@", () => script);
const [head, tail, ...more] = filled.split("@DATA@");
if (tail === undefined || more.length) throw new Error("the page has one place for its data");
writeFileSync(process.argv[2], `/* Made of web/ by build.mjs. */\n#include "report/page_bytes.h"\n\n${bytes("page_head", head)}\n${bytes("page_tail", tail)}`);
