# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs in several threads, under ThreadSanitizer."""
import os

import pytest

from guest import CHECK, run

ENVIRONMENT = dict(os.environ, TSAN_OPTIONS="halt_on_error=1:exitcode=66")


def sanitized(name, *args):
    """Without a random address space: ThreadSanitizer has fixed places for what it keeps."""
    p = run("setarch", "-R", os.path.join(CHECK, "tests", name), *args, env=ENVIRONMENT, check=False)
    assert p.returncode == 0, f"exit {p.returncode}: {(p.stdout + p.stderr)[-6000:].decode(errors='replace')}"
    return p.stdout.decode().strip()


@pytest.mark.weight(6)
def test_ring():
    """Records reach the drain thread whole and in order, through a full ring and several times round."""
    return sanitized("ring")
