# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels that the other tests do not boot: everything has its name, nothing is missing."""
import os
import re
import struct

import pytest

import decoder
from guest import UPTO, WORK, initrd, kernel, qemu_args, record, run, upto_json
from test_code import recording
from test_sources import SHORTER, symbol_table
from test_truth import symbols_of


@pytest.mark.parametrize("version", ["5.10", "6.18", "sid"])
@pytest.mark.kernels
@pytest.mark.weight(20)
def test_names(version):
    """Functions, processes, modules and system calls of a small boot."""
    trace = os.path.join(WORK, f"names-{version}.upto")
    said = record(trace, qemu_args(version, initrd(version, "plain"), whole=True), timeout=600).stderr.decode(errors="replace")
    assert "lacks" not in said and "no kernel symbols" not in said, said
    info = upto_json("info", "--json", trace)
    assert info["kernel_release"] in kernel(version)[1] and "lacks" not in info["meta"], info
    top = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    for once in ("start_kernel", "rest_init", "kernel_init"):
        assert top[once] == 1, (once, top.get(once))
    processes = upto_json("ps", "--json", trace)["processes"]
    insmods = [p for p in processes if p["comm"] == "insmod" and p["exe"] == "/bin/busybox" and p["end_ns"]]
    calls = upto_json("syscalls", "--json", "--name", "finit_module,openat", trace)["syscalls"]
    loads = [c for c in calls if c["name"] == "finit_module" and c["result"] == 0]
    assert len(insmods) == len(loads) == top["do_init_module"] > 3, (len(insmods), len(loads), top["do_init_module"])
    opened = [c["call"] for c in calls if c["name"] == "openat" and '"/modules/ext4.ko"' in c["call"]]
    assert len(opened) == 1, opened
    objects = {f.split(" [")[1][:-1] for f in top if " [" in f}
    assert {"ext4", "jbd2", "mbcache"} <= objects, objects
    assert any("busybox" in f for f in top)
    assert "[kernel]" not in top
    first = upto_json("first", "--json", "-n", "0", "--module", "ext4", trace)["first"]
    assert any(f["function"] == "ext4_init_fs [ext4]" and f["comm"] == "insmod" for f in first), first
    run(UPTO, "check", "--no-stacks", trace)
    os.unlink(trace)
    return f"{info['kernel_release']}: {len(top)} functions, {len(processes)} processes, {len(loads)} modules"


@pytest.mark.weight(10)
def test_system_map():
    """Symbols from a System.map, which has no types: the same functions, and the types are the image's."""
    version = "6.12"
    whole, folder = recording(version, 2)
    slide, path = upto_json("info", "--json", whole)["slide"], os.path.join(WORK, "System.map")
    with open(os.path.join(folder, "kallsyms")) as said, open(path, "w") as f:
        for line in said:
            addr, kind, *name = line.split()
            if int(addr, 16) >> 63 and len(name) == 1:
                f.write(f"{int(addr, 16) - slide:016x} {kind} {name[0]}\n")
    trace = os.path.join(WORK, "system-map.upto")
    args = qemu_args(version, initrd(version, "brief"), append=SHORTER)
    lines = record(trace, args, "--symbols", path).stderr.decode(errors="replace").splitlines()
    assert not [line for line in lines if "lacks" in line], lines
    meta = decoder.Trace(trace).meta
    assert not meta.get("lacks") and re.search(r"\btask_struct\.pid=\d+:image\b", meta["layout"]), meta
    table, _ = symbol_table(trace)
    start = next(int(s[0], 16) for s in symbols_of(version) if s[2] == "start_kernel")
    want = {int(s[0], 16) - start: s[2] for s in symbols_of(version) if s[1] in (".text", ".init.text")}
    got = {at: name for at, (section, name, _) in table.items() if section in (".text", ".init.text")}
    assert got == want, sorted(set(got.items()) ^ set(want.items()))[:20]
    os.unlink(trace)
    return f"{len(got)} functions"


def test_layout():
    """Where an image keeps what upto reads, by its own types: a task's name stands behind its number and its parent. A file without types is none."""
    members = {m["member"]: m for m in upto_json("layout", "--json", kernel("6.12")[1])["members"]}
    assert len(members) > 100 and {m["from"] for m in members.values()} == {"image"}, members
    at = {name: members[f"task_struct.{name}"]["offset"] for name in ("pid", "tgid", "real_parent", "comm")}
    assert at["pid"] < at["tgid"] == at["pid"] + 4 < at["real_parent"] < at["comm"] and not at["comm"] % 8, at
    p = run(UPTO, "layout", os.path.abspath(__file__), check=False)
    assert p.returncode == 1 and b"has neither BTF nor debug information of a kernel" in p.stderr, p.stderr


def btf_structures(data):
    """Offsets of the members of each structure, and its size, by the format alone (Documentation/bpf/btf.rst)."""
    magic, _, _, header, types, types_len, strings, _ = struct.unpack_from("<HBBIIIII", data)
    assert magic == 0xeb9f
    text = data[header + strings:]

    def name(at):
        return text[at:text.index(b"\0", at)].decode()

    at, end, found = header + types, header + types + types_len, {}
    while at < end:
        name_at, info, size = struct.unpack_from("<III", data, at)
        kind, count = info >> 24 & 0x1f, info & 0xffff
        at += 12
        assert kind in (1, 4), kind  # integers and structures
        if kind == 1:
            at += 4
        for _ in range(count if kind == 4 else 0):
            member, _, bits = struct.unpack_from("<III", data, at)
            found[f"{name(name_at)}.{name(member)}"] = bits // 8
            at += 12
        if kind == 4:
            found[name(name_at)] = size
    return found


def test_layout_is_written(tmp_path):
    """A layout as BTF is what it was, read by others and by upto itself, from a file of its own and from an ELF file's section."""
    btf, elf = tmp_path / "layout.btf", tmp_path / "layout.o"
    image = upto_json("layout", "--json", kernel("6.12")[1])
    run(UPTO, "layout", "-o", btf, kernel("6.12")[1])
    want = {m["member"]: m["offset"] for m in image["members"]}
    structures = btf_structures(btf.read_bytes())
    assert {name: at for name, at in structures.items() if "." in name} == want
    assert {name: size for name, size in image["sizes"].items() if structures.get(name) != size} == {}
    (tmp_path / "empty.s").write_text("")
    run("as", "-o", elf, tmp_path / "empty.s")
    run("objcopy", "--add-section", f".BTF={btf}", elf)
    for path in btf, elf:
        read = upto_json("layout", "--json", path)
        assert {m["member"]: m["offset"] for m in read["members"]} == want and read["sizes"] == image["sizes"], path
        assert {m["from"] for m in read["members"]} == {"types"}, path
    for cut in 0, 3, 4, 5, 23:
        (tmp_path / "cut.btf").write_bytes(btf.read_bytes()[:cut])
        p = run(UPTO, "layout", tmp_path / "cut.btf", check=False)
        assert p.returncode == 1 and p.stderr.count(b"\n") == 1 and not p.stdout, p
