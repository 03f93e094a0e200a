# SPDX-License-Identifier: GPL-2.0-or-later
"""The source as it is meant to be: who includes whom, who prints, names, and all places that a command stands in."""
import collections
import glob
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest

from guest import CHECK, TOP
from test_cli import COMMANDS

SRC = os.path.join(TOP, "src")
# headers that one file or one room is for
ONLY = {"glib.h": "recorder/qemu/qemu_interface.h", "qemu-plugin.h": "recorder/qemu/qemu_interface.h", "libsmartcols.h": "cli/print/view.c",
        "calls_file.h": "import/calls_blocks.h", "Zydis/Zydis.h": "arch/x86_operation.c", "traceevent/event-parse.h": "analysis/events/event_texts.c import/graph_events.h",
        "trace-cmd/trace-cmd.h": "import/graph_dat.c"}
# a plugin that cannot start tells so itself, memory that is not there ends the process, and a child that tries something ends
PRINTING = {"base/alloc.c", "recorder/plugin.c", "analysis/events/event_texts.c", "import/graph_records.c"}
PRINTS = re.compile(r"(?<![\w>.])(?:v?f?printf|f?puts|f?putc|putchar|perror|exit|_exit|abort)\(")


def read(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def sources():
    """path below src/ → text"""
    paths = glob.glob(SRC + "/**/*.[ch]", recursive=True)
    return {os.path.relpath(p, SRC): read(p) for p in paths}


def rooms():
    """In their order, from ARCHITECTURE.md's table."""
    table = read("ARCHITECTURE.md").split("| room | holds |\n|---|---|\n")[1].split("\n\n")[0]
    names = re.findall(r"^\| (\w+) \|", table, re.M)
    assert sorted(names) == sorted(os.listdir(SRC)), names
    return names


def test_includes():
    """A file includes only its own room and those above it in the table."""
    order, wrong, compared = rooms(), [], 0
    for path, text in sources().items():
        room = path.split("/")[0]
        for quote, header in re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', text, re.M):
            compared += 1
            base = os.path.basename(header)
            only = ONLY.get(header) or ONLY.get(base)
            if only and path not in only.split():
                wrong.append(f"{path} includes {header}, which is for {only}")
            if quote == "<" or header in ("libupto/calls_file.h", "libupto/upto_instrument.h"):  # what programs write is told by what goes into them
                continue
            of = header.split("/")[0] if "/" in header else room
            if of not in order or order.index(of) > order.index(room):
                wrong.append(f"{path} includes {header}, of a room below its own")
    assert not wrong, "\n".join(wrong)
    assert compared > 500, compared
    return f"{compared} includes in {len(order)} rooms"


def test_printing():
    """Only cli prints and exits."""
    printing = {path for path, text in sources().items() if not path.startswith("cli/") and
                PRINTS.search(re.sub(r"/\*.*?\*/", "", text, flags=re.S))}
    assert printing == PRINTING, printing ^ PRINTING


def test_names():
    """No two files of the source have the same name."""
    names = collections.Counter(os.path.basename(p) for p in sources())
    assert not [n for n, count in names.items() if count > 1]


def test_width():
    """No line has more than 120 columns, but for text that people read: it is not broken, so that it is found."""
    wide = []
    for folder in ("src", "fuzz", "tests", "guest"):
        for path in glob.glob(os.path.join(TOP, folder) + "/**/*.[ch]", recursive=True):
            wide += [f"{os.path.relpath(path, TOP)}:{i}" for i, line in enumerate(read(path).splitlines(), 1)
                     if len(line.expandtabs(8)) > 120 and '"' not in line]
    assert not wide, wide


def test_registered():
    """A command stands wherever commands do."""
    files = {os.path.basename(p)[4:-2] for p in glob.glob(SRC + "/cli/*/cmd_*.c")}
    meson = read("src/cli/meson.build")
    pages = re.search(r"foreach page : \[(.*?)\]", meson, re.S).group(1)
    places = {
        "commands.h": re.findall(r"\bcmd_(\w+)", read("src/cli/commands.h")),
        "main.c": re.findall(r"&cmd_(\w+)", read("src/cli/main.c")),
        "meson.build": re.findall(r"'\w+/cmd_(\w+)\.c'", meson),
        "the man pages": re.findall(r"'(\w+)'", pages),
        "test_cli.py": COMMANDS,
    }
    for place, found in places.items():
        assert set(found) == files, f"{place}: {set(found) ^ files}"
    return f"{len(files)} commands"


@pytest.mark.long
@pytest.mark.weight(15)
def test_clang():
    """clang, too, has nothing to warn of; gcc's warnings are errors in the build."""
    if not shutil.which("clang"):
        pytest.skip("no clang")
    with open(os.path.join(CHECK, "compile_commands.json")) as f:
        commands = json.load(f)
    seen = set()
    for c in commands:
        path = os.path.realpath(os.path.join(c["directory"], c["file"]))
        if path in seen or not path.startswith((SRC + "/", os.path.join(TOP, "fuzz/"))):
            continue
        seen.add(path)
        words = [w for w in shlex.split(c["command"]) if w.startswith(("-I", "-D", "-W", "-std", "-isystem"))]
        words = [w for w in words if not w.startswith("-Wl,") and w != "-Werror"]
        p = subprocess.run(["clang", "-fsyntax-only", "-Werror", *words, path], cwd=c["directory"], capture_output=True, text=True)
        assert p.returncode == 0, p.stderr
    assert len(seen) > 100, len(seen)
    return f"{len(seen)} files"
