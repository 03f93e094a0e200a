# SPDX-License-Identifier: GPL-2.0-or-later
"""What definitions of probes become in the kernel's words: of files that are compiled here, and stand for a kernel or are programs."""
import os
import subprocess

from guest import TOP, UPTO_ASAN, WORK, Once, is_older, run

SOURCE = os.path.join(TOP, "tests/programs/defined.c")


def compiled(name, *options):
    path = os.path.join(WORK, "defined-" + name)
    with Once(path):
        if is_older(path, SOURCE):
            run("gcc", "-g", "-O2", "-static", "-nostdlib", "-o", path, SOURCE, *options)
    return path


def kernel():
    """A file that is taken for a kernel's."""
    return compiled("kernel", "-Wl,-e,start_kernel", "-Wl,--defsym=_text=__executable_start")


def program(*options):
    return compiled("program", "-Dstart_kernel=begin", "-Wl,-e,begin", *options)


def probe(file, *options):
    return subprocess.run([UPTO_ASAN, "probe", "--debug", file, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def definition(file, text):
    """The lines that a definition becomes: {event: [place, value …]}, of the last one with that name."""
    p = probe(file, "-D", text)
    assert p.returncode == 0, (text, p.stderr)
    return {line.split()[0].split("/", 1)[1]: line.split()[1:] for line in p.stdout.splitlines()}


def refused(file, text, said, option="-D"):
    p = probe(file, option, text)
    assert p.returncode == 1 and said in p.stderr and not p.stdout and p.stderr.count("\n") == 1, (text, p)


def test_constants():
    """A variable that is a constant has its value, whichever sign that has."""
    assert definition(kernel(), "weigh limit below") == {"weigh": ["weigh+0", r"limit=\200:s32", r"below=\-7:s32"]}


def test_returns():
    """Where a function returns, variables are what they were at its entry: registers have changed by then. Of programs nobody keeps them."""
    assert definition(kernel(), "weigh%return $retval item->name:string deep retval $arg3") == {"weigh__return": [
        "weigh+0", "$retval", "name={%sp,entry%di,@8}:string", "deep={%sp,entry%si}:s64", "retval_1={%sp,entry%dx}:s32", "arg5={%sp,entry%dx}:x64"]}
    assert definition(kernel(), "weigh%return retval=deep") == {"weigh__return": ["weigh+0", "retval={%sp,entry%si}:s64"]}
    # what is on the stack is still there
    assert definition(kernel(), "many%return g") == {"many__return": ["many+0", "g=+8(%sp):s64"]}
    for value in "deep", "$vars", "$params", "$retval deep":
        refused(program(), "weigh%return " + value, "where a program's function returns, $retval is known")
