# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests for tests: kernels, initramfs images, recordings; made once, kept under build/."""
import fcntl
import glob
import json
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(TOP, "build")
WORK = os.path.join(BUILD, "tests")
UPTO = os.path.join(BUILD, "release/src/cli/upto")        # as users run it
UPTO_ASAN = os.path.join(BUILD, "check/src/cli/upto")     # with sanitizers
KERNELS = {"6.1": "linux-image-amd64", "6.12": "linux-image-6.12-amd64"}

os.makedirs(WORK, exist_ok=True)
os.makedirs(os.path.join(BUILD, "guest"), exist_ok=True)


def run(*args, timeout=600, check=True, **kw):
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
    """A lock, so that tests that run at once do not make the same file."""
    def __init__(self, path):
        self.path = path + ".lock"

    def __enter__(self):
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def kernel(version):
    folder = os.path.join(BUILD, "guest", version)
    with Once(folder):
        run(os.path.join(TOP, "scripts/guest-kernel.sh"), KERNELS[version], folder)
    return folder, glob.glob(folder + "/boot/vmlinuz-*")[0]


def libraries_of(program):
    """A dynamic program and what it needs, as guest-initrd.sh takes them."""
    out = run("ldd", program).stdout.decode()
    files = [w for line in out.splitlines() for w in line.split() if w.startswith("/")]
    return [f"{f}={f}" for f in files]


def initrd(version, name, *extra, image=None):
    init = os.path.join(TOP, "tests/guests", name + ".init")
    image = image or os.path.join(WORK, f"{name}-{version}.img")
    folder, _ = kernel(version)
    with Once(image):
        if not os.path.exists(image) or os.path.getmtime(image) < os.path.getmtime(init):
            run(os.path.join(TOP, "scripts/guest-initrd.sh"), folder, init, image, *extra)
    return image


def qemu_args(version, image, cpu="max", smp=1, thread="single", append="", disk=None, memory="512M"):
    args = ["qemu-system-x86_64", "-accel", f"tcg,thread={thread}", "-cpu", cpu, "-smp", str(smp), "-m", memory,
            "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel(version)[1], "-initrd", image,
            "-append", f"console=ttyS0 panic=-1 quiet {append}"]
    if disk:
        if not os.path.exists(disk):
            with open(disk, "wb") as f:
                f.truncate(128 << 20)
        args += ["-drive", f"file={disk},if=virtio,format=raw"]
    return args


def record(trace, args, *options, more=(), timeout=300):
    p = run(UPTO, "record", "--force", "-o", trace, *options, "--", *args, *more, timeout=timeout, check=False)
    assert p.returncode == 0, f"record: exit {p.returncode}: {p.stderr[-2000:].decode(errors='replace')}"
    return p


def upto_json(*args, upto=UPTO):
    return json.loads(run(upto, *args).stdout)


def unpack_disk(disk, folder):
    os.makedirs(folder, exist_ok=True)
    run("tar", "-C", folder, "-xf", disk)
    return folder
