// SPDX-License-Identifier: GPL-2.0-or-later
// A trace that is still recorded: when whoever serves the page has read more of it, the page is loaded anew. The address's
// fragment keeps the view.

import { SCROLL } from "./data";

const LOOK_MS = 1000, IDLE_MS = 3000; /* nobody is interrupted who is just doing something */

interface Progress { version: number; grows: boolean }

async function progress(): Promise<Progress> {
  return (await fetch("progress")).json();
}

/** Where the page was scrolled to before it was loaded anew. */
function backToPlace(): void {
  const y = sessionStorage.getItem(SCROLL);
  sessionStorage.removeItem(SCROLL);
  if (y) scrollTo(0, Number(y));
}

/** `reading`: which one the page shows. */
export async function follow(reading: number): Promise<void> {
  const first = await progress();
  let touched = -IDLE_MS;

  backToPlace();
  document.documentElement.dataset.grows = first.grows ? "yes" : "no";
  if (!first.grows && first.version === reading) return;
  document.getElementById("growing")!.hidden = false;
  for (const kind of ["pointermove", "pointerdown", "keydown", "wheel", "scroll"]) addEventListener(kind, () => (touched = performance.now()), { passive: true });
  const look = setInterval(async () => {
    const now = await progress().catch(() => null);
    if (!now) return clearInterval(look); /* whoever served it has ended */
    if (now.version === reading || performance.now() - touched < IDLE_MS) return;
    sessionStorage.setItem(SCROLL, String(scrollY));
    location.reload();
  }, LOOK_MS);
}
