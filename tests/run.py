#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs tests/test_*.py: every function test_*, two at a time. Arguments: parts of names to run only those.

The last line is the count.
"""
import concurrent.futures
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def collect(wanted):
    tests = []
    for file in sorted(os.listdir(HERE)):
        if file.startswith("test_") and file.endswith(".py"):
            module = importlib.import_module(file[:-3])
            for name, value in vars(module).items():
                if name.startswith("test_") and callable(value):
                    for case in getattr(value, "cases", [()]):
                        label = f"{file[5:-3]}.{name[5:]}" + (f"[{','.join(map(str, case))}]" if case else "")
                        if not wanted or any(w in label for w in wanted):
                            tests.append((label, value, case))
    # the long ones first
    return sorted(tests, key=lambda t: -getattr(t[1], "weight", 0))


def one(test):
    label, function, case = test
    begun = time.monotonic()
    try:
        note = function(*case)
        return label, None, time.monotonic() - begun, note
    except Exception:
        return label, traceback.format_exc(), time.monotonic() - begun, None


def main():
    tests = collect(sys.argv[1:])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for label, error, seconds, note in pool.map(one, tests):
            print(f"{'FAIL' if error else 'ok':4} {label} ({seconds:.1f} s){': ' + note if note else ''}", flush=True)
            if error:
                failed += 1
                print(error, flush=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
