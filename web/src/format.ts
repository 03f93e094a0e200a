// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and names as people read them.

type Units = [number, string][];

const TIMES: Units = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]], AMOUNTS: Units = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

/** Three figures, with the largest unit of which there is one, also once it is rounded. */
function inUnits(n: number, units: Units): string {
  const [size, unit] = units.find(([size]) => Number((n / size).toPrecision(3)) >= 1) ?? units[units.length - 1]!;
  const figures = size === 1 ? String(n) : n >= 1000 * size ? String(Math.round(n / size)) : (n / size).toPrecision(3);
  return `${figures} ${unit}`.trim();
}

/** "1.23 ms" */
export function duration(ns: number): string {
  return inUnits(ns, TIMES);
}

/** "2.345678 s" */
export function moment(ns: number): string {
  return `${(ns / 1e9).toFixed(6)} s`;
}

/** "1.23 M" */
export function amount(n: number): string {
  return inUnits(n, AMOUNTS);
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
