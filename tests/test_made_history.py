# SPDX-License-Identifier: GPL-2.0-or-later
"""Made traces: what threads, files, disks and boots did, where little tells of it, or more than one thing could be meant."""
import pytest

from guest import UPTO_ASAN, run, upto_json
from made import KERNEL, make
from test_made import CHILD, IDLE, INIT, STACK, boot, program, result

US, MS, S = 10**3, 10**6, 10**9
STACK_2 = STACK + 0x10000


def ask(key, trace, *args):
    return upto_json(*args, "--json", trace, upto=UPTO_ASAN)[key]


def clock(*times):
    return [f"event 0 clock {t} {t} 0 0 0" for t in times]


def switch(at, before, after):
    return f"event 0 task-switch {at} {at} 0 0 0 {before} {after}"


class Functions:
    """A kernel of these functions: what calls of them look like."""
    def __init__(self, *names):
        self.symbols = [(KERNEL + 0x1000 * i, 0x100, name) for i, name in enumerate(names)]
        self.at = {name: address for address, _, name in self.symbols}

    def call(self, at, slot, caller, callee):
        return f"event 0 call {at} {at} {slot} {self.at[caller] + 0x10:#x} {self.at[callee]:#x}"

    def back(self, at, slot, caller):
        return f"event 0 return {at} {at} {slot} 0 {self.at[caller] + 0x10:#x}"


def task(at, address, pid, comm, exe="", change=1, mm=0):
    return f"task {change} 0 {at} {at} {address} {mm or (0xffff888000000000 + at if exe else 0)} {pid} {pid} {int(pid > 1)} {comm} {exe}"


def next_boot(at):
    """The machine begins anew, and has a kernel soon."""
    return [switch(at, INIT, 0), f"event 0 arrive {at} 0 0 0 0xfffffff0", f"event 0 jump-indirect {at + 10} 0 0 0xfffffff0 0xf0000", *clock(at + 100),
            f"event 0 jump-indirect {at + 110} 0 0 0xf0100 {KERNEL}", *clock(at + 120), switch(at + 130, 0, INIT), *clock(at + 200),
            task(at + 130, INIT, 9, "after"), f"meta boot.1.start_ns {at}", "meta boot.1.slide 0", f"meta boot.1.kernel_ns {at + 110}",
            f"meta boot.1.kernel_insns {at + 110}", "meta boot.1.symbols 0"]


def syscall(at, nr, value, *args, took=100):
    source, args = 0x401000 + at // MS * 16, [*args, 0, 0, 0, 0, 0, 0][:6]
    return [f"event 0 syscall {at} {at} 0 {source:#x} {KERNEL + 0x2000:#x} {nr} {' '.join(map(str, args))}", result(at + took, source, value)]


READ, CLOSE, SOCKET, ACCEPT, EXECVE, OPENAT = 0, 3, 41, 43, 59, 257


@pytest.mark.parametrize("name,lines,tasks,thin,path", [
    ("kept", syscall(6 * MS, READ, 10, 3), [], [], "socket"),
    # who closed it, and opened another, is left out
    ("left-out", [*syscall(3 * MS, CLOSE, 0, 3), *syscall(4 * MS, OPENAT, 3, -100 % 2**64), *syscall(6 * MS, READ, 10, 3, took=2 * MS)], [], ["--min-duration", "500us"], None),
    ("gap", [*clock(2 * MS + 10), f"behind 0 {5 * MS} {5 * MS} 0x401036 {INIT}", f"event 0 gap {5 * MS} 0 0 0 0 0 2 1 0x401036 {INIT}", *clock(5 * MS + 1),
             *syscall(6 * MS, READ, 10, 3)], [], [], None),
    # it was there before, with files of its own, though its parent has that number open
    ("seen", [switch(3 * MS, INIT, CHILD), f"event 0 interrupt-return {3 * MS + 100} 0 {STACK - 64} 0 0x402000 0x33 0", *syscall(6 * MS, READ, 10, 3)],
     [task(3 * MS, CHILD, 7, "daemon", "/daemon")], [], None),
    # accept() has no flags: what the register has in their place does not close it with the next exec
    ("accept", [*syscall(2 * MS + 10, ACCEPT, 3, 3, 0, 0, 0o2000000), *syscall(4 * MS, EXECVE, 0), *syscall(6 * MS, READ, 10, 3)],
     [task(4 * MS + 50, INIT, 1, "other", "/other", change=5)], [], "socket"),
], ids=("kept", "left-out", "gap", "seen", "accept"))
def test_files_behind_descriptors(name, lines, tasks, thin, path):
    """A descriptor has the path of what was opened last, as far as the trace has all that could have closed it."""
    trace = make(f"files-{name}", program(*syscall(1 * MS, SOCKET, 3, 2, 1, took=MS), *lines, *clock(9 * MS)) + tasks)
    if thin:
        run(UPTO_ASAN, "thin", "-f", "-o", trace + ".thin", *thin, trace)
        trace += ".thin"
    *_, read = ask("syscalls", trace, "syscalls")
    assert (read["name"], read["path"]) == ("read", path), read


def test_pairs_of_intervals():
    """What begins in one interval does not end in another: what was between them is not looked at."""
    form = r'test:{0}\nname: {0}\nID: {1}\nformat:\n	field:int x;	offset:0;	size:4;	signed:1;\n\nprint fmt: "%d", REC->x\n'
    moments = (1.5, "go"), (2.5, "halt"), (5.5, "go"), (7, "halt")
    trace = make("pairs", program(
        *clock(*(i * MS for i in range(1, 10))), *(f"meta event.{i} {form.format(n, 7 + i)}" for i, n in enumerate(("one", "two"))),
        *(f"told event 0 {t * MS} {t * MS} {INIT} {i} AAAABBBBCCCC" for t, i in ((2, 0), (3, 1), (5, 0), (6, 1))),
        *(f"log 0 {int(t * MS)} {int(t * MS)} {INIT} {i} 6 {word}" for i, (t, word) in enumerate(moments))))
    pairs = lambda *options: [(p["start_ns"] // MS, p["duration_ns"]) for p in ask("pairs", trace, "events", "--pair", "one,two", *options)]
    assert sorted(pairs()) == [(2, MS), (5, MS)]
    assert pairs("--start", "log:go", "--stop", "log:halt", "--every") == [(2, None)]
    # nor in one span of what was recorded
    part = trace.replace("pairs", "pairs-part")
    run(UPTO_ASAN, "thin", "--force", "--start", "log:go", "--stop", "log:halt", "--every", "-o", part, trace)
    assert {(p["start_ns"] // MS, p["duration_ns"]) for p in ask("pairs", part, "events", "--pair", "one,two")} == {(2, None), (5, MS)}


@pytest.mark.parametrize("second", (0xffff888000100000, 0xffff888000200000), ids=("same", "another"))
def test_timers_of_a_function(second):
    """Who set the timer that woke a thread up is known if only one timer has that function."""
    f = Functions("startup_64", "do_syscall_64", "sys_a", "schedule", "try_to_wake_up", "mod_timer", "call_timer_fn", "tcp_write_timer", "sysvec_apic_timer_interrupt")
    fire = 9 * MS
    trace = make(f"timers-{second:x}", boot(
        switch(100, 0, INIT), f.call(200, STACK, "startup_64", "do_syscall_64"), f.call(300, STACK - 16, "do_syscall_64", "mod_timer"), *clock(310),
        f.back(320, STACK - 16, "do_syscall_64"), f.call(400, STACK - 16, "do_syscall_64", "sys_a"), f.call(410, STACK - 32, "sys_a", "schedule"), *clock(500),
        switch(MS, INIT, CHILD), f.call(MS + 100, STACK_2, "startup_64", "do_syscall_64"), *clock(5 * MS - 10), f.call(5 * MS, STACK_2 - 16, "do_syscall_64", "mod_timer"),
        *clock(5 * MS + 10), f.back(5 * MS + 20, STACK_2 - 16, "do_syscall_64"), *clock(fire),
        f"event 0 interrupt {fire + 10} {fire + 10} {STACK_2 - 64} {f.at['do_syscall_64'] + 0x20:#x} {f.at['sysvec_apic_timer_interrupt']:#x} 236", *clock(fire + 11),
        f.call(fire + 20, STACK_2 - 80, "sysvec_apic_timer_interrupt", "call_timer_fn"), f.call(fire + 30, STACK_2 - 96, "call_timer_fn", "tcp_write_timer"),
        f.call(fire + 40, STACK_2 - 112, "tcp_write_timer", "try_to_wake_up"), *clock(fire + 60), switch(fire + 100, CHILD, INIT), *clock(10 * MS), symbols=f.symbols) + [
        *(f"fact timer 0 {at} {at} {who} {timer} {f.at['tcp_write_timer']:#x}" for at, who, timer in ((300, INIT, 0xffff888000100000), (5 * MS, CHILD, second))),
        f"fact wake 0 {fire + 40} {fire + 40} {CHILD} {INIT}", task(95, INIT, 1, "client", "/client"), task(96, CHILD, 7, "other", "/other")])
    waited, = [c for c in ask("causes", trace, "why", "--until", "9500us") if c["kind"] == "timer"]
    alone = second == 0xffff888000100000
    assert (waited["ns"] // MS, "set in do_syscall_64, other 7" in waited["what"]) == ((4, True) if alone else (8, False)), waited


def test_troubles():
    """A panic of an earlier boot is on the way, that of the last one is the end; the kernel's words for a hang or for no memory differ."""
    lines = ("Kernel panic - not syncing: x", "INFO: task dd:4 blocked in I/O wait for more than 120 seconds.", "INFO: task sh:5 blocked for more than 120 seconds.",
             "Memory cgroup out of memory: Killed process 12 (x)")
    logged = [f"log 0 {100 + i} {100 + i} {INIT} {i} 3 {line.replace(' ', '~')}" for i, line in enumerate(lines)]
    first = boot(switch(30, 0, INIT), *clock(70, 5 * S - 10), task(30, INIT, 7, "first"), *logged)
    for name, rest, said in (("one", [], "2 hung tasks, 1 out of memory"),
                             ("two", [*next_boot(5 * S), f"log 0 {5 * S + 150} {5 * S + 150} {INIT} 0 6 reboot:~Power~down"], "1 panic, 2 hung tasks, 1 out of memory")):
        ended, = [line for line in run(UPTO_ASAN, "info", make(f"troubles-{name}", first + rest)).stdout.decode().splitlines() if line.startswith("ended")]
        assert ended.endswith("on the way " + said), ended


def test_hang_before_a_reset():
    """What was not over when the machine was reset lasted up to then."""
    f = Functions("startup_64", "second", "_raw_spin_lock_irqsave", "_raw_spin_unlock_irqrestore", "_raw_spin_unlock_irq", "_raw_spin_unlock")
    hang = boot(switch(30, 0, INIT), f.call(40, STACK, "startup_64", "second"), f.call(50, STACK - 16, "second", "_raw_spin_lock_irqsave"),
                f.back(60, STACK - 16, "second"), *clock(70, 5 * S - 10), task(30, INIT, 7, "hangs"), symbols=f.symbols)
    for name, rest, end, where in (("last", [], 5 * S - 10, "[end of trace]"), ("first", next_boot(5 * S), 5 * S, "[end of boot]")):
        rows = ask("latencies", make(f"hang-{name}", hang + rest), "latency", "--boot", "1")
        assert [(r["kind"], r["start_ns"], r["end_ns"], r["end_function"]) for r in rows] == [
            (kind, 50, end, where) for kind in ("interrupts-off", "preemption-off")], rows


def test_wakeup_before_a_reset():
    """A thread that was woken up, and did not run before the machine was reset, waited up to then."""
    f = Functions("startup_64", "schedule", "try_to_wake_up")
    trace = make("woken", boot(switch(30, 0, CHILD), f.call(40, STACK_2, "startup_64", "schedule"), *clock(70), switch(100, CHILD, INIT),
                               f.call(200, STACK, "startup_64", "try_to_wake_up"), *clock(210, 5 * S - 10), *next_boot(5 * S),
                               f"fact wake 0 200 200 {INIT} {CHILD}", task(30, CHILD, 7, "sleeper"), task(31, INIT, 1, "busy"), symbols=f.symbols))
    row, = ask("latencies", trace, "latency", "--kind", "wakeup")
    assert (row["pid"], row["start_ns"], row["end_ns"], row["end_function"]) == (7, 200, 5 * S, "[end of boot]"), row


SYSTEMD = "/usr/lib/systemd/systemd"


@pytest.mark.parametrize("programs,phases", [
    ([(2, "/init"), (12, SYSTEMD)], {"kernel": 2, "initramfs": 10, "user": 3}),
    ([(2, "/init"), (3, SYSTEMD), (12, SYSTEMD)], {"kernel": 2, "initramfs": 1, "user": 12}),
    ([(2, "/init"), (3, SYSTEMD), (12, SYSTEMD + "-shutdown"), (14, "/shutdown")], {"kernel": 2, "initramfs": 1, "user": 9, "shutdown": 3}),
    ([(2, "/init"), (9, SYSTEMD), (14, SYSTEMD + "-shutdown")], {"kernel": 2, "initramfs": 7, "user": 5, "shutdown": 1}),
    ([(2, "/sbin/init")], {"kernel": 2, "user": 13}),
], ids=("cut-off", "reexec", "shutdown", "short", "one"))
def test_phases(programs, phases, request):
    """The last program of process 1 that does not shut the machine down is what it is for, or the longest one; a program that begins itself anew is one."""
    tasks = [task(at * S, INIT, 1, "init", exe, change=5) for at, exe in programs]
    trace = make(f"phases-{request.node.callspec.id}", boot(switch(100, 0, INIT), *clock(*(at * S for at, _ in programs), 15 * S), task(95, INIT, 1, "swapper"), *tasks))
    rows = {r["name"]: round(r["duration_ns"] / S) for r in ask("timeline", trace, "timeline", "--kind", "phase") if r["name"] != "firmware"}
    assert rows == phases, rows


def test_unknown_is_not_asleep():
    """What a thread did before it was seen is not known, also if another one waited for it meanwhile."""
    f = Functions("startup_64", "do_syscall_64", "do_wait", "schedule", "try_to_wake_up", "do_exit")
    trace = make("unknown", boot(
        switch(100, 0, INIT), *clock(MS), f.call(MS + 200, STACK, "startup_64", "do_syscall_64"), f.call(MS + 300, STACK - 16, "do_syscall_64", "do_wait"),
        f.call(MS + 400, STACK - 32, "do_wait", "schedule"), *clock(MS + 500), switch(MS + 600, INIT, IDLE), *clock(3 * MS), switch(3 * MS + 100, IDLE, CHILD),
        f.call(3 * MS + 200, STACK_2, "startup_64", "do_exit"), *clock(5 * MS - 10), f.call(5 * MS, STACK_2 - 16, "do_exit", "try_to_wake_up"), *clock(5 * MS + 100),
        switch(5 * MS + 200, CHILD, INIT), *clock(6 * MS), symbols=f.symbols) + [
        f"fact wake 0 {5 * MS} {5 * MS} {CHILD} {INIT}", task(95, INIT, 1, "init", "/sbin/init"), task(96, IDLE, 0, "swapper/0"), task(3 * MS + 100, CHILD, 7, "daemon", "/daemon")])
    cause, = [c for c in ask("causes", trace, "why", "--until", "5500us") if c["kind"] == "unknown" and c["name"] == "daemon"]
    link, = [x for x in ask("chain", trace, "why", "--chain", "--until", "5500us") if x["kind"] == "unknown" and x["name"] == "daemon"]
    assert (cause["what"], cause["stack"], link["what"]) == ("not known", [], ""), (cause, link)


def test_requests_put_back():
    """A request that its driver put back, and took later, is one, from when it was issued first; another at its address is another."""
    request = 0xffff888000010000
    facts = [f"fact {kind} 0 {at} {at} {INIT} {request} {numbers}" for kind, at, numbers in (
        ("issue", 200, "1 8 4096"), ("issue", 300, "1 8 4096"), ("complete", 400, "0 4096"), ("issue", 500, "1 8 4096"), ("issue", 600, "0 16 4096"), ("complete", 700, "0 4096"))]
    rows = ask("requests", make("put-back", program(*clock(800), *facts)), "disk")
    assert [(r["start_ns"], r["latency_ns"], r["operation"]) for r in rows] == [(200, 200, "write"), (500, None, "write"), (600, 100, "read")], rows


def test_moved_mounts():
    """What was to be moved is the name of the move behind it alone."""
    f = Functions("startup_64", "do_syscall_64", "security_move_mount", "do_move_mount", "path_mount")
    events, at = [f.call(200, STACK, "startup_64", "do_syscall_64")], 1000
    for callees in (["security_move_mount"], ["do_move_mount"], ["path_mount", "do_move_mount"], ["security_move_mount"], ["path_mount", "do_move_mount"]):
        frames = list(enumerate(zip(["do_syscall_64", *callees], callees)))
        for sign, (i, (caller, callee)) in [(1, x) for x in frames] + [(0, x) for x in reversed(frames)]:
            at += 100
            events += [f.call(at, STACK - 16 - 16 * i, caller, callee) if sign else f.back(at, STACK - 16 - 16 * i, caller), *clock(at + 10)]
    facts = [f"told mount 0 {t} {t} {INIT} 0 {name}" for t, name in ((1100, "first"), (1500, "second"), (1900, "third"), (2100, "fourth"))]
    trace = make("moved", boot(switch(100, 0, INIT), *events, *clock(9000), *facts, task(95, INIT, 1, "init", "/sbin/init"), symbols=f.symbols))
    rows = ask("timeline", trace, "timeline", "--kind", "mount")
    assert [r["name"].removesuffix(" on ") for r in rows] == ["first", "second", "do_move_mount", "fourth", "do_move_mount"], rows


def test_waits():
    """A wait's kind is that of the function, be it a module's; its stack is the kernel's, also below a page fault."""
    f = Functions("startup_64", "asm_exc_page_fault", "schedule", "try_to_wake_up", "kthread")
    f.at["jbd2_log_wait_commit"] = 0xffffffffc0000000
    trace = make("waits", program(
        f"event 0 interrupt 200 200 {STACK - 40} 0x401010 {f.at['asm_exc_page_fault']:#x} 14", f.call(300, STACK - 64, "asm_exc_page_fault", "jbd2_log_wait_commit"),
        f.call(400, STACK - 80, "jbd2_log_wait_commit", "schedule"), *clock(500), switch(600, INIT, CHILD), f.call(700, STACK_2, "kthread", "try_to_wake_up"), *clock(MS),
        switch(MS + 100, CHILD, INIT), *clock(2 * MS), symbols=f.symbols) + [
        f"fact wake 0 700 700 {CHILD} {INIT}", task(97, CHILD, 7, "jbd2"), f"module 0 90 90 {f.at['jbd2_log_wait_commit']} 256 jbd2_log_wait_commit",
        "map 0xffff888000008000 0x400000 0x4000 0x4000 /program", "function 0x1000 0x100 main 0x4000 /program"])
    wait, = ask("waits", trace, "waits", "--pid", "1")
    assert (wait["kind"], [name.partition(" ")[0] for name in wait["stack"]]) == ("disk", ["schedule", "jbd2_log_wait_commit", "asm_exc_page_fault"]), wait


def test_services_that_nobody_tells_of():
    """Where systemd tells of no service, the end of its group is the end of the service, and not of its start-up."""
    groups = [f"told group{gone} 0 {at} {at} {INIT} 0 /system.slice/{unit}" for at, unit, gone in (
        (200, "sshd.service", ""), (210, "some.socket", ""), (220, "some.socket", "-gone"), (300, "sshd.service", "-gone"))]
    rows = ask("timeline", make("no-audit", program(*clock(350), *groups)), "timeline", "--kind", "unit")
    assert [(r["name"], r["end_ns"]) for r in rows] == [("some.socket", 220)], rows
