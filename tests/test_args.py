# SPDX-License-Identifier: GPL-2.0-or-later
"""record --args: what functions were given and gave back, held against the guest's own kprobes."""
import collections
import os
import re

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, check, initrd, libraries_of, once_a_run, qemu_args, record, run, upto_json

NAMES = "vfs_read,ext4_init_fs_context,jbd2_*,do_sys_openat2,do_fil[pe]_open,do_exit,really_probe,wake_up_process,wake_up_new_*,strlen"
KPROBE = re.compile(r"^ *\S.*?-(\d+) +\[\d+\] .*?: (\w+): \(.*?\) ?(.*)$", re.M)


def args_guest(version):
    """A guest that uses kprobes itself, recorded with the arguments of functions, and with the same probes: the trace, and the console."""
    trace = os.path.join(WORK, f"args-{version}.upto")
    console = trace + ".console"

    def make():
        probes = [o for d in guests_probes(version) for o in ("--probe", d)]
        p = record(trace, qemu_args(version, initrd(version, "args")), "--args", NAMES, *probes)
        with open(console, "wb") as f:
            f.write(p.stdout)

    once_a_run(trace, make)
    with open(console, "rb") as f:
        return trace, f.read().decode(errors="replace")


def guests_probes(version):
    """The definitions that the guest gives to its kernel, and some in perf's words."""
    with open(os.path.join(TOP, "tests/guests/args.init")) as f:
        filp = "do_file_open" if version == "7" else "do_filp_open"
        own = [d.replace("'$filp'", filp) for d in re.findall(r"^echo '([pr]:.*)' >", f.read(), re.M)]
    return own + ["given=vfs_read count buf file->f_path.dentry->d_name.name:string file->f_mode", "given_back=vfs_read%return $retval pos count",
                  "ext4:ext4_init_fs_context fc->purpose:u32 fc",
                  "as_uftrace=vfs_read@arg3/u,arg2/x64", "uftrace_back=vfs_read@retval", "uftrace_open=do_sys_openat2@arg1/i32,arg2/s", "comm=do_exit $comm @jiffies code",
                  "no_such_function", "vfs_write+1", "do_sys_openat2 bogus"]


def filp_of(out):
    return re.search(r"^filp (\w+)", out, re.M)[1]


def told_by_guest(out):
    """{(pid, function): [(arguments, result)]}, in order: as the kernel's own probes had them."""
    text = out[out.index("trace-begin"):out.index("trace-end")]
    calls, opened = collections.defaultdict(list), {}
    names = {"read": "vfs_read", "openat": "do_sys_openat2", "filp": filp_of(out), "exit": "do_exit",
             "context": "ext4_init_fs_context"}
    for pid, event, values in KPROBE.findall(text.replace("\r", "")):
        found = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', values))
        if event in ("arrays", "helper"):
            continue
        name = names[event.removesuffix("_result")]
        if event.endswith("_result"):
            opened[pid, name][1] = int(found["result"])
        else:
            call = [{k: v.strip('"') if v[0] == '"' else v if v.startswith("0x") else int(v) for k, v in found.items()}, None]
            opened[pid, name] = call
            calls[int(pid), name].append(call)
    return calls


def told_by_upto(trace, function):
    calls = collections.defaultdict(list)
    for c in upto_json("calls", "--json", "--args", "--depth", "1", "--function", function, trace, upto=UPTO_ASAN)["calls"]:
        calls[c["pid"]].append((c["args"], c["result"]))
    return calls


def is_as_told(ours, theirs, has_result):
    args, result = theirs
    return all(ours[0].get(k) == v for k, v in args.items()) and (not has_result or ours[1] == result)


@pytest.mark.parametrize("version", ["6.12", pytest.param("6.1", marks=pytest.mark.long), pytest.param("7", marks=pytest.mark.long)])
@pytest.mark.weight(25)
def test_kprobes(version):
    """Each call that the guest's own probes saw has the arguments and the result that they saw."""
    trace, out = args_guest(version)
    check(trace)
    compared = collections.Counter()
    for function, has_result in ("vfs_read", True), ("do_sys_openat2", True), (filp_of(out), False), ("do_exit", False), \
            ("ext4_init_fs_context", True):
        ours = told_by_upto(trace, function)
        for (pid, name), calls in told_by_guest(out).items():
            if name != function:
                continue
            # those that it saw stand in a row: others came before the probes were there, and after
            starts = [i for i in range(len(ours[pid]) - len(calls) + 1)
                      if all(is_as_told(o, t, has_result and t[1] is not None) for o, t in zip(ours[pid][i:], calls))]
            assert starts, (function, pid, calls[:3], ours[pid][:3])
            compared[function] += len(calls)
    assert compared.pop("ext4_init_fs_context") == 1 and len(compared) == 4 and min(compared.values()) >= 5, compared
    # what a file is, tells its name: dd read all of busybox
    size = int(re.search(r"size (\d+)", out)[1])
    read = [(c["args"], c["result"]) for c in upto_json("calls", "--json", "--args", "--depth", "1", "--function", "vfs_read", trace)["calls"] if c["comm"] == "dd"]
    assert sum(result for args, result in read if args["file"] == "/bin/busybox") == size, read[-3:]
    return dict(compared)


@pytest.mark.weight(2)
def test_shown():
    """For people: names, numbers, errors; of a stack; and what is said where nothing was recorded."""
    trace, _ = args_guest("6.12")
    text = run(UPTO, "calls", "--args", "--depth", "1", "--wide", "-F", "do_sys_openat2", trace).stdout.decode()
    assert re.search(r'do_sys_openat2\(dfd=-100, filename="/nosuch/file", how=0x[0-9a-f]+\) = -2 \(ENOENT\)', text), text[-1000:]
    text = run(UPTO, "calls", "--args", "--depth", "1", "--wide", "-F", "really_probe", trace).stdout.decode()
    assert re.search(r"really_probe\(dev=\S+, drv=0xffffffff[0-9a-f]+\) = 0\n", text), text
    text = run(UPTO, "calls", "--args", "--depth", "1", "--wide", "-F", "wake_up_new_task", trace).stdout.decode()
    # a kernel thread is given its name before it is woken up
    assert "wake_up_new_task(p=kworker/" in text, text[:500]
    # a call within another is shown with what it was given, too, and without a function that is asked for
    first = next(c for c in upto_json("calls", "--json", "--args", "-F", "do_sys_openat2", trace)["calls"] if c["function"] == "do_filp_open")
    flow = run(UPTO, "calls", "--args", "--wide", "--from", f"{first['start_ns']}ns", "-n", "3", trace).stdout.decode()
    assert f"do_filp_open(dfd={first['args']['dfd']}, pathname={first['args']['pathname']}, " in flow, (first, flow)
    stack = upto_json("stack", "--json", "--args", "--at", f"{first['start_ns'] + 1}ns", "--running", trace)["stacks"][0]["frames"]
    assert [f["args"] for f in stack if f["function"] == "do_filp_open"] == [first["args"]], stack[:3]
    # types as the kernel's own source has them
    [types] = [line for key, line in upto_json("info", "--json", trace)["meta"].items() if key.startswith("args.") and "\tvfs_read\t" in line]
    assert types.split("\tvfs_read\t")[1].split("\t") == ["d8::ssize_t", "f8:file:struct file *", "p8:buf:char *", "u8:count:size_t", "p8:pos:loff_t *"], types
    none = os.path.join(WORK, "args-none.upto")
    said = record(none, qemu_args("6.12", initrd("6.12", "brief")), "--args", "no_such_function", "--stop", "entry:rest_init").stderr
    assert b"--args: the kernel and the modules that were loaded have no function no_such_function" in said, said
    p = run(UPTO, "calls", "--args", "-F", "start_kernel", none, check=False)
    assert p.returncode and b"'upto record --args NAMES' records them" in p.stderr, p.stderr
    os.unlink(none)


@pytest.mark.long
@pytest.mark.weight(4)
def test_summed():
    """The tree has a node for each that a function was given, with the sums of those calls; first tells what the first call was given."""
    trace, _ = args_guest("6.12")
    calls = [c for c in upto_json("calls", "--json", "--args", "-F", "vfs_read", trace, upto=UPTO)["calls"] if c["function"] == "vfs_read" and c["args"]]
    expected = collections.defaultdict(lambda: [0, 0])
    for c in calls:
        file = "…" if c["args"]["file"].startswith("0x") else c["args"]["file"]
        expected[file, c["args"]["count"]][0] += 1
        expected[file, c["args"]["count"]][1] += c["insns"]
    got = collections.defaultdict(lambda: [0, 0])
    for n in upto_json("tree", "--json", "--args", "-F", "vfs_read", trace, upto=UPTO_ASAN)["tree"]:
        if n["function"] == "vfs_read" and n["given"]:
            file, count = re.fullmatch(r"\(file=(.*), buf=(?:…|NULL), count=(\d+), pos=(?:…|NULL)\)", n["given"]).groups()
            got[file, int(count)][0] += n["calls"]
            got[file, int(count)][1] += n["total_insns"]
    assert dict(got) == dict(expected) and len(got) > 5, (dict(got), dict(expected))
    shown = run(UPTO, "tree", "--args", "--wide", "--min", "0", "--depth", "1", "-F", "vfs_read", trace).stdout.decode()
    assert re.search(r" vfs_read\(file=/bin/busybox, buf=…, count=\d+, pos=…\)", shown), shown
    first = upto_json("first", "--json", "--args", "-F", "vfs_read,ksys_read", trace, upto=UPTO_ASAN)["first"]
    one = min(calls, key=lambda c: c["start_ns"])
    given = {f["function"]: f["given"] for f in first}
    assert given["ksys_read"] is None and given["vfs_read"].startswith(f"(file={one['args']['file']}, buf={one['args']['buf']}, count={one['args']['count']}, "), (given, one)
    return f"{len(calls)} calls, {len(got)} kinds"


LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
OF_LIBC = ("open", "openat", "malloc", "mmap", "kill", "lseek")


OF_PROGRAM = ("plain", "mixed", "unseen", "scaled", "stacked", "nine", "wide", "none")


def calls_told(trace):
    """As the program says them itself."""
    rows = run(UPTO, "calls", "--args", "-F", ",".join(OF_PROGRAM + OF_LIBC), "--comm", "given", "--depth", "1", trace).stdout.decode()
    return re.findall(r"^ .* (\w+) \[(?:given|libc\.so\.6)\](\(.*?\) = \S+)", rows, re.M)


@pytest.mark.weight(14)
def test_program(tmp_path):
    """What functions of a program and of its libc are given and give back is what the program says that it gave and got; also of a trace without, whose guest runs again."""
    program, trace = os.path.join(WORK, "given"), os.path.join(WORK, "given.upto")
    run("gcc", "-g", "-O1", "-fno-builtin", "-o", program, os.path.join(TOP, "tests/guests/given.c"))
    other = os.path.join(WORK, "shop")
    run("g++", "-g", "-O1", "-o", other, os.path.join(TOP, "tests/guests/shop.cc"))
    libraries = dict.fromkeys(libraries_of(program) + libraries_of(other))
    args = qemu_args("6.12", initrd("6.12", "given", *libraries, f"{program}=bin/given", f"{other}=bin/shop", newer_than=(program, other)))
    names = ",".join(["/bin/given:*", "/bin/shop:*shop*", *(f"{LIBC}:{name}" for name in OF_LIBC), "vfs_open", "do_mmap"])
    debug = ("--debug", f"{program}:{other}")
    p = record(trace, args, "--deterministic", *debug, "--args", names)
    check(trace)
    told = re.findall(rf"^\W*(?:.*\[\dJ)?({'|'.join(OF_PROGRAM + OF_LIBC)})(\(.*\) = \S+)\r?$", p.stdout.decode(), re.M)
    assert len(told) == 17, p.stdout
    ours = calls_told(trace)
    wanted = [(name, re.escape(text).replace(r"p=\?", r"p=\S+")) for name, text in told]
    # what main() calls; the others are what that calls, and the dynamic linker
    mine = [row for row in ours if any(row[0] == name and re.fullmatch(text, row[1]) for name, text in wanted)]
    assert [name for name, _ in mine] == [name for name, _ in told] and all(re.fullmatch(w, row[1]) for (_, w), row in zip(wanted, mine)), (told, ours)
    rows = run(UPTO, "calls", "--args", "-F", "shop::*", "--depth", "1", trace).stdout.decode()
    shop = re.findall(r"(shop::[\w:]+) \[shop\](\(.*\)(?: = \S+)?)$", rows, re.M)
    # structures in registers are told by the first; of what is in registers of both kinds, all registers are
    wanted = [re.escape(f"{name} {text}").replace(r"=\?", r"=\S+").replace(r"\(registers\)\ =\ 50", r"\(%rdi=.*, %r9=.*\)\ =\ 0x32") for name, text in
              re.findall(r"^(shop::[\w:]+)(\(.*\)(?: = \S+)?)\r?$", p.stdout.decode(), re.M)]
    wanted = [w + r"( = 0x\w+)?" if "result" in w else w for w in wanted]
    assert len(wanted) == 8 and len(shop) == 8 and all(re.fullmatch(w, f"{name} {text}") for w, (name, text) in zip(wanted, shop)), (wanted, shop)
    # what the kernel's function has on the stack: the file's second page
    rows = [c["args"] for c in upto_json("calls", "--json", "--args", "-F", "do_mmap", "--comm", "given", "--depth", "1", trace)["calls"]]
    assert [a["pgoff"] for a in rows if a["file"] == "/bin/given" and a["len"] == 4096 and a["prot"] == 1][-1:] == [1], rows
    assert "vfs_open(path=" in run(UPTO, "calls", "--args", "-F", "vfs_open", "--comm", "given", "--depth", "1", trace).stdout.decode()
    of = {(c["function"].split(" ")[0]): c for c in upto_json("calls", "--json", "--args", "-F", "openat", "--comm", "given", "--depth", "1", trace)["calls"]}
    assert of["openat"]["args"] == {"dirfd": "AT_FDCWD", "path": "/no/such/file", "flags": "O_WRONLY|O_CREAT|O_TRUNC", "mode": "0640"} and of["openat"]["result"] == -1, of
    tree = run(UPTO, "tree", "--args", "--depth", "1", "--min", "0", "-F", "openat,kill", trace).stdout.decode()
    assert 'openat [libc.so.6](dirfd=AT_FDCWD, path="/no/such/file", flags=O_WRONLY|O_CREAT|O_TRUNC, mode=0640)' in tree, tree
    assert "plain [given](a=-7, b=250, c=true" in run(UPTO, "first", "--args", "-F", "plain", trace).stdout.decode()
    # the same guest again, and the values from there
    plain = str(tmp_path / "plain.upto")
    record(plain, args, "--deterministic")
    run(UPTO, "probe", *debug, "--args", names, plain)
    assert calls_told(plain) == ours
    for text, said in (("/bin/given:nosuch", "has no such function"), (f"{LIBC}:*", "functions; of programs at most 1024 are recorded: give fewer"), ("/no/such:f", "No such file"), ("/bin/given:main%return", "is no function of a program")):
        p = run(UPTO, "record", "-o", tmp_path / "x.upto", "--debug", program, "--args", text, "--", "qemu-system-x86_64", check=False)
        assert p.returncode == 2 and said in p.stderr.decode() and p.stderr.count(b"\n") == 1, p.stderr
    return f"{len(mine)} calls of {len(ours)}"
