#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Do the tests notice small changes of what upto does? Draws such changes by a seed, builds each, and runs tests until one fails: those that
reached the changed line in a build that counts lines, the fastest first, and slower ones (+) where those notice nothing. Prints a line for
each change, and at the end those that no test noticed: each is a test that is missing, or a change that changes nothing. What the tests
record is recorded once, by what is not changed, but for rooms that record.

usage: mutants.py [--seed N] [--count N] [--room ROOM] [--show]
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLACE = os.path.join(TOP, "build/mutants")
JOBS = 2
# whether what is changed records: then each change has recordings of its own
ROOMS = {"trace": False, "replay": False, "analysis": False, "select": False, "kfi": False, "symbols": False, "guest": True, "recorder": True}
TESTS = ["append", "args", "bits32", "boots", "check", "chosen", "cli", "clock", "code", "content", "ending", "events", "export", "faults",
         "flight", "fold", "format", "fuzz", "handlers", "history", "import", "interrupts", "kallsyms", "kernels", "kfi", "kunit", "latency",
         "lives", "made", "objects", "options", "past", "probes", "robust", "snapshot", "sources", "thin", "threads", "thunks", "truth",
         "whole", "why"]
SLOW = "deterministic or interrupts_off or damaged_lists or memory_limit"
FAST = 150  # seconds of tests for one change, as they take without one …
SLOW_TOO = 240  # … and of those behind them, where none of these notices it
TIMES = 4   # a change may make tests so many times slower


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


def sources():
    return subprocess.run(["git", "-C", TOP, "ls-files"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


@functools.cache
def state():
    """What the sources are, as a short text, as they were when that was asked first."""
    digest = hashlib.sha256()
    for name in sources():
        with open(os.path.join(TOP, name), "rb") as f:
            digest.update(name.encode() + b"\0" + f.read())
    return digest.hexdigest()[:16]


def unchanged():
    """Where recordings are, and what else tests have made, by these sources as they are."""
    return os.path.join(PLACE, f"recordings-{state()}")


class Tree:
    """A copy of the sources with a build of its own, in which one change at a time is tried; or one that counts lines."""
    def __init__(self, name, *options):
        self.top = os.path.join(PLACE, name)
        os.makedirs(os.path.join(self.top, "build"), exist_ok=True)
        for file in sources():
            os.makedirs(os.path.dirname(os.path.join(self.top, file)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, file), os.path.join(self.top, file))
        guest = os.path.join(self.top, "build/guest")
        os.makedirs(os.path.join(TOP, "build/guest"), exist_ok=True)
        if not os.path.exists(guest):
            os.symlink(os.path.join(TOP, "build/guest"), guest)
        self.build = os.path.join(self.top, "build/check")
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["meson", "setup", self.build, self.top, "--buildtype=debugoptimized", "-Dtests=true", *options], check=True, stdout=subprocess.DEVNULL)
        if not self.ninja():
            sys.exit(f"mutants.py: {self.build}: what is not changed cannot be built")

    def ninja(self):
        return subprocess.run(["ninja", "-C", self.build], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).returncode == 0

    def pytest(self, words, run, work, seconds=None):
        """What the tests said, and their exit status; None: they took too long. `work`: the folder in which they make what they need."""
        words = [os.path.join(self.top, "scripts/pytest.sh"), "-q", "-n", "0", "-p", "no:cacheprovider", *words]
        env = {**os.environ, "UPTO_TEST_RUN": run, "UPTO_TEST_WORK": work, "UPTO_TEST_ORDER": "given", "XDG_CACHE_HOME": os.path.join(self.top, "build/cache")}
        env.pop("UPTO_CHECK", None)
        with subprocess.Popen(words, cwd=self.top, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as p:
            try:
                return p.communicate(timeout=seconds)[0], p.returncode
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                return "", None

    def recordings(self):
        """A copy of what was made without a change, without what upto keeps beside a trace."""
        work = os.path.join(self.top, "build/work")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(unchanged(), work, symlinks=True, ignore=shutil.ignore_patterns("*.index", "*.history", "*.sums", "failed", "crashes"))
        return work

    def noticed(self, tests, run, work):
        """The test that notices what is changed, or "time", or "error"; None: none does."""
        said, status = self.pytest(["-x", *tests], run, work, sum(tests.values()) * TIMES + 30)
        failed = re.search(r"^FAIL (\S+)", said, re.M)
        return "time" if status is None else failed[1] if failed else None if status == 0 else "error"

    def attempt(self, number, mutant, tests, more):
        """The test that notices it, of `more` with a + before it; None: none does; "not C"."""
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
            if not self.ninja():
                return "not C"
            run, work = f"{number}" if ROOMS[room] else "unchanged", self.recordings()
            found = self.noticed(tests, run, work)
            if not found and more:
                found = self.noticed(more, run, work)
                found = found and f"+ {found}"
            return found
        finally:
            with open(file, "w") as f:
                f.write(text)


class Counting(Tree):
    """Which tests reach which lines."""
    def __init__(self, number):
        super().__init__(f"lines-{number}", "-Db_coverage=true", "-Doptimization=0")  # of an optimized program some lines are not counted

    def counts(self, ending):
        return [os.path.join(folder, f) for folder, _, files in os.walk(self.build) for f in files if f.endswith(ending)]

    def reached(self, paths):
        """The lines of these files that ran since it was asked last."""
        wanted = {os.path.basename(p) for p in paths}
        data = [c for c in self.counts(".gcda") if os.path.basename(c).removesuffix(".gcda").endswith(tuple(wanted))]
        lines = {}
        for c in data:
            said = subprocess.run(["gcov", "--json-format", "--stdout", c], cwd=self.build, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
            for report in said.splitlines():
                for file in json.loads(report)["files"]:  # a source and its headers
                    name = os.path.relpath(os.path.normpath(os.path.join(self.build, file["file"])), self.top)
                    lines.setdefault(name, set()).update(x["line_number"] for x in file["lines"] if x["count"])
        for c in self.counts(".gcda"):
            os.unlink(c)
        return lines

    def try_file(self, name, places):
        """Of each test of the file: how long it takes, and which of the places (path, line) it reaches."""
        said, _ = self.pytest(["--collect-only", "-k", f"not ({SLOW})", f"tests/test_{name}.py"], "unchanged", unchanged())
        found = {}
        for test in re.findall(r"^tests/\S+::.+$", said, re.M):
            self.reached([])
            begun = time.time()
            _, status = self.pytest([test], "unchanged", unchanged())
            lines = self.reached({p for p, _ in places})
            if status == 0:
                found[test] = time.time() - begun, [p for p in places if p[1] + 1 in lines.get(p[0], ())]
        print(f"    test_{name}.py: {len(found)} tests, {sum(t for t, _ in found.values()):.0f} s", flush=True)
        return found


def count_lines(mutants):
    """By place (path, line): the tests that reach it, with their seconds, the fastest first."""
    places = sorted({(m[1], m[2]) for m in mutants})
    kept = os.path.join(PLACE, f"reached-{state()}-{hashlib.sha256(repr(places).encode()).hexdigest()[:16]}.json")
    if not os.path.exists(kept):
        names, found = queue.SimpleQueue(), {}
        for name in TESTS:
            names.put(name)

        def work(number):
            tree = Counting(number)
            while not names.empty():
                found.update(tree.try_file(names.get(), places))

        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(work, range(JOBS)))
        with open(kept, "w") as f:
            json.dump(found, f)
    with open(kept) as f:
        found = json.load(f)
    by_place = {}
    for test, (seconds, reached) in sorted(found.items(), key=lambda x: x[1][0]):
        for place in reached:
            by_place.setdefault(tuple(place), {})[test] = seconds
    return by_place


def fast(tests):
    """As many as there is time for, and one in any case; and those behind them."""
    chosen, more = {}, {}
    for test, seconds in tests.items():
        if not chosen or (not more and sum(chosen.values()) + seconds <= FAST):
            chosen[test] = seconds
        elif not more or sum(more.values()) + seconds <= SLOW_TOO:
            more[test] = seconds
    return chosen, more


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seed", type=int, default=None, help="draws the same changes again (default: the time)")
    p.add_argument("--count", type=int, default=100)
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
    by_place = count_lines(mutants)
    results, numbers = [], iter(range(len(mutants)))

    def work(job):
        tree = Tree(f"{job}")
        for number in numbers:
            if len([r for r in results if r[1] != "not C"]) >= args.count:
                return
            mutant, began = mutants[number], time.time()
            tests, more = fast(by_place.get((mutant[1], mutant[2]), {}))
            found = tree.attempt(number, mutant, tests, more) if tests else None
            results.append((mutant, found))
            _, path, line, kind, _, after = mutant
            print(f"{number:3} {found or ('SURVIVED' if tests else 'NOT REACHED'):34.34} {time.time() - began:4.0f} s {len(tests):3} tests "
                  f"{path}:{line + 1} {kind}: {after.strip()}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(work, range(JOBS)))
    tried = [r for r in results if r[1] != "not C"]
    survived = [m for m, found in tried if not found]
    for room in rooms:
        of_room = [found for m, found in tried if m[0] == room]
        print(f"{room:9} {len(of_room):3} changes, {sum(bool(f) and f.startswith('+') for f in of_room):3} noticed by slower tests only, "
              f"{sum(not f for f in of_room):3} survived")
    for room, path, line, kind, before, after in survived:
        print(f"\n{path}:{line + 1} {kind}\n  - {before.strip()}\n  + {after.strip()}")
    print(f"\n{len(tried)} changes, {len(survived)} survived ({100 * len(survived) / max(len(tried), 1):.0f} %); seed {seed}")


if __name__ == "__main__":
    main()
