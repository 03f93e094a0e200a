// SPDX-License-Identifier: GPL-2.0-or-later
// The sentence on top, the causes, and what the view is narrowed to.
import type { Data } from "./data";
import { amount, duration, moment, percent, shown } from "./format";
import { processName } from "./lanes";
import type { Store } from "./store";

const FIRST = 6; /* causes that are there at once */

export function head(data: Data): void {
  const why = data.why, first = why?.causes[0], set = (id: string, text: string) => (document.getElementById(id)!.textContent = text);
  set("title", shown(data.title));
  document.title = `${shown(data.title)} - upto`;
  set("sentence", why && first
    ? `${duration(why.to - why.from)} up to ${shown(why.until)}; most of it, ${duration(first.ns)}, was ${shown(first.name)}: ${shown(first.what)}.`
    : `${duration(data.end)} of guest time.`);
  set("guest", [
    data.kernel && shown(data.kernel), `${data.cpus} CPU${data.cpus === 1 ? "" : "s"}`, `${data.hasInsns ? `${amount(data.insns)} instructions in ` : ""}${amount(data.events)} events`,
    `${duration(data.ns)} run, ${duration(data.halted)} halted`, data.boots > 1 && `${data.boots} boots`, data.ended && `ended: ${shown(data.ended)}`,
  ].filter(Boolean).join(" · "));
}

/** A click on a cause shows its links, and what would be without it. */
export function causes(data: Data, store: Store): void {
  const why = data.why;
  if (!why?.causes.length) return;
  document.getElementById("why")!.hidden = false;
  document.getElementById("why-title")!.textContent = `What decided that ${shown(why.until)} came after ${duration(why.to - why.from)}`;
  const buttons = why.causes.map((cause, i) => {
    const button = document.createElement("button");
    button.type = "button";
    for (const [text, kind] of [[duration(cause.ns), "number"], [percent(cause.ns, why.to - why.from), "number"], [`${shown(cause.name)}: ${shown(cause.what)}`, ""]] as const) {
      const part = button.appendChild(document.createElement("span"));
      part.textContent = text;
      part.className = kind;
    }
    button.style.setProperty("--share", `${(100 * cause.ns) / (why.to - why.from)}%`);
    button.addEventListener("click", () => store.set({ cause: store.view.cause === i ? null : i }));
    return button;
  });
  document.getElementById("causes")!.replaceChildren(...buttons.map((b) => {
    const item = document.createElement("li");
    item.append(b);
    item.hidden = buttons.indexOf(b) >= FIRST && store.view.cause !== buttons.indexOf(b);
    return item;
  }));
  more(buttons);
  const show = () => {
    const at = store.view.cause, cause = at === null ? undefined : why.causes[at];
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(i === at)));
    document.getElementById("what-if")!.textContent = cause
      ? `Without it, ${shown(why.until)} could be up to ${duration(cause.ns)} earlier, at ${moment(why.to - cause.ns)}: it is in ${why.chain.filter((l) => l.cause === at).length} links of the red path below, of which others may take the place.`
      : "";
  };
  store.listen((_, changed) => changed.has("cause") && show());
  show();
}

/** A button for the causes that are not there at once. */
function more(causes: HTMLElement[]): void {
  const hidden = causes.filter((b) => b.parentElement!.hidden), button = document.getElementById("more-causes")!;
  button.hidden = !hidden.length;
  button.textContent = `${hidden.length} more`;
  button.addEventListener("click", () => {
    for (const b of hidden) b.parentElement!.hidden = false;
    button.hidden = true;
    hidden[0]?.focus();
  });
}

export function narrowed(data: Data, store: Store): void {
  const box = document.getElementById("narrowed")!;
  const show = () => {
    const { phase, span, process } = store.view, parts: [string, () => void][] = [], find = (number: number | null) => data.spans.find((s) => s.number === number);
    const ofPhase = find(phase), ofSpan = find(span);
    if (ofPhase) parts.push([`phase ${shown(ofPhase.name)}`, () => store.set({ phase: null, from: 0, to: data.end })]);
    if (ofSpan) parts.push([`${ofSpan.kind} ${shown(ofSpan.name)} (tables)`, () => store.set({ span: null, from: 0, to: data.end })]);
    if (process !== null) parts.push([processName(data, process), () => store.set({ process: null })]);
    box.hidden = !parts.length;
    box.replaceChildren("narrowed to ", ...parts.map(([text, act]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${text} ×`;
      button.setAttribute("aria-label", `no more only ${text}`);
      button.addEventListener("click", act);
      return button;
    }));
  };
  store.listen((_, changed) => (changed.has("phase") || changed.has("span") || changed.has("process")) && show());
  show();
}
