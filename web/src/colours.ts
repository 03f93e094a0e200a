// SPDX-License-Identifier: GPL-2.0-or-later
// Eight colours that are told apart by all eyes (Okabe and Ito), and those of the page, which follow its scheme.

const OKABE_ITO = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999"];

/** Kinds of spans, and of functions, each with the same colour everywhere. */
const KINDS: Record<string, number> = {
  phase: 1, boot: 7, stage: 4, level: 7, initcall: 0, probe: 5, module: 2, "module-init": 2, mount: 6, exec: 3, unit: 4, work: 1, process: 7,
  smp: 6, initramfs: 5, test: 3, console: 6, event: 2,
};

export function ofKind(kind: string): string {
  return OKABE_ITO[KINDS[kind] ?? 7]!;
}

export function ofNumber(n: number): string {
  return OKABE_ITO[((n % 7) + 7) % 7]!;
}

/** A function's: warm for the kernel, yellow for modules, cool for programs; the same for a name wherever it is. */
export function ofFunction(name: string, kind: string): string {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  const vary = hash % 30;
  if (kind === "u") return `hsl(${190 + vary} 55% ${62 + (hash % 8)}%)`;
  if (kind === "m") return `hsl(${46 + vary / 3} 75% ${58 + (hash % 8)}%)`;
  if (kind === "k") return `hsl(${14 + vary / 2} 80% ${62 + (hash % 8)}%)`;
  return `hsl(220 8% ${66 + (hash % 8)}%)`;
}

export interface Theme { back: string; front: string; quiet: string; line: string; box: string; accent: string; path: string; mark: string }

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return { back: get("back"), front: get("front"), quiet: get("quiet"), line: get("line"), box: get("box"), accent: get("accent"), path: get("path"), mark: get("mark") };
}

/** Black or white, whichever is read better on our fills, which are all light enough for black. */
export const ON_FILL = "#111";
