# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests for tests: kernels, initramfs images, recordings; made once, kept under build/."""
import fcntl
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, "build")
# recordings, and what is found: under other QEMUs than the host's in a folder of its own (make check-qemus)
WORK = os.path.join(BUILD, os.environ.get("UPTO_TEST_WORK", "tests"))
# `meson test` names its own build folder, with which all is done if there is no other
CHECK = os.environ.get("UPTO_CHECK", os.path.join(BUILD, "check"))
RELEASE = os.path.join(BUILD, "release") if os.path.exists(os.path.join(BUILD, "release/src/cli/upto")) else CHECK
UPTO = os.path.join(RELEASE, "src/cli/upto")         # as users run it
UPTO_ASAN = os.path.join(CHECK, "src/cli/upto")      # with sanitizers
RECORDER = os.path.join(RELEASE, "src/recorder/upto-recorder.so")
# package; if the host's own Debian may not have it, which suite does, what its release begins with, and an architecture
KERNELS = {"6.1": ["linux-image-amd64"], "6.12": ["linux-image-6.12-amd64"], "7": ["linux-image-amd64", "trixie-backports", "7."],
           "5.10": ["linux-image-amd64", "bullseye", "5.10."],
           "6.18": ["linux-image-6.18.*[0-9]-amd64", "trixie-backports", "6.18."], "sid": ["linux-image-amd64", "sid", ""],
           "6.1-686-pae": ["linux-image-686-pae", "bookworm", "6.1.", "i386"]}

# names this run of the tests, for all its processes: those that xdist starts inherit it
RUN = os.environ.setdefault("UPTO_TEST_RUN", f"{os.getpid()}.{time.time_ns()}")

# another QEMU than the host's, in the same way for upto and the tests: a folder with its qemu-system-x86_64
if os.environ.get("UPTO_TEST_QEMU"):
    os.environ["PATH"] = os.path.abspath(os.environ["UPTO_TEST_QEMU"]) + ":" + os.environ["PATH"]
# where the host has hardly any time for guests (make check-throttled), what their kernels find out about that is no fault
IS_THROTTLED = os.path.basename(os.environ.get("UPTO_TEST_QEMU", "")) == "throttled"

# Debian 12 has both itself; elsewhere the suites that have them are asked
HOST = platform.freedesktop_os_release().get("VERSION_CODENAME")
if HOST != "bookworm":
    KERNELS["6.1"] = ["linux-image-amd64", "bookworm", "6.1."]
    KERNELS["6.12"] = ["linux-image-amd64"] if HOST == "trixie" else ["linux-image-amd64", "trixie", "6.12."]

# a place in a stack that is used behind its function's return is a report, too
os.environ["ASAN_OPTIONS"] = "detect_stack_use_after_return=1"

# where upto keeps which runs were recorded here
os.environ["XDG_STATE_HOME"] = os.path.join(WORK, "state")
os.makedirs(WORK, exist_ok=True)
os.makedirs(os.path.join(BUILD, "guest"), exist_ok=True)


def run(*args, timeout=600, check=True, **kw):
    if "input" not in kw:
        kw.setdefault("stdin", subprocess.DEVNULL)
    kw.setdefault("stdout", subprocess.PIPE)
    kw.setdefault("stderr", subprocess.PIPE)
    p = subprocess.run([str(a) for a in args], timeout=timeout, **kw)
    if check and p.returncode:
        raise AssertionError(f"{' '.join(map(str, args))}: exit {p.returncode}\n"
                             f"{(p.stdout or b'')[-2000:].decode(errors='replace')}"
                             f"{(p.stderr or b'')[-2000:].decode(errors='replace')}")
    return p


class Once:
    """A lock, so that tests that run at once, in whichever processes, do not make the same file."""
    def __init__(self, path):
        self.path = path + ".lock"

    def __enter__(self):
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def once_a_run(path, make):
    """Call make() unless a test of this run did so for the same path. The others wait for it."""
    stamp = path + ".run"
    with Once(path):
        try:
            with open(stamp) as f:
                made = f.read() == RUN
        except FileNotFoundError:
            made = False
        if not made:
            make()
            with open(stamp, "w") as f:
                f.write(RUN)


def is_older(path, *sources):
    """Whether the file is to be made (again)."""
    return not os.path.exists(path) or os.path.getmtime(path) < max(map(os.path.getmtime, sources))


def kernel(version):
    folder = os.path.join(BUILD, "guest", version)
    package, *other = KERNELS[version]
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/guest-kernel.sh"), package, folder, *other[:1], *other[2:], check=not other)
    if other:
        import pytest
        if p.returncode:
            pytest.skip(f"no kernel {version}: {(p.stderr.decode(errors='replace').splitlines() or ['no reason told'])[-1]}")
        with open(os.path.join(folder, "release")) as f:
            release = f.read().strip()
        if not release.startswith(other[1]):
            pytest.skip(f"{other[0]} has {release}, no kernel {version}")
    return folder, glob.glob(folder + "/boot/vmlinuz-*")[0]


def built(variant):
    """The build tree of a kernel that the tests build themselves (scripts/guest-built-kernel.sh), and a folder with its modules."""
    folder = os.path.join(BUILD, "guest/built", variant)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with Once(folder):
        p = run(os.path.join(TOP, "scripts/guest-built-kernel.sh"), variant, folder, check=False, timeout=3600)
    if p.returncode:
        import pytest
        pytest.skip(f"kernel {variant} cannot be built here: {(p.stderr.decode(errors='replace').splitlines() or ['no reason told'])[-1]}")
    return folder, folder + "/root"


def built_args(variant, image=None, smp=1, cpu="max"):
    """A guest with it. `image`: the bzImage, if not the one in the tree."""
    tree, modules = built(variant)
    initrd, init = os.path.join(WORK, f"built-{variant}.img"), os.path.join(TOP, "tests/guests/built.init")
    with Once(initrd):
        if is_older(initrd, init, tree + "/release"):
            run(os.path.join(TOP, "scripts/guest-initrd.sh"), modules, init, initrd)
    disk = os.path.join(WORK, "built.disk")
    if not os.path.exists(disk):
        with open(disk, "wb") as f:
            f.truncate(64 << 20)
    return ["qemu-system-x86_64", "-accel", f"tcg,thread={'multi' if smp > 1 else 'single'}", "-cpu", cpu, "-smp", str(smp), "-m", "512M",
            "-nographic", "-nic", "none", "-no-reboot", "-kernel", image or tree + "/arch/x86/boot/bzImage", "-initrd", initrd,
            "-append", "console=ttyS0 panic=-1 quiet", "-drive", f"file={disk},if=virtio,format=raw,snapshot=on"]


def module(version, name, *sources):
    """NAME.ko for a stock kernel; skips where there is nothing to build it with."""
    folder, out = os.path.join(BUILD, "guest", version), os.path.join(WORK, f"{name}-{version}")
    kernel(version)
    with Once(out):
        if is_older(os.path.join(out, name + ".ko"), *sources):
            p = run(os.path.join(TOP, "scripts/guest-headers.sh"), folder, check=False)
            if p.returncode:
                import pytest
                pytest.skip(f"no headers of kernel {version}: {p.stderr.decode().strip()}")
            shutil.rmtree(out, ignore_errors=True)
            os.makedirs(out)
            for source in sources:
                shutil.copy(source, out)
            with open(os.path.join(out, "Makefile"), "w") as f:
                f.write(f"obj-m := {name}.o\n")
            run("make", "-s", "-C", os.path.join(folder, "headers/build"), f"M={out}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules")
    return os.path.join(out, name + ".ko")


def libraries_of(program):
    """A dynamic program and what it needs, as guest-initrd.sh takes them."""
    out = run("ldd", program).stdout.decode()
    files = [w for line in out.splitlines() for w in line.split() if w.startswith("/")]
    return [f"{f}={f}" for f in files]


def initrd(version, name, *extra, image=None, newer_than=()):
    init = os.path.join(TOP, "tests/guests", name + ".init")
    image = image or os.path.join(WORK, f"{name}-{version}.img")
    folder, _ = kernel(version)
    with Once(image):
        if is_older(image, init, *newer_than):
            run(os.path.join(TOP, "scripts/guest-initrd.sh"), folder, init, image, *extra)
    return image


def qemu_args(version, image, cpu="max", smp=1, thread="single", append="", disk=None, memory="512M", whole=False):
    """A guest's QEMU. Unless asked for whole boots, without the tests that a kernel makes of its ciphers, a quarter of a boot."""
    if not whole:
        append += " cryptomgr.notests"
    args = ["qemu-system-x86_64", "-accel", f"tcg,thread={thread}", "-cpu", cpu, "-smp", str(smp), "-m", memory,
            "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel(version)[1], "-initrd", image,
            "-append", f"console=ttyS0 panic=-1 quiet {append}"]
    if disk:
        if not os.path.exists(disk):
            with open(disk, "wb") as f:
                f.truncate(128 << 20)
        args += ["-drive", f"file={disk},if=virtio,format=raw"]
    return args


def record(trace, args, *options, more=(), timeout=900):
    p = run(UPTO, "record", "--force", "-o", trace, *options, "--", *args, *more, timeout=timeout, check=False)
    assert p.returncode == 0, f"record: exit {p.returncode}: {p.stderr[-2000:].decode(errors='replace')}"
    return p


def check(trace):
    p = run(UPTO, "check", trace, check=False)
    assert p.returncode == 0, p.stdout.decode()


def upto_json(*args, upto=UPTO):
    return with_keys(json.loads(run(upto, *args).stdout))


ABSENT = {"inlined": 0, "given": None, "pid": None, "comm": None}  # what tree has only if it was asked for


def with_keys(answer):
    # tables that can be long have rows without keys; what no row has is no column
    for name, table in answer.items() if isinstance(answer, dict) else ():
        if isinstance(table, dict) and table.keys() == {"columns", "rows"}:
            answer[name] = [ABSENT | dict(zip(table["columns"], row)) for row in table["rows"]]
    return answer


def seed():
    """What chance in a test begins with: UPTO_SEED, if that is set, to have it again."""
    return int(os.environ.get("UPTO_SEED") or int.from_bytes(os.urandom(3), "little"))


ADDRESSES = "slot", "from", "target", "address", "args", "task"


def numbers(item):
    """An event, frame or call of upto's JSON with numbers for addresses, which stand there as strings."""
    def number(value):
        return [number(v) for v in value] if isinstance(value, list) else int(value, 16) if isinstance(value, str) else value

    return {k: number(v) if k in ADDRESSES else v for k, v in item.items()}


def unpack_disk(disk, folder):
    os.makedirs(folder, exist_ok=True)
    run("tar", "-C", folder, "-xf", disk)
    return folder


def peak_mb(*args):
    """The most memory that a program had; a small parent, for the child's figure begins with that of its parent."""
    measure = "import resource, subprocess, sys\n" \
              "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n" \
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return int(run(sys.executable, "-c", measure, *args).stdout) * 1024 / 1e6


def full_image():
    """A minbase Debian with systemd that boots to multi-user and powers off."""
    image = os.path.join(BUILD, "guest/full.ext4")
    if os.path.exists(image):
        return image
    root = os.path.join(BUILD, "guest/full.root")
    # the host's own mirror, whichever release the host is of
    mirror = run("sh", "-c", ". /etc/os-release; apt-get indextargets --format '$(REPO_URI)' \"Codename: $VERSION_CODENAME\" "
                 "'Created-By: Packages' | head -n 1").stdout.decode().strip()
    # an earlier debootstrap that was killed has left these mounted
    for place in ("proc", "sys"):
        run("umount", "-q", os.path.join(root, place), check=False)
    run("rm", "-rf", "--one-file-system", root)
    run("debootstrap", "--variant=minbase", "--include=systemd-sysv,udev,dbus,kmod", "bookworm", root, mirror,
        timeout=1800)
    folder, _ = kernel("6.12")
    run("cp", "-r", folder + "/lib/modules", root + "/lib/")
    unit = "[Unit]\nDescription=Power off once all is up\nAfter=multi-user.target\n\n" \
           "[Service]\nType=oneshot\nExecStart=/bin/systemctl poweroff --no-block\n\n[Install]\nWantedBy=multi-user.target\n"
    with open(root + "/etc/systemd/system/bench-poweroff.service", "w") as f:
        f.write(unit)
    wants = root + "/etc/systemd/system/multi-user.target.wants"
    os.makedirs(wants, exist_ok=True)
    os.symlink("/etc/systemd/system/bench-poweroff.service", wants + "/bench-poweroff.service")
    with open(root + "/etc/fstab", "w") as f:
        f.write("/dev/vda / ext4 defaults 0 1\n")
    run("truncate", "-s", "1500M", image + ".tmp")
    run("mke2fs", "-q", "-t", "ext4", "-d", root, image + ".tmp", timeout=600)
    run("rm", "-rf", root)
    os.rename(image + ".tmp", image)
    return image


def full_args(append=""):
    """QEMU with that Debian."""
    return ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1G", "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel("6.12")[1],
            "-initrd", initrd("6.12", "root"), "-append", f"console=ttyS0 panic=-1 quiet root=/dev/vda rw {append}",
            "-drive", f"file={full_image()},if=virtio,format=raw,snapshot=on"]
