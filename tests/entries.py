# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls of each kernel function, held against tests/plugins/count.c, which counts what runs at its first instruction."""
import bisect
import collections
import os

from guest import CHECK, check, record, run, upto_json


def symbols_of(*files):
    """[address, section, name] of a kernel's functions, one name an address, by all of the files together."""
    out = run(os.path.join(CHECK, "tests/symbols"), *files).stdout.decode()
    return [line.split() for line in out.splitlines()]


def read_counts(path):
    """By run-time address, and [address, instructions] of pieces of blocks."""
    theirs, pieces = {}, []
    for line in open(path):
        *what, addr, n = line.split()
        if what:
            pieces.append((int(addr, 16), int(n)))
        else:
            theirs[int(addr, 16)] = int(n)
    return theirs, pieces


def record_counted(name, args, symbols, *options, more=""):
    """Record NAME.upto beside the counting plugin, whose counts are NAME.counts. Returns what record did."""
    starts = name + ".starts"
    with open(starts, "w") as f:
        for s in symbols:
            f.write(f"{int(s[0], 16) % (2 << 20):x}\n")
    plugin = os.path.join(CHECK, "tests/count.so")
    return record(name + ".upto", args, "--thunks", *options, more=["-plugin", f"{plugin},starts={starts},out={name}.counts{more}"], timeout=900)


def compare(name, args, symbols, *options, least=5000, keep=False, console=False):
    """Record the guest with both, and compare. Returns a note of what was the same."""
    said = record_counted(name, args, symbols, *options)
    note = compare_counted(name, symbols, least)
    if not keep:
        os.unlink(name + ".upto")
    return (note, said.stdout.decode(errors="replace")) if console else note


def compare_counted(name, symbols, least=5000):
    trace = name + ".upto"
    check(trace)
    slide = upto_json("info", "--json", trace)["slide"]
    ours = {int(f["address"], 16): (f["calls"], f["self_insns"])
            for f in upto_json("top", "--json", "--thunks", "--instruments", trace)["functions"] if f["address"]}
    theirs, pieces = read_counts(name + ".counts")
    # each kind of difference has a name
    kinds, worst, compared, calls = collections.Counter(), [], 0, 0
    for s in symbols:
        addr = int(s[0], 16) + slide
        want, (got, _) = theirs.get(addr, 0), ours.get(addr, (0, ""))
        if not want and not got:
            continue
        compared += 1
        calls += want
        if want == got:
            kinds["equal"] += 1
            continue
        kind = explain(s[2], want, got)
        kinds[kind] += 1
        if kind == "unexplained":
            worst.append((abs(want - got), s[2], want, got))
    worst.sort(reverse=True)
    off = sum(w[0] for w in worst)
    assert compared > least, compared
    assert not worst, f"{len(worst)} of {compared} functions differ, {off} of {calls} entries: {worst[:30]}; {kinds}"
    instructions = compare_instructions(symbols, slide, ours, pieces, least)
    return f"{compared} functions, {calls} entries: {dict(kinds)}; {instructions}"


def compare_instructions(symbols, slide, ours, pieces, least):
    """Own instructions of each kernel function: how many functions have as many as were counted one by one."""
    starts = sorted(int(s[0], 16) + slide for s in symbols)
    names = {int(s[0], 16) + slide: s[2] for s in symbols}
    theirs = collections.Counter()
    for addr, n in pieces:
        if starts[0] <= addr < starts[-1] + 65536:
            theirs[starts[bisect.bisect_right(starts, addr) - 1]] += n
    off = sorted(((abs(theirs[a] - ours.get(a, (0, 0))[1]), names[a], theirs[a], ours.get(a, (0, 0))[1]) for a in starts
                  if theirs[a] != ours.get(a, (0, 0))[1]), reverse=True)
    ran = sum(1 for a in starts if theirs[a])
    total = sum(o[0] for o in off)
    # an instruction that faults is counted again when it is repeated: a boot's first faults, and one in a million
    assert ran > least and len(off) < ran / 200 and total < 100 + theirs.total() / 1000000, (len(off), ran, total, off[:40])
    return f"of {theirs.total()} instructions {total} are another function's; {len(off)} functions differ, most {off[:3]}"


# acpi_hw_legacy_sleep() stalls for ten seconds once it has asked for the power-off: drivers/acpi/acpica/hwsleep.c
AFTER_POWER_OFF = {"acpi_os_stall", "touch_nmi_watchdog", "__const_udelay", "__udelay", "delay_tsc", "delay_loop",
                   "__x86_return_thunk", "__fentry__"}


def explain(name, want, got):
    """Differences that are known, by name; everything else fails the test."""
    # since 7 by the second name
    if name in ("int3_magic", "int3_selftest_callee") and want == 1 and got == 0:
        return "call emulated by the int3 handler"
    # that instruction reads what is not mapped yet: the handler of early page faults maps it, and it runs once more
    if name == "copy_bootdata" and want == 2 and got == 1:
        return "faulted at its first instruction"
    # arch/x86/lib/atomic64_cx8_32.S: they try again from their first instruction on
    if name in ("atomic64_set_cx8", "atomic64_xchg_cx8") and got < want <= 2 * got:
        return "loops to its first instruction"
    # QEMU stops the vCPU when it gets round to it; until then it waits for the power to go
    # since 7 the kernel has some of them by a name for early code, too
    name = name.removeprefix("__pi_")
    waits = name in AFTER_POWER_OFF or name.startswith("__x86_indirect_thunk_")
    if waits and 0 < want - got <= 1000:
        return "ran on after the power-off"
    return "unexplained"
