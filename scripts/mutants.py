#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Do the tests notice small changes of what upto does? Draws such changes by a seed, builds each, and runs the fast tests that cover its
room, until one fails. Prints a line for each, and at the end those that no test noticed: each is a test that is missing, or a change that
changes nothing. What the tests record is recorded once, by what is not changed, but for rooms that record.

usage: mutants.py [--seed N] [--count N] [--jobs N] [--room ROOM] [--show]
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLACE = os.path.join(TOP, "build/mutants")
MADE = "test_made.py test_check.py test_import.py"
# by room: the tests that cover it, in steps, of which the next is for what the one before has not noticed; whether they record with the changed
# recorder; and names of tests that are not worth their time
ROOMS = {
    "trace": ([MADE, "test_thunks.py test_format.py", "test_thin.py test_code.py"], False, "flipped or chains or small_chunks or reading"),
    "replay": ([MADE, "test_fold.py", "test_thunks.py", "test_code.py"], False, ""),
    "analysis": ([MADE, "test_history.py test_thunks.py", "test_thin.py test_latency.py"], False, "6.1- or interrupts_off or units or small_chunks or reading or chains"),
    "select": (["test_thin.py", "test_options.py"], False, "small_chunks or reading or chains"),
    "kfi": (["test_kfi.py"], False, ""),
    "symbols": (["test_kallsyms.py test_kernels.py", "test_objects.py test_code.py"], False, "seabios"),
    "guest": (["test_kallsyms.py test_kernels.py test_clock.py", "test_sources.py"], True, ""),
    "recorder": (["test_clock.py test_faults.py", "test_interrupts.py test_truth.py"], True, "deterministic or long or 6.1 or 7"),
}
TIMES = 4  # a change may make tests so many times slower than they are without one


def flipped(match):
    return {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}[match[0].strip()].join((" ", " "))


# what is changed, and into what
CHANGES = [
    ("comparison", re.compile(r" (?:<=|>=|==|!=|<|>) "), flipped),
    ("condition", re.compile(r" (?:&&|\|\|) "), lambda m: " || " if "&" in m[0] else " && "),
    ("constant", re.compile(r"(?<=[ (\[])(?:[0-9]+)(?=[;), \]])"), lambda m: str(int(m[0]) + 1)),
    ("sign", re.compile(r" [+-] (?=[\w(])"), lambda m: " - " if "+" in m[0] else " + "),
    ("dropped", re.compile(r"(?<=\t)[\w>.\[\]*()-]+(?:\(.*\)|(?: [+|&-]?= .*)|\+\+|--);$"), lambda m: ";"),
    ("negated", re.compile(r"(?<=\tif \()[^()]*(?:\([^()]*\)[^()]*)*(?=\)$)"), lambda m: f"!({m[0]})"),
    ("answer", re.compile(r"return (?:true|false);"), lambda m: "return false;" if "true" in m[0] else "return true;"),
]
# a leak, or a message, is for other tests; a declaration cannot be dropped
APART = re.compile(r"free\(|error_set|deinit|fprintf|printf|static|munmap|close\(|assert|for \(|/\*|\*/|^\t+(?:const |struct |enum |unsigned |int |bool |size_t |u?int\d+_t )")


def places(room):
    """All changes of the room's files: (file, line, kind, text before, text after)."""
    found = []
    for folder, _, files in sorted(os.walk(os.path.join(TOP, "src", room))):
        for name in sorted(f for f in files if f.endswith(".c")):
            path = os.path.relpath(os.path.join(folder, name), TOP)
            with open(os.path.join(TOP, path)) as f:
                lines = f.read().split("\n")
            for number, line in enumerate(lines):
                if not line.startswith("\t") or APART.search(line):
                    continue
                for kind, pattern, change in CHANGES:
                    for m in pattern.finditer(line):
                        found.append((path, number, kind, line, line[:m.start()] + change(m) + line[m.end():]))
    return found


def drawn(rooms, count, rng):
    """As many of each room, of each kind and file as evenly as there are."""
    pools = {room: places(room) for room in rooms}
    chosen = []
    while len(chosen) < count and any(pools.values()):
        room = rooms[len(chosen) % len(rooms)]
        path, kind = rng.choice(sorted({(p[0], p[2]) for p in pools[room]}))
        pick = rng.choice([p for p in pools[room] if p[0] == path and p[2] == kind])
        pools[room].remove(pick)
        chosen.append((room, *pick))
    return chosen


class Tree:
    """A copy of the sources with a build of its own, in which one change at a time is tried."""
    def __init__(self, number):
        self.top = os.path.join(PLACE, str(number))
        self.seconds = {}  # by room and step, what is not changed takes
        os.makedirs(os.path.join(self.top, "build"), exist_ok=True)
        for name in subprocess.run(["git", "-C", TOP, "ls-files"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            os.makedirs(os.path.dirname(os.path.join(self.top, name)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, name), os.path.join(self.top, name))
        guest = os.path.join(self.top, "build/guest")
        os.makedirs(os.path.join(TOP, "build/guest"), exist_ok=True)
        if not os.path.exists(guest):
            os.symlink(os.path.join(TOP, "build/guest"), guest)
        self.build = os.path.join(self.top, "build/check")
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["meson", "setup", self.build, self.top, "--buildtype=debugoptimized", "-Dtests=true"], check=True, stdout=subprocess.DEVNULL)

    def ninja(self):
        return subprocess.run(["ninja", "-C", self.build], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).returncode == 0

    def tests(self, room, step, run, seconds=None):
        """The name of the test that failed, or that it took too long; None: none did. A run's recordings are made once."""
        steps, _, apart = ROOMS[room]
        words = [os.path.join(self.top, "scripts/pytest.sh"), "-x", "-q", "-n", "0", "-p", "no:cacheprovider",
                 *(os.path.join("tests", name) for name in steps[step].split()), *(["-k", f"not ({apart})"] if apart else [])]
        env = {**os.environ, "UPTO_TEST_RUN": run, "XDG_CACHE_HOME": os.path.join(self.top, "build/cache")}
        env.pop("UPTO_CHECK", None)
        with subprocess.Popen(words, cwd=self.top, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as p:
            try:
                said, _ = p.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                return "time"
        failed = re.search(r"^FAIL (\S+)", said, re.M)
        return failed[1] if failed else None if p.returncode == 0 else "error"

    def unchanged(self, room, step):
        """How long what is not changed takes for that, which makes the recordings. It passes."""
        if (room, step) not in self.seconds:
            began, failed = time.time(), self.tests(room, step, "unchanged")
            self.seconds[room, step] = time.time() - began
            print(f"    unchanged: {room}, step {step + 1}: {self.seconds[room, step]:.0f} s", flush=True)
            if failed:
                sys.exit(f"mutants.py: {failed} fails without a change")
        return self.seconds[room, step]

    def all_tests(self, room, number):
        run = f"{number}" if ROOMS[room][1] else "unchanged"
        for step in range(len(ROOMS[room][0])):
            found = self.tests(room, step, run, self.seconds[room, step] * TIMES + 10) if (room, step) in self.seconds else "later"
            if found:
                return found
        return None

    def attempt(self, number, mutant):
        """The test that notices it; None: none does; "not C"; or "later": what is not changed has to be tested first."""
        room, path, line, _, before, after = mutant
        file = os.path.join(self.top, path)
        with open(file) as f:
            text = f.read()
        lines = text.split("\n")
        assert lines[line] == before, mutant
        lines[line] = after
        try:
            with open(file, "w") as f:
                f.write("\n".join(lines))
            return self.all_tests(room, number) if self.ninja() else "not C"
        finally:
            with open(file, "w") as f:
                f.write(text)

    def attempt_all(self, number, mutant):
        """The same; what is not changed is tested as far as that is wanted."""
        room, found = mutant[0], "later"
        while found == "later":
            missing = [step for step in range(len(ROOMS[room][0])) if (room, step) not in self.seconds]
            if missing:
                if not self.ninja():
                    sys.exit("mutants.py: what is not changed cannot be built")
                self.unchanged(room, missing[0])
            found = self.attempt(number, mutant)
        return found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=None, help="draws the same changes again (default: the time)")
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--room", action="append", choices=ROOMS, help="only these (default: all)")
    p.add_argument("--show", action="store_true", help="print the changes, and try none")
    args = p.parse_args()
    seed = args.seed if args.seed is not None else int(time.time())
    rooms = args.room or list(ROOMS)
    # some are no C: more are drawn than are asked for
    mutants = drawn(rooms, args.count + args.count // 5, random.Random(seed))
    print(f"seed {seed}: {args.count} changes of {', '.join(rooms)}", flush=True)
    if args.show:
        for room, path, line, kind, before, after in mutants[:args.count]:
            print(f"{path}:{line + 1} {kind}\n  - {before.strip()}\n  + {after.strip()}")
        return
    trees = [Tree(i) for i in range(args.jobs)]
    results, numbers = [], iter(range(len(mutants)))

    def work(tree):
        for number in numbers:
            if len([r for r in results if r[1] != "not C"]) >= args.count:
                return
            mutant, began = mutants[number], time.time()
            found = tree.attempt_all(number, mutant)
            results.append((mutant, found))
            room, path, line, kind, before, after = mutant
            print(f"{number:3} {found or 'SURVIVED':34.34} {time.time() - began:4.0f} s {path}:{line + 1} {kind}: {after.strip()}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, trees))
    tried = [r for r in results if r[1] != "not C"]
    survived = [m for m, found in tried if not found]
    for room in rooms:
        of_room = [found for m, found in tried if m[0] == room]
        print(f"{room:9} {len(of_room):3} changes, {sum(not f for f in of_room):3} survived")
    for room, path, line, kind, before, after in survived:
        print(f"\n{path}:{line + 1} {kind}\n  - {before.strip()}\n  + {after.strip()}")
    print(f"\n{len(tried)} changes, {len(survived)} survived ({100 * len(survived) / max(len(tried), 1):.0f} %); seed {seed}")


if __name__ == "__main__":
    main()
