// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and names as people read them.

const UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

/** "1.23 ms": three figures. */
export function duration(ns: number): string {
  const [size, unit] = UNITS.find(([size]) => ns >= size) ?? [1, "ns"];
  const n = ns / size;
  return `${size === 1 ? n : n.toPrecision(n >= 1000 ? 4 : 3)} ${unit}`;
}

/** "2.345678 s" */
export function moment(ns: number): string {
  return `${(ns / 1e9).toFixed(6)} s`;
}

/** "1.23 M" */
export function amount(n: number): string {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]] as [number, string][])
    if (n >= size) return `${(n / size).toPrecision(3)} ${unit}`;
  return String(n);
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function percent(part: number, all: number): string {
  return `${(all ? (100 * part) / all : 0).toFixed(2)} %`;
}

/** A name of any origin: what controls a terminal or turns the direction of text is shown as it is written. */
export function shown(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
