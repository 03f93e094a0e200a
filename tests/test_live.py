# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in handlers while the guest runs: what they print is what they print of the trace, and it comes at once."""
import os
import re
import signal
import subprocess
import time

import pytest

from guest import UPTO, UPTO_ASAN, WORK, check, initrd, qemu_args, run, upto_json
from test_handlers import SILENT
from test_probes import revived

# of all kinds that can be live: calls, returns, times, system calls with texts, the log, recorded values, and what is kept from one to the next
MANY = ('kprobe:path_mount { printf("%d %s %s %s\\n", nsecs, comm, func, kstack(3)); @mounts[comm, kstack] = count(); } kprobe:vfs_read { @size[comm] = hist(arg2); } '
        'kretprobe:vfs_open /duration > 50000/ { printf("slow %d %d %d %s\\n", nsecs, duration, insns, comm); @self = sum(self_insns); } '
        'tracepoint:syscalls:sys_enter_openat { @opened[str(args.filename)] = count(); @began[tid] = nsecs; } '
        'tracepoint:syscalls:sys_exit_openat /@began[tid]/ { @took = hist(nsecs - @began[tid]); delete(@began[tid]); } interval:ms:700 { printf("%d\\n", nsecs); print(@size); clear(@size); } '
        'profile:ms:90 { @ran[cpu, comm] = count(); } log:* { printf("log %s\\n", args.text); } software:cs:1 { @switches = count(); }')


class Live:
    """record -e while it runs. Each line with whether QEMU was there when it came."""

    def __init__(self, name, program, *options, smp=1, guest="plain", stdout=subprocess.PIPE):
        self.trace = os.path.join(WORK, f"live-{name}.upto")
        self.program = program
        args = qemu_args("6.12", initrd("6.12", guest), smp=smp, thread="multi" if smp > 1 else "single")
        self.stderr = open(self.trace + ".err", "w+b")
        self.p = subprocess.Popen([UPTO, "record", "-f", "-o", self.trace, *options, "-e", program, "--", *args, *SILENT], stdout=stdout, stderr=self.stderr,
                                  stdin=subprocess.DEVNULL, start_new_session=True)

    def qemu(self):
        for pid in map(int, subprocess.run(["pgrep", "-P", str(self.p.pid)], stdout=subprocess.PIPE).stdout.split()):
            try:
                with open(f"/proc/{pid}/comm") as f:
                    if f.read().startswith("qemu"):
                        return pid
            except OSError:
                pass  # it has just ended
        return None

    def lines(self):
        for line in self.p.stdout:
            yield line.decode(errors="replace"), self.qemu() is not None

    def end(self):
        """What came until the end, the exit status, and what was said on standard error."""
        text = self.p.stdout.read().decode(errors="replace")
        status = self.p.wait(300)
        self.stderr.seek(0)
        return text, status, self.stderr.read().decode(errors="replace")

    def again(self):
        return run(UPTO, "run", "-e", self.program, self.trace, check=False).stdout.decode(errors="replace")


def without_count(text):
    """Modules that come have more probes at the end than at the begin."""
    first, _, rest = text.partition("\n")
    assert re.fullmatch(r"Attaching \d+ probes?\.\.\.", first), first
    return rest


@pytest.mark.weight(40)
@pytest.mark.parametrize("smp", [1, pytest.param(2, marks=pytest.mark.long)])
def test_same(smp):
    """Byte for byte what the trace tells; and the first line comes when the guest has just begun."""
    live = Live(f"same-{smp}", MANY, smp=smp)
    got = list(live.lines())
    text, status, said = live.end()
    assert status == 0 and not text, said
    early = sum(there for _, there in got)
    # how many is a matter of the host
    assert early > 2, (early, len(got))
    assert "host was too slow" not in said, said
    got, want = without_count("".join(line for line, _ in got)), without_count(live.again())
    assert got == want, next((g, w) for g, w in zip(got.splitlines() + [""], want.splitlines() + [""]) if g != w)
    assert all(word in got for word in ("path_mount", "@mounts[", "@size[", "@opened[", "@took", "@self", "@ran[", "log ", "@switches")), got[-2000:]
    check(live.trace)
    return f"{early} of {got.count(chr(10))} lines before the end"


@pytest.mark.weight(15)
def test_exit():
    """exit() ends the guest, with the status that it is given, and the trace is whole."""
    live = Live("exit", 'kprobe:path_mount { printf("%s %d\\n", comm, nsecs); if (++@n == 2) { exit(7); } }')
    text, status, said = live.end()
    assert status == 7 and re.search(r"\n@n: 2\n", text), (text, said)
    assert text == live.again()
    check(live.trace)
    ended = run(UPTO, "run", "-e", "END { printf(\"%d\\n\", nsecs); }", live.trace).stdout.decode().split("\n")[1]
    return f"exit at {text.split()[4]} ns, guest ended at {ended} ns"


@pytest.mark.long
@pytest.mark.weight(15)
def test_revived():
    """A guest that boots twice, in which a module comes twice: a probe is the same one all the time, also where it is another address."""
    args, binary = revived("live-revived")
    trace, program = os.path.join(WORK, "live-revived.upto"), (
        'kprobe:dummy_dev_init { @device[str(((struct net_device *)arg0)->name)] = count(); } tracepoint:module:module_load { @load[str(args->name)] = count(); } '
        'uprobe:/bin/revived:count { @count[arg0] = count(); } kprobe:vfs_open { @open = count(); } kretprobe:vfs_open { @opened = count(); } '
        'tracepoint:rcu:rcu_utilization { @rcu[str(args->s)] = count(); }')
    p = run(UPTO, "record", "-f", "-o", trace, "-e", program, "--debug", binary, "--", *args)
    live, again = p.stdout.decode(errors="replace"), run(UPTO, "run", "-e", program, trace).stdout.decode()
    assert again.startswith("Attaching 6 probes...\n") and live[live.index("@count"):] == again[again.index("@count"):], (live, again)
    opened = len(upto_json("calls", "--json", "--function", "vfs_open", "--depth", "1", "-n", "0", trace)["calls"])
    for told in ("@count[5]: 2", "@count[6]: 2", "@count[7]: 2", "@device[dummy0]: 4", "@load[virtio_blk]: 2", "@load[dummy]: 4", f"@open: {opened}", f"@opened: {opened}"):
        assert told in again.splitlines(), (told, again)
    assert re.search(r"^@rcu\[Start context switch\]: \d{3,}$", again, re.M) and "0x" not in again, again
    # what the program read is its own affair
    shown = {e["event"].split(":")[0] for e in upto_json("events", "--json", trace)["events"]}
    assert shown == {"module", "rcu"} and b"upto:" not in run(UPTO, "events", "-l", trace).stdout, shown
    assert not re.search(rb"# +h[0-9a-f]{8}", run(UPTO, "calls", "--function", "vfs_open", "--depth", "1", trace).stdout)
    return opened


@pytest.mark.weight(20)
@pytest.mark.parametrize("how", ["interrupt", *(pytest.param(how, marks=pytest.mark.long) for how in ("kill", "closed"))])
def test_ended(how):
    """Ctrl-C, QEMU killed, nobody reads on: what there is is printed, and it is what the trace tells."""
    # on a slow host another guest might have ended by itself before
    live = Live(how, 'kprobe:vfs_open { printf("%d %s\\n", nsecs, comm); @[comm] = count(); }', guest="plain" if how == "closed" else "hangs")
    first = [next(live.lines())[0] for _ in range(3)]
    if how == "closed":
        live.p.stdout.close()
        assert live.p.wait(300) == 1
        live.stderr.seek(0)
        assert b"nobody reads what the program prints; the guest is recorded all the same" in live.stderr.read()
        check(live.trace)
        return
    if how == "interrupt":
        os.killpg(live.p.pid, signal.SIGINT)
    else:
        os.kill(live.qemu(), signal.SIGKILL)
    text, status, said = live.end()
    text = without_count("".join(first) + text)
    assert "@[" in text and text == without_count(live.again()), (text[-300:], said)
    assert status == (137 if how == "kill" else 0), (status, said)


@pytest.mark.long
@pytest.mark.weight(15)
def test_disk_full():
    """What the program prints has no room: that is said, and the recording is whole."""
    with open("/dev/full", "wb") as full:
        live = Live("full", 'kprobe:vfs_open { printf("%d %s\\n", nsecs, comm); }', stdout=full)
        assert live.p.wait(300) == 1
    live.stderr.seek(0)
    assert b"upto: standard output: No space left on device" in live.stderr.read()
    check(live.trace)


@pytest.mark.long
@pytest.mark.weight(40)
@pytest.mark.parametrize("name, options", [("span", "--start entry:path_mount --stop exit:path_mount"), ("flight", "--start entry:path_mount --before 500ms"),
                                           ("deterministic", "--deterministic")])
def test_chosen(name, options):
    """Of a span, of a flight recorder, which has nothing in its file before the end, and of a guest that repeats."""
    live = Live(f"chosen-{name}", 'kprobe:path_mount { printf("%d %s\\n", nsecs, comm); @[comm] = count(); }', *options.split())
    text, status, said = live.end()
    assert status == 0 and "@[" in text and text == live.again(), (text, said)
    check(live.trace)


@pytest.mark.weight(15)
def test_follow():
    """A recording that somebody else has begun."""
    trace = os.path.join(WORK, "live-follow.upto")
    program = MANY.replace("kprobe:vfs_read { @size[comm] = hist(arg2); } ", "").replace(" print(@size); clear(@size);", "")  # nobody asked for values
    if os.path.exists(trace):
        os.unlink(trace)
    p = run(UPTO, "run", "--follow", "-e", program, trace, check=False)
    assert p.returncode == 1 and b"No such file" in p.stderr, p.stderr
    recorder = subprocess.Popen([UPTO, "record", "-q", "-o", trace, "--", *qemu_args("6.12", initrd("6.12", "plain")), *SILENT], stdin=subprocess.DEVNULL)
    while not os.path.exists(trace):
        assert recorder.poll() is None
        time.sleep(0.02)
    followed = run(UPTO_ASAN, "run", "--follow", "-e", program, trace).stdout
    assert recorder.wait(300) == 0
    want = run(UPTO, "run", "-e", program, trace).stdout
    assert followed == want and want.count(b"\n") > 5, (followed[-300:], want[-300:])
    wrong = os.path.join(WORK, "live-none.upto")
    with open(wrong, "wb") as f:
        f.write(b"hello")
    p = run(UPTO, "run", "--follow", "-e", program, wrong, check=False)
    assert p.returncode == 1 and b"too short for a trace" in p.stderr, p.stderr
    # a trace that has ended is followed to its end
    assert run(UPTO, "run", "--follow", "-e", program, trace).stdout == want
    for more, message in ((["--from", "1s"], b"goes without --from and --to"), (["-e", "span:* { @ = count(); }"], b"spans and waits are known only when the guest has ended")):
        p = run(UPTO, "run", "--follow", *(["-e", program] if more[0] != "-e" else []), *more, trace, check=False)
        assert p.returncode in (1, 2) and message in p.stderr, p.stderr


@pytest.mark.weight(10)
def test_at_end():
    """What needs the whole trace says so, and is answered then; so is what says nothing before its end."""
    live = Live("at-end", 'call:vfs_open { printf("%d\\n", nsecs); } span:exec { printf("%s\\n", args.name); }', guest="brief")
    text, status, said = live.end()
    assert status == 0 and "comes when the guest has ended: it asks for" in said, said
    assert text == live.again() and text.count("\n") > 1, text
    p = run(UPTO, "record", "-f", "-o", live.trace, "-e", "kprobe:no_such_function { printf(\"x\"); }", "--", *qemu_args("6.12", initrd("6.12", "brief")), *SILENT, check=False)
    assert p.returncode == 1 and b"the trace has no function no_such_function" in p.stderr, p.stderr
