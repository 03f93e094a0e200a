# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that were compiled with -finstrument-functions: what libupto records is what gcov and uftrace count."""
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from guest import CHECK, RELEASE, TOP, UPTO, UPTO_ASAN, WORK, Once, is_older, run, upto_json
from test_cli import fails

SOURCES = os.path.join(TOP, "tests/programs")
FLAGS = {"plain": ["-finstrument-functions"], "gcov": ["--coverage", "-fprofile-update=atomic"]}
# gcov counts what ran, but writes nothing where a program is killed, and adds nothing up where it jumps out of a handler
MODES = ["leaf", "deep", "longjmp", "threads", "forks", "signals", "contexts", "sorts", "exit", "plugins"]


def program(name, kind="plain", *flags):
    """The program, compiled for it; with gcov in a folder of its own, which is where it writes."""
    source = next(os.path.join(SOURCES, name + end) for end in (".c", ".cc") if os.path.exists(os.path.join(SOURCES, name + end)))
    folder = os.path.join(WORK, f"programs-{kind}")
    path = os.path.join(folder, name)
    with Once(folder + "-" + name):
        os.makedirs(folder, exist_ok=True)
        if is_older(path, source):
            compiler = "g++" if source.endswith(".cc") else "gcc"
            shared = ["-shared", "-fPIC"] if name == "plug" else []
            run(compiler, "-g", "-O1", *FLAGS[kind], *shared, *flags, "-o", path, source, "-ldl", "-lrt", "-pthread", cwd=folder)
    return path


def execute(folder, *command, options=(), status=0, upto=UPTO):
    """The files that upto exec made there, in order, and what the program wrote."""
    os.makedirs(folder, exist_ok=True)
    p = subprocess.run([upto, "exec", "-q", *options, "--", *command], cwd=folder, capture_output=True, text=True, timeout=120)
    assert p.returncode == status, (p.returncode, p.stderr)
    return [os.path.join(folder, line.split(": ")[1]) for line in p.stderr.splitlines() if line.startswith("upto: ")], p.stdout


def calls_of(trace, **options):
    counts = collections.Counter()
    for f in upto_json("top", "--json", "-n", "0", trace, **options)["functions"]:
        counts[f["function"]] += f["calls"]
    return +counts


def counted(name, *words):
    """By gcov: how often each function was called."""
    path, counts = program(name, "gcov"), collections.Counter()
    folder = os.path.dirname(path)
    for f in os.listdir(folder):
        if f.endswith(".gcda"):
            os.unlink(os.path.join(folder, f))
    run(path, *words, cwd=folder)
    for f in os.listdir(folder):
        if not f.endswith(".gcda"):
            continue
        for file in json.loads(run("gcov", "--json-format", "--stdout", f, cwd=folder).stdout)["files"]:
            for function in file["functions"]:
                if function["execution_count"]:
                    counts[function["name"]] += function["execution_count"]
    return counts


@pytest.mark.parametrize("mode", MODES)
def test_counts(mode, tmp_path):
    """Threads, forks, handlers of signals, jumps, libraries that come and go: calls are those that gcov counts, and all are within each other."""
    plug = {kind: program("plug", kind) for kind in FLAGS} if mode == "plugins" else None
    with Once(os.path.join(WORK, "programs-gcov-counts")):
        want = +counted("nasty", mode, *([plug["gcov"]] if plug else []))
    if mode == "signals":
        want["signals"] = 1  # gcov counts a function anew when sigsetjmp() comes back
    files, _ = execute(tmp_path / mode, program("nasty"), mode, *([plug["plain"]] if plug else []))
    got = sum((calls_of(f) for f in files), collections.Counter())
    assert got == want, (got - want, want - got)
    for f in files:
        checked = run(UPTO_ASAN, "check", f).stdout.decode()
        # a stack has its limit (made.calls_without_end)
        assert "whole and consistent" in checked and ("of which 0 matched no call" in checked or mode == "deep"), checked
        assert not os.path.exists(f + ".ring")
    return f"{sum(got.values())} calls in {len(files)} processes"


@pytest.mark.parametrize("mode", [m for m in MODES if m != "plugins"])
def test_static(mode, tmp_path):
    """Programs with the C library and libupto within: they record by themselves, and upto exec finds what they wrote."""
    path = os.path.join(WORK, "nasty-static")
    source, archive = os.path.join(SOURCES, "nasty.c"), os.path.join(RELEASE, "libupto/libupto.a")
    with Once(path):
        if is_older(path, source, archive):
            run("gcc", "-g", "-O1", "-static", "-finstrument-functions", "-o", path, source, archive, "-ldl", "-lrt", "-pthread")
    with Once(os.path.join(WORK, "programs-gcov-counts")):
        want = +counted("nasty", mode)
    if mode == "signals":
        want["signals"] = 1  # gcov counts a function anew when sigsetjmp() comes back
    files, _ = execute(tmp_path, path, mode)
    got = sum((calls_of(f) for f in files), collections.Counter())
    assert got == want, (got - want, want - got)
    for f in files:
        checked = run(UPTO_ASAN, "check", f).stdout.decode()
        assert "whole and consistent" in checked and ("of which 0 matched no call" in checked or mode == "deep"), checked
    if mode == "longjmp":
        tree = [(n["depth"], n["function"], n["calls"]) for n in upto_json("tree", "--json", files[0])["tree"]]
        assert [r for r in tree if r[1] in ("main", "catches", "branch")] == [(1, "main", 1), (2, "catches", 100), (3, "branch", 100)], tree[:9]


def test_static_alone(tmp_path):
    """Without libupto within, nothing can be recorded: that is said. With it, exceptions are as they are elsewhere."""
    run("gcc", "-O1", "-static", "-finstrument-functions", "-o", tmp_path / "alone", os.path.join(SOURCES, "recursion.c"))
    p = run(UPTO, "exec", "-q", "--", "./alone", "5", cwd=tmp_path)
    assert b"a static one needs libupto.a within" in p.stderr and not [f for f in os.listdir(tmp_path) if f.endswith(".upto")], p.stderr
    run("g++", "-O1", "-static", "-finstrument-functions", "-o", tmp_path / "throws", os.path.join(SOURCES, "throws.cc"),
        os.path.join(RELEASE, "libupto/libupto.a"), "-ldl", "-pthread")
    (file,), _ = execute(tmp_path, "./throws")
    counts = calls_of(file)
    assert all(counts[f"nasty::{n}"] == 300 for n in ("inner", "middle", "outer")), counts


def test_unwinder_within(tmp_path):
    """Where exceptions do not come by libupto, return addresses stay as they are, and what is thrown is caught."""
    (tmp_path / "within.cc").write_text("__attribute__((noinline)) void thrower(int i) { if (i % 2) throw i; }\n"
                                        "int main() { int n = 0; for (int i = 0; i < 10; i++) try { thrower(i); } catch (int) { n++; } return n; }\n")
    run("g++", "-O1", "-pg", "-static-libgcc", "-static-libstdc++", "-o", "within", "within.cc", cwd=tmp_path)
    (file,), _ = execute(tmp_path, "./within", status=5)
    assert calls_of(file)["thrower"] == 10, calls_of(file)


def test_jumps(tmp_path):
    """What longjmp() left has ended when its setjmp() goes on, also out of a handler of a signal."""
    file, = execute(tmp_path, program("nasty"), "longjmp")[0]
    tree = [(n["depth"], n["function"], n["calls"]) for n in upto_json("tree", "--json", file)["tree"]]
    assert [r for r in tree if r[1] in ("main", "catches", "branch")] == [(1, "main", 1), (2, "catches", 100), (3, "branch", 100)], tree[:9]
    assert max(depth for depth, function, _ in tree if function == "jumps") == 3 + 99
    # programs in handlers are asked of what libupto wrote as of other traces
    counts = re.findall(r"@\[(.*)\]: (\d+)", run(UPTO_ASAN, "run", "-e", "call:* { @[func] = count(); }", file).stdout.decode())
    assert {name: int(n) for name, n in counts} == calls_of(file), counts
    file, = execute(tmp_path, program("nasty"), "signals")[0]
    tree = [(n["depth"], n["function"], n["calls"]) for n in upto_json("tree", "--json", file)["tree"]]
    assert sorted(r for r in tree if r[0] == 3) == [(3, "branch", 201), (3, "leaves", 50), (3, "on_signal", 200)], tree


def test_exceptions(tmp_path):
    """Exceptions end what they pass through."""
    file, = execute(tmp_path, program("throws"))[0]
    counts = calls_of(file)
    ours = {n: counts[f"nasty::{n}"] for n in ("Thing::Thing", "Thing::~Thing", "inner", "middle", "outer")}
    # each seventh is thrown by the constructor, and has no destructor
    assert ours == {"Thing::Thing": 300, "Thing::~Thing": 300 - 43, "inner": 300, "middle": 300, "outer": 300}, ours
    tree = {(n["depth"], n["function"]): n["calls"] for n in upto_json("tree", "--json", file)["tree"]}
    assert tree[2, "nasty::outer"] == tree[3, "nasty::middle"] == tree[4, "nasty::inner"] == 300
    assert "of which 0 matched no call" in run(UPTO_ASAN, "check", file).stdout.decode()


def test_storm(tmp_path):
    """Signals that come at any instruction, also within what records: none is lost, and none disturbs another."""
    file, = (out := execute(tmp_path, program("nasty"), "storm"))[0]
    ticks = int(re.match(r"ticks (\d+)\n", out[1])[1])
    assert ticks > 100 and calls_of(file) == {"main": 1, "storm": 1, "branch": 400000, "leaf": 800000 + ticks, "on_tick": ticks}
    tree = {(n["depth"], n["function"]) for n in upto_json("tree", "--json", file)["tree"]}
    # a handler may come anywhere, what it calls lies in it alone
    assert {function for depth, function in tree if depth == 3} <= {"branch", "on_tick"} and (3, "branch") in tree


@pytest.mark.parametrize("how", [[], ["--buffer", "1k"], ["--kfi", "listed"]], ids=["room", "little", "steered"])
def test_leaps(how, tmp_path):
    """Handlers that jump out of what records, and threads and programs that end there: what comes behind is recorded, too."""
    (tmp_path / "listed").write_text("begin filter funclist main leaf branch last work fend end")
    steered = how[:1] == ["--kfi"]  # what a handler does that comes there is not recorded, but counted
    (file,), said = execute(tmp_path, program("nasty"), "leaps", options=how)
    rounds, leaps = map(int, re.match(r"rounds (\d+) leaps (\d+)\n", said).groups())
    counts = calls_of(file)
    assert leaps >= 5000 and rounds <= counts["branch"] <= rounds + leaps, (rounds, leaps, counts)
    assert counts["leaf"] >= 2 * rounds and counts["last"] == 1, (rounds, leaps, counts)
    assert not os.path.exists(file + ".ring")
    assert b"of which 0 matched no call" in (said := run(UPTO_ASAN, "check", file, check=not steered).stdout), said
    tree = {(n["depth"], n["function"]) for n in upto_json("tree", "--json", file)["tree"]}
    assert steered or (3, "last") in tree, sorted(tree)[:20]
    (file,), _ = execute(tmp_path, program("nasty"), "ended", options=how)
    counts = calls_of(file)
    assert counts["work"] == counts["last"] == 1 and counts["branch"] >= 20000, counts
    assert (steered or upto_json("info", "--json", file)["lost"] == 0) and not os.path.exists(file + ".ring")
    for _ in range(10):
        (file,), _ = execute(tmp_path, program("nasty"), "ended-within", options=how)
        assert steered or (calls_of(file)["last"] == 1 and upto_json("info", "--json", file)["lost"] == 0), calls_of(file)


def test_endings(tmp_path):
    """Children that exit, become another program, call _exit() or abort(), or are killed: nothing of any is lost."""
    files, _ = execute(tmp_path, program("nasty"), "children")
    counts = [calls_of(f) for f in files]
    child = {"branch": 1, "leaf": 2}
    assert len(files) == 7 and sorted(map(sorted, counts)) == sorted([["children", "main"], *[sorted(child)] * 5, ["leaf", "main"]]), counts
    assert all(c in (child, {"children": 1, "main": 1}, {"leaf": 1, "main": 1}) for c in counts)
    left = [f for f in files if os.path.exists(f + ".ring")]
    assert len(left) == 4, left
    out = os.path.join(tmp_path, "made.upto")
    said = run(UPTO_ASAN, "import", "-f", "-o", out, left[0]).stdout.decode()
    assert "the program did not come to its end" in said and calls_of(out) == child


@pytest.mark.parametrize("how", [pytest.param("kill", marks=pytest.mark.long), "full"])
def test_killed(how, tmp_path):
    """kill -9 in the middle of millions of calls, and a disk that is full: what was recorded is there, and no stack is wrong."""
    source = tmp_path / "loop.c"
    source.write_text("#include <stdio.h>\nstatic volatile long n, told;\n__attribute__((noinline)) void inner(void) { n++; }\n"
                      "__attribute__((noinline)) void outer(void) { inner(); inner(); }\n"
                      "int main(void) { for (;;) { outer(); if (++told % 100000 == 0) { printf(\"%ld\\n\", told); fflush(stdout); } } }\n")
    run("gcc", "-O1", "-finstrument-functions", "-o", tmp_path / "loop", source)
    limit = ["prlimit", "--fsize=3000000"] if how == "full" else []
    with subprocess.Popen([UPTO, "exec", "-q", "-o", "loop.upto", "--", *limit, "./loop"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        told = [int(p.stdout.readline()) for _ in range(20 if how == "kill" else 5)]
        # the first child of upto exec
        pid = int(run("pgrep", "-P", str(p.pid)).stdout.split()[0])
        os.kill(pid, signal.SIGKILL)
        rest, said = p.communicate(timeout=60)
    told = max([*told, *map(int, rest.split())])
    # prlimit is a program, too
    file = [line.split(": ")[1] for line in said.splitlines() if line.startswith("upto: loop.upto")][-1]
    counts = calls_of(tmp_path / file)
    if how == "kill":
        assert counts["outer"] >= told and counts["outer"] * 2 - counts["inner"] in (0, 1, 2), (told, counts)
    else:
        assert counts["outer"] > 1000 and abs(counts["outer"] * 2 - counts["inner"]) <= 2, counts
    checked = run(UPTO_ASAN, "check", tmp_path / file, check=False)
    assert b"of which 0 matched no call" in checked.stdout and checked.returncode == (how == "full"), checked
    # the program goes on, and what there was no room for is counted
    lost = upto_json("info", "--json", tmp_path / file)["lost"]
    assert (lost > 0) == (how == "full"), lost


@pytest.mark.skipif(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0, reason="may not mount anything")
def test_no_room_for_buffers(tmp_path):
    """Where the disk has no room for a thread's buffer, its calls are counted as lost, and the program goes on; so where files have a limit, and where there is hardly any room beside the buffers."""
    source = tmp_path / "many.c"
    source.write_text("#include <pthread.h>\nstatic pthread_barrier_t all;\n__attribute__((noinline)) void f(void) { __asm__(\"\"); }\n"
                      "static void *work(void *x) { for (int i = 0; i < 20000; i++) f(); pthread_barrier_wait(&all); return x; }\n"
                      "int main(void) { pthread_t t[20]; pthread_barrier_init(&all, 0, 20); for (int i = 0; i < 20; i++) pthread_create(&t[i], 0, work, 0);\n"
                      "  for (int i = 0; i < 20; i++) pthread_join(t[i], 0); return 0; }\n")
    run("gcc", "-O1", "-finstrument-functions", "-pthread", "-o", tmp_path / "many", source)
    os.makedirs(tmp_path / "small")
    for name, size, limit in ("disk", "8m", ""), ("little", "8200000", ""), ("less", "6600000", ""), ("limit", "100m", "prlimit --fsize=7000000 "):
        run("unshare", "-m", "sh", "-ec", f"mount -t tmpfs -o size={size} none small; {UPTO} exec -q -o small/{name}.upto -- {limit}./many; cp small/{name}.upto* .", cwd=tmp_path)
        file, = (f for f in (tmp_path / f"{name}.upto", tmp_path / f"{name}.upto.1") if os.path.exists(f) and b"./many" in f.read_bytes()[:8192] and b"prlimit" not in f.read_bytes()[:8192])
        counts, lost = calls_of(file), upto_json("info", "--json", file)["lost"]
        assert 1000 <= counts["f"] < 400000 and 0 <= lost - 2 * (400000 - counts["f"]) <= 40, (name, counts, lost)


def test_killed_early(tmp_path):
    """A program that is killed at once: its times are the clock's all the same."""
    source = tmp_path / "brief.c"
    source.write_text("#include <signal.h>\n#include <stdio.h>\n#include <time.h>\n"
                      "static long ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }\n"
                      "__attribute__((noinline)) long spin(long us) { long from = ns(), to = from; while (to < from + us * 1000) to = ns(); return to - from; }\n"
                      "int main(int c, char **v) { long took = spin(c > 1 ? 5000 : 300); (void)v; printf(\"%ld\\n\", took); fflush(stdout); raise(SIGKILL); return 0; }\n")
    run("gcc", "-O1", "-finstrument-functions", "-finstrument-functions-exclude-function-list=ns", "-o", tmp_path / "brief", source)
    for words in [], ["long"]:
        apart = []
        for i in range(10):
            (file,), said = execute(tmp_path / str(i), tmp_path / "brief", *words, status=-signal.SIGKILL)
            ns, = (f["total_ns"] for f in upto_json("top", "--json", "--total", "-n", "0", file)["functions"] if f["function"] == "spin")
            apart.append(abs(ns / int(said) - 1))
        assert min(apart) < 0.02, apart


def test_read_while_it_runs(tmp_path):
    """The file of a program that runs: what the program's writer moves from the buffer to the file meanwhile is not missed."""
    source = tmp_path / "runs.c"
    source.write_text("#include <time.h>\nstatic volatile int n;\n__attribute__((noinline)) void inner(void) { n++; }\n"
                      "__attribute__((noinline)) void outer(void) { inner(); inner(); }\n"
                      "int main(void) { for (;;) { for (int i = 0; i < 30; i++) outer(); nanosleep(&(struct timespec){ .tv_nsec = 500000 }, 0); } }\n")
    run("gcc", "-O1", "-finstrument-functions", "-o", tmp_path / "runs", source)
    env = {**os.environ, "LD_PRELOAD": os.path.join(RELEASE, "libupto/libupto.so"), "UPTO_OUT": "runs.upto"}
    ring, first, later = ([tmp_path / f"{name}{end}" for end in ("", ".ring")] for name in ("runs.upto", "first.upto", "later.upto"))
    with subprocess.Popen(["./runs"], cwd=tmp_path, env=env) as p:
        try:
            while not os.path.exists(ring[0]) or os.path.getsize(ring[0]) < 200000:
                time.sleep(0.05)
            for copy in first, later:
                for i in (1, 0):
                    shutil.copy(ring[i], copy[i])
                time.sleep(0.3)
        finally:
            p.kill()
    counts = calls_of(first[0])
    assert counts["outer"] > 1000 and counts["outer"] * 2 - counts["inner"] in (0, 1, 2) and upto_json("info", "--json", first[0])["lost"] == 0, counts
    # the file is read to its end when the buffer has gone on already
    pipe, made = tmp_path / "pipe.upto", tmp_path / "made.upto"
    os.mkfifo(pipe)
    shutil.copy(first[1], tmp_path / "pipe.upto.ring")
    with subprocess.Popen([UPTO_ASAN, "import", "-o", made, pipe], stdout=subprocess.DEVNULL) as p:
        data = first[0].read_bytes()
        with open(pipe, "wb", buffering=0) as f:
            f.write(data[:100000])
            time.sleep(1)
            f.write(data[100000:])
            time.sleep(0.3)
            os.replace(later[1], tmp_path / "pipe.upto.ring")
        assert p.wait() == 0
    assert calls_of(made) == counts and upto_json("info", "--json", made)["lost"] == 0
    # one that goes with another file: what is between is lost, and counted
    shutil.copy(tmp_path / "pipe.upto.ring", first[1])
    info = upto_json("info", "--json", first[0])
    assert info["lost"] > 100, info


def test_early_marks(tmp_path):
    """A mark before the first events that its thread has written is that thread's."""
    source = tmp_path / "marks.c"
    source.write_text("#include <pthread.h>\n#include <stdio.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n#include \"upto.h\"\n"
                      "static void *work(void *x) { char text[20]; snprintf(text, sizeof text, \"%ld\", syscall(SYS_gettid)); upto_mark(text); return x; }\n"
                      "int main(void) { pthread_t t; work(0); for (int i = 0; i < 20; i++) { pthread_create(&t, 0, work, 0); pthread_join(t, 0); } return 0; }\n")
    library = os.path.join(RELEASE, "libupto")
    run("gcc", "-O1", "-finstrument-functions", "-I", library, "-I", os.path.join(TOP, "libupto"), "-o", "marks", source, f"-L{library}", "-lupto", f"-Wl,-rpath,{library}", "-pthread", cwd=tmp_path)
    run("./marks", cwd=tmp_path, env={**os.environ, "UPTO_OUT": "marks.upto"})
    log = upto_json("log", "--json", tmp_path / "marks.upto")["log"]
    assert len(log) == 21 and all(line["text"] == str(line["pid"]) for line in log), log
    run(UPTO_ASAN, "check", tmp_path / "marks.upto")


def test_steered(tmp_path):
    """upto_start(), upto_stop(), upto_mark(), UPTO_ARM; linked with -lupto, without upto exec."""
    source = tmp_path / "steered.c"
    source.write_text("#include \"upto.h\"\nstatic volatile int n;\n__attribute__((noinline)) void before(void) { n++; }\n"
                      "__attribute__((noinline)) void during(void) { n++; }\n__attribute__((noinline)) void after(void) { n++; }\n"
                      "int main(void) { before(); upto_start(); during(); upto_mark(\"half \\033[2J way\"); during(); upto_stop(); after(); return 0; }\n")
    library = os.path.join(RELEASE, "libupto")
    for name, flags in ("shared", [f"-L{library}", "-lupto", f"-Wl,-rpath,{library}"]), ("static", [os.path.join(library, "libupto.a"), "-pthread", "-ldl"]):
        run("gcc", "-O1", "-finstrument-functions", "-I", os.path.join(TOP, "libupto"), "-o", tmp_path / name, source, *flags)
        for arm, want in (None, {"before": 1, "during": 2, "main": 1}), ("0", {"during": 2}):
            env = {**os.environ, "UPTO_OUT": str(tmp_path / f"{name}-{arm}.upto"), **({"UPTO_ARM": arm} if arm else {})}
            run(tmp_path / name, env=env)
            assert calls_of(env["UPTO_OUT"]) == want, (name, arm)
            log = upto_json("log", "--json", env["UPTO_OUT"])["log"]
            assert [line["text"] for line in log] == ["half \x1b[2J way"], log
            assert b"\x1b" not in run(UPTO, "log", env["UPTO_OUT"]).stdout
    # loaded a second time by upto exec, it is still one that records
    assert len(execute(tmp_path / "both", tmp_path / "static")[0]) == 1


RUNS = """#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>
#define F __attribute__((noinline)) static
static volatile int n;
F void quick(void) { n++; }
F void slow(void) { quick(); usleep(3000); quick(); }
F void part(int k) { if (k) part(k - 1); else slow(); quick(); }
F void round_(void) { quick(); slow(); }
static jmp_buf env;
F void leaves(void) { quick(); longjmp(env, 1); }
F void jumps(void) { if (!setjmp(env)) leaves(); }
F void last(void) { quick(); }
F void *thread(void *p) { for (int i = 0; i < 50; i++) quick(); slow(); return p; }
int main(void)
{
	pthread_t t;
	round_();
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	for (int i = 0; i < 3; i++)
		round_();
	part(300);
	jumps();
	last();
	slow();
	return 0;
}
"""
# main, by the source: what quick() has is what the others come to
ALL = {"main": 1, "round_": 4, "slow": 7, "thread": 1, "part": 301, "jumps": 1, "leaves": 1, "last": 1, "quick": 4 + 14 + 50 + 301 + 1 + 1}


def left_out(file):
    """What it said at its end: by why, how many calls it left out, of how many."""
    with open(file, "rb") as f:
        return {key.decode(): int(n) for key, n in re.findall(rb"left_out\.(\w+)=(\d+)\n", f.read())}


def steering(tmp_path, path):
    """Runs of the program, by the words of one of KFI's descriptions: the trace, and how often each was called."""
    def steered(name, text):
        (tmp_path / name).write_text(f"begin\n{text}\nend\n")
        (file,), _ = execute(tmp_path, path, options=["--kfi", tmp_path / name, "-o", f"{name}.upto"])
        assert b"of which 0 matched no call" in run(UPTO_ASAN, "check", file).stdout
        return file, calls_of(file)

    return steered


def test_run_described(tmp_path):
    """--kfi, UPTO_KFI: triggers, shortest times, lists and limits; what is recorded and what is left out are all there is."""
    (tmp_path / "runs.c").write_text(RUNS)
    run("gcc", "-O1", "-finstrument-functions", "-o", tmp_path / "runs", tmp_path / "runs.c", "-pthread")

    steered = steering(tmp_path, tmp_path / "runs")
    file, calls = steered("listed", "filter funclist slow part thread fend")
    assert calls == {"slow": 7, "part": 301, "thread": 1} and left_out(file) == {"calls": sum(ALL.values()), "duration": 0, "function": sum(ALL.values()) - 309}
    # the deepest part() is long because of slow(), and so are all above it; what is not long is left out, and counted
    file, calls = steered("long", "filter mintime 2500")
    out = left_out(file)
    assert all(calls[f] >= ALL[f] for f in ("main", "round_", "slow", "thread", "part")) and sum(calls.values()) + out["duration"] == out["calls"] == sum(ALL.values()), (calls, out)
    assert calls["quick"] < 50, calls
    for c in upto_json("calls", "--json", "-n", "0", "-F", "slow,round_,part,thread", file)["calls"]:
        assert c["ns"] >= 2400000, c
    # from the first return of round_() up to last(), which begins no more
    _, calls = steered("span", "trigger start exit round_\ntrigger stop entry last")
    assert calls == {"round_": 3, "slow": 5, "thread": 1, "part": 301, "jumps": 1, "leaves": 1, "quick": ALL["quick"] - 3 - 1 - 2}, calls
    # each round_() is a run of its own, and stands beside the others, not in them
    file, calls = steered("again", "trigger start entry round_\ntrigger stop exit round_\nautorepeat")
    assert calls == {"round_": 4, "slow": 4, "quick": 12}, calls
    assert {c["depth"] for c in upto_json("calls", "--json", "-n", "0", "-F", "round_", file)["calls"] if c["function"] == "round_"} == {0}
    _, calls = steered("few", "logentries 5")
    assert sum(calls.values()) == 5 and calls["main"] == calls["round_"] == 1, calls
    _, calls = steered("late", "trigger start time 1\ntrigger stop time 100000000")
    assert sum(calls.values()) >= sum(ALL.values()) - 3, calls
    # in threads that are many, nothing is lost that is not counted
    (tmp_path / "threads").write_text("begin filter mintime 30 end")
    file, = execute(tmp_path / "nasty", program("nasty"), "threads", options=["--kfi", tmp_path / "threads"])[0]
    out = left_out(file)
    assert sum(calls_of(file).values()) + out["duration"] == out["calls"] == 1 + 1 + 8 + 160000 + 320000, out
    for text, message in ("filter maxtime 5", "filter maxtime is not there for programs"), ("triger stop time 5", "expected trigger, filter"):
        (tmp_path / "wrong").write_text(f"begin\n{text}\nend\n")
        fails(1, message, "exec", "--kfi", tmp_path / "wrong", "--", tmp_path / "runs")
    for text, message in ("begin\ntrigger start entry nobody\nend", "no function nobody"), ("begin\nfilter depth 5\nend", "wrong:2: of filters there are"), ("begin", "wrong:1: expected end"):
        (tmp_path / "wrong").write_text(text)
        p = run("./runs", env={**os.environ, "UPTO_KFI": "wrong", "LD_PRELOAD": os.path.join(RELEASE, "libupto/libupto.so"), "UPTO_OUT": "none.upto"}, cwd=tmp_path)
        assert message in p.stderr.decode() and not os.path.exists(tmp_path / "none.upto"), p.stderr


def test_loaded_late(tmp_path):
    """A plugin that is linked with libupto can be loaded by a program that is not: what the library keeps of each thread is little."""
    library = os.path.join(RELEASE, "libupto")
    (tmp_path / "plug.c").write_text("static volatile int n;\n__attribute__((noinline)) static void inner(void) { n++; }\nvoid plug(void) { inner(); inner(); }\n")
    (tmp_path / "host.c").write_text('#include <dlfcn.h>\n#include <stdio.h>\nint main(void) { void *p = dlopen("./plug.so", RTLD_NOW); void (*f)(void);\n'
                                     'if (!p) { puts(dlerror()); return 1; } f = (void (*)(void))dlsym(p, "plug"); f(); return 0; }\n')
    run("gcc", "-O1", "-finstrument-functions", "-shared", "-fPIC", "-o", "plug.so", "plug.c", f"-L{library}", "-lupto", f"-Wl,-rpath,{library}", cwd=tmp_path)
    run("gcc", "-O1", "-o", "host", "host.c", "-ldl", cwd=tmp_path)
    for name, more in ("plain", {}), ("kfi", {"UPTO_KFI": "kfi"}):
        (tmp_path / "kfi").write_text("begin filter mintime 1 end")
        run("./host", cwd=tmp_path, env={**os.environ, "UPTO_OUT": f"{name}.upto", **more})
    # its own hooks come behind those of the C library, which do nothing: upto exec's come before
    file, = execute(tmp_path, "./host", options=["-o", "exec.upto"])[0]
    assert {re.sub(r" \[.*", "", f): n for f, n in calls_of(file).items()} == {"plug": 1, "inner": 2}, calls_of(file)


def test_place_taken(tmp_path):
    """A plugin that comes to where another one was has its own functions; one that comes again is the same one."""
    (tmp_path / "host.c").write_text("#include <dlfcn.h>\nint main(int argc, char **argv) { (void)argv; for (int i = 0; i < 40; i++) { void *p = dlopen(argc > 1 || i % 2 ? \"./second.so\" : \"./first.so\", RTLD_NOW);\n"
                                     '((void (*)(void))dlsym(p, "plug"))(); dlclose(p); } return 0; }\n')
    run("gcc", "-O1", "-o", "host", "host.c", "-ldl", cwd=tmp_path)
    for name in "first", "second":
        (tmp_path / f"{name}.c").write_text(f"static volatile int n;\n__attribute__((noinline)) static void {name}(void) {{ n++; }}\nvoid plug(void) {{ {name}(); }}\n")
        run("gcc", "-O1", "-finstrument-functions", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c", cwd=tmp_path)
    file, = execute(tmp_path, "./host", options=["-o", "exec.upto"])[0]
    assert calls_of(file) == {"plug": 40, "first": 20, "second": 20}, calls_of(file)
    file, = execute(tmp_path, "./host", "again", options=["-o", "again.upto"])[0]
    rows = sorted((f["function"], f["calls"]) for f in upto_json("top", "--json", "-n", "0", file)["functions"] if f["calls"])
    assert rows == [("plug", 40), ("second", 40)], rows


@pytest.mark.skipif(not shutil.which("uftrace"), reason="no uftrace")
def test_uftrace(tmp_path):
    """uftrace counts the same calls of the same program."""
    for mode in "threads", "sorts":
        run("uftrace", "record", "--no-libcall", "-b", "64m", "-d", tmp_path / mode, program("nasty"), mode)
        report = run("uftrace", "report", "--no-libcall", "-d", tmp_path / mode, "-f", "call").stdout.decode()
        want = {m[2]: int(m[1]) for m in re.finditer(r"^ +(\d+) +(\w+)$", report, re.M)}
        file, = execute(tmp_path / ("files-" + mode), program("nasty"), mode)[0]
        assert calls_of(file) == want, (calls_of(file), want)
        # and what uftrace wrote is read: each call as often, and all together as long, to the microsecond that its report has
        made = tmp_path / f"{mode}.upto"
        run(UPTO_ASAN, "import", "-f", "-o", made, tmp_path / mode)
        assert calls_of(made) == want
        report = run("uftrace", "report", "--no-libcall", "--no-event", "-d", tmp_path / mode, "-f", "total,call").stdout.decode()
        units = {"us": 1e3, "ms": 1e6, "s": 1e9}
        took = {m[3]: (float(m[1]) * units[m[2]], units[m[2]] / 1000) for m in re.finditer(r"^ +([\d.]+) +(us|ms|s) +\d+ +(\w+)$", report, re.M)}
        mine = {f["function"]: f["total_ns"] for f in upto_json("top", "--json", "--total", "-n", "0", made)["functions"]}
        # of work(), threads end within: uftrace takes it to last up to their end
        assert took.keys() == want.keys() and all(abs(mine[f] - ns) <= unit for f, (ns, unit) in took.items() if f != "work"), (mine, took)


def test_damaged_folder(tmp_path):
    """A folder of uftrace's that is damaged is read as far as it makes sense, or refused in one line; so is any other folder."""
    if not shutil.which("uftrace"):
        pytest.skip("no uftrace")
    run("uftrace", "record", "--no-libcall", "-d", tmp_path / "whole", program("nasty"), "longjmp")
    rng, kept, refused = random.Random(7), 0, 0
    for i in range(40):
        folder = tmp_path / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
        for _ in range(1 + i % 4):
            name = rng.choice([f for f in sorted(os.listdir(folder)) if os.path.getsize(folder / f)])
            data = bytearray((folder / name).read_bytes())
            for _ in range(rng.choice([1, 8, 100])):
                data[rng.randrange(len(data))] = rng.randrange(256)
            (folder / name).write_bytes(data[:rng.randrange(len(data))] if i % 5 == 0 else data)
        p = run(UPTO_ASAN, "import", "-f", "-o", tmp_path / "out.upto", folder, check=False)
        assert p.returncode in (0, 1) and p.stderr.count(b"\n") == p.returncode, (i, p.stderr)
        kept, refused = kept + (p.returncode == 0), refused + p.returncode
        if not p.returncode:
            run(UPTO, "info", tmp_path / "out.upto")
    fails(1, r"is a folder, and none that uftrace record wrote", "import", "-f", "-o", tmp_path / "out.upto", SOURCES)
    return f"{kept} read, {refused} refused"


def test_sanitized(tmp_path):
    """The library under ThreadSanitizer, and under valgrind: neither finds anything."""
    sources = [os.path.join(TOP, "libupto", f + ".c") for f in ("file", "hooks", "jumps", "modules", "profile", "steering", "symbols", "writer")]
    run("gcc", "-g", "-O1", "-fsanitize=thread", "-fPIC", "-DUPTO_STATIC", "-c", *sources, cwd=tmp_path)
    run("gcc", "-g", "-O1", "-fsanitize=thread", "-finstrument-functions", "-c", os.path.join(SOURCES, "nasty.c"), cwd=tmp_path)
    run("gcc", "-fsanitize=thread", "-o", "nasty", *sorted(f for f in os.listdir(tmp_path) if f.endswith(".o")), "-ldl", "-lrt", "-pthread", cwd=tmp_path)
    (tmp_path / "kfi").write_text("begin filter mintime 20 trigger start entry main autorepeat end")
    (tmp_path / "runs").write_text("begin trigger start entry leaf trigger stop exit leaf autorepeat filter funclist leaf branch fend end")
    for mode in "threads", "sorts", "exit", "signals":
        for more in {}, {"UPTO_KFI": "kfi"}, {"UPTO_KFI": "runs"}:
            p = run(tmp_path / "nasty", mode, cwd=tmp_path, env={**os.environ, **more}, check=False)
            assert p.returncode == 0 and b"WARNING" not in p.stderr, p.stderr.decode()
    if shutil.which("valgrind"):
        env = {**os.environ, "LD_PRELOAD": os.path.join(RELEASE, "libupto/libupto.so")}
        for mode in "forks", "longjmp", "exit":
            p = run("valgrind", "-q", "--error-exitcode=9", program("nasty"), mode, env=env, cwd=tmp_path, check=False)
            assert p.returncode == 0 and not p.stderr, p.stderr.decode()


def test_many_forks(tmp_path):
    """The writer's thread looks at what is loaded again and again: a fork that comes just then leaves no lock to the child."""
    env = {**os.environ, "LD_PRELOAD": os.path.join(RELEASE, "libupto/libupto.so"), "UPTO_OUT": "calls/"}
    os.makedirs(tmp_path / "calls")
    run(program("forks", "plain", "-rdynamic"), cwd=tmp_path, env=env, timeout=60)
    made = os.listdir(tmp_path / "calls")
    assert len(made) == 201 and not [f for f in made if f.endswith(".ring")], len(made)


def test_forks_within(tmp_path):
    """A handler that forks when it has come into what records: the child goes on there, and is recorded from there on."""
    os.makedirs(tmp_path / "calls")
    env = {**os.environ, "LD_PRELOAD": os.path.join(RELEASE, "libupto/libupto.so"), "UPTO_OUT": "calls/"}
    run(program("nasty"), "forks-within", cwd=tmp_path, env=env, timeout=120)
    made = sorted(os.listdir(tmp_path / "calls"))
    assert len(made) == 301 and not [f for f in made if f.endswith(".ring")], len(made)
    assert all(calls_of(tmp_path / "calls" / f)["branch"] >= 1 for f in made[:20])


@pytest.mark.parametrize("how", ["close", "over", "gone"])
def test_closed(how, tmp_path):
    """A program that closes all descriptors, or puts its own in their place: its files are its own, and what is recorded goes on if it can."""
    os.makedirs(tmp_path / "files/folder")
    own = tmp_path / "own"
    if how == "gone":
        env = {**os.environ, "LD_PRELOAD": os.path.join(RELEASE, "libupto/libupto.so"), "UPTO_OUT": "calls.upto"}
        run(program("daemon"), how, own, "folder", cwd=tmp_path / "files", env=env)
        assert os.listdir(tmp_path / "files") == ["folder"] and not os.listdir(tmp_path / "files/folder")
    else:
        file, = execute(tmp_path / "files", program("daemon"), how, own, "folder")[0]
        assert calls_of(file) == {"main": 1, "before": 20000, "after": 20000 + 20, "work": 20}, calls_of(file)
        assert upto_json("info", "--json", file)["lost"] == 0 and not os.path.exists(file + ".ring")
    assert own.read_bytes() == b"its own\n"


def test_overflow(tmp_path):
    """Where the buffer is full, calls are waited for; with --drop they are lost, counted, and no stack is wrong."""
    file, = execute(tmp_path / "waits", program("nasty"), "threads", options=["--buffer", "1k"])[0]
    assert calls_of(file)["leaf"] == 320000
    file, = execute(tmp_path / "drops", program("nasty"), "threads", options=["--buffer", "1k", "--drop"])[0]
    info = upto_json("info", "--json", file)
    counts = calls_of(file)
    # a begin whose end was lost is there, an end whose begin was lost is not: so there are at most that many
    events = sum(n for kind, n in info["events_by_kind"].items() if kind in ("call", "return"))
    assert info["lost"] > 0 and counts["leaf"] < 320000, (info["lost"], counts)
    assert events + info["lost"] <= 2 * (1 + 1 + 8 + 160000 + 320000), (events, info["lost"])
    assert "of which 0 matched no call" in run(UPTO_ASAN, "check", file, check=False).stdout.decode()


def test_overflow_of_long_buffer(tmp_path):
    """What a buffer had before it was full is written in many pieces: the loss is behind them, where it was, so that no call seems to be within one that had ended."""
    source = tmp_path / "deep.c"
    source.write_text("__attribute__((noinline)) void leaf(void) { __asm__(\"\"); }\n__attribute__((noinline)) void branch(void) { leaf(); leaf(); __asm__(\"\"); }\n"
                      "int main(void) { for (int i = 0; i < 3000000; i++) branch(); return 0; }\n")
    run("gcc", "-O1", "-finstrument-functions", "-o", tmp_path / "deep", source)
    file, = execute(tmp_path, "./deep", options=["--drop"])[0]
    callers, above = {"main": {None}, "branch": {None, "main"}, "leaf": {None, "branch"}}, []
    for n in upto_json("tree", "--json", file)["tree"]:
        above[n["depth"]:] = [n["function"] if n["function"] in callers else None]
        assert above[-1] is None or (above[-2] if len(above) > 1 else None) in callers[above[-1]], above
    assert upto_json("info", "--json", file)["lost"] > 0


def test_where_files_go(tmp_path):
    """Also into another folder, and where the program has gone to; a buffer that is no size is refused."""
    path = program("nasty")
    files = execute(tmp_path, "sh", "-c", f"mkdir sub && cd sub && exec {path} leaf")[0]
    assert [f for f in files if os.path.dirname(f) == str(tmp_path / "sub") and calls_of(f)["leaf"]], files
    os.mkdir(tmp_path / "out")
    for n in 1, 2:
        file, = execute(tmp_path, path, "leaf", options=["-o", "out/"])[0]
        assert os.path.dirname(file) == str(tmp_path / "out") and len([f for f in os.listdir(tmp_path / "out")]) == n, file
    for size in "64m", "1.5M", "lots", "0", "-1":
        fails(2, r"not a size: expected a number", "exec", f"--buffer={size}", "--", "true")


def test_cut_file(tmp_path):
    """A part of a program's file, without what its buffers had: each command says that it is one."""
    file, = execute(tmp_path, program("nasty"), "threads")[0]
    with open(file, "rb") as f, open(tmp_path / "half.upto", "wb") as out:
        out.write(f.read(os.path.getsize(file) // 2))
    p = run(UPTO_ASAN, "top", tmp_path / "half.upto")
    assert b"recording stopped early: " in p.stderr and b"branch" in p.stdout, p.stderr
    assert b"stopped early" in run(UPTO_ASAN, "info", tmp_path / "half.upto").stdout


def test_many_threads(tmp_path):
    """More threads at once than there are buffers: what has none is counted."""
    source = tmp_path / "many.c"
    source.write_text("#include <pthread.h>\nstatic pthread_barrier_t all;\n__attribute__((noinline)) void f(void) { __asm__(\"\"); }\n"
                      "static void *work(void *x) { f(); pthread_barrier_wait(&all); return x; }\n"
                      "int main(void) { pthread_t t[1100]; pthread_barrier_init(&all, 0, 1101); for (int i = 0; i < 1100; i++) pthread_create(&t[i], 0, work, 0);\n"
                      "  pthread_barrier_wait(&all); for (int i = 0; i < 1100; i++) pthread_join(t[i], 0); return 0; }\n")
    run("gcc", "-O1", "-finstrument-functions", "-pthread", "-o", tmp_path / "many", source)
    file, = execute(tmp_path, "./many", options=["--buffer", "1k"])[0]
    counts, lost = calls_of(file), upto_json("info", "--json", file)["lost"]
    # each of the others lacks two calls, f() and work(), with their ends; the last may come when others have gone
    assert 1000 <= counts["f"] < 1100 and 0 < lost <= 4 * (1101 - 1024), (counts, lost)
    assert lost >= 2 * (1100 - counts["f"]), (counts, lost)


def test_asked(tmp_path):
    """All that is asked of traces is asked of these; what a program's calls do not have is said."""
    file, = execute(tmp_path, program("nasty"), "threads")[0]
    threads = upto_json("ps", "--json", file)["processes"]
    assert len([t for t in threads if t["comm"] == "nasty"]) == 9, threads
    assert sum(n["calls"] for n in upto_json("tree", "--json", file)["tree"] if n["function"] == "branch") == 160000
    for command in ["first"], ["calls", "-F", "threads"], ["stack"], ["export", "--to", "folded"], ["dump", "-n", "5"]:
        assert run(UPTO_ASAN, command[0], *command[1:], file).stdout, command
    fails(1, r"it has no system calls", "syscalls", file)
    fails(1, r"it has no facts of the kernel's own", "why", file)
    fails(2, r"a program is missing", "exec")
    fails(1, r"is there already; -f replaces it", "exec", "-o", file, "--", "true")
    p = run(UPTO, "exec", "--", "/nosuch", check=False)
    assert p.returncode == 127 and p.stderr == b"upto: /nosuch: No such file or directory\n", p.stderr
    # a program that was not compiled for it
    p = run(UPTO, "exec", "--", "true", check=False, cwd=tmp_path)
    assert p.returncode == 0 and b"has no calls: was the program compiled with -finstrument-functions?" in p.stderr, p.stderr
    p = run(UPTO, "exec", "-q", "--", "sh", "-c", "exit 7", check=False, cwd=tmp_path)
    assert p.returncode == 7
