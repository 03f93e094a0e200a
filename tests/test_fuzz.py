# SPDX-License-Identifier: GPL-2.0-or-later
"""The parsers' fuzz targets over their corpora, and over the same some hundred damaged copies of them each time.

In `make fuzz` libFuzzer looks for new inputs, too, where there is clang: some minutes a target. What fails stays in build/tests/crashes by the target's name.
"""
import os
import random
import re
import shutil
import subprocess
import tempfile

import pytest

from guest import BUILD, CHECK, TOP, WORK, once_a_run, run

TARGETS = sorted(name[len("fuzz_"):] for name in os.listdir(os.path.join(TOP, "fuzz/corpus")))
COPIES = {"trace": 40}  # of others 300
CRASHES = os.path.join(WORK, "crashes")
# reports end the run, and those of UBSan too make it fail; exit codes are what counts
ENVIRONMENT = dict(os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
                   ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:handle_abort=1:allocator_may_return_null=0")
ODD_BYTES = (0, 1, 0x7f, 0x80, 0xfe, 0xff)


def flip(data, rng):
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def overwrite(data, rng):
    at, n = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, 8))
    data[at:at + n] = bytes([rng.choice(ODD_BYTES)]) * min(n, len(data) - at)


def truncate(data, rng):
    del data[rng.randrange(len(data)):]


def cut_out(data, rng):
    at = rng.randrange(len(data))
    del data[at:at + rng.choice((1, 2, 4, 8, 64, 512))]


def duplicate(data, rng):
    at = rng.randrange(len(data))
    piece = data[at:at + rng.choice((1, 2, 4, 8, 64, 512))]
    to = rng.randrange(len(data))
    data[to:to] = piece * rng.choice((1, 1, 1, 20))


def damaged(seeds, rng):
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if data:
            rng.choice((flip, flip, overwrite, overwrite, truncate, cut_out, duplicate))(data, rng)
    return bytes(data)


def report_of(program, files):
    """What the target says when it fails on one of the files, else None."""
    p = subprocess.run([program, *files], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env=ENVIRONMENT, timeout=1800)
    text = p.stdout.decode(errors="replace")
    if p.returncode or "runtime error:" in text or "Sanitizer" in text:
        return f"exit {p.returncode}\n{text}"
    return None


def culprit(program, files, report):
    """The file that fails alone (leaks are told of only at the end), with its report."""
    while len(files) > 1:
        half = len(files) // 2
        for part in files[:half], files[half:]:
            said = report_of(program, part)
            if said:
                files, report = part, said
                break
        else:
            break
    return files, report


def keep(target, files, report):
    os.makedirs(CRASHES, exist_ok=True)
    kept = []
    for file in files[:8]:
        kept.append(os.path.join(CRASHES, f"{target}-{os.path.basename(file)}"))
        shutil.copyfile(file, kept[-1])
    with open(kept[0] + ".txt", "w") as f:
        f.write(report)
    lines = [line for line in report.splitlines()
             if not line.startswith(("/", " ")) or line.startswith("    #")]
    raise AssertionError(f"{target} fails on {', '.join(kept)}\n" + "\n".join(lines[:20]))


@pytest.mark.weight(10)
@pytest.mark.parametrize("name", TARGETS)
def test_replay(name):
    target = "fuzz_" + name
    program = os.path.join(CHECK, "fuzz", target)
    corpus = os.path.join(TOP, "fuzz/corpus", target)
    files = [os.path.join(corpus, f) for f in sorted(os.listdir(corpus))]
    rng = random.Random(target)
    seeds = []

    assert os.path.exists(program), f"{program} is not built"
    for file in files:
        with open(file, "rb") as f:
            seeds.append(f.read())
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        for i in range(COPIES.get(name, 300)):
            files.append(os.path.join(folder, f"damaged-{i:03}"))
            with open(files[-1], "wb") as f:
                f.write(damaged(seeds, rng))
        report = report_of(program, files)
        if report:
            keep(target, *culprit(program, files, report))
    return f"{len(files)} inputs"


EXPLORE = os.path.join(BUILD, "fuzz")
SECONDS = int(os.environ.get("UPTO_FUZZ_SECONDS") or "5")
# what recorders publish is never freed; elfutils and libtraceevent keep something at each input, so that all memory would
# be searched for leaks behind each (replayed inputs are searched at the end)
MORE = {name: ["-detect_leaks=0"] for name in ("guest_memory", "debug_info", "events")} | {"sysroot": ["-malloc_limit_mb=8192"]}
# an archive may say that a name has 4 GB, which libarchive allocates, and goes without if it cannot: clearing what sanitizers
# know of so much takes a tenth of a second
NO_MORE = {"sysroot": ":max_allocation_size_mb=256:allocator_may_return_null=1"}


def explorer(target):
    """All are built at once, where clang has libFuzzer."""
    empty = b"int LLVMFuzzerTestOneInput(void *data, long size) { return data && size && 0; }"
    if not shutil.which("clang") or run("clang", "-fsanitize=fuzzer,address", "-x", "c", "-", "-o", "/dev/null", input=empty, check=False).returncode:
        pytest.skip("no clang with libFuzzer")
    once_a_run(EXPLORE, lambda: run(os.path.join(TOP, "scripts/build.sh"), "fuzz", *(f"fuzz/fuzz_{t}" for t in TARGETS), timeout=3600))
    return os.path.join(EXPLORE, "fuzz", target)


def new_inputs(target):
    """Those that are new in coverage stay, for the next time."""
    kept = os.path.join(WORK, "explored", target)
    os.makedirs(kept, exist_ok=True)
    return kept


@pytest.mark.fuzz
@pytest.mark.weight(SECONDS + 5)
@pytest.mark.parametrize("name", TARGETS)
def test_explore(name):
    target = "fuzz_" + name
    program = explorer(target)
    os.makedirs(CRASHES, exist_ok=True)
    # libFuzzer's limit of memory takes the peak of whoever started it for its own: of a shell, not of the tests that ran here before
    p = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", program, f"-max_total_time={SECONDS}", "-entropic=0", "-print_funcs=0", "-print_final_stats=1", f"-artifact_prefix={CRASHES}/{target}-",
                        *MORE.get(name, []), new_inputs(target), os.path.join(TOP, "fuzz/corpus", target)],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env=dict(ENVIRONMENT, ASAN_OPTIONS=ENVIRONMENT["ASAN_OPTIONS"] + NO_MORE.get(name, "")), timeout=SECONDS + 600)
    said = p.stdout.decode(errors="replace")
    assert p.returncode == 0, f"{target} fails, see {CRASHES}/{target}-*\n{said[-3000:]}"
    tried, = re.findall(r"stat::number_of_executed_units: +(\d+)", said)
    return f"{tried} inputs in {SECONDS} s"
