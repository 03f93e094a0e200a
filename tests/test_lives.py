# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks that end in the middle of a call, or begin with a parent that did not make them: nothing of one is another's."""
import os

import pytest

from guest import TOP, UPTO_ASAN, WORK, Once, initrd, libraries_of, qemu_args, record, run, upto_json

READERS, OPENERS, CROWD, ADOPTED = 60, 300, 300, 7  # as in lives.c


def image(version):
    source, out = os.path.join(TOP, "tests/guests/lives.c"), os.path.join(WORK, "lives")
    with Once(out):
        if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
            run("gcc", "-O2", "-Wall", "-Werror", "-o", out, source)
    return initrd(version, "lives", *libraries_of(out), f"{out}=/bin/lives", image=os.path.join(WORK, f"lives-{version}.img"))


@pytest.mark.long
@pytest.mark.weight(12)
def test_lives():
    """
    Calls that their task was killed in never return; their strings are no other task's; CLONE_PARENT's child has its
    maker's code; strings that there is no room for are counted.
    """
    trace = os.path.join(WORK, "lives.upto")
    said = record(trace, qemu_args("6.12", image("6.12"))).stderr.decode()
    calls = [c for c in upto_json("syscalls", "--json", trace, upto=UPTO_ASAN)["syscalls"] if c["comm"] == "lives"]
    tasks = {}
    for c in calls:
        tasks.setdefault(c["pid"], []).append(c)
    main = min(tasks)
    killed = [of_task[-1] for pid, of_task in tasks.items() if pid != main and of_task[-1]["name"] in ("read", "open")]
    names = [c["name"] for c in killed]
    assert names == ["read"] * READERS + ["open"] * (OPENERS + CROWD), (len(killed), killed[:2])
    assert len({c["task"] for c in killed}) < len(killed), "no task_struct was used again"
    returned = [c for c in killed if c["result"] is not None or c["duration_ns"] is not None]
    assert not returned, (len(returned), returned[0])
    false = [c for c in killed if "false" in c["call"]]
    assert not false, (len(false), false[0])
    last = next(c for c in calls if c["name"] == "open" and c["error"] == "ENOENT")
    assert last["call"] == 'open("/tmp/fifo", O_RDONLY)', last
    functions = upto_json("top", "--json", "-n", "0", trace)["functions"]
    got = {f["function"]: f["calls"] for f in functions if f["function"].startswith("adopted")}
    assert got == {"adopted [lives]": ADOPTED}, got
    # the recorder remembers 256 calls whose strings are still to be read
    not_watched = upto_json("info", "--json", trace)["not_watched"]
    assert set(not_watched) == {"strings"} and CROWD - 256 <= not_watched["strings"] < CROWD - 240, not_watched
    assert f"{not_watched['strings']} things were not watched" in said, said
    assert f"strings {not_watched['strings']}" in run(UPTO_ASAN, "info", trace).stdout.decode()
    run(UPTO_ASAN, "check", trace)
    os.unlink(trace)
