# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in several threads, under ThreadSanitizer."""
import os

import pytest

from guest import BUILD, CHECK, TOP, run
from test_code import recording

ENVIRONMENT = dict(os.environ, TSAN_OPTIONS="halt_on_error=1:exitcode=66")


def sanitized(program, *args):
    """Without a random address space: ThreadSanitizer has fixed places for what it keeps."""
    p = run("setarch", "-R", program, *args, env=ENVIRONMENT, check=False)
    assert p.returncode == 0, f"exit {p.returncode}: {(p.stdout + p.stderr)[-6000:].decode(errors='replace')}"
    return p.stdout.decode().strip()


@pytest.mark.weight(6)
def test_ring():
    """Records reach the drain thread whole and in order, through a full ring and several times round."""
    return sanitized(os.path.join(CHECK, "tests/ring"))


@pytest.mark.weight(3)
def test_kernel_forgotten():
    """vCPUs ask for functions while the kernel is forgotten that has them, which frees them."""
    run(os.path.join(CHECK, "tests/kernel_forgotten"))


@pytest.mark.kernels
@pytest.mark.weight(40)
def test_readers(tmp_path):
    """Chunks are read, parts replayed and an index made at the same time."""
    run(os.path.join(TOP, "scripts/build.sh"), "threads", timeout=900)
    trace = str(tmp_path / "two.upto")
    os.link(recording("6.12", 2)[0], trace)
    # the first of those that replay makes the index
    for question in (["top"], ["top", "--total"], ["calls", "--function", "do_exit"]):
        assert sanitized(os.path.join(BUILD, "threads/src/cli/upto"), *question, trace), question
    assert os.path.exists(trace + ".index")
