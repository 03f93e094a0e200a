# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs under bpftrace in the guest, and under upto outside, of the same work: what both print is the same, byte for byte."""
import os
import re
import shutil

import pytest

from guest import TOP, UPTO, WORK, initrd, libraries_of, once_a_run, qemu_args, record, run, unpack_disk

pytestmark = [pytest.mark.skipif(not shutil.which("bpftrace"), reason="no bpftrace"), pytest.mark.long]

# of the worked process alone, which begins once all probes are there
PROGRAMS = {
    "calls": """kprobe:vfs_read /comm == "worked"/ { @reads = count(); @size = hist(arg2); @sizes[arg2 % 7, comm] = count(); }
kretprobe:vfs_read /comm == "worked"/ { @result = lhist(retval, 0, 4096, 512); @stats = stats(retval); @sum = sum(retval); @max = max(retval); @avg = avg(retval); }
kprobe:vfs_open /comm == "worked"/ { printf("open %s, %d\\n", str(((struct path *)arg0)->dentry->d_name.name), pid == tid); }
""",
    "syscalls": """tracepoint:syscalls:sys_enter_openat /comm == "worked"/ { printf("%-8s %s %d\\n", comm, str(args->filename), args->flags); @flags[args->flags] = count(); }
tracepoint:syscalls:sys_exit_openat /comm == "worked"/ { @fd[args->ret < 0 ? "failed" : "opened"] = count(); }
tracepoint:syscalls:sys_exit_read /comm == "worked"/ { @bytes = hist(args->ret); }
tracepoint:raw_syscalls:sys_enter /comm == "worked"/ { @calls[args->id] = count(); }
tracepoint:syscalls:sys_enter_write /comm == "worked"/ { @w = lhist(args->count, 0, 1500, 100); @min = min(args->count); }
END { printf("end\\n"); clear(@fd); }
""",
    "probes": """kprobe:vfs_* /comm == "worked"/ { @[probe] = count(); @f[func] = count(); }
kprobe:vfs_read /comm == "worked" && @n < 3/ { @n++; printf("%s", kstack(3)); }
kprobe:vfs_open /comm == "worked"/ { @k[kstack(5), 1] = count(); }
""",
    # addresses in maps, the running task, and what a system call's argument leads to
    "memory": """kprobe:vfs_open /comm == "worked"/ { @path[tid] = arg0; }
kretprobe:vfs_open /@path[tid]/ { printf("opened %s\\n", str(((struct path *)@path[tid])->dentry->d_name.name)); delete(@path[tid]); }
kprobe:vfs_read /comm == "worked"/ { @file[tid, 1] = (struct file *)arg0; }
kretprobe:vfs_read /comm == "worked"/ { $f = @file[tid, 1]; @modes[$f->f_mode & 3, $f->f_flags] = count(); @inodes[$f->f_inode->i_mode] = count(); delete(@file[tid, 1]); }
kprobe:vfs_write /comm == "worked"/ { $task = (struct task_struct *)curtask; @who[$task->pid == tid, $task->tgid == pid, $task->comm, uid, gid] = count(); }
tracepoint:syscalls:sys_enter_nanosleep /comm == "worked"/ { @slept[args->rqtp->tv_sec, args->rqtp->tv_nsec, uid, ((struct task_struct *)curtask)->real_parent->comm] = count(); }
tracepoint:syscalls:sys_exit_kill /comm == "worked"/ { @killed[args->ret, ((struct task_struct *)curtask)->pid == tid] = count(); }
END { clear(@path); clear(@file); }
""",
}

# tools that come with bpftrace, whose maps are their own, in one program without their first and last words
TOOLS = ["opensnoop", "statsnoop", "killsnoop", "setuids", "naptime", "syncsnoop"]


def tools():
    texts = []
    for name in TOOLS:
        with open(f"/usr/sbin/{name}.bt") as f:
            text = re.sub(r"^#.*$", "", re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S), flags=re.M)
        text = re.sub(r"^(?:BEGIN|END)\n\{.*?^\}\n", "", text, flags=re.M | re.S)
        texts.append(re.sub(r"@(\w+)", rf"@{name}_\1", text))
    return "\n".join(texts)


def recorded(name, version="6.12"):
    """What bpftrace printed in the guest, and the trace."""
    trace = os.path.join(WORK, f"bpftrace-{name}.upto")
    folder = os.path.join(WORK, f"bpftrace-{name}")

    def make():
        os.makedirs(folder, exist_ok=True)
        program, worked = os.path.join(folder, f"{name}.bt"), os.path.join(folder, "worked")
        with open(program, "w") as f:
            f.write(PROGRAMS[name] if name in PROGRAMS else tools())
        run("gcc", "-O2", "-static", "-o", worked, os.path.join(TOP, "tests/guests/worked.c"))
        image = initrd(version, "bpftrace", *libraries_of("/usr/bin/bpftrace"), "/usr/bin/bpftrace=/usr/bin/bpftrace", f"{worked}=/bin/worked", f"{program}=/programs/{name}.bt",
                       image=folder + ".img")
        record(trace, qemu_args(version, image, smp=1, disk=folder + ".disk", memory="2G"), "-e", program, timeout=1500)
        unpack_disk(folder + ".disk", folder)
        os.unlink(image)

    once_a_run(trace, make)
    with open(os.path.join(folder, f"{name}.out")) as f, open(os.path.join(folder, f"{name}.said")) as g:
        return f.read(), g.read(), trace


def lines_of(text):
    """What printf() printed, in its order, and what maps are, in any: those of one count have none in bpftrace."""
    body = re.sub(r"^Attaching \d+ probes?\.\.\.\n", "", text)
    # where in a function its probe is, behind the tracer's own call or before it, is not the function's
    body = re.sub(r"^( +vfs_\w+)\+[05]$", r"\1", body, flags=re.M)
    maps = re.findall(r"^@.*?: ?\n(?:.*\|\n)+|^@\w*\[\n(?: .*\n)*\].*\n|^@.*\n", body, re.M)
    rest = body
    for m in maps:
        rest = rest.replace(m, "", 1)
    return [line for line in rest.split("\n") if line.strip()], sorted(maps)


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.weight(200)
def test_same(name):
    theirs, said, trace = recorded(name)
    assert said.strip().endswith("0"), said
    ours = run(UPTO, "run", os.path.join(WORK, f"bpftrace-{name}", f"{name}.bt"), trace).stdout.decode()
    assert lines_of(ours)[0] == lines_of(theirs)[0], (ours, theirs)
    assert lines_of(ours)[1] == lines_of(theirs)[1], (ours, theirs)
    # maps in the same order, with the same blank lines
    names = [re.findall(r"^(@\w*)", t, re.M) for t in (ours, theirs)]
    assert list(dict.fromkeys(names[0])) == list(dict.fromkeys(names[1])) and ours.count("\n\n") == theirs.rstrip("\n").count("\n\n") + (ours.endswith("\n\n")), (ours, theirs)
    return f"{len(lines_of(ours)[1])} entries of maps, {len(lines_of(ours)[0])} lines"


@pytest.mark.weight(200)
def test_tools():
    """Lines that tools print of the worked process, but for the clock's time."""
    theirs, said, trace = recorded("tools")
    assert said.strip().endswith("0"), said
    ours = run(UPTO, "run", os.path.join(WORK, "bpftrace-tools", "tools.bt"), trace).stdout.decode()
    shown = [[re.sub(r"\d\d:\d\d:\d\d", "T", line) for line in text.splitlines() if " worked " in line] for text in (ours, theirs)]
    assert shown[0] == shown[1], shown
    kinds = ("/init", "/nowhere/at/all", "setuid ", "setresuid ruid=1000", "0.012", "fdatasync", " 999999 -3")
    assert all(any(kind in re.sub(" +", " ", line) + " " for line in shown[0]) for kind in kinds), shown[0]
    return f"{len(shown[0])} lines"
