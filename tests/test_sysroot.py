# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files are found where the guest's are on the host."""
import gzip
import os
import shutil
import subprocess

import pytest

from guest import CHECK, run

PACKERS = {"gzip": gzip.compress, "plain": bytes, **{name: lambda data, name=name: subprocess.run([name, "-c", "-q"], input=data, stdout=subprocess.PIPE, check=True).stdout
                                                     for name in ("bzip2", "xz", "zstd")}}


def archive(name, data):
    """A cpio archive of one file: Documentation/driver-api/early-userspace/buffer-format.rst."""
    out = b""
    for inode, (path, mode, text) in enumerate([(name, 0o100644, data), ("TRAILER!!!", 0, b"")]):
        out += ("070701" + "".join(f"{n:08x}" for n in (inode, mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(path) + 1, 0))).encode() + path.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + text
        out += b"\0" * (-len(out) % 4)
    return out


@pytest.mark.parametrize("parts", ["gzip", "plain gzip", "gzip gzip", "gzip plain", "zstd plain", "zstd zstd gzip", "plain gzip plain zstd plain", "xz xz", "gzip bzip2 gzip"])
def test_initramfs(tmp_path, parts):
    """All archives of an initramfs count, compressed or not, as the kernel unpacks them."""
    parts, image, files = parts.split(), tmp_path / "initrd.img", []
    for tool in set(parts) - {"gzip", "plain"}:
        if not shutil.which(tool):
            pytest.skip("no " + tool)
    with open(image, "wb") as f:
        for n, how in enumerate(parts):
            data = os.urandom(200000 + n)
            packed = PACKERS[how](archive(f"bin/f{n}", data))
            # there may be zeros between them: up to 512 bytes, or to the next word
            f.write(packed + b"\0" * (-len(packed) % (512 if n % 2 else 4)))
            files.append(f"/bin/f{n} {len(data)}")
    assert run(os.path.join(CHECK, "tests/sysroot_files"), image).stdout.decode().splitlines() == files
