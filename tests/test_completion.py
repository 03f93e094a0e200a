# SPDX-License-Identifier: GPL-2.0-or-later
"""What the shells themselves complete: fish says it, bash and zsh are typed to on a terminal."""
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

import pytest

from guest import TOP, UPTO, run

COMPLETION = os.path.join(TOP, "src/cli/completion.")
# what stands before the cursor, and the line that the tab makes of it
LINES = [("upto to", "upto top "), ("upto --no-pager sysc", "upto --no-pager syscalls "),
         ("upto syscalls --nam", "upto syscalls --name="), ("upto top --js", "upto top --json "),
         ("upto check tra", "upto check trace.upto ")]


def environment(folder):
    return {"PATH": os.path.dirname(UPTO) + ":" + os.environ["PATH"], "HOME": folder, "ZDOTDIR": folder, "TERM": "dumb",
            "LC_ALL": "C.UTF-8"}


def typed(shell, setup, lines, folder):
    """Lines after a tab: each is turned into an argument of echo, which prints it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(shell[0], shell, environment(folder))

    def answer(keys, until):
        os.write(fd, keys.encode())
        out, end = "", time.monotonic() + 60
        while not re.search(until, out):
            assert time.monotonic() < end, (keys, out)
            if select.select([fd], [], [], 1)[0]:
                out += os.read(fd, 65536).decode(errors="replace")
        return out

    try:
        answer(setup + "; echo REA''DY\n", "READY\r?\n")
        for line in lines:
            # Ctrl-A goes to the line's begin; what is behind the cursor then is quoted by the end of the line
            out = answer(f"{line}\t\x05'\x01echo GO''T '\n", "GOT .*\r?\n")
            yield re.search("GOT (.*?)\r?\n", out[out.rindex("GOT "):]).group(1)
    finally:
        os.close(fd)
        os.waitpid(pid, 0)


def completed(shell, setup, seen=str):
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]} here")
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/trace.upto", "w").close()
        got = list(typed(shell, setup.replace("FOLDER", folder), [line for line, _ in LINES], folder))
    assert got == [seen(line) for _, line in LINES], got


def test_bash():
    completed(["bash", "--norc", "--noprofile", "-i"], f"PS1=; source {COMPLETION}bash")


def test_zsh():
    completed(["zsh", "-f", "-i"], f"PS1=; unsetopt zle_bracketed_paste; cp {COMPLETION}zsh FOLDER/_upto; fpath=(FOLDER $fpath); "
              "autoload -U compinit; compinit -u -D; bindkey -e", str.rstrip)  # it takes the space back when the next key does not want it


def test_fish():
    if not shutil.which("fish"):
        pytest.skip("no fish here")
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/trace.upto", "w").close()
        for line, whole in LINES:
            p = subprocess.run(["fish", "-N", "-c", f"source {COMPLETION}fish; complete -C '{line}'"], cwd=folder,
                               env=environment(folder), capture_output=True, timeout=60)
            words = [w.split("\t")[0] for w in p.stdout.decode().splitlines()]
            assert words == [whole.split()[-1]] and not p.stderr, (line, words, p.stderr)


def test_words_are_described():
    """Each word that completion has is there with what --help says of it."""
    words = run(UPTO, "--complete").stdout.decode().split()
    for command in [None, *words]:
        lines = run(UPTO, "--describe", *filter(None, [command])).stdout.decode().splitlines()
        assert [w.split("\t")[0] for w in lines] == run(UPTO, "--complete", *filter(None, [command])).stdout.decode().split()
        text = run(UPTO, *filter(None, [command]), "--help").stdout.decode()
        assert all(w.split("\t")[1] in text for w in lines), lines
