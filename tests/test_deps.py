# SPDX-License-Identifier: GPL-2.0-or-later
"""What scripts/deps.sh finds missing on other machines: a PATH that has only what is put there, and programs that pretend."""
import os
import shutil
import subprocess
import tempfile

from guest import TOP

TOOLS = ["sh", "awk", "sed", "grep", "cat", "tr", "sort", "head", "dirname", "printf", "id", "env", "sleep"]
MODULES = ["glib-2.0", "libelf", "libdw", "libbpf", "libzstd", "libarchive", "smartcols", "ext2fs", "blkid"]


def deps(*args, programs=()):
    """Runs it with these programs, a name and a script each, and no more than the shell's usual ones."""
    with tempfile.TemporaryDirectory() as folder:
        for tool in TOOLS:
            os.symlink(shutil.which(tool), f"{folder}/{tool}")
        for name, script in programs:
            with open(f"{folder}/{name}", "w") as f:
                f.write("#!/bin/sh\n" + script)
            os.chmod(f"{folder}/{name}", 0o755)
        p = subprocess.run([f"{TOP}/scripts/deps.sh", *args], env={"PATH": folder}, capture_output=True, timeout=60)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def all_there(**other):
    """What the build wants, at versions that will do."""
    programs = {"cc": "exit 0", "pkg-config": "exit 0", "ninja": "exit 0", "meson": "echo 1.3.2"}
    return (programs | other).items()


def test_all_that_is_missing_is_told_at_once():
    code, out, err = deps("--look", "build", "demo")
    assert code == 1 and not out, (code, out)
    names = [line.split()[:2] for line in err.splitlines() if line.startswith("  ")]
    for name in ["cc", "pkg-config", "meson", "ninja", "qemu-system-x86_64", "busybox"]:
        assert ["program", name] in names, (name, err)
    for name in MODULES:
        assert ["pkg-config", name] in names, (name, err)
    assert ["header", "demangle.h"] in names, err
    assert "README.md" in err, "no apt here"


def test_nothing_missing_on_any_distribution():
    """No package manager is asked: there is none in this PATH."""
    for look in [["--look"], []]:
        assert deps(*look, "build", programs=all_there()) == (0, "", ""), look


def test_only_what_is_missing_is_told():
    code, _, err = deps("--look", "build", programs=all_there(meson="echo 0.61.2", **{"pkg-config": '[ "$2" != libbpf ]'}))
    told = [line.split()[1] for line in err.splitlines() if line.startswith("  ")]
    assert code == 1 and told == ["meson", "libbpf"], err
    qemu = {"qemu-system-x86_64": "echo 'QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)'"}
    assert "qemu-system-x86_64 (>= 9.2)" in deps("--look", "demo", programs=qemu.items())[2]
    qemu = {"qemu-system-x86_64": "echo 'QEMU emulator version 10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)'"}
    assert "qemu" not in deps("--look", "demo", programs=qemu.items())[2]


def test_looking_installs_nothing():
    with tempfile.TemporaryDirectory() as folder:
        asked = f"{folder}/asked"
        apt = {name: f"echo $0 $* >>{asked}" for name in ("apt-get", "sudo", "dpkg")}
        code, _, err = deps("--look", "build", programs=apt.items())
        assert code == 1 and not os.path.exists(asked)
        if os.path.exists("/etc/debian_version"):
            assert "make deps" in err, err
            assert deps("build", programs=apt.items())[0] == 1, "this apt-get installs nothing"
            with open(asked) as f:
                assert any("install" in line and "libdw-dev" in line for line in f), "but is asked to"
