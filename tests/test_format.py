# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/format.md is right: a decoder written from it finds what upto finds."""
import collections
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import zlib

import decoder
from places import Places
from guest import TOP, UPTO, UPTO_ASAN, WORK, initrd, numbers, qemu_args, run, upto_json
from test_code import recording
from test_robust import short_trace, write

sys.path.insert(0, os.path.join(TOP, "fuzz"))
from make_corpus import svarint, symbols, varint, zstd  # noqa: E402, F401

SECONDS = "9"
EVENTS_MAX = 200000  # compared, of a chunk
WINDOW = 64          # events that tell where a chunk begins in a dump


def dump(trace, chunk, n):
    """What upto dumps from the chunk's first clock on: at least its first n events, if it has them.

    Events of the chunk before may have that time too, and come first.
    """
    command = [UPTO, "dump", "--json", "--cpu", str(chunk.cpu), "--from", f"{chunk.first_ns}ns", trace]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        ahead = []
        for line in p.stdout:
            event = json.loads(line)
            if event["ns"] > chunk.first_ns:
                break
            ahead.append(event)
        else:
            return ahead
        events = ahead + [event] + [json.loads(line) for line in itertools.islice(p.stdout, n)]
        p.kill()
    return events


# docs/format.md, SYSCALL
ABIS = ["x86-64", "i386", "x32"]


def as_dumped(places, chunk, event, task):
    """The decoder's event in the form of a line of dump --json."""
    line = {"ns": event["ns"], "insns": event["insns"], "cpu": chunk.cpu, "kind": event["kind"]}
    for key in ("slot", "from", "target"):
        if event[key]:
            line[key] = hex(event[key])
    if event["target"]:
        line["place"] = places.name(event["target"], event["ns"], task)
    if event["args"]:
        line["args"] = [hex(a) for a in event["args"]]
    if event["kind"] == "syscall":
        line["abi"] = ABIS[event["args"][7]]
    return line


def compare(trace, path, chunk):
    """The chunk's events; how many there were."""
    ours, task, places = [], chunk.task, Places(trace)
    for e in itertools.islice(decoder.with_times(chunk, trace.events(chunk)), EVENTS_MAX):
        ours.append(as_dumped(places, chunk, e, task))
        if e["kind"] == "task-switch":
            task = e["args"][1]
    # who a task is, other tests ask
    theirs = [{k: v for k, v in e.items() if k not in ("previous", "next")} for e in dump(path, chunk, len(ours))]
    head = ours[:WINDOW]
    skip = 0
    while theirs[skip:skip + len(head)] != head and skip < len(theirs) and theirs[skip]["ns"] <= chunk.first_ns:
        skip += 1
    where = f"chunk {chunk.number} (vCPU {chunk.cpu})"
    assert theirs[skip:skip + len(head)] == head, \
        f"{where}: upto's dump does not have its first events: {head[:3]}; it has {theirs[:3]}"
    if chunk.first_ns:
        assert skip and theirs[skip - 1]["insns"] == chunk.first_insns, f"{where}: begins elsewhere: {theirs[skip]}"
    for i, (a, b) in enumerate(itertools.zip_longest(ours, theirs[skip:skip + len(ours)])):
        assert a == b, f"{where}: event {i}: decoder {a}, upto {b}"
    if chunk.events <= EVENTS_MAX:
        assert len(ours) == chunk.events, f"{where}: {len(ours)} events, not {chunk.events}"
        assert ours[-1]["insns"] == chunk.last_insns, f"{where}: ends at {ours[-1]['insns']} instructions"
    return len(ours)


def choose(trace, chunks):
    """The first and the last, of those about the middle the one with most and least in it, one that continues
    another, one without a clock; of those before which there is little to decode."""
    near = [c for c in chunks if sum(b.events for b in trace.continued(c)) < 1500000]
    third = len(near) // 3
    middle = near[third:-third] or near
    some = [near[0], max(middle, key=lambda c: c.stored), min(middle, key=lambda c: c.stored), near[-1]]
    some += [c for c in near[1:] if c.first_ns == c.last_ns][:1]
    some += [c for c in near if c.flags & decoder.CONTINUES][-1:]
    assert any(c.flags & decoder.CONTINUES for c in some), "no chunk continues another"
    return sorted(set(some), key=lambda c: c.number)


def check_tables(trace, path, chunks):
    """Everything but the events."""
    info = upto_json("info", "--json", path)
    assert trace.cut is None and info["cut"] is None, (trace.cut, info["cut"])
    assert trace.meta == info["meta"], (trace.meta, info["meta"])
    assert info["complete"] == (trace.meta["lost"] == "0" and "stopped" not in trace.meta)
    assert info["bytes"] == len(trace.data)
    assert info["vcpus"] == int(trace.meta["vcpus"])
    assert info["slide"] == int(trace.meta.get("slide", "0"), 0)
    events = sum(c.events for c in chunks)
    assert info["events"] == events == int(trace.meta["events"]), (info["events"], events)
    ends = {c.cpu: c for c in chunks}
    assert info["instructions"] == sum(c.last_insns for c in ends.values())
    for cpu, last in ends.items():
        assert int(trace.meta[f"insns.{cpu}"]) == last.last_insns
    # symbols: those that top names are there, at their addresses
    names = {s.addr + info["slide"]: s.name for s in trace.symbols}
    assert len(names) == len(trace.symbols) > 10000, len(trace.symbols)
    for f in upto_json("top", "--json", "-n", "0", path)["functions"]:
        if f["address"]:
            assert names.get(int(f["address"], 16)) == f["function"], f
    # sites: as many as the SITES chunks say; upto itself counts none
    assert len(trace.sites) > 2000, len(trace.sites)


def check_joints(trace, chunks):
    """Each chunk begins where the one before it, of the same vCPU, ended; behind a gap later, and with the gap."""
    ends = {}
    for c in chunks:
        if c.flags & decoder.BEHIND_GAP:
            first, (insns, ns) = next(iter(trace.events(c))), ends.get(c.cpu, (0, 0))
            assert first["kind"] == "gap" and c.first_insns >= insns and c.first_ns >= ns and not c.flags & decoder.CONTINUES, f"chunk {c.number}"
            ends[c.cpu] = c.first_insns, c.first_ns
        assert (c.first_insns, c.first_ns) == ends.get(c.cpu, (0, 0)), f"chunk {c.number}"
        ends[c.cpu] = c.last_insns, c.last_ns


def test_decoder():
    """A boot cut off early: tables whole, events of some chunks one by one."""
    path = os.path.join(WORK, "format.upto")
    p = run("timeout", "-s", "INT", SECONDS, UPTO, "record", "--force", "-o", path, "--",
            *qemu_args("6.12", initrd("6.12", "plain")), check=False)
    assert os.path.exists(path), p.stderr.decode(errors="replace")
    trace = decoder.Trace(path)
    chunks = [c for c in trace.chunks if c.type == decoder.EVENTS]
    assert len(chunks) >= 3, len(chunks)
    check_tables(trace, path, chunks)
    check_joints(trace, chunks)
    some = choose(trace, chunks)
    compared = sum(compare(trace, path, c) for c in some)
    os.unlink(path)
    return f"{compared} events of {len(some)} chunks; " \
           f"{len(trace.sites) - decoder.FIRST_SITE} sites, {len(trace.symbols)} symbols"


def rewritten(trace, kind, change, version=7):
    """The bytes of a trace whose chunks of that kind have the payloads that change(payload) gives."""
    out = decoder.FILE_MAGIC + struct.pack("<I", version)
    out += struct.pack("<I", zlib.crc32(out) if version >= 9 else 0)
    for c in trace.chunks:
        stored = trace.data[c.offset + decoder.CHUNK_HEADER.size:c.offset + decoder.CHUNK_HEADER.size + c.stored]
        if c.type == kind:
            payload = change(trace.payload(c))
            stored = zstd(payload)
            c = c._replace(stored=len(stored), unpacked=len(payload))
        header = decoder.CHUNK_HEADER.pack(*c[:-2], 0)[:-4]
        out += header + struct.pack("<I", zlib.crc32(header)) + stored
    return out


def as_format_6(trace):
    """The bytes of a trace, with the kernel's symbols as format 6 had them."""
    rows = symbols([(s.addr, s.end - s.addr, s.section, s.name.encode()) for s in trace.symbols],
                   [(s.addr, s.end, s.name.encode()) for s in trace.sections])
    return rewritten(trace, decoder.SYMBOLS, lambda _: rows, version=6)


def test_format_6():
    """Tables of symbols are still read as they were written before."""
    _, data, _ = short_trace()
    new, old = (os.path.join(WORK, f"format-{n}.upto") for n in (7, 6))
    write(new, data)
    trace = decoder.Trace(new)
    assert len(trace.symbols) > 10000, len(trace.symbols)
    write(old, as_format_6(trace))
    assert decoder.Trace(old).symbols == trace.symbols
    for question in ("top", "-n", "0"), ("first", "-n", "0"), ("info",):
        told = [upto_json(question[0], "--json", *question[1:], path) for path in (new, old)]
        for answer in told:
            for key in ("trace", "bytes", "bytes_by_content"):
                answer.pop(key, None)
        assert told[0] == told[1], question
    assert os.path.getsize(new) < os.path.getsize(old) - 50000
    # a header that tells of an earlier format than its tables
    for version in (5, 6):
        write(new, data[:8] + bytes([version]) + bytes(7) + data[16:])
        p = run(UPTO, "info", new, check=False)
        assert p.returncode == 1 and b"the header says format %d" % version in p.stderr, p
    os.unlink(new)
    os.unlink(old)


def test_damaged_lists():
    """What a filter leaves beside the events: a list that is damaged is refused by what reads it, and found by check."""
    path, bad = (os.path.join(WORK, f"format-{name}.upto") for name in ("listed", "bad"))
    run(UPTO, "thin", "-f", "--start", "entry:kernel_init_freeable", "--stop", "exit:kernel_init_freeable", "--min-duration", "20us", "-o", path,
        recording("6.12", 1)[0])
    trace = decoder.Trace(path)
    held = trace.held()
    assert len(held) > 20 and held == sorted(set(held)) and held[-1] < sum(c.events for c in trace.chunks), held[:5]
    cut = b"\x01" * 10 + b"\x80"
    for kind, payloads, question, said in ((decoder.HELD, (b"\0", cut, b"\xff\xff\xff\xff\x0f", b"\x80" * 11), "kd", b"damaged numbers of held calls"),
                                           (decoder.SUMS, (b"\x05", cut, b"\0\0\xff"), "top", b"damaged sums")):
        for payload in payloads:
            write(bad, rewritten(trace, kind, lambda _, payload=payload: payload))
            for command in ("check", question):
                p = run(UPTO_ASAN, command, bad, check=False)
                assert p.returncode == 1 and said in p.stdout + p.stderr, (command, payload, p.stdout[-300:], p.stderr[-300:])
    os.unlink(bad)


def test_made():
    """Traces that fuzz/make_corpus.py made, with what boots seldom have: the decoder finds what upto dumps."""
    corpus = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz/corpus/fuzz_trace")
    compared = collections.Counter()
    for name in ("whole", "whole-deep", "whole-phrases", "whole-phrases-forgotten"):
        path = os.path.join(WORK, f"made-{name}.upto")
        with open(os.path.join(corpus, name), "rb") as f, open(path, "wb") as out:
            out.write(f.read()[1:])
        trace = decoder.Trace(path)
        fields = ("cpu", "kind", "insns", "slot", "from", "target", "args")
        ours = [[{"cpu": c.cpu, **e}.get(k) or None for k in fields]
                for c in trace.chunks if c.type == decoder.EVENTS for e in trace.events(c)]
        dumped = run(UPTO, "dump", "--json", path).stdout.decode().splitlines()
        theirs = [[numbers(json.loads(line)).get(k) or None for k in fields] for line in dumped]
        assert sorted(ours, key=str) == sorted(theirs, key=str), (name, [e for e in ours if e not in theirs][:3])
        compared[name] = len(ours)
    assert compared["whole-phrases-forgotten"] == 44, compared
    return str(dict(compared))


def test_document():
    """The numbers in docs/format.md are those in the code, and in the decoder."""
    def read(path):
        with open(os.path.join(TOP, path)) as f:
            return f.read()

    doc = read("docs/format.md")
    version = re.search(r"FORMAT_VERSION = (\d+)", read("src/trace/format.h")).group(1)
    assert f"This is format version {version}." in doc, version
    assert f"the version of the format, which is {version}." in read("docs/upto.5"), version
    code = {name: int(n) for name, n in re.findall(r"EVENT_([A-Z_]+) = (\d+),", read("src/trace/event.h"))}
    told = {name: int(n) for n, name in re.findall(r"^\| (\d+) \| ([A-Z_]+) \|.*\|.*\|.*\|$", doc, re.M)}
    del code["NONE"]
    told = {name: n for name, n in told.items() if name in code}
    assert code == told == {k.upper().replace("-", "_"): i for i, k in enumerate(decoder.KINDS) if k}, (code, told)
    code = dict(re.findall(r"MODEL_([A-Z]+) = 1 << (\d+)", read("src/trace/model.h")) +
                re.findall(r"\t(PHRASE_SETS) = 1 << (\d+)", read("src/trace/phrases.h")))
    for name, value in re.findall(r"^\t(WINDOW_EVENTS|PHRASE_EVENTS|PHRASE_WAYS|OPEN_CALLS) = (\d+),", read("src/trace/phrases.h"), re.M):
        assert getattr(decoder, name) == int(value), name
    assert all(text in doc for text in (
        f"when a window has {decoder.WINDOW_EVENTS} events", f"up to {decoder.PHRASE_EVENTS} events", f"modulo {decoder.PHRASE_WAYS}",
        f"at most {decoder.OPEN_CALLS}\nevents")), "the document's windows"
    told = {name.upper(): n for name, n in re.findall(r"^\| (\w+) \| 2\^(\d+) \|", doc, re.M)}
    assert code == told, f"tables: code {code}, document {told}"
    for name, bits in code.items():
        assert getattr(decoder, name) == 1 << int(bits), f"decoder: {name} is not 2^{bits}"
    code = re.findall(r"^\t((?:MISS|SECOND)_[A-Z]+) = (\d+),", read("src/trace/codec.h"), re.M)
    assert len(code) == 8, code
    for name, value in code:
        assert getattr(decoder, name) == int(value), name
