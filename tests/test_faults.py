# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions that fault when half of what they do is done count once, though they are begun twice."""
import os

import pytest

from guest import TOP, WORK, Once, initrd, libraries_of, qemu_args, record, run, upto_json

PAGES, TIMES = 64, 4  # as in faults.c
FUNCTIONS = {"add_to": 2, "move": 2}  # instructions of each


def image(version):
    source, out = os.path.join(TOP, "tests/guests/faults.c"), os.path.join(WORK, "faults")
    with Once(out):
        if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
            run("gcc", "-O2", "-Wall", "-Werror", "-fcf-protection=none", "-o", out, source)
    return initrd(version, "faults", *libraries_of(out), f"{out}=/bin/faults", image=os.path.join(WORK, f"faults-{version}.img"))


@pytest.mark.weight(10)
def test_faults():
    """A store that faults after the load of the same instruction, alone in its block: as QEMU's record/replay runs all that fault."""
    trace = os.path.join(WORK, "faults.upto")
    record(trace, qemu_args("6.12", image("6.12")))
    top = {f["function"]: (f["calls"], f["self_insns"]) for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    got = {f: top.get(f"{f} [faults]") for f in FUNCTIONS}
    assert got == {f: (PAGES * TIMES, n * PAGES * TIMES) for f, n in FUNCTIONS.items()}, got
    os.unlink(trace)
