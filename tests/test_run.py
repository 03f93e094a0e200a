# SPDX-License-Identifier: GPL-2.0-or-later
"""upto run: what other programs start is recorded, and they see what they would see without."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from guest import BUILD, Once, TOP, UPTO, WORK, initrd, kernel, qemu_args, run, upto_json
from test_cli import tiny_args, TINY_EXIT
from test_snapshot import Monitor

STAND_IN = os.path.join(WORK, "run-stand-in", "upto-qemu-system-x86_64")


def check_is_whole(trace):
    assert b"whole and consistent" in run(UPTO, "check", trace).stdout


def place(tmp_path):
    folder = tmp_path / "traces"
    folder.mkdir()
    return folder


def traces(folder):
    return sorted(glob.glob(f"{folder}/*.upto"))


def script(tmp_path, *lines):
    path = tmp_path / "script"
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    return str(path)


def never_ends():
    """A kernel without a first process, which stays where it panicked."""
    args = boots()
    at = args.index("-initrd")
    return [a.replace("panic=-1", "panic=0") for a in args[:at] + args[at + 2:]]


def child_of(pid):
    """The QEMU that upto runs, once there is one."""
    for _ in range(200):
        p = run("pgrep", "-P", str(pid), check=False)
        if p.returncode == 0:
            return int(p.stdout.split()[0])
        time.sleep(0.1)
    raise AssertionError("no QEMU was started")


def quoted(args):
    return " ".join("'" + a.replace("'", "'\\''") + "'" for a in args)


def boots():
    """A command line as people write it who have KVM."""
    _, image = kernel("6.12")
    return ["qemu-system-x86_64", "-enable-kvm", "-machine", "q35,accel=kvm:tcg,kernel-irqchip=split", "-cpu", "host,migratable=off", "-m", "512M",
            "-nographic", "-nic", "none", "-no-reboot", "-kernel", image, "-initrd", initrd("6.12", "brief"),
            "-append", "console=ttyS0 panic=-1 quiet"]


@pytest.mark.weight(8)
def test_run(tmp_path):
    """A script asks QEMU for this and that, and starts two guests: they are two traces. What it printed is as it would be, its status passes."""
    folder = place(tmp_path)
    asks = ["qemu-system-x86_64 -version", "qemu-system-x86_64 --help", "kvm -version", "qemu-system-x86_64 -device help", "qemu-system-x86_64 -machine ?",
            "qemu-system-x86_64 -device virtio-blk-pci,help", "qemu-system-x86_64 -accel help", "qemu-system-x86_64 -net nic,model=help",
            "command -v kvm qemu qemu-kvm | wc -l",
            "echo '{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}' | qemu-system-x86_64 -display none -machine none -qmp stdio | tail -n 1 | cut -c1-12",
            "echo '{\"execute\":\"qmp_capabilities\"}{\"execute\":\"quit\"}' | qemu-system-x86_64 -display none -machine accel=tcg -qmp stdio | tail -n 1 | cut -c1-12"]
    asking = script(tmp_path, *[a.replace("kvm", "qemu-system-x86_64", 1) if shutil.which("kvm") is None else a for a in asks])
    plain, told = run(asking), run(UPTO, "run", "-d", folder, "--", asking)
    assert told.stdout == plain.stdout and not traces(folder) and b"nothing is recorded" in told.stderr, told.stderr
    starting = script(tmp_path, f"{quoted(boots())} </dev/null", "echo guest: $?", f"{quoted(tiny_args())} </dev/null", "echo guest: $?", "exit 5")
    p = run(UPTO, "run", "-d", folder, "--deterministic", "--", starting, check=False)
    assert p.returncode == 5 and p.stdout.splitlines()[-1].endswith(f"guest: {TINY_EXIT}".encode()) and b"guest: 0" in p.stdout.splitlines(), (p.stdout, p.stderr)
    assert b"upto" not in p.stdout
    one, two = traces(folder)
    said = p.stderr.decode()
    assert said.count("started without -enable-kvm, -machine q35,accel=kvm:tcg,kernel-irqchip=split, -cpu host,migratable=off\n") == 1, said
    assert said.index(one) < said.index(two) and "powered off" in said, said
    check_is_whole(one)
    assert "icount=1" in run(UPTO, "info", one).stdout.decode() or upto_json("info", "--json", one)["meta"]["icount_shift"] == "0"
    command = upto_json("info", "--json", one)["meta"]["qemu_command"]
    assert "kvm" not in command and "-machine q35,accel=tcg -cpu max" in command, command


@pytest.mark.weight(4)
def test_stand_in(tmp_path):
    """upto-qemu-system-x86_64, given where a path of QEMU is wanted: input, output, descriptors, status and the signal that ends it are QEMU's."""
    folder = place(tmp_path)
    os.makedirs(os.path.dirname(STAND_IN), exist_ok=True)
    if not os.path.islink(STAND_IN):
        os.symlink(UPTO, STAND_IN)
    env = dict(os.environ, UPTO_DIR=str(folder), UPTO_OPTIONS="--sysroot '" + str(folder) + "'")
    args = tiny_args()[1:]
    p = subprocess.run([STAND_IN, *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    plain = subprocess.run(tiny_args(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert (p.returncode, p.stdout, p.stderr) == (plain.returncode, plain.stdout, plain.stderr) and p.returncode == TINY_EXIT, (p, plain)
    assert len(traces(folder)) == 1 and traces(folder)[0].encode() in (folder / "upto.log").read_bytes()
    # an error of QEMU's is its own
    for wrong in ["-nosuch"], ["-machine", "nosuch"]:
        words = [p for p in (subprocess.run([q, *wrong], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                             for q in ("qemu-system-x86_64", STAND_IN))]
        assert [(w.returncode, w.stdout) for w in words] == [(1, b""), (1, b"")], words
        assert words[0].stderr.split(b": ", 1)[1] == words[1].stderr.split(b": ", 1)[1], words
    assert len(traces(folder)) == 1
    # killed, it is killed; asked to end, it has a whole trace
    for sig, whole in (signal.SIGTERM, True), (signal.SIGKILL, False):
        with subprocess.Popen([STAND_IN, *never_ends()[1:]], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as q:
            child = child_of(q.pid)
            time.sleep(3)
            os.kill(q.pid if whole else child, sig)
            q.communicate(timeout=60)
        assert q.returncode == (0 if whole else -signal.SIGKILL), q.returncode
        trace = traces(folder)[-1]
        if whole:
            check_is_whole(trace)
    p = subprocess.run([STAND_IN, "-M", "microvm", "-kernel", "x"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 1 and b"microvm hangs" in p.stderr


@pytest.mark.weight(4)
def test_descriptors(tmp_path):
    """What QEMU is given stays its own: its input, a descriptor that it inherits, and its errors' file, which it opens again and empties."""
    folder = place(tmp_path)
    env = dict(os.environ, UPTO_DIR=str(folder))
    os.makedirs(os.path.dirname(STAND_IN), exist_ok=True)
    if not os.path.islink(STAND_IN):
        os.symlink(UPTO, STAND_IN)
    for starter in ["qemu-system-x86_64"], [STAND_IN], [UPTO, "run", "-d", folder, "--", "qemu-system-x86_64"]:
        asked = [*starter, "-accel", "tcg", "-display", "none", "-serial", "none", "-S", "-monitor", "stdio"]
        p = subprocess.run(asked, env=env, input=b"info status\nquit\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert p.returncode == 0 and b"paused" in p.stdout, p
        args = tiny_args()[1:]
        at = args.index("-drive")
        with open(args[at + 1].split("=", 1)[1].split(",")[0], "rb") as image:
            drive = ["-add-fd", f"fd={image.fileno()},set=2", "-drive", "file=/dev/fdset/2,format=raw,snapshot=on"]
            p = subprocess.run([*starter, *args[:at], *drive, *args[at + 2:]], env=env, stdin=subprocess.DEVNULL, pass_fds=[image.fileno()], check=False)
        assert p.returncode == TINY_EXIT, (starter, p)
    said = []
    guest = qemu_args("6.12", initrd("6.12", "brief"), append="no_timer_check")
    at = guest.index("-nographic")
    guest[at:at + 1] = ["-display", "none", "-monitor", "none", "-serial", "file:/proc/self/fd/2"]
    for name, starter in ("plain", []), ("run", [UPTO, "run", "-d", str(folder), "--"]):
        errors = tmp_path / name
        with open(errors, "w") as f:
            f.write("what stood there before\n")
        run(*starter, script(tmp_path, f"exec {quoted(guest)} </dev/null 2>>{errors}"))
        text = errors.read_bytes()
        assert b"\0" not in text and b"upto" not in text, text
        said.append(re.sub(rb"\[ *[\d.]+\]|\d+", b"", text).splitlines())
    assert said[0] == said[1] and said[0], said
    assert len(traces(folder)) >= 3


@pytest.mark.weight(3)
def test_ended_from_outside(tmp_path):
    """What ends its guest by QMP has a whole trace; and the QEMU that a user has named is the one that runs."""
    folder, socket, asked = place(tmp_path), str(tmp_path / "monitor"), tmp_path / "asked"
    own = tmp_path / "own-qemu"
    own.write_text(f"#!/bin/sh\necho \"$*\" >>{asked}\nexec qemu-system-x86_64 \"$@\"\n")
    own.chmod(0o755)
    starting = script(tmp_path, f'"$QEMU" {quoted(never_ends()[1:])} -qmp unix:{socket},server=on,wait=off')
    with subprocess.Popen([UPTO, "run", "-d", folder, "--", starting], env=dict(os.environ, QEMU=str(own)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        monitor = Monitor(socket)
        while b"end Kernel panic" not in p.stdout.readline() and p.poll() is None:
            pass
        monitor.file.write('{"execute":"quit"}\n')
        monitor.file.flush()
        out, said = p.communicate(timeout=120)
    assert p.returncode == 0, (out, said)
    [trace] = traces(folder)
    check_is_whole(trace)
    assert "-kernel" in asked.read_text()
    assert upto_json("info", "--json", trace)["ending"]["how"] == "panic"


@pytest.mark.weight(3)
def test_named(tmp_path):
    """QEMU is named as people do: by its name alone, with options, as upto, as another machine's; and started in another folder than upto."""
    folder, other = place(tmp_path), tmp_path / "other"
    other.mkdir()
    (tmp_path / "root").mkdir()
    os.makedirs(os.path.dirname(STAND_IN), exist_ok=True)
    if not os.path.islink(STAND_IN):
        os.symlink(UPTO, STAND_IN)
    start = script(tmp_path, f"cd {other}", "$QEMU -version | head -n 1", f"$QEMU {quoted(tiny_args()[1:])} </dev/null")
    version = run("qemu-system-x86_64", "-version").stdout.splitlines()[0]
    for n, named in enumerate(("qemu-system-x86_64", "qemu-system-x86_64 -snapshot", STAND_IN)):
        for more in [], [UPTO, "run", "--"]:  # within another one, too
            env = dict(os.environ, QEMU=named, UPTO_DIR="traces")
            p = subprocess.run([UPTO, "run", "--sysroot", "root", "--", *more, start], env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
            assert p.returncode == TINY_EXIT and p.stdout.splitlines()[0] == version, (named, more, p)
            assert len(traces(folder)) == 2 * n + 1 + bool(more) and not os.listdir(other), (named, more, traces(folder))
    p = subprocess.run([UPTO, "run", "--", "sh", "-c", "echo $QEMU"], env=dict(os.environ, QEMU="/opt/qemu-system-aarch64 -M virt"), capture_output=True, timeout=60)
    assert p.stdout == b"/opt/qemu-system-aarch64 -M virt\n", p
    # one that has a monitor and a disk without a word before it is a guest
    (tmp_path / "disk.img").write_bytes(b"\0" * (1 << 20))
    words = f"qemu-system-x86_64 -m 64M -display none -nic none -snapshot {tmp_path}/disk.img -qmp unix:{tmp_path}/monitor,server=on,wait=off"
    with subprocess.Popen([UPTO, "run", "-d", folder, "--", *words.split()], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        monitor = Monitor(str(tmp_path / "monitor"))
        time.sleep(1)
        monitor.file.write('{"execute":"quit"}\n')
        monitor.file.flush()
        assert p.wait(60) == 0 and len(traces(folder)) == 7, p.stderr.read()


@pytest.mark.parametrize("variable", ["LIBGUESTFS_HV", "QEMU", "QEMU_BIN", "QEMU_BINARY", "QEMU_BIN_PATH"])
def test_variables(tmp_path, variable):
    """Who asks one of these variables for QEMU starts a guest that is recorded, whatever it was set to before, or if it was not."""
    folder = place(tmp_path)
    start = script(tmp_path, f"${variable} {quoted(tiny_args()[1:])} </dev/null")
    for n, was in enumerate((None, shutil.which("qemu-system-x86_64"))):
        env = {**{k: v for k, v in os.environ.items() if k != variable}, **({variable: was} if was else {})}
        p = run(UPTO, "run", "-d", folder, "--", start, check=False, env=env)
        assert p.returncode == TINY_EXIT and len(traces(folder)) == n + 1, (was, p)


@pytest.mark.weight(4)
def test_status(tmp_path):
    """The guest's status is what its starter sees, also where nothing of it was recorded; and a guest is not ended since upto cannot do what it was asked for."""
    # the kernel writes that line in two goes (pr_cont), and it is one
    folder, guest = place(tmp_path), script(tmp_path, f"{quoted(boots())} -smp 2 </dev/null")
    for start, why in ("log:node  #0#2", "did not happen"), ("test:no.such", "cannot be told of this kernel"):
        p = run(UPTO, "run", "-d", folder, "--start", start, "--", guest, check=False)
        assert p.returncode == 0 and why in p.stderr.decode(), (start, p)
        assert b"Power down" in p.stdout, p.stdout[-500:]


@pytest.mark.parametrize("words", ["-smp 3", "-smp cores=3", "-smp sockets=2,cores=2", "-smp 1,maxcpus=4", "-smp maxcpus=4,cpus=2", "-machine smp.cpus=3", ""])
def test_vcpus(tmp_path, words):
    """A command line has as many vCPUs for upto as QEMU makes of it."""
    ask = b'{"execute":"qmp_capabilities"}{"execute":"query-cpus-fast"}{"execute":"quit"}'
    told = run("qemu-system-x86_64", "-S", "-display", "none", *words.split(), "-qmp", "stdio", stdin=None, input=ask).stdout.decode()
    run(UPTO, "record", "-q", "-f", "-o", tmp_path / "t.upto", "--", *tiny_args(), *words.split(), check=False)
    assert int(upto_json("info", "--json", tmp_path / "t.upto")["meta"]["vcpus"]) == told.count('"cpu-index"'), (words, told)


def test_outside(tmp_path):
    """A run that is to repeat: what it has to do with and does not repeat is named."""
    words = ["-netdev", "user,id=n0", "-device", "virtio-net-pci,netdev=n0", "-fsdev", f"local,id=f0,path={tmp_path},security_model=none", "-device", "virtio-9p-pci,fsdev=f0,mount_tag=x"]
    for options, said in (["--deterministic"], True), ([], False):
        p = run(UPTO, "record", "-f", "-o", tmp_path / "t.upto", *options, "--", *tiny_args(), *words, check=False)
        assert p.returncode == TINY_EXIT and (b"does not repeat: -netdev user, -fsdev local\n" in p.stderr) == said, p.stderr
    assert b"does not repeat" not in run(UPTO, "record", "-f", "-o", tmp_path / "t.upto", "--deterministic", "--", *tiny_args(), check=False).stderr


def test_wrong(tmp_path, monkeypatch):
    """What is wrong with the command line is said, and a command that cannot be run has the shell's status. Nothing is left behind."""
    between = tmp_path / "between"
    between.mkdir()
    monkeypatch.setenv("TMPDIR", str(between))
    assert run(UPTO, "run", check=False).returncode == 2
    p = run(UPTO, "run", "-d", tmp_path / "nosuch", "--", "true", check=False)
    assert p.returncode == 1 and b"nosuch: No such file" in p.stderr
    p = run(UPTO, "run", "--", "nosuchcommand", check=False)
    assert p.returncode == 127 and b"nosuchcommand: No such file" in p.stderr
    assert run(UPTO, "run", "--", "sh", "-c", "kill -9 $$", check=False).returncode == -9
    assert run(UPTO, "run", "--", "sh", "-c", "exit 7", check=False).returncode == 7
    p = subprocess.run([UPTO, "run", "--", "sh", "-c", "qemu-system-x86_64 -nographic -kernel x"], env=dict(os.environ, UPTO_OPTIONS="--x 'y"),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 1 and b"UPTO_OPTIONS: a quote has no end" in p.stderr, p.stderr
    assert not os.listdir(between)


@pytest.mark.kernels
@pytest.mark.weight(60)
def test_libguestfs(tmp_path):
    """Its own test, and one of its tools: they say what they say without, and each guest's trace explains itself up to the last word to the host."""
    if not shutil.which("libguestfs-test-tool"):
        pytest.skip("libguestfs is not here")
    folder, (root, image) = place(tmp_path), kernel("6.12")
    if not os.path.isdir("/lib/modules"):
        pytest.skip("supermin wants /lib/modules to be there")
    modules = glob.glob(root + "/lib/modules/*")[0]
    env = dict(os.environ, SUPERMIN_KERNEL=image, SUPERMIN_MODULES=modules, LIBGUESTFS_BACKEND="direct", LIBGUESTFS_CACHEDIR=str(tmp_path))
    p = subprocess.run([UPTO, "run", "-d", folder, "--", "libguestfs-test-tool"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert p.returncode == 0 and b"===== TEST FINISHED OK =====" in p.stdout, p.stderr[-3000:]
    [trace] = traces(folder)
    check_is_whole(trace)
    why = upto_json("why", "--json", trace)
    assert why["until"] == "the last word to the host" and why["until_ns"] > 0.9 * upto_json("info", "--json", trace)["duration_ns"]
    ran = {p["comm"] for p in upto_json("ps", "--json", trace)["processes"]}
    assert {"guestfsd", "udevadm"} <= ran, ran


@pytest.mark.kernels
@pytest.mark.weight(120)
def test_virtme_ng(tmp_path):
    """vng, as kernel developers run it: the command in the guest prints what it prints and ends as it ends, and its trace has it by name."""
    tool, (_, image) = os.path.join(BUILD, "guest/vng"), kernel("6.12")
    with Once(tool):
        if run(os.path.join(TOP, "scripts/guest-package.sh"), "trixie", "virtme-ng", "vng", tool, check=False).returncode:
            pytest.skip("Debian 13's virtme-ng is not to be had")
    env = dict(os.environ, PYTHONPATH=tool + "/usr/lib/python3/dist-packages", PATH=tool + "/usr/bin:" + os.environ["PATH"], HOME=str(tmp_path))
    command = ["vng", "--disable-kvm", "--disable-microvm", "--force-9p", "-r", image, "--", "uname -sr; exit 3"]
    plain = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=600)
    if plain.returncode != 3:
        pytest.skip(f"vng does not run here: {(plain.stderr.decode(errors='replace').splitlines() or ['no reason told'])[-1]}")
    folder = place(tmp_path)
    p = subprocess.run([UPTO, "run", "-d", folder, "--", *command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=900)
    assert (p.returncode, p.stdout) == (3, plain.stdout) and b"Linux 6.12" in p.stdout, (p, plain)
    [trace] = traces(folder)
    check_is_whole(trace)
    ran = {c["comm"] for c in upto_json("ps", "--json", trace)["processes"]}
    assert {"uname", "virtme-init", "udevadm"} <= ran, ran
    # --qemu: the path of a QEMU, which is asked for its version first
    os.makedirs(os.path.dirname(STAND_IN), exist_ok=True)
    if not os.path.islink(STAND_IN):
        os.symlink(UPTO, STAND_IN)
    p = subprocess.run(["vng", "--qemu", STAND_IN, *command[1:]], env=dict(env, UPTO_DIR=str(folder)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, timeout=900)
    assert (p.returncode, p.stdout) == (3, plain.stdout) and len(traces(folder)) == 2, (p, traces(folder))
    check_is_whole(traces(folder)[1])


@pytest.mark.kernels
@pytest.mark.weight(40)
def test_mkosi(tmp_path):
    """'mkosi qemu' starts an image that it has built: kernel, initrd and command line beside it, by its own names."""
    tool, image = os.path.join(BUILD, "guest/mkosi"), tmp_path / "image"
    with Once(tool):
        if run(os.path.join(TOP, "scripts/guest-package.sh"), "bookworm", "mkosi", "mkosi", tool, check=False).returncode:
            pytest.skip("Debian 12's mkosi is not to be had")
    image.mkdir()
    with open(image / "image.raw", "wb") as f:
        f.truncate(64 << 20)
    os.symlink(kernel("6.12")[1], image / "image.vmlinuz")
    os.symlink(os.path.abspath(initrd("6.12", "brief")), image / "image.initrd")
    (image / "image.cmdline").write_text("console=ttyS0 panic=-1 loglevel=3 cryptomgr.notests\n")
    env = dict(os.environ, PYTHONPATH=tool + "/usr/lib/python3/dist-packages", PATH=tool + "/usr/bin:" + os.environ["PATH"])
    command = ["mkosi", "--distribution=debian", "--output=image.raw", "--qemu-kvm=no", "--qemu-headless=yes", "--qemu-boot=linux", "qemu", "-no-reboot"]
    folder, outputs = place(tmp_path), []
    for before in [], [UPTO, "run", "-d", folder, "--"]:
        p = subprocess.run([*before, *command], env=env, cwd=image, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=900)
        assert p.returncode == 0, p
        outputs.append((p.stdout, p.stderr))
    (plain, words), (out, more) = outputs
    # the firmware clears the screen on one serial line with what the kernel writes: only where that comes is the host's chance
    for text in plain, out:
        assert text.startswith(b"\x1bc") and b"Booting from ROM" in text and text.endswith(b"reboot: Power down\r\n"), (plain, out)
    assert more.startswith(words) and b"powered off" in more, (words, more)
    [trace] = traces(folder)
    check_is_whole(trace)
    assert "busybox" in {c["comm"] for c in upto_json("ps", "--json", trace)["processes"]}


@pytest.mark.long
@pytest.mark.weight(20)
def test_virtiofsd(tmp_path):
    """A folder that virtiofsd lends to the guest is looked through for its programs."""
    tool, folder, socket = os.path.join(BUILD, "guest/virtiofsd"), tmp_path / "shared folder", str(tmp_path / "socket")
    with Once(tool):
        if run(os.path.join(TOP, "scripts/guest-virtiofsd.sh"), tool, check=False).returncode:
            pytest.skip("no virtiofsd to be had")
    folder.mkdir()
    run("gcc", "-O1", "-static", "-o", folder / "ticks", os.path.join(TOP, "tests/guests/snapshot.c"))
    with subprocess.Popen([os.path.join(tool, "virtiofsd"), f"--socket-path={socket}", "-o", f"cache=auto,source={folder}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as lender:
        while not os.path.exists(socket):
            if lender.poll() is not None:
                pytest.skip(f"virtiofsd does not run here: {lender.stdout.read().decode()[-200:]}")
            time.sleep(0.05)
        trace = os.path.join(WORK, "run-virtiofsd.upto")
        p = run(UPTO, "record", "-f", "-o", trace, "--", *qemu_args("6.12", initrd("6.12", "shared")), "-object", "memory-backend-memfd,id=mem,size=512M,share=on",
                "-numa", "node,memdev=mem", "-chardev", f"socket,id=c,path={socket}", "-device", "vhost-user-fs-pci,chardev=c,tag=shared")
        lender.terminate()
    calls = {f["function"]: f["calls"] for f in upto_json("top", "--json", "--user", "-n", "0", trace)["functions"]}
    assert calls.get("ticked [ticks]", 0) == len([line for line in p.stdout.splitlines() if line.startswith(b"tick ")]) > 5, calls
