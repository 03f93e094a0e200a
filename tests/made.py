# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces made of lines (tests/unit/make_trace.c), for what no boot does."""
import os

from guest import CHECK, WORK, run

KERNEL = 0xffffffff81000000


def make(name, lines):
    """A trace of that name; its path."""
    path = os.path.join(WORK, f"made-{name}.upto")
    text = "\n".join(" ".join(map(str, line)) if isinstance(line, (list, tuple)) else line for line in lines)
    run(os.path.join(CHECK, "tests/make_trace"), path, stdin=None, input=text.encode() + b"\n")
    return path
