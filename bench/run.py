#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording costs and how fast a trace is read. Ratios are of runs taken in turn, with their spread.

usage: bench/run.py [small|full|thin|many|others|kfi|text|kernels|debug|values|past|hardware|handlers|growth]…   (default: all but thin, which small and full have)
RUNS=N sets how often each thing is run (default 5; full boot 3), LIMIT=S for how long QEMU's log is waited for (900), LINES=N how
many lines the text trace has (52 million, which take 3 GB while they are there).
"""
import http.client
import math
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests"))
from guest import UPTO, WORK, built, built_args, full_args, initrd, kernel, libraries_of, qemu_args, run, upto_json  # noqa: E402
from kd_logs import Machine, Style  # noqa: E402
from made import KERNEL, make  # noqa: E402

TRACE = os.path.join(WORK, "bench.upto")
SMALL_BOUND, FULL_BOUND, BYTES_BOUND, RATE_BOUND, MEMORY_BOUND = 1.12, 1.15, 0.15, 200e6, 256
THREAD_BOUND = 1.5
NOT_BOUND = 2
FOLD_BOUND = 1.1
RUN_BOUND = 1.01
EVENT_BOUND, ARGS_BOUND = 1.3, 1.05  # of plain TCG: all events of the scheduler, of disks and of system calls; of recording: values at 10^6 hits
REPORT_BOUND, PAGE_BOUND, EXPORT_BOUND = 8, 5, 5e6  # seconds and MB of a page; calls a second
ZOOM_BOUND = 0.1, 0.3  # seconds: the median of upto ui's answers, and the worst
PAST_BOUND = 1.5  # of its recording, or of plain QEMU with the same clock
CALL_BOUND, OFF_BOUND = 25 / 16, 2  # of what the least hook takes; ns a call
WAIT_BOUND, INDEX_BOUND, STACKS_BOUND, HISTORY_BOUND, LOG_BOUND, IMPORT_BOUND, THIN_BOUND = 1.03, 0.5, 50e6, 5, 2, 300, 5
FLIGHT_BOUND = 0.1  # beside what recording costs: what is forgotten is gone through once more, and the rest is cut exactly
VMLINUX_BOUND, LEARN_BOUND = 0.3, 1  # seconds for files beside a kernel's image; per cent of the boot for learning
GROWTH_BOUND = 6  # of four times as much
TEXT_EVENTS = 52000000  # that one had in 2016: three answers from it are the measure


def timed(args, timeout=1800):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    p = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       timeout=timeout)
    assert p.returncode == 0, p.stderr.decode(errors="replace")[-2000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begun, after.ru_utime - before.ru_utime


def host():
    """What a CPU gives while another works, too: plain QEMU uses one, recording two."""
    code = "import time\nend = time.monotonic() + 1\nn = 0\nwhile time.monotonic() < end:\n    sum(range(5000))\n    n += 1\nprint(n)"

    def loops(n):
        processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(n)]
        return statistics.mean(int(p.communicate()[0]) for p in processes)

    shares = []
    for _ in range(5):
        alone = loops(1)
        shares.append(loops(2) / alone)
    print(f"host: beside a busy CPU, another does {statistics.median(shares):.2f} of what it does alone "
          f"({min(shares):.2f} … {max(shares):.2f})", flush=True)


def spread(values):
    return f"{statistics.median(values):7.2f} s  ({min(values):.2f} … {max(values):.2f})"


def verdict(value, bound, less=True):
    good = value <= bound if less else value >= bound
    return "within" if good else "MISSED:"


def ratio(title, what, times, plain, bound):
    ratios = [t / p for p, t in zip(plain, times)]
    best = min(times) / min(plain)
    print(f"{title}: {what:17}{spread(times)}")
    print(f"{title}: {'ratio':17}{statistics.median(ratios):7.3f}    ({min(ratios):.3f} … {max(ratios):.3f}); "
          f"of the fastest runs {best:.3f}; {verdict(statistics.median(ratios), bound)} {bound}", flush=True)


def compare(title, args, bound, runs):
    """Boots in turn: plain, with a recorder that waits for the power-off, recorded, and with a flight recorder that keeps the end."""
    plain, waited, recorded, flown = [], [], [], []
    host()
    timed(args)
    for _ in range(runs):
        record = [UPTO, "record", "-q", "-f", "-o", TRACE]
        plain.append(timed(args)[0])
        waited.append(timed([*record, "--start", "entry:kernel_power_off", "--", *args])[0])
        recorded.append(timed([*record, "--", *args])[0])
        flown.append(timed([*record, "--start", "entry:kernel_power_off", "--before", "500ms", "--", *args])[0])
    print(f"{title}: plain TCG        {spread(plain)}", flush=True)
    ratio(title, "outside the spans", waited, plain, WAIT_BOUND)
    ratio(title, "recording", recorded, plain, bound)
    ratio(title, "flight recorder", flown, plain, bound + FLIGHT_BOUND)
    return statistics.median(plain)


def costs(title, args, plain):
    """What is read from the kernel's own structures: how often, its bytes before they are packed, the host's time for it."""
    p = subprocess.run([UPTO, "record", "-q", "--costs", "-f", "-o", TRACE, "--"] + args, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    sums = upto_json("info", "--json", TRACE)["facts"]
    rows = [(float(ms), kind, int(n)) for kind, n, ms in re.findall(r"cost of (\S+) +(\d+) times +([\d.]+) ms", p.stderr.decode())]
    for ms, kind, n in sorted(rows, reverse=True):
        print(f"{title}: cost of {kind:10}{n:8} times  {sums[kind]['bytes'] / 1e3:7.1f} kB  {ms:8.2f} ms  {ms / plain / 10:.3f} % of plain TCG")
    print(f"{title}: cost of all        {sum(ms for ms, _, _ in rows):8.2f} ms  {sum(ms for ms, _, _ in rows) / plain / 10:.3f} % of plain TCG", flush=True)


def read_rate(title, name, command, events, bound):
    rates = [events / timed([UPTO, *command, "-n", "1", TRACE])[0] / 1e6 for _ in range(5)]
    rate = statistics.median(rates)
    print(f"{title}: {name:15}{rate:7.1f} M events/s  ({min(rates):.1f} … {max(rates):.1f}); "
          f"{verdict(rate, bound / 1e6, less=False)} {bound / 1e6:.0f} M", flush=True)


def filtered(title):
    """What filters cost that are heeded in the pass: the same command with one and without, in turn."""
    asked = {("--pid", "1"): (("top", "first", "tree"), THREAD_BOUND), ("--not", "*lock*"): (("top", "tree"), NOT_BOUND),
             ("--below", "vfs_read"): (("tree",), THREAD_BOUND)}
    for options, (commands, bound) in asked.items():
        for command in commands:
            ratios = []
            for _ in range(5):
                plain = timed([UPTO, command, TRACE])[0]
                ratios.append(timed([UPTO, command, *options, TRACE])[0] / plain)
            ratio = statistics.median(ratios)
            print(f"{title}: {command} {' '.join(options)} takes {ratio:5.2f} times as long as without  ({min(ratios):.2f} … {max(ratios):.2f}); "
                  f"{verdict(ratio, bound)} {bound}", flush=True)


def memory_of(title, *command):
    out = subprocess.run(["python3", "-c", "import resource,subprocess,sys;"
                          "subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL);"
                          "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", UPTO, *command, *([] if command[0] in ("export", "report", "run") else ["-n", "1"]), TRACE],
                         stdout=subprocess.PIPE, check=True).stdout
    memory = int(out) / 1024
    print(f"{title}: memory of {' '.join(command):12}{memory:5.0f} MB; {verdict(memory, MEMORY_BOUND)} {MEMORY_BOUND} MB", flush=True)


def reading(title):
    info = upto_json("info", "--json", TRACE)
    per_event = info["bytes"] / info["events"]
    print(f"{title}: {info['events'] / 1e6:.1f} M events, {info['instructions'] / 1e9:.2f} G instructions, "
          f"{info['bytes'] / 1e6:.1f} MB, {per_event:.3f} bytes an event; {verdict(per_event, BYTES_BOUND)} {BYTES_BOUND}")
    print(f"{title}: of the bytes      " + ", ".join(f"{n} {b / 1e3:.0f} kB" for n, b in info["bytes_by_content"].items()))
    read_rate(title, "upto top", ["top"], info["events"], RATE_BOUND)
    memory_of(title, "top")
    filtered(title)
    memory_of(title, "export", "--to", "csv", "--pid", "1")
    memory_of(title, "export", "--to", "kfi")
    for command in (["tree"], ["top", "--total"], ["ps"], ["syscalls", "--json"], ["calls", "--json", "--function", "start_kernel"], ["dump"]):
        memory_of(title, *command)
    for command in (["check"], ["info"], ["syscalls", "-n", "1"]):
        s = timed([UPTO, command[0]] + command[1:] + [TRACE])[0]
        print(f"{title}: upto {command[0]:12} {s:7.2f} s", flush=True)
    middle = f"{info['duration_ns'] // 2}ns"
    made = timed([UPTO, "stack", "--at", middle, TRACE])[0]
    print(f"{title}: making the index {made:6.2f} s, with the first answer")
    for name, command in (("stack --at", ["stack", "--at", middle]), ("one short call", ["calls", "--function", "free_initmem"]),
                          ("one long call", ["calls", "--function", "kernel_init_freeable", "--depth", "1"])):
        seconds = [timed([UPTO] + command + [TRACE])[0] for _ in range(5)]
        print(f"{title}: {name:15}{spread(seconds)}; {verdict(statistics.median(seconds), INDEX_BOUND)} {INDEX_BOUND} s")
    read_rate(title, "top --total", ["top", "--total"], info["events"], STACKS_BOUND)
    if os.path.exists(TRACE + ".history"):
        os.unlink(TRACE + ".history")
    first = timed([UPTO, "why", TRACE])[0]
    print(f"{title}: making the history {first:6.2f} s, with the first answer; {verdict(first, HISTORY_BOUND)} {HISTORY_BOUND} s")
    memory_of(title, "waits")
    for command in "why", "timeline", "log", "waits":
        seconds = [timed([UPTO, command, TRACE])[0] for _ in range(5)]
        print(f"{title}: {command:15}{spread(seconds)}; {verdict(statistics.median(seconds), INDEX_BOUND)} {INDEX_BOUND} s")


ZOOMS = {
    # what is asked: how long the longest part is of the trace
    "lanes": 1, "calls": 1 / 200, "flame": 1,
}


def zooms(title):
    """How long upto ui takes for 300 parts of the trace, from 10 us on: lanes and flame graphs of up to all of it, single calls where the page asks for them."""
    end = upto_json("info", "--json", TRACE)["duration_ns"]
    with subprocess.Popen([UPTO, "ui", TRACE], stdout=subprocess.PIPE) as p:
        port, token = re.match(rb"http://127.0.0.1:(\d+)/\?token=(\w+)", p.stdout.readline()).groups()
        asked, headers = http.client.HTTPConnection("127.0.0.1", int(port), timeout=300), {"Cookie": f"upto_{int(port)}={token.decode()}"}
        began = time.monotonic()
        asked.request("GET", "/", headers=headers)
        asked.getresponse().read()
        print(f"{title}: ui's page      {(time.monotonic() - began) * 1e3:7.1f} ms", flush=True)
        asked.request("GET", "/data", headers=headers)
        asked.getresponse().read()
        print(f"{title}: ui's data      {time.monotonic() - began:7.2f} s", flush=True)
        sums = None
        while sums != b"true" and time.monotonic() - began < 600:
            time.sleep(0.2)
            asked.request("GET", "/progress", headers=headers)
            sums = re.search(rb'"sums":(\w+)', asked.getresponse().read())[1]
        print(f"{title}: ui's sums      {time.monotonic() - began:7.2f} s, {os.path.getsize(TRACE + '.sums') / 1e6 if sums == b'true' else 0:.1f} MB", flush=True)
        for what, part in ZOOMS.items():
            chance, seconds = random.Random(1), []
            for _ in range(300):
                length = int(10 ** chance.uniform(4, math.log10(end * part)))
                start, began = chance.randrange(end - length + 1), time.monotonic()
                asked.request("GET", f"/{what}?from={start}&to={start + length}&min={length // 2400}", headers=headers)
                asked.getresponse().read()
                seconds.append(time.monotonic() - began)
            seconds.sort()
            print(f"{title}: zooms, {what:8}{seconds[150] * 1e3:7.0f} ms, worst {seconds[-1] * 1e3:.0f} ms; {verdict(seconds[150], ZOOM_BOUND[0])} {ZOOM_BOUND[0]}, "
                  f"{verdict(seconds[-1], ZOOM_BOUND[1])} {ZOOM_BOUND[1]} s", flush=True)
        p.terminate()


def looking(title):
    """A page to look at, and a trace of Perfetto's: index and history are there."""
    path = os.path.join(WORK, "bench.html")
    seconds = [timed([UPTO, "report", "-f", "-o", path, TRACE])[0] for _ in range(3)]
    size = os.path.getsize(path) / 1e6
    print(f"{title}: report         {spread(seconds)}; {verdict(statistics.median(seconds), REPORT_BOUND)} {REPORT_BOUND} s")
    print(f"{title}: report's page  {size:7.2f} MB; {verdict(size, PAGE_BOUND)} {PAGE_BOUND} MB")
    calls = sum(f["calls"] for f in upto_json("top", "--json", "-n", "0", TRACE)["functions"])
    rates = [calls / timed([UPTO, "export", "-f", "--to", "perfetto", "-o", "/dev/null", TRACE])[0] / 1e6 for _ in range(3)]
    print(f"{title}: to perfetto    {statistics.median(rates):7.2f} M calls/s  ({min(rates):.2f} … {max(rates):.2f}); "
          f"{verdict(statistics.median(rates), EXPORT_BOUND / 1e6, less=False)} {EXPORT_BOUND / 1e6:.0f} M", flush=True)
    zooms(title)
    memory_of(title, "report", "-f", "-o", path)
    memory_of(title, "export", "--to", "perfetto")
    memory_of(title, "export", "--to", "perfetto", "--min-duration", "10s")


# that drop about nine of ten calls, or more
THIN = ["--min-duration 500ns", "--min-duration 2us", "--min-duration 100us", "--functions *page*", "--functions *lock*", "--depth 4", "--user"]


def thinning(title):
    """How much smaller a trace is without most of its calls."""
    path, whole = os.path.join(WORK, "bench-thin.upto"), os.path.getsize(TRACE)
    for options in THIN:
        seconds, _ = timed([UPTO, "thin", "-f", *options.split(), "-o", path, TRACE])
        info = upto_json("info", "--json", path)
        calls, left = (sum(int(v) for k, v in info["meta"].items() if k.startswith("left_out.") and (k == "left_out.calls") == all_calls)
                       for all_calls in (True, False))
        ratio = whole / info["bytes"]
        most = sorted(info["bytes_by_content"].items(), key=lambda c: -c[1])[:4]
        print(f"{title}: thin {options:22}{left / calls * 100:6.2f} % of the calls dropped; {whole / 1e6:.2f} MB, then {info['bytes'] / 1e6:.2f} MB: "
              f"{ratio:.2f} times smaller; {verdict(ratio, THIN_BOUND, less=False)} {THIN_BOUND}; {seconds:.1f} s; "
              + ", ".join(f"{n} {b / 1e3:.0f} kB" for n, b in most), flush=True)
    os.unlink(path)


def small_args(append=""):
    return qemu_args("6.12", initrd("6.12", "plain"), append=append, whole=True)


def launched(title, args):
    """What 'upto run' adds to the same recording: it starts a program that starts QEMU, and becomes 'upto record'."""
    folder, ratios = os.path.join(WORK, "bench.run"), []
    for _ in range(5):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        recorded = timed([UPTO, "record", "-q", "-f", "-o", TRACE, "--", *args])[0]
        ratios.append(timed([UPTO, "run", "-d", folder, "--", *args])[0] / recorded)
    shutil.rmtree(folder)
    ratio = statistics.median(ratios)
    print(f"{title}: by upto run       {ratio:5.3f} times as long as by upto record  ({min(ratios):.3f} … {max(ratios):.3f}); "
          f"{verdict(ratio, RUN_BOUND)} {RUN_BOUND}", flush=True)


def small():
    plain = compare("small boot", small_args(), SMALL_BOUND, int(os.environ.get("RUNS", 5)))
    costs("small boot", small_args(), plain)
    launched("small boot", small_args())
    reading("small boot")
    thinning("small boot")


def thin():
    run(UPTO, "record", "-q", "-f", "-o", TRACE, "--", *small_args(), timeout=1800)
    thinning("small boot")


def kernels():
    """What is done for a kernel that somebody built: its files are read beside the guest, where they lie; or its layout is learnt."""
    tree, _ = built("small")
    image = tree + "/arch/x86/boot/bzImage"
    alone = shutil.copy(image, os.path.join(WORK, "bench.bzImage"))
    stock = kernel("6.12")[1]
    read = {}
    for what, path in ("stock bzImage", stock), ("bzImage alone", alone), ("bzImage in its tree", image):
        read[what] = []
        for _ in range(5):
            begun = time.monotonic()
            run(UPTO, "layout", path, check=False)  # alone it has none, which is told when all was read
            read[what].append(time.monotonic() - begun)
        print(f"kernels: reading {what:20}{spread(read[what])}, beside the guest's firmware", flush=True)
    more = statistics.median(read["bzImage in its tree"]) - statistics.median(read["bzImage alone"])
    print(f"kernels: what lies beside a bzImage {more:5.2f} s; {verdict(more, VMLINUX_BOUND)} {VMLINUX_BOUND} s", flush=True)
    os.environ["XDG_CACHE_HOME"] = os.path.join(WORK, "bench.cache")
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    plain = timed(built_args("small", alone))[0]
    said = run(UPTO, "record", "-f", "--costs", "-o", TRACE, "--", *built_args("small", alone)).stderr.decode()
    times, ms = re.search(r"cost of learning +(\d+) times +([\d.]+) ms", said).groups()
    share = float(ms) / 10 / plain
    print(f"kernels: learning {times} looks, {ms} ms, {share:.2f} % of a plain boot of {plain:.1f} s; {verdict(share, LEARN_BOUND)} {LEARN_BOUND} %", flush=True)


def debug():
    """A kernel with KASAN and lockdep: what their checks cost, and what it costs to fold them."""
    run(UPTO, "record", "-q", "-f", "-o", TRACE, "--", *built_args("debug"), timeout=1800)
    run(UPTO, "stack", "--at", "1s", TRACE)  # makes the index
    for command in ["top"], ["top", "--total"], ["tree"], ["first"]:
        ratios = []
        for _ in range(3):
            plain = timed([UPTO, *command, "--instruments", TRACE])[0]
            ratios.append(timed([UPTO, *command, TRACE])[0] / plain)
        ratio = statistics.median(ratios)
        print(f"debug kernel: {' '.join(command):12} with instruments folded takes {ratio:5.2f} times as long as without  "
              f"({min(ratios):.2f} … {max(ratios):.2f}); {verdict(ratio, FOLD_BOUND)} {FOLD_BOUND}", flush=True)


def many():
    """Reading what 20 vCPUs did."""
    run(UPTO, "record", "-q", "-f", "-o", TRACE, "--", *qemu_args("6.12", initrd("6.12", "smp"), smp=20, thread="multi"), timeout=1800)
    events = upto_json("info", "--json", TRACE)["events"]
    run(UPTO, "stack", "--at", "1s", TRACE)  # makes the index
    for command, bound in ((["top"], RATE_BOUND), (["top", "--total"], STACKS_BOUND)):
        read_rate("20 vCPUs", " ".join(command), command, events, bound)
        memory_of("20 vCPUs", *command)


def others():
    """The same boot by other means, once each."""
    plain = timed(small_args())[0]
    graph = timed(small_args("ftrace=function_graph"))[0]
    print(f"small boot: ftrace=function_graph {graph:.1f} s, {graph / plain:.2f} times plain", flush=True)
    limit = int(os.environ.get("LIMIT", 900))
    try:
        log = timed(small_args() + ["-d", "exec,nochain", "-D", "/dev/null"], timeout=limit)[0]
        print(f"small boot: -d exec,nochain       {log:.1f} s, {log / plain:.1f} times plain", flush=True)
    except subprocess.TimeoutExpired:
        print(f"small boot: -d exec,nochain       more than {limit} s, over {limit / plain:.0f} times plain", flush=True)


def kfi():
    """A log of KFI with a million rows."""
    rng, path = random.Random(1), os.path.join(WORK, "bench.lst")
    rows = [r for r in Machine(rng, threads=20, calls=1000000).rows[:1000000] if r.delta is not None]
    with open(path, "w") as f:
        f.write(Style(rng).log(rows))
    for options in [], ["--as-kd"], ["-c", "-l", "-i"], ["-c", "-l", "-r"]:
        seconds = [timed([UPTO, "kd", *options, path])[0] for _ in range(5)]
        print(f"log of KFI, {len(rows) / 1e6:.1f} M rows: {' '.join(['kd', *options]):12}{spread(seconds)}; "
              f"{verdict(statistics.median(seconds), LOG_BOUND)} {LOG_BOUND} s", flush=True)
    os.unlink(path)


NAME_LINES = r'''my (%ns, $f, $t); while (<STDIN>) { last if $. > 1e6; my ($now, $what) = split " ", $_, 2;
$ns{$f} += $now - $t if defined $f; $t = $now; $f = $what =~ /^(\S+)(?: \+ \d+)? in section/ ? $1 : "user"; }
printf "%s %.3f\n", $_, $ns{$_} for sort { $ns{$b} <=> $ns{$a} } keys %ns;'''


def write_blocks(path, lines):
    """A text trace: functions run in loops of a few blocks, and call each other."""
    rng, us = random.Random(1), 11409434.0
    functions = [[f"function_{i}_of_the_kernel{o} in section .text\n" for o in ("", " + 8", " + 31", " + 190", " + 412")] for i in range(5000)]
    hot = rng.sample(functions, 300)
    with open(path, "w") as f:
        for _ in range(lines // 1000):
            piece = []
            while len(piece) < 1000:
                blocks = rng.choice(hot if rng.random() < 0.9 else functions) if rng.random() < 0.95 else [f"7fb9{rng.randrange(1 << 20):08x}\n"]
                for _ in range(rng.choice((1, 2, 3))):
                    us += rng.choice((0.0661, 0.5, 0.97))
                    piece.append(f"{us:.7f} {rng.choice(blocks)}")
            f.write("".join(piece))


def remove_kept():
    for path in TRACE + ".index", TRACE + ".history", TRACE + ".sums":
        if os.path.exists(path):
            os.unlink(path)


def remove_trace():
    remove_kept()
    if os.path.exists(TRACE):
        os.unlink(TRACE)


def for_52_million(seconds, n, what):
    """All seconds, as they would be for as many as the text trace of 2016 had."""
    scaled = [s * TEXT_EVENTS / n for s in seconds]
    proportion = f"; in proportion, {statistics.median(scaled):.1f} s for 52 M" if n != TEXT_EVENTS else ""
    return f"{spread(seconds)} for {n / 1e6:.1f} M {what}{proportion}"


def recorded_answers():
    """From QEMU's start to which functions took longest, what ran first when, and who called whom."""
    recorded, answered = [], []
    for _ in range(int(os.environ.get("RUNS", 3))):
        remove_trace()
        recorded.append(timed([UPTO, "record", "-q", "-f", "-o", TRACE, "--"] + small_args())[0])
        answered.append(sum(timed([UPTO, command, TRACE])[0] for command in ("top", "first", "tree")))
    events = upto_json("info", "--json", TRACE)["events"]
    whole = [r + a for r, a in zip(recorded, answered)]
    print(f"small boot: QEMU's start to top, first and tree {for_52_million(whole, events, 'events')}; "
          f"of it the answers {statistics.median(answered):.2f} s", flush=True)
    return statistics.median(whole) * TEXT_EVENTS / events


def text_answers(path, lines):
    """From a text trace to the same; who called whom it does not tell."""
    size, imported, answered = os.path.getsize(path), [], []
    for _ in range(int(os.environ.get("RUNS", 3))):
        remove_trace()
        imported.append(timed([UPTO, "import", "-f", path, "-o", TRACE])[0])
        answered.append(sum(timed([UPTO, command, TRACE])[0] for command in ("top", "first")))
    rates = [size / s / 1e6 for s in imported]
    print(f"text trace of {size / 1e6:.0f} MB: upto import {statistics.median(rates):7.0f} MB/s  ({min(rates):.0f} … {max(rates):.0f}); "
          f"{verdict(statistics.median(rates), IMPORT_BOUND, less=False)} {IMPORT_BOUND}; the trace has {os.path.getsize(TRACE) / 1e6:.0f} MB")
    whole = [i + a for i, a in zip(imported, answered)]
    print(f"text trace of {size / 1e6:.0f} MB: import, top and first {for_52_million(whole, lines, 'lines')}; "
          f"of it the answers {statistics.median(answered):.2f} s", flush=True)
    return statistics.median(whole) * TEXT_EVENTS / lines


def perl_names(path, lines):
    """The functions' times by a plain script: of the first million lines."""
    n = min(lines, 1000000)
    seconds = [timed(["sh", "-c", f"exec perl -e '{NAME_LINES}' <{path}"])[0] for _ in range(3)]
    with open(path, "rb") as f:
        head = sum(len(line) for _, line in zip(range(n), f))
    all_seconds = statistics.median(seconds) * TEXT_EVENTS / n
    print(f"text trace of {os.path.getsize(path) / 1e6:.0f} MB: perl, times by name {head / statistics.median(seconds) / 1e6:7.0f} MB/s, "
          f"{spread(seconds)} for the first {n / 1e6:.1f} M lines; extrapolated, {all_seconds:.0f} s for 52 M", flush=True)
    return all_seconds


def text():
    """52 million events to answers: recorded, from a text trace, and what a plain script takes for one of these."""
    path, lines = os.path.join(WORK, "bench.txt"), int(os.environ.get("LINES", TEXT_EVENTS)) // 1000 * 1000
    if shutil.disk_usage(WORK).free < 80 * lines:
        sys.exit(f"no room for {lines} lines in {WORK}: LINES=N makes fewer")
    ours = [recorded_answers()]
    try:
        write_blocks(path, lines)
        ours.append(text_answers(path, lines))
        if shutil.which("perl"):
            perl = perl_names(path, lines)
            print(f"52 million events: perl's one answer takes {perl / ours[0]:.1f} times as long as all from QEMU's start, and "
                  f"{perl / ours[1]:.1f} times as long as those from a text trace", flush=True)
    finally:
        os.unlink(path)
        remove_trace()


def full():
    plain = compare("full boot", full_args(), FULL_BOUND, int(os.environ.get("RUNS", 3)))
    costs("full boot", full_args(), plain)
    reading("full boot")
    looking("full boot")
    thinning("full boot")


def values():
    """What it costs to record trace events, what probes read, and what functions are given: the same boot plain, recorded, and recorded with them."""
    plain, recorded, events, given, probed = [], [], [], [], []
    host()
    timed(small_args())
    record = [UPTO, "record", "-q", "-f", "-o", TRACE]
    for _ in range(int(os.environ.get("RUNS", 5))):
        plain.append(timed(small_args())[0])
        recorded.append(timed([*record, "--", *small_args()])[0])
        given.append(timed([*record, "--args", "strlen,memcpy,_raw_spin_lock*", "--", *small_args()])[0])
        hits = upto_json("info", "--json", TRACE)["facts"]["args"]["count"]
        events.append(timed([*record, "--event", "sched:*,block:*,syscalls:*,raw_syscalls:*", "--", *small_args()])[0])
        count = upto_json("info", "--json", TRACE)["facts"]["event"]["count"]
        probed.append(timed([*record, "--probe", "kmem_cache_alloc* $arg1 flags=$arg2:x32 %sp", "--probe", "_raw_spin_lock $arg1 %sp %bx", "--", *small_args()])[0])
        reached = upto_json("info", "--json", TRACE)["facts"]["event"]["count"]
    ratio("small boot", "recording", recorded, plain, SMALL_BOUND)
    ratio("small boot", f"{count} events", events, plain, EVENT_BOUND)
    ratio("small boot", f"{reached / 1e6:.2f} M hits of probes with three values", probed, recorded, ARGS_BOUND)
    ratio("small boot", f"{hits / 1e6:.1f} M calls' args", given, recorded, ARGS_BOUND)


def past():
    """Questions to a run that is over: the whole of it again, for an event; and from the first to the last call of a function that is probed."""
    plain, recorded, whole, part = [], [], [], []
    copy = TRACE + ".asked"
    host()
    for _ in range(int(os.environ.get("RUNS", 5))):
        plain.append(timed([*small_args(), "-icount", "shift=0,sleep=off"])[0])
        recorded.append(timed([UPTO, "record", "--deterministic", "-q", "-f", "-o", TRACE, "--", *small_args()])[0])
        for times, question in (whole, ["--event", "sched:sched_process_exec"]), (part, ["vfs_read count"]):
            shutil.copyfile(TRACE, copy)
            times.append(timed([UPTO, "probe", copy, *question])[0])
    ratio("small boot", "recorded with -icount", recorded, plain, SMALL_BOUND)
    ratio("small boot", "all of it again, and compared", whole, recorded, PAST_BOUND)
    ratio("small boot", "up to the last call, and compared", part, plain, PAST_BOUND)
    for path in TRACE, copy:
        os.unlink(path)


def ns_a_call(*command, **env):
    """A recursion of 7 million calls, by its own clock."""
    p = run(*command, env={**os.environ, **env}, cwd=WORK)
    return float(p.stdout.split()[1])


def hardware():
    """What a call costs a program that records itself, beside one that does not, the least that a hook can do, and uftrace."""
    source, out = os.path.join(TOP, "tests/programs"), os.path.join(WORK, "bench-recursion")
    library = os.path.join(os.path.dirname(UPTO), "../../libupto/libupto.so")
    run("gcc", "-O2", "-fno-optimize-sibling-calls", "-o", out + ".plain", os.path.join(source, "recursion.c"))
    run("gcc", "-O2", "-finstrument-functions", "-o", out, os.path.join(source, "recursion.c"))
    run("gcc", "-O2", "-shared", "-fPIC", "-o", out + ".stub", os.path.join(source, "stub.c"))
    for kind, options in ("pg", ["-pg"]), ("fentry", ["-pg", "-mfentry"]):
        # linked without: gprof's own files are not asked for
        run("gcc", "-O2", *options, "-fno-optimize-sibling-calls", "-c", "-o", out + ".o", os.path.join(source, "recursion.c"))
        run("gcc", "-o", f"{out}.{kind}", out + ".o")
    file = out + ".upto"
    ways = {"not compiled for it": lambda: ns_a_call(out + ".plain"), "empty hooks": lambda: ns_a_call(out), "stub with the time": lambda: ns_a_call(out, LD_PRELOAD=out + ".stub"),
            "libupto, shut off": lambda: ns_a_call(out, LD_PRELOAD=library, UPTO_ARM="0", UPTO_OUT=file), "libupto": lambda: ns_a_call(out, LD_PRELOAD=library, UPTO_OUT=file)}
    for kind, what in ("pg", "libupto, -pg"), ("fentry", "libupto, -mfentry"):
        ways[what] = lambda kind=kind: ns_a_call(f"{out}.{kind}", LD_PRELOAD=library, UPTO_OUT=file)
    if shutil.which("uftrace"):
        ways["uftrace"] = lambda: ns_a_call("uftrace", "record", "-d", out + ".uftrace", out)
    times = {way: [] for way in ways}
    for _ in range(int(os.environ.get("RUNS", 5))):
        for way, measure in ways.items():
            if os.path.exists(file):
                os.unlink(file)
            times[way].append(measure())
            if way == "libupto":
                size, began = os.path.getsize(file), time.monotonic()
                run(UPTO, "import", "-f", "-o", TRACE, file)
                took = time.monotonic() - began
    for way, values in times.items():
        print(f"recursion: {way:20}{statistics.median(values):7.1f} ns a call ({min(values):.1f} … {max(values):.1f})")
    events = 2 * 7049155
    off = statistics.median(a - b for a, b in zip(times["libupto, shut off"], times["empty hooks"]))
    stub = statistics.median(a / b for a, b in zip(times["libupto"], times["stub with the time"]))
    # 25 ns where the stub takes 16
    print(f"recursion: libupto is {stub:.2f} of the stub; {verdict(stub, CALL_BOUND)} {CALL_BOUND:.2f}; shut off {off:.1f} ns more; {verdict(off, OFF_BOUND)} {OFF_BOUND}")
    print(f"recursion: {size / events:.2f} bytes an event; {verdict(size / events, 2)} 2; imported at {events / took / 1e6:.1f} M events/s; {verdict(events / took, 5e6, False)} 5", flush=True)
    remove_trace()


def handlers():
    """How fast a program in handlers is, on a trace and at the end of a recording that it is made for."""
    few, counted, dense = ("kprobe:vfs_open { @[comm] = count(); }", "kprobe:* { @[probe] = count(); }", "kprobe:* { @[comm] = count(); }")
    live = "kprobe:vfs_* { @[probe] = count(); } interval:s:1 { print(@, 3); }"
    record = [UPTO, "record", "-q", "-f", "-o", TRACE]
    recorded, with_program, with_live = [], [], []
    for _ in range(int(os.environ.get("RUNS", 5))):
        recorded.append(timed([*record, "--", *small_args()])[0])
        with_program.append(timed([*record, "-e", counted, "--", *small_args()])[0])
        with_live.append(timed([*record, "-e", live, "--", *small_args()])[0])
    events = upto_json("info", "--json", TRACE)["events"]
    hits = sum(int(line.rpartition(" ")[2]) for line in run(UPTO, "run", "-e", counted, TRACE).stdout.decode().splitlines()[1:] if line)
    ratio("small boot", f"counting {hits / 1e6:.1f} M hits", with_program, recorded, ARGS_BOUND)
    ratio("small boot", "counting, told each second", with_live, recorded, ARGS_BOUND)
    for what, program, n, unit, bound in (("a probe that seldom fires", few, events, "events", 60e6), ("each function counted", counted, hits, "hits", 20e6),
                                          ("each call by its process", dense, hits, "hits", 20e6)):
        rates = [n / timed([UPTO, "run", "-e", program, TRACE])[0] / 1e6 for _ in range(5)]
        print(f"small boot: {what:26}{statistics.median(rates):6.1f} M {unit}/s ({min(rates):.1f} … {max(rates):.1f}); {verdict(statistics.median(rates), bound / 1e6, False)} {bound / 1e6:.0f} M",
              flush=True)
    memory_of("small boot", "run", "-e", dense)
    remove_trace()
    beside_bpftrace()


def beside_bpftrace():
    """What a hit of `kprobe:vfs_* { @[probe] = count(); }` costs the guest: under its own bpftrace, which runs in it, and under upto, which records all else, too."""
    if not shutil.which("bpftrace"):
        print("bpftrace: is not here to compare with", flush=True)
        return
    image = initrd("6.12", "bpfcost", *libraries_of("/usr/bin/bpftrace"), "/usr/bin/bpftrace=/usr/bin/bpftrace", image=os.path.join(WORK, "bench-bpfcost.img"))
    bare = initrd("6.12", "bpfcost")
    hits, cost = 1000000, {"guest's bpftrace": [], "upto": []}
    for _ in range(3):
        took = {}
        for image_, words in ((image, []), (bare, [UPTO, "record", "-q", "-f", "-o", TRACE, "-e", "kprobe:vfs_* { @[probe] = count(); }", "--"])):
            said = run(*words, *qemu_args("6.12", image_, memory="2G")).stdout.decode(errors="replace")
            took.update({("upto" if words else "") + what: float(ended) - float(begun) for what, begun, ended in re.findall(r"took (\w+) ([\d.]+) ([\d.]+)", said, re.M)})
        cost["guest's bpftrace"].append((took["counted"] - took["alone"]) / hits * 1e9)
        cost["upto"].append((took["uptoalone"] - took["alone"]) / hits * 1e9)
    for who, values in cost.items():
        print(f"a counted call of vfs_*: {who:18}{statistics.median(values):7.0f} ns more for the guest ({min(values):.0f} … {max(values):.0f})", flush=True)
    remove_trace()


SPANS = """
#include <stdlib.h>
__attribute__((noipa)) static void round_(void) { }
int main(int argc, char **argv)
{
	for (int n = argc > 1 ? atoi(argv[1]) : 0; n; n--)
		round_();
}
"""


def follower_seconds(lines):
    """What a follower of the log of a guest takes that says so many lines."""
    args = qemu_args("6.12", initrd("6.12", "talks"), append=f"printk.devkmsg=on log_buf_len=16M lines={lines}")
    remove_trace()
    recorder = subprocess.Popen([UPTO, "record", "-q", "-f", "-o", TRACE, "--", *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(TRACE) or not os.path.getsize(TRACE):
        assert recorder.poll() is None
        time.sleep(0.05)
    follower = subprocess.Popen([UPTO, "log", "--follow", "--grep", "^line [0-9]", TRACE], stdout=subprocess.PIPE)
    shown = follower.stdout.read().count(b"\n")
    _, status, used = os.wait4(follower.pid, 0)
    assert not status and not recorder.wait() and shown == lines, (status, shown)
    return used.ru_utime + used.ru_stime


def tell_growth(what, one, four, few):
    print(f"growth: {what:32}{four:7.2f} s, {four / one:5.2f} times as long as of {few}; {verdict(four / one, GROWTH_BOUND)} {GROWTH_BOUND}", flush=True)


def median_seconds(*command):
    """Of the CPU: what else the host does counts less than by the clock."""
    seconds = []
    for _ in range(3):
        remove_kept()
        seconds.append(timed([UPTO, *command, TRACE])[1])
    return statistics.median(seconds)


def growth_of_waits(few=3000):
    """Threads that hand a byte on, each to the next: a chain of so many causes; beside what the boot takes."""
    program, commands, seconds = os.path.join(WORK, "bench-relay"), ("why", "waits", "timeline"), {}
    run("gcc", "-O1", "-static", "-pthread", "-o", program, os.path.join(TOP, "tests/programs/relay.c"))
    image = initrd("6.12", "relay", f"{program}=/bin/relay", newer_than=[program])
    for n in 1, few, 4 * few:
        remove_trace()
        run(UPTO, "record", "-q", "-f", "-o", TRACE, "--", *qemu_args("6.12", image, append=f"relay={n}", memory="2G"))
        for command in commands:
            seconds[command, n] = median_seconds(command)
    for command in commands:
        tell_growth(f"{command} of {4 * few} threads", *(seconds[command, n] - seconds[command, 1] for n in (few, 4 * few)), few)


def growth_of_modules(few=5000):
    """Modules that come, are called and go, one after the other at one place; and all at once, each at its own."""
    at, stack, seconds = 0xffffffffc0000000, 0xffffc90000003fb8, {}
    for n in few, 4 * few:
        for where, step, last in ("at one place", 0, 40), ("at their own", 0x2000, 40 * n):
            lines = ["meta vcpus 1", "meta kernel_ns 10", "meta kernel_insns 10", "end lost 0", "end late_arrivals 0", f"symbol {KERNEL} 0x100 startup_64",
                     "event 0 clock 10 10 0 0 0", f"event 0 jump-indirect 11 0 0 0x100000 {KERNEL}", "event 0 clock 20 20 0 0 0"]
            for i, ns in enumerate(range(100, 100 + 40 * n, 40)):
                start = at + i * step
                lines += [f"module 0 {ns if not step else 50} {ns} {start} 0x1000 module{i % 7}", f"event 0 call {ns + 10} 0 {stack} {KERNEL + 0x20} {start}",
                          f"event 0 clock {ns + 15} {ns + 15} 0 0 0", f"event 0 return {ns + 20} 0 {stack} 0 {KERNEL + 0x20}", f"event 0 clock {ns + 25} {ns + 25} 0 0 0",
                          f"freed 0 {ns + 30 if not step else 100 + last + i} {ns + 30} {start}"]
            os.replace(make("bench-modules", sorted(lines, key=lambda line: line.startswith("freed")) if step else lines), TRACE)
            seconds.setdefault(f"top of {4 * few} modules {where}", []).append(median_seconds("top"))
    for what, (one, four) in seconds.items():
        tell_growth(what, one, four, few)


def growth():
    """What four times as much takes: four times as long, and not sixteen."""
    program = os.path.join(WORK, "bench-spans")
    with open(program + ".c", "w") as f:
        f.write(SPANS)
    run("gcc", "-O1", "-finstrument-functions", "-o", program, program + ".c")
    few, seconds = 40000, {}
    for n in few, 4 * few:
        remove_trace()
        run(UPTO, "exec", "-q", "-o", TRACE, "--", program, str(n))
        run(UPTO, "thin", "--every", "--start", "entry:round_", "--stop", "exit:round_", "-o", TRACE + ".spans", TRACE)
        os.replace(TRACE + ".spans", TRACE)
        assert len(upto_json("info", "--json", TRACE)["spans"]) == n
        for command in ["check"], ["info"], ["top"], ["calls", "-n", "1"]:
            seconds.setdefault(f"{' '.join(command)} of {4 * few} spans", []).append(median_seconds(*command))
        seconds.setdefault(f"log --follow of {4 * few} lines", []).append(follower_seconds(n))
    for what, (one, four) in seconds.items():
        tell_growth(what, one, four, few)
    growth_of_modules()
    growth_of_waits()
    remove_trace()


def main():
    for what in sys.argv[1:] or ["small", "full", "many", "others", "kfi", "text", "kernels", "debug", "values", "past", "hardware", "handlers", "growth"]:
        {"small": small, "full": full, "many": many, "others": others, "kfi": kfi, "text": text, "thin": thin, "kernels": kernels, "debug": debug, "values": values, "past": past, "hardware": hardware, "handlers": handlers, "growth": growth}[what]()


if __name__ == "__main__":
    main()
