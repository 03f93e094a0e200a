# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in handlers: their language against Python, what they count against upto's other answers, and what is refused."""
import collections
import fnmatch
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

from guest import TOP, UPTO, UPTO_ASAN, WORK, initrd, once_a_run, qemu_args, record, run, upto_json
from made import KERNEL, make
from test_code import image as code_image, recording
from test_made import CHILD, CLONE, INIT, SIGNALS, STACK, boot, entry, program as made_program, result
from test_thin import base

M64 = (1 << 64) - 1


def signed(n):
    n &= M64
    return n - (1 << 64) if n >> 63 else n


def answer(program, trace, *more, upto=UPTO):
    """What a program prints, without the line that tells how many probes there are."""
    out = run(upto, "run", *more, "-e", program, trace).stdout.decode()
    first, _, rest = out.partition("\n")
    assert re.fullmatch(r"Attaching \d+ probes?\.\.\.", first), first
    return rest


def answers(program, trace):
    """What it prints as JSON: maps by name, and the rest in its order."""
    lines = [json.loads(line) for line in run(UPTO, "run", "--json", "-e", program, trace).stdout.splitlines()]
    maps = {k: v for line in lines if isinstance(line["data"], dict) for k, v in line["data"].items() if k != "probes"}
    return maps, [line["data"] for line in lines if not isinstance(line["data"], dict)]


def expression(rng, depth):
    """An expression and its value, as C has it with numbers of 64 bits that have a sign."""
    if depth == 0 or rng.random() < 0.15:
        n = rng.choice([0, 1, 2, 3, 7, 64, 1000, rng.randrange(1 << 31), rng.randrange(1 << 62)])
        return rng.choice([str(n), hex(n)]), n
    op = rng.choice(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "?", "~", "!", "neg"])
    a, x = expression(rng, depth - 1)
    if op in ("~", "!", "neg"):
        return f"({'-' if op == 'neg' else op}{a})", {"~": ~x, "!": int(not x), "neg": signed(-x)}[op]
    b, y = expression(rng, depth - 1)
    if op == "?":
        c, z = expression(rng, depth - 1)
        return f"({a} ? {b} : {c})", y if x else z
    if op in ("<<", ">>"):
        b, y = str(y % 64), y % 64
    quotient = 0 if not y else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: quotient, "%": lambda: x - quotient * y if y else x, "&": lambda: x & y,
             "|": lambda: x | y, "^": lambda: x ^ y, "<<": lambda: x << y, ">>": lambda: x >> y, "==": lambda: x == y, "!=": lambda: x != y, "<": lambda: x < y,
             ">": lambda: x > y, "<=": lambda: x <= y, ">=": lambda: x >= y, "&&": lambda: bool(x and y), "||": lambda: bool(x or y)}[op]()
    return f"({a} {op} {b})", signed(int(value))


def test_arithmetic():
    """Expressions of all operators, with and without the parentheses that their order makes superfluous."""
    rng, made = random.Random(5), []
    for _ in range(400):
        made.append(expression(rng, rng.choice([1, 2, 3, 4])))
    got = answer("BEGIN { " + " ".join(f'printf("%d\\n", {e});' for e, _ in made) + " }", base(2), upto=UPTO_ASAN).split()
    wrong = [(e, v, g) for (e, v), g in zip(made, got) if str(v) != g]
    assert len(got) == len(made) and not wrong, wrong[:3]
    # Python's strengths are C's for these
    for text in ("1 + 2 * 3 - 4", "2 * 3 + 4 << 1", "7 & 3 | 8", "1 << 2 + 1", "10 - 3 - 2", "100 / 7 / 2", "~5 & 15", "6 ^ 3 & 1"):
        assert answer(f'BEGIN {{ printf("%d", {text}); }}', base(2)).strip() == str(eval(text.replace("/", "//"))), text
    return f"{len(made)} expressions"


def histogram(values, name="@"):
    """As bpftrace prints it: src/output.cpp of 0.17."""
    def label(n):
        for unit in ("", "K", "M", "G", "T", "P", "E"):
            if n < 1024 or n % 1024:
                return f"{n}{unit}"
            n //= 1024
    counts = collections.Counter(-1 if v < 0 else v.bit_length() for v in values)
    if not counts:
        return ""
    rows, most = [f"{name}: "], max(counts.values())
    for i in range(min(counts), max(counts) + 1):
        head = "(..., 0)" if i < 0 else "[0]" if i == 0 else "[1]" if i == 1 else f"[{label(1 << (i - 1))}, {label(1 << i)})"
        rows.append(f"{head:<16}{counts[i]:>8} |{'@' * int(counts[i] / most * 52):<52}|")
    return "\n".join(rows) + "\n\n"


def linear(values, low, high, step, name="@"):
    def label(n):
        return f"{n >> 20}M" if n and n % (1 << 20) == 0 else f"{n >> 10}K" if n and n % 1024 == 0 else str(n)
    buckets = (high - low) // step
    counts = collections.Counter(-1 if v < low else buckets if v >= high else (v - low) // step for v in values)
    rows, most = [f"{name}: "], max(counts.values())
    for i in range(min(counts), max(counts) + 1):
        head = f"(..., {label(low)})" if i < 0 else f"[{label(high)}, ...)" if i == buckets else f"[{label(low + i * step)}, {label(low + (i + 1) * step)})"
        rows.append(f"{head:<16}{counts[i]:>8} |{'@' * int(counts[i] / most * 52):<52}|")
    return "\n".join(rows) + "\n\n"


def test_sums():
    """count() to lhist() of values that are in the program."""
    rng = random.Random(6)
    for _ in range(10):
        values = [rng.choice([0, 1, -5, rng.randrange(20), rng.randrange(5000), rng.randrange(1 << 40)]) for _ in range(rng.choice([1, 5, 40]))]
        all_of = " ".join(f"@h = hist({v}); @l = lhist({v}, 0, 4096, 256); @s = stats({v}); @c = count(); @u = sum({v}); @a = avg({v}); @n = min({v}); @x = max({v});" for v in values)
        got = answer("BEGIN { " + all_of + " }", base(2), upto=UPTO_ASAN)
        total = sum(values)
        mean = abs(total) // len(values) * (-1 if total < 0 else 1)
        assert got == f"@a: {mean}\n\n@c: {len(values)}\n" + histogram(values, "@h") + linear(values, 0, 4096, 256, "@l") + \
            f"@n: {min(values)}\n@s: count {len(values)}, average {mean}, total {total}\n\n@u: {total}\n@x: {max(values)}\n", got


CASES = [
    ('BEGIN { printf("%-5s|%5s|%05d|%x|%c|%%\\n", "ab", "cd", 42, 255, 65); }', "ab   |   cd|00042|ff|A|%\n"),
    ('BEGIN { @a["x", 1] = 5; @a["x", 2] = 3; @a["b", 7] = 4; }', "@a[x, 2]: 3\n@a[b, 7]: 4\n@a[x, 1]: 5\n"),
    ('BEGIN { @n[1] = "b"; @n[-1] = "a"; @n[10] = "c"; }', "@n[-1]: a\n@n[1]: b\n@n[10]: c\n"),
    ('BEGIN { $i = 0; while ($i < 10) { $i++; if ($i == 3) { continue; } if ($i > 5) { break; } printf("%d ", $i); } }', "1 2 4 5 "),
    ('BEGIN { for ($i : 2..5) { printf("%d ", $i); } unroll(2) { printf("x"); } }', "2 3 4 xx"),
    ('BEGIN { @m["a"] = 1; @m["b"] = 2; for ($kv : @m) { printf("%s=%d;", $kv.0, $kv.1); } clear(@m); }', "a=1;b=2;\n"),
    ('BEGIN { $t = (1, "two", (3, 4)); printf("%d %s %d", $t.0, $t.1, $t.2.1); print($t); }', "1 two 4(1, two, (3, 4))\n"),
    ('BEGIN { @x = 5; @x += 2; @x <<= 1; @x++; printf("%d %d %d", @x++, ++@x, @x); clear(@x); }', "15 17 17\n"),
    ('BEGIN { @c[1] = count(); @c[2] = count(); @c[2] = count(); print(@c, 1); delete(@c[2]); print(@c[1]); printf("%d", len(@c)); clear(@c); }', "@c[2]: 2\n1\n1\n"),
    ('BEGIN { @z = count(); zero(@z); @z = count(); @z = count(); }', "@z: 2\n"),
    ('BEGIN { if (strncmp("hello", "help", 3) == 0 && "a" == "a" && "a" != "b" && strcontains("abc", "bc")) { printf("%d", strlen("four")); } }', "4"),
    ('BEGIN { printf("%d %d", (uint8)300, (int8)200); printf(" %x %s", bswap((uint16)0x1234), ntop(0x0100007f)); }', "44 -56 3412 127.0.0.1"),
    ('BEGIN { @q = (1 == 1) ? "yes" : "no"; } END { printf("%s.", @q); clear(@q); }', "yes.\n"),
    ('BEGIN { printf("%s %d", str($1), $2 + $#); }', "word 9"),
    ('BEGIN { @[1] = 1; exit(); } END { printf("end "); }', "end @[1]: 1\n"),
    ('BEGIN { return; printf("never"); }', ""),
    ('#define LIMIT 7\nBEGIN { printf("%d %d", LIMIT, AF_INET6); } // and a comment\n/* another */', "7 10"),
    ('BEGIN { printf("%d %d %d", 1_000, 1e3, 5ms); }', "1000 1000 5000000"),
    ('BEGIN { if (1) { printf("a"); } else if (1) { printf("b"); } else { printf("c"); } if (0) { } else { printf("d"); } }', "ad"),
    ('BEGIN { printf("%s", has_key(@k, 5) ? "y" : "n"); @k[5] = 1; printf("%s", has_key(@k, 5) ? "y" : "n"); delete(@k, 5); }', "ny\n"),
    ('BEGIN { @n[1] = "x"; if (@n[1]) { printf("y"); } if (!@n[2] && @n[1]) { printf("n"); } clear(@n); }', "yn\n"),
    ('BEGIN { 1 ? printf("a") : printf("b"); }', "a"),
    ('BEGIN { @s = sum(5); @t = @s; $v = @s; printf("%d", $v); clear(@s); clear(@t); }', "5\n\n"),
    ('BEGIN { printf("[%s]", func); @f[1] = 1; exit(); } END { printf("%d", elapsed); clear(@f); }', "[]0\n"),
    ('BEGIN { @m[5] = 2; printf("%s", str($1, @m[5] + 1)); clear(@m); }', "wor\n"),
    ('BEGIN { @s["a", 1] += 5; @s["a", 1] <<= 1; @s["b", 2]++; ++@s["b", 2]; $x = 1; $x += 2; @t[(1, 2), "k"] |= $x; }', "@s[b, 2]: 2\n@s[a, 1]: 10\n@t[(1, 2), k]: 3\n"),
    ('BEGIN { @[probe] = count(); } BEGIN { @[probe] = count(); } END { @[probe] = count(); }', "@[END]: 1\n@[BEGIN]: 2\n"),
    # as bpftrace has it, which says so of stats(): only averages, sums and hist() are divided, and all stats() are there
    ('BEGIN { @s["a"] = stats(10); @s["a"] = stats(20); @s["b"] = stats(90); print(@s, 1, 10); @l = lhist(5, 0, 20, 10); @l = lhist(6, 0, 20, 10); print(@l, 0, 2); @c = sum(50); print(@c, 0, 10); '
     '@h = hist(0); @h = hist(0); print(@h, 0, 2); clear(@s); clear(@l); clear(@c); clear(@h); }',
     "@s[a]: count 2, average 15, total 30\n@s[b]: count 1, average 90, total 90\n\n@l: \n" + f"{'[0, 10)':<16}{2:>8} |{'@' * 52}|\n\n@c: 5\n@h: \n{'[0]':<16}{1:>8} |{'@' * 52}|\n\n\n\n"),
    # src/stdlib/strings/signal.h of bpftrace
    ('BEGIN { for ($i : 0..3) { printf("%s|", signal_name($i)); } printf("%s|%s|%s|%s|%s|%s|%s", signal_name(9), signal_name(31), signal_name(32), signal_name(34), signal_name(64), '
     'signal_name(65), signal_name(-1)); }',
     "Unknown signal 0|Hangup|Interrupt|Killed|Bad system call|Unknown signal 32|Real-time signal 0|Real-time signal 30|N/A|N/A"),
    ('BEGIN { for ($i : 0..20000) { @m[$i % 3, "x"] = count(); } for ($kv : @m) { @n += $kv.1; } clear(@m); }', "\n@n: 20000\n"),
    ('BEGIN { printf("%s %s", syscall_name(1), ntop(2, 0x0100007f)); $x = (uint16)0x1234; printf(" %x", bswap($x)); }', "write 127.0.0.1 3412"),
    ('BEGIN { $t = "a"; for ($i : 0..3) { $t = ($i == 1) ? "b" : $t; } printf("%s", $t); }', "b"),
    # what later versions of the language have
    ('BEGIN { printf("%s %d", probetype, usermode); _ = 5; _ = printf("."); } END { printf("%s", probetype); }', "special 0.special"),
    ('macro add(a, b) { a + b } macro twice(x) { $t = x; $t * 2 } BEGIN { $t = 5; printf("%d %d %d", add(1, 2), twice(add($t, 1)) + 1, $t); }', "3 13 5"),
    ('macro set($v, @m, k) { $v = "set"; @m[k] = add(k, 1); } macro add(a, b) { a + b } BEGIN { $x = "no"; set($x, @here, 4); printf("%s ", $x); }', "set @here[4]: 5\n"),
    ('macro name(n) { n == 0 ? "none" : "some" } BEGIN { $a = name(0); $b = name(1); printf("%s %s %s", $a, $b, { $c = name(0); $d = $c; $d }); }', "none some none"),
    ('macro sum(@m) { $s = 0; for ($kv : @m) { $s += $kv.1; } $s } BEGIN { @v[1] = 2; @v[5] = 7; printf("%d", sum(@v) * 10); clear(@v); }', "90\n"),
    ('BEGIN { @a["x"] = 1; @b[5] = 2; for ($kv : @a) { printf("%s ", $kv.0); for ($kv : @b) { printf("%d ", $kv.0); } printf("%s", $kv.0); } clear(@a); clear(@b); }', "x 5 x\n\n"),
    ('let @few = hash(2); BEGIN { for ($i : 0..9) { @few[$i] = $i; } let $t: uint64 = 3; let $u; $u = $t; printf("%d %d", len(@few), $u); clear(@few); }', "2 3\n"),
    ('BEGIN { $a = (1, "x"); printf("%d %d %d", $a == (1, "x"), (1, 2) != (1, 3), (1, (2, 3)) == (1, (2, 4))); }', "1 1 0"),
    ('BEGIN { printf("%d %d %d", sizeof(uint16), sizeof(unsigned int), sizeof(struct file *)); }', "2 4 8"),
    ('enum flags { F = 1 << 3, G, H = (1 << 6) }; BEGIN { let $t: uint8 = 300; printf("%d %d %d %d", F, G, H, $t); }', "8 9 64 44"),
    ('macro f($v) { for ($v : 0..3) { @s += $v; } } BEGIN { $a = 100; f($a); printf("%d ", $a); }', "100 @s: 3\n"),
    ('enum kinds { A, B = 7,\n C /* last */ };\nBEGIN { printf("%d %d %d", A, B, C); }', "0 7 8"),
    ('BEGIN { $v = (x=1, y=2); $t = (a=0, b=1, c="str", d=(5, 6), e=$v); print($t); printf("%d %s %d %d ", $t.b, $t.c, $t.d.1, $t.e.y); '
     '@[(a=1, b="k")] = (m=$v, n=2); printf("%d", @[(a=1, b="k")].m.y); }',
     "{ .a = 0, .b = 1, .c = str, .d = (5, 6), .e = { .x = 1, .y = 2 } }\n1 str 6 2 2@[{ .a = 1, .b = k }]: { .m = { .x = 1, .y = 2 }, .n = 2 }\n"),
    ('BEGIN { @a[1] = 10; @b["k"] = "bye"; @c[1, ("h", 5)] = (1, "x"); let $v; $s = "as it was"; if (find(@a, 1, $v)) { printf("%d ", $v); } '
     'if (!find(@a, 2, $v)) { printf("%d ", $v); } if (!find(@b, "no", $s)) { printf("%s ", $s); } _ = find(@b, "k", $s); printf("%s ", $s); '
     'if (find(@c, (1, ("h", 5)), $t)) { print($t); } clear(@a); clear(@b); clear(@c); }', "10 10 as it was bye (1, x)\n\n\n\n"),
    ('BEGIN { @n = count(); @p["f"] = probe; $t = "text"; if (find(@p, "f", $t)) { printf("%s", $t); } clear(@n); clear(@p); }', "BEGIN\n\n"),
    ('let @m = lruhash(2); BEGIN { @m["a"] = 1; @m["b"] = 2; $x = @m["a"]; @m["c"] = 3; }', "@m[a]: 1\n@m[c]: 3\n"),
    ('struct Foo { int x; struct { int y; } z; } enum e { A = -1, B = 2 } struct F; union U { int q; };\nBEGIN { printf("%d %d %d ", A, B, sizeof(1 == 1)); }\nstruct G { int x; }\n'
     'END { printf("two"); }', "-1 2 8 two"),
    ('BEGIN { printf("%d %x %hhx %hx %hhd", 4294967196, 0x12345678abcdef, 0x12345678abcdef, 0x12345678abcdef, 0xff); }', "4294967196 12345678abcdef ef cdef -1"),
    # a range's end is calculated once
    ('BEGIN { $a = 10; for ($i : 0..$a) { $a--; printf("%d ", $i); } @a = 10; for ($i : 0..@a) { @a += 1; for ($j : 0..2) { @b++; } } }', "0 1 2 3 4 5 6 7 8 9 @a: 20\n@b: 20\n"),
    ('BEGIN { $p = (int32 *)0x1000; print($p); @k[(int8 *)4096] = 1; @a = (int16 *)50; printf("%d %x ", $p, $p); }', "4096\n4096 1000 @a: 50\n@k[0x1000]: 1\n"),
    # in keys numbers have a sign, and addresses 0x; elsewhere they are what they are
    ('BEGIN { @k[(uint64)0xffff888003f1e000, "x"] = (1, (int8 *)0x1234); @n[(uint64)0xfffffffffffffff5] = count(); print((uint64)0xfffffffffffffff5); }',
     "18446744073709551605\n@k[-131391573336064, x]: (1, 4660)\n@n[-11]: 1\n"),
    ('BEGIN { printf("%s %s %s", ksym(0), usym(0), ksym(16)); }', "0 0 0x10"),
    ('BEGIN { print(-(uint64)5); print(-5); $x = (uint16)0x1234; if (cpu > 9) { $x = 0; } printf("%x", bswap($x)); }', "18446744073709551611\n-5\n3412"),
    ('BEGIN { @x[1] = 5; print(@x[1]); print(@x[9]); @t[1] = "q"; print(@t[1]); clear(@x); clear(@t); }', "5\n0\nq\n\n\n"),
    ('config = { print_maps_on_exit = false; stack_mode = raw, max_strlen=64 } BEGIN { @x = 1; printf("z"); }', "z"),
    ('BEGIN { printf("%d %d %d", (bool)256, (bool)0, (bool)-1 == 1); if ((bool)256) { printf("t"); } }', "1 0 1t"),
    ('macro one() { 1 } BEGIN { printf("%d %d %d", one, one() + one, pid()); }', "1 2 0"),
    ('BEGIN { printf("%d %d", strncmp("one", "one ", 4), strncmp("one", "one ", 3)); @a["x"] = avg(1); @a["y"] = avg(2); print(@a, 1); printf("e"); clear(@a); }', "1 0@a[y]: 2\n\ne\n"),
    ('BEGIN { @ = lhist(30, 0, 25, 10); }', "@: \n[25, ...)" + " " * 14 + "1 |" + "@" * 52 + "|\n\n"),
    ('BEGIN { @ = tseries(5, 1s, 2); clear(@); }', ""),
    ('BEGIN { @m["a"] = "x"; } END /find(@m, "a", $v)/ { print($v); clear(@m); }', "x\n\n"),
    ('BEGIN { print((short=2).short); print((int32)5); print((a=(1, 2), b=3).a.1); }', "2\n5\n2\n"),
    # what a condition makes is forgotten each time
    ('BEGIN { @m[1, "x"] = 1; for ($i : 0..21000) { @all++; if (find(@m, ($i, "x"), $v)) { @n++; } if (has_key(@m, ($i, "y"))) { } else { @o++; } } $k = 0; '
     'while (has_key(@m, (1, "x")) && $k < 30000) { $k++; } printf("%d", $k); clear(@m); }', "30000@all: 21000\n\n@n: 1\n@o: 21000\n"),
    ('BEGIN { $r = (a=1, b="x"); printf("%d %d %d", $r == (a=1, b="x"), $r != (a=2, b="x"), $r.1 == "x"); }', "1 1 1"),
    ('BEGIN { @ = tseries(5, 1s, 2); zero(@); }', "@:\n<no data>\n\n"),
    # what has no sign keeps it where it meets what has one, but for what is shifted by it
    ('BEGIN { print(cpu - 1); print((cpu - 1) > 5); print((cpu - 8) / 8 > 0); $p = cpu - 16; $p >>= 60; print($p); print((cpu - 16) >> 60); print(-16 >> (cpu + 1)); @a = cpu - 2; }',
     "18446744073709551615\n1\n1\n15\n15\n-8\n@a: 18446744073709551614\n"),
    ('BEGIN { printf("[%16p] [%-8p] [%p] %c%s|", 255, 16, 255, 27, "\\x1b[31m\\xc2\\x9b"); }', "[            0xff] [0x10    ] [0xff] \\x1b\\x1b[31m\\xc2\\x9b|"),
    ('macro f(a) { a + 1 }\n#define N 5\nBEGIN { printf("%d", f(N)); }', "6"),
    ('let @m = hash(2);\n#define N 5\nBEGIN { printf("%d", N); }', "5"),
    # longer than any buffer
    ('macro long() { "' + "x" * 3000 + '" } BEGIN { printf("%-6s|", long); }', "x" * 3000 + "|"),
    # the preprocessor's, by what C's would make of it
    ('#define X (1 << 3)\n#define B (X * 2 + 1) /* of\n two */\nBEGIN { printf("%d %d", B, 10 - X); }', "17 2"),
    ('#define N 1\n#undef N\n#define N \\\n 0x800u\nBEGIN { printf("%d", N); }', "2048"),
    ('#ifdef FOO\n#define N 1\n#elif defined(BPFTRACE_HAVE_BTF) && 0x10u >> 1 == 8 && !defined FOO\n#define N 3\n#else\n#define N 2\n#endif\nBEGIN { printf("%d", N); }', "3"),
    ('#if 0\nBEGIN { printf("never"); }\n#if 1\n#else\n#endif\n#elif 2 > 3\nBEGIN { printf("never"); }\n#else\nBEGIN { printf("once"); }\n#endif\nBEGIN { printf(" more"); }',
     "once more"),
    ('#ifndef BPFTRACE_HAVE_BTF\n#include <linux/a.h>\n#else\n#define M -3\n#endif\n#define A(x) 1\nBEGIN { printf("%d", M); @x /* a = b */ += 2; clear(@x); }', "-3\n"),
    ('BEGIN { printf("begin "); }\n#define ONE 1\n#include <linux/fs.h>\nEND { printf("%d", ONE); }\n#define TWO 2\n', "begin 1"),
    ('BEGIN { @h = hist(-1); @h = hist(1024); }', "@h: \n" + "(..., 0)" + " " * 15 + "1 |" + "@" * 52 + "|\n" + "".join(
        f"{h:<16}{0:>8} |{'':<52}|\n" for h in ["[0]", "[1]", *(f"[{1 << i}, {'1K' if i == 9 else 2 << i})" for i in range(1, 10))]) +
     f"{'[1K, 2K)':<16}{1:>8} |{'@' * 52}|\n\n"),
]


@pytest.mark.parametrize("program, expected", CASES, ids=range(len(CASES)))
def test_language(program, expected):
    out = run(UPTO_ASAN, "run", "-e", program, *(["word", "7"] if "$1" in program else []), base(2)).stdout.decode()
    assert out.partition("\n")[2] == expected, out


def test_forgets():
    """lruhash(): the key that nobody used for longest makes room, as Python's ordered dictionary has it; others are left out and counted."""
    rng, steps, keys = random.Random(8), [], collections.OrderedDict()
    for _ in range(600):
        key, what = rng.randrange(24), rng.choice("sssggd")
        if what == "s":
            keys[key] = len(steps)
            keys.move_to_end(key)
            if len(keys) > 9:
                keys.popitem(last=False)
            steps.append(f"@m[{key}, \"k\"] = {len(steps)};")
        elif what == "g":
            if key in keys:
                keys.move_to_end(key)
            steps.append(f"if (has_key(@m, ({key}, \"k\"))) {{ $x = {len(steps)}; }}")
        else:
            keys.pop(key, None)
            steps.append(f"delete(@m, ({key}, \"k\"));")
    got = answer("let @m = lruhash(9); BEGIN { " + " ".join(steps) + " }", base(2), upto=UPTO_ASAN)
    assert got == "".join(f"@m[{k}, k]: {v}\n" for k, v in sorted(keys.items(), key=lambda kv: kv[1])), got
    # likewise where texts leave no room; and what was made empty takes none
    text = "x" * 60000
    got = answer(f'let @m = lruhash(100000); BEGIN {{ $t = "{text}"; for ($i : 0..3600) {{ @m[$i] = $t; }} printf("%d %d", strlen(@m[3599]), len(@m) < 3600); clear(@m); }}', base(2))
    assert got == "60000 1\n", got
    got = answer(f'BEGIN {{ $t = "{text}"; for ($i : 0..3600) {{ @x = $t; zero(@x); }} @x = $t; printf("%d", strlen(@x)); clear(@x); }}', base(2))
    assert got == "60000\n", got
    # what goes by the order of calls is not counted function by function
    order = [line.split()[0] for line in answer('call:* { printf("%s\\n", func); }', base(2)).splitlines()]
    last = collections.OrderedDict()
    for name in order:
        last[name] = last.pop(name, 0) + 1
        if len(last) > 3:
            last.popitem(last=False)
    got = answer("let @m = lruhash(3); call:* { @m[func] = count(); }", base(2))
    assert sorted(got.splitlines()) == sorted(f"@m[{k}]: {v}" for k, v in last.items()), (got, last)
    return f"{len(steps)} steps, {len(order)} calls"


def series(rows, began_us, step_us, slots, of):
    """What tseries() prints of (ns, value): src/output/text.cpp of 0.26, with the dot of 0 where its manual has it."""
    kept, digits = collections.defaultdict(list), 6 if step_us % 1000 else 3
    for ns, value in rows:
        kept[ns // (step_us * 1000)].append(value)
    last, unit = max(kept), "us" if step_us % 1000 else "ms"
    value = {i: of(v) for i, v in kept.items() if i > last - slots}
    low, high = min(value.values()), max(value.values())
    if low == high:
        low, high = low - 1, high + 1
    ends = f"{'':{10 + digits}}{low:<21}{high:>32}\n"
    text = f"{ends}{'hh:mm:ss.' + unit:<{10 + digits}}|{'_' * 51}|\n"
    for i in range(min(value), last + 1):
        row = list("|" + " " * 51 + "|")
        if low < 0 < high:
            row[int(53 * (-low / (high - low)))] = "."
        if i in value:
            row[int(52 * ((value[i] - low) / (high - low)))] = "*"
        us = began_us + i * step_us
        at = f"{time.strftime('%H:%M:%S', time.localtime(us // 1000000))}.{us % 1000000:06}"
        text += f"{at[:9 + digits]} {''.join(row)} {value.get(i, '-')}\n"
    return text + f"{'':{10 + digits}}v{'_' * 51}v\n" + ends


@pytest.mark.parametrize("step", [2000, 700])
def test_series(step):
    """tseries(): the last, greatest, least, all and the mean of each interval, as lines and as JSON, of values that are printed one by one."""
    kinds = {"l": lambda v: v[-1], "x": max, "n": min, "s": sum, "a": lambda v: abs(sum(v)) // len(v) * (-1 if sum(v) < 0 else 1)}
    names = {"l": "", "x": ', "max"', "n": ', "min"', "s": ', "sum"', "a": ', "avg"'}
    program = 'BEGIN { printf("%s\\n", strftime("%s%f", 0)); } interval:us:300 { $v = (int8)rand; if ($v % 4) { printf("%d %d\\n", nsecs, $v); ' + \
        " ".join(f"@{k} = tseries($v, {step}us, 6{more});" for k, more in names.items()) + " } }"
    said, _, maps = answer(program, base(2)).partition("\n@")
    began, *rows = said.splitlines()
    rows = [tuple(int(n) for n in row.split()) for row in rows]
    assert len(rows) > 15 and len({v for _, v in rows}) > 10, rows
    want = "".join(f"@{k}:\n{series(rows, int(began), step, 6, of)}\n" for k, of in sorted(kinds.items()))
    assert "@" + maps == want, (maps, want)
    assert answers("BEGIN { @x = 5; clear(@x); @t = tseries(1, 1s, 3); clear(@t); @k[1] = tseries(1, 1s, 3); clear(@k); }", base(2)) == ({}, [])  # as bpftrace's -f json, nothing of what is empty
    maps, _ = answers(program.replace("@l =", "@l[$v < 0] ="), base(2))
    last = max(ns // (step * 1000) for ns, _ in rows)
    for negative in (False, True):
        kept = {ns // (step * 1000): v for ns, v in rows if (v < 0) == negative and ns // (step * 1000) > last - 6}
        assert [e["value"] for e in maps["@l"][str(int(negative))]] == [kept.get(i) for i in range(min(kept, default=last + 1), last + 1)], (negative, maps["@l"], kept)
    starts = [e["interval_start"] for e in maps["@s"]]
    assert starts == sorted(starts) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}", starts[0]), starts
    return f"{len(rows)} values"


def test_given():
    """$1 in a probe's own words, as a number of frames; patterns of the system of system calls; texts in UTF-8, and divided sums, as JSON."""
    for ms in ("2", "5"):
        out = run(UPTO, "run", "-e", 'interval:ms:$1 { @n = count(); } END { printf("%s %s\\n", str($1), probe); }', ms, base(2)).stdout.decode()
        want = run(UPTO, "run", "-e", f'interval:ms:{ms} {{ @n = count(); }} END {{ printf("{ms} END\\n"); }}', base(2)).stdout.decode()
        assert out == want and int(out.split()[-1]) > 1, (out, want)
    out = run(UPTO, "run", "-e", "call:* { @[kstack($1)] = count(); exit(); }", "1", base(2)).stdout.decode()
    assert len(out.splitlines()) < 6, out
    assert answer("tracepoint:sys*:sys_enter_* { @[probe] = count(); }", base(2)) == answer("tracepoint:syscalls:sys_enter_* { @[probe] = count(); }", base(2))
    assert answer("tracepoint:*:sys_enter_openat { @[probe] = count(); }", base(2)) == answer("t:syscalls:sys_enter_openat { @[probe] = count(); }", base(2)) != "\n"
    program = 'BEGIN { @["a"] = avg(10); @["b"] = avg(20); @["c"] = avg(30); print(@, 2, 10); print("h\\xc3\\xa9 \\xff"); clear(@); @c["x"] = count(); print(@c, 0, 1); $p = (int32 *)16; print($p); }'
    lines = [json.loads(line) for line in run(UPTO_ASAN, "run", "--json", "-e", program, base(2)).stdout.splitlines()][1:]
    assert lines == [{"type": "stats", "data": {"@": {"b": 2, "c": 3}}}, {"type": "value", "data": "hé ÿ"}, {"type": "map", "data": {"@c": {"x": 1}}},
                     {"type": "value", "data": 16}, {"type": "map", "data": {"@c": {"x": 1}}}], lines
    # of a fault, usermode is that of whom it cut into
    faults = answers("software:faults:1 { @f[usermode] = count(); } kprobe:exc_page_fault { @n = count(); }", base(2))[0]
    assert set(faults["@f"]) == {"0", "1"} and faults["@f"]["1"] > faults["@f"]["0"] and sum(faults["@f"].values()) >= faults["@n"], faults
    # the last bucket is told to begin where the range ends, also where that is no multiple of the step
    program = 'BEGIN { @ = lhist(-1, 0, 25, 10); @ = lhist(21, 0, 25, 10); @ = lhist(25, 0, 25, 10); @ = lhist(25, 0, 25, 10); print(@, 0, 2); }'
    buckets = [{"max": -1, "count": 1}, {"min": 0, "max": 9, "count": 0}, {"min": 10, "max": 19, "count": 0}, {"min": 25, "count": 3}]
    lines = [json.loads(line) for line in run(UPTO_ASAN, "run", "--json", "-e", program, base(2)).stdout.splitlines()][1:]
    assert lines == [{"type": "hist", "data": {"@": buckets}}] * 2, lines
    lines = [json.loads(line) for line in run(UPTO_ASAN, "run", "--json", "-e", 'BEGIN { @ = stats(50); print(@, 0, 5); }', base(2)).stdout.splitlines()][1:]
    assert [line["data"]["@"] for line in lines] == [{"count": 1, "average": 50, "total": 50}] * 2, lines


def test_exit_code():
    """exit(CODE) is the command's status, on a trace and of one that is followed; what follows it is not done."""
    for more, status in (("", 0), ("0", 0), ("3", 3), ("@n + 2", 9), ("256", 0)):
        p = run(UPTO_ASAN, "run", "-e", f'BEGIN {{ @n = 7; exit({more}); printf("never"); }}', base(2), check=False)
        assert (p.returncode, p.stdout, p.stderr) == (status, b"Attaching 1 probe...\n@n: 7\n", b""), p
    p = run(UPTO_ASAN, "run", "--follow", "-e", "BEGIN { exit(4); }", base(2), check=False)
    assert p.returncode == 4 and not p.stderr, p


WRONG = [
    # types that would have themselves in them, or grow with each line
    ("kprobe:vfs_read { @y[uid] = 1; for ($b : @y) { @y[$b] = 1; } }", 1, 32, "the tuple would have itself in it"),
    ("kprobe:vfs_read { $a = uid; $a = (1, $a); }", 1, 34, "the tuple would have itself in it"),
    ("BEGIN { $a0 = (1, 1); " + " ".join(f"$a{i} = ($a{i - 1}, $a{i - 1});" for i in range(1, 60)) + " }", 1, None, "more than 1000 parts"),
    ("BEGIN { $b = " + "{ $a = " * 60 + "1" + (" + 1" * 199 + "; 1 }") * 60 + "; }", 1, None, "nested too deep"),
    ("BEGIN { @ = lhist(1, -9223372036854775808, 5, 1); }", 1, 13, "at least 0"),
    ("tracepoint:skb:kfree_skb { @[((struct sk_buff *)args.skbaddr)->len] = count(); }", 1, None, "what a tracepoint's number leads to is not recorded"),
    ("tracepoint:syscalls:sys_enter_execve { printf(\"%d\", uid); join(args.argv); }", 1, None, "join() goes without"),
    ("kprobe:vfs_nonono, kprobe:vfs_never { }", 1, 1, "the trace has no function vfs_nonono"),
    ("kprobe:vfs_raed { }", 1, 1, "did you mean vfs_read"),
    ("BEGIN { printf(\"%d\", comm); }", 1, 22, "%d prints a number; this is a text: %s"),
    ("BEGIN { @x = cuont(); }", 1, 14, "no function cuont(): did you mean count()?"),
    ("BEGIN {\n  @a = 1;\n  @a = \"x\";\n}", 3, 8, "the value is a text, and was a number before"),
    ("BEGIN { @a[1] = 1; @a[\"x\"] = 2; }", 1, 23, "the key is a text, and was a number before"),
    ("BEGIN { printf(\"%d\"); }", 1, 16, "the format prints more than the 0 values behind it"),
    ("BEGIN { $x = $y; }", 1, 14, "$y is not set here"),
    ("BEGIN { print(@never); }", 1, 15, "@never is never set"),
    ("BEGIN { @x = 1 +; }", 1, 17, "expected a value"),
    ("BEGIN { @x = (1; }", 1, 16, "expected ) or , here"),
    ("BEGIN { @x = 1 ", 1, 16, "the program ends here"),
    ("#define X 1 << 3\nBEGIN { printf(\"%d\", X); }", 2, 22, "its #define has several words: expected parentheses around them"),
    ("#define A 5 + 1\n#define B (A * 2)\nBEGIN { printf(\"%d\", B); }", 3, 22, "'B' is not known"),
    ("BEGIN { @ = lhist(1, 0, 5, 10); }", 1, 13, "one to 1000 steps"),
    ("BEGIN { print(1, 2); }", 1, 18, "of what is no @map there is no more to say"),
    ("BEGIN { @a = 1; print(@a, @a); }", 1, 27, "expected a number"),
    ("kprobe:vfs_read { @[kstack(200)] = count(); }", 1, 28, "up to 127"),
    ("kprobe:vfs_read { @[kstack(\"x\")] = count(); }", 1, 28, "expected how many frames"),
    ("kpobe:f { }", 1, 1, "no kind of probe: did you mean kprobe?"),
    ("interval:s { }", 1, 1, "expected how often"),
    ("BEGIN { system(\"true\"); }", 1, 9, "programs run nothing on this machine"),
    ("BEGIN { signal(\"KILL\"); }", 1, 9, "what would change the guest is not there"),
    ("BEGIN { override(1); }", 1, 9, "what would change the guest is not there"),
    ("BEGIN { cat(\"/etc/passwd\"); }", 1, 9, "read none of its files"),
    ("BEGIN { @x = pidd; }", 1, 14, "did you mean pid"),
    ("BEGIN { @x = username; }", 1, 14, "a trace does not have it"),
    ("tracepoint:syscalls:sys_enter_openat { @[args.nofield, uid] = count(); }", 1, 42, "it has dfd filename flags mode"),
    ("tracepoint:syscalls:sys_exit_openat { @[args.flags, uid] = count(); }", 1, 41, "it has ret"),
    ("tracepoint:syscalls:sys_enter_* { @[uid] = count(); }", 1, 1, "memory is read here: expected one system call's"),
    ("tracepoint:syscalls:sys_enter_read { @[uid, arg0] = count(); }", 1, 45, "arguments are where a function is called"),
    ("BEGIN { @x = uid; }", 1, 14, "the running task is read at functions of the kernel"),
    ("profile:hz:99 { @x = curtask->pid; }", 1, 22, "the running task is read at functions of the kernel"),
    ("tracepoint:sched:sched_switch { @ = *kaddr(\"jiffies\"); }", 1, 37, "what kaddr() leads to is read at functions of the kernel"),
    ("kprobe:vfs_read { @ = macaddr(nsecs); }", 1, 31, "bytes are read where the probe is"),
    ("kprobe:vfs_read { @p[tid] = nsecs; } kretprobe:vfs_read { @ = ((struct file *)@p[tid])->f_mode; }", 1, 64, "@p leads nowhere: expected @p = an argument"),
    ("kprobe:vfs_read { @p[comm] = arg0; } kretprobe:vfs_read { @ = ((struct file *)@p[comm])->f_mode; }", 1, 64, "and a key of tid, pid, arguments and numbers"),
    ("kprobe:vfs_read { @p[tid] = arg0; } kretprobe:vfs_read { @ = @p[tid]->f_mode; }", 1, 62, "expected a cast, ((struct file *)@map[tid])"),
    ("kprobe:f { @p = (struct path *)arg0; } kprobe:g { @p = (struct file *)arg0; } kretprobe:f { print(@p->mnt); }", 1, 56, "it is struct file * here, and was struct path * before"),
    ("kprobe:f { @q[tid] = @p[tid]; } kprobe:g { @p[tid] = nsecs; } kretprobe:f { print(((struct file *)@q[tid])->f_mode); }", 1, None, "@p leads nowhere"),
    ("enum e { A = SOMETHING, B }; BEGIN { print(B); }", 1, 44, "'B' is not known"),
    ("macro a() { ;" + ";" * 50000 + " } BEGIN { " + "a(); " * 200 + "}", 1, None, "used too often"),
    ("kprobe:vfs_read { @p[tid] = arg0; } profile:hz:9 { @ = ((struct file *)@p[tid])->f_mode; }", 1, 57, "what a map's addresses lead to is read at functions of the kernel"),
    ("hardware:cache-misses:100 { }", 1, 1, "QEMU's CPU has no counters"),
    ("BEGIN { @x = arg0; }", 1, 14, "arguments are where a function is called"),
    ("kprobe:vfs_read { @x = retval; }", 1, 24, "a result is where a function returns"),
    ("tracepoint:syscalls:sys_enter_openat { @ = args.nofield; }", 1, 44, "it has dfd filename flags mode"),
    ("BEGIN { break; }", 1, 9, "there is no loop around it"),
    ("BEGIN { @x = 99999999999999999999; }", 1, 14, "more than 64 bits"),
    ("BEGIN { printf(\"a); }", 1, 16, "the text has no end"),
    ("BEGIN { @x = lhist(1, 0, 10000, 1); }", 1, 14, "one to 1000 steps"),
    ("", 1, 1, "expected a probe and what is done there"),
    ("BEGIN { " + "(" * 300 + "1" + ")" * 300 + "; }", 1, None, "nested too deep"),
    ("macro f(a) { f(a) } BEGIN { print(f(1)); }", 1, None, "nested too deep"),
    ("macro f(a) { a + a } BEGIN { print(" + "f(" * 30 + "1" + ")" * 30 + "); }", 1, None, "nested too deep"),
    ("macro a() { print(1); } " + " ".join(f"macro {y}() {{ {x}(); {x}(); {x}(); {x}(); }}" for x, y in zip("abcdefgh", "bcdefghi")) + " BEGIN { i(); i(); i(); }", 1, None, "used too often"),
    ("macro f($a) { $a = 1; } BEGIN { f(2); }", 1, 35, "expected a $variable for $a"),
    ("macro f(a) { a } BEGIN { print(f(1, 2)); }", 1, 32, "f() has 1 parameters, here 2"),
    ("macro f(a) { $x = a; } BEGIN { f(1); print($x); }", 1, 44, "$x is not set here"),
    ("macro f(a) { print(a); } BEGIN { @ = f(1); }", 1, 12, "that has no value"),
    ("BEGIN { while (1) { $x = 1 + { break; 2 }; } }", 1, 32, "there is no loop around it"),
    ("tracepoint:sched:sched_switch { print(reg(\"di\")); }", 1, 39, "registers are read at functions"),
    ("kprobe:vfs_open { print(reg(\"foo\")); }", 1, 29, "expected a register"),
    ("kprobe:vfs_open { print(reg(5)); }", 1, 29, "expected a register"),
    ("kretprobe:vfs_open { print(sarg0); }", 1, 28, "arguments are where a function is called"),
    ("BEGIN { _ == 3; }", 1, 9, "'_' is not known"),
    ("BEGIN { _ = ; }", 1, 13, "expected a value"),
    ("let @m = oldhash(5); BEGIN { @m[1] = 1; }", 1, 10, "expected hash(N)"),
    ("BEGIN { $r = (a=1, b=2); print($r.c); }", 1, 32, "the record has no c: it begins with a"),
    ("BEGIN { $r = (a=1, 2); }", 1, 20, "expected a name and ="),
    ("BEGIN { $r = (a=1, a=2); }", 1, 20, "expected a name that no part before has"),
    ("BEGIN { @r = (a=1, b=2); @r = (b=1, a=2); }", 1, 31, "the value is a record of other parts than before"),
    ("BEGIN { @r = (1, 2); @r = (1, \"x\"); }", 1, 27, "the value is a tuple of other parts than before"),
    ("BEGIN { @r = (1, 2); @r = (a=1, b=2); }", 1, 27, "the value is a record, and was a tuple before"),
    ("BEGIN { @m[1] = 1; $x = \"t\"; if (find(@m, 1, $x)) { } }", 1, 46, "the value is a number, and was a text before"),
    ("BEGIN { @m[1] = 1; if (find(@m, 1, 2)) { } }", 1, 36, "expected a $variable, which gets the value"),
    ("span:initcal { @ = count(); }", 1, 1, "there is no kind initcal: did you mean initcall"),
    ("wait:dsk, wait:nonsense* { @ = count(); }", 1, 1, "there is no kind dsk: did you mean disk"),
    ("BEGIN { @h = hist(1); printf(\"%s\", @h); }", 1, 36, "is no value"),
    ("BEGIN { @h[1] = stats(1); printf(\"%s\", @h[1]); }", 1, 40, "is no value"),
    ("BEGIN { @h = lhist(1, 0, 5, 1); print(1 ? @h : @h); }", 1, 43, "is no value"),
    ("BEGIN { @h = hist(1); print((1 ? 2 : @h)); }", 1, 38, "is no value"),
    ("BEGIN { @h = hist(1); print(strlen(@h)); }", 1, 36, "is no value"),
    ("BEGIN { print(str($1, @m[5])); }", 1, 23, "@m is never set"),
    ("BEGIN { print(str($1, (1, 2))); }", 1, 23, "expected a number; this is a tuple"),
    ("BEGIN { print(str($1, printf(\"x\"))); }", 1, 23, "expected a number; this is nothing"),
    ("BEGIN { @m[] += 1; }", 1, 11, "expected a key"),
    ("BEGIN { @m[1) += 1; }", 1, 13, "expected ] or , here"),
    ("BEGIN { @m[1] = hist(1); if (find(@m, 1, $v)) { } }", 1, 35, "is not copied"),
    ("BEGIN { if (find(@m, 1, $v)) { } }", 1, 18, "@m is never set"),
    ("BEGIN { @ = tseries(1, 0, 5); }", 1, 13, "expected tseries(value, interval, how many)"),
    ("BEGIN { @ = tseries(1, 1s, 5, \"mean\"); }", 1, 31, "expected \"avg\""),
    ("BEGIN { @ = tseries(1, nsecs, 5); }", 1, 24, "known before anything runs"),
    ("BEGIN { @ = tseries(1, 1s, $1); }", 1, 13, "expected tseries(value, interval, how many)"),
    ("config = { print_mapson_exit = false } BEGIN { }", 1, 12, "no such setting: did you mean print_maps_on_exit"),
    ("uprobe:/bin/busybox:\"foo::bar(int)\" { }", 1, 1, "no function foo::bar(int) in /bin/busybox"),
    ("BEGIN { printf(\"%rx\", \"AB\"); }", 1, 16, "%rx is not there"),
    ("BEGIN { print(sizeof(struct foo)); }", 1, 15, "sizes of the kernel's structures are not there"),
    ("BEGIN { print(offsetof(struct foo, y)); }", 1, 15, "places of members are not there"),
    ("BEGIN { print(pton(\"::1\")); }", 1, 15, "asks the same"),
    ("BEGIN { @y[1] = tseries(-3, 100ms, 4); for ($kv : @y) { print($kv); } }", 1, 63, "only the key is here"),
    ("BEGIN { @y[1] = hist(5); for ($kv : @y) { @z[$kv] = 1; } }", 1, 46, "only the key is here"),
    ("BEGIN { @s[1] = stats(5); for ($kv : @s) { $x = $kv.1; } }", 1, 49, "only the key is here"),
    ("BEGIN { print((1, 2).a); }", 1, 15, "only records, (name=1, other=2), have names"),
    ("BEGIN { print((a=1, b=2).5); }", 1, 15, "the record has 2 parts"),
    ("BEGIN { $r = (a=1); if ($r == (b=2)) { } }", 1, 25, "their parts are not of the same kinds and names"),
    ("BEGIN { printf(\"%d\", (a=1)); }", 1, 22, "%d prints a number; this is a record"),
    ("BEGIN { @ = tseries(1, 1s, 5); @ = tseries(1, 1s, 5, \"max\"); }", 1, 36, "the value is kept in another way than before"),
    ("import \"stdlib\"; BEGIN { }", 1, 1, "nothing is imported"),
    ("BEGIN { for ($i : 0..3) { } print($i); }", 1, 35, "$i is not set here"),
    ("BEGIN { if (printf(\"a\")) { } }", 1, 13, "expected a number; this is nothing"),
    ("BEGIN { @x = hist(1); @y = @x; }", 1, 28, "is not copied"),
    ("log, span:initcall { print(args.text); }", 1, 28, "span:initcall has no text"),
    ("BEGIN { @x[1] = 1; print(@x, (1, 2)); }", 1, 30, "expected a number that is known before anything runs"),
    ("BEGIN { @x[1] = 1; delete(@x[1], 5); }", 1, 27, "without a key"),
    ("BEGIN { @x[1] = 1; delete(@x); }", 1, 27, "expected a key"),
    ("BEGIN { len(1); }", 1, 13, "expected an @map"),
    ("rawtracepoint { }", 1, 1, "expected a tracepoint's name"),
    ("software:page-fault:100 { }", 1, 1, "expected software:page-faults"),
    ("BEGIN { @ = bswap(nsecs + 1); }", 1, None, "its size is not known"),
    ("return:vfs_read { @ns = hist(duration); @b = sum(retval); }", 1, 30, "where something is read at the same return"),
    ("kretprobe:vfs_read /insns > 5/ { print(retval); }", 1, 21, "where something is read at the same return"),
    ("software:minor-faults { }", 1, 1, "expected software:page-faults"),
    ("software:faults:1x { }", 1, 1, "expected page-faults, context-switches"),
    ("tracepoint:syscalls:sys_enter_read:extra { }", 1, 1, "expected tracepoint:SYSTEM:NAME"),
    ("uprobe:/bin/x:f:g { }", 1, 1, "expected the program's path, and a function"),
    ("kprobe:ext4:f:g { }", 1, 1, "expected a function's name"),
    ("tracepoint:syscalls:sys_enter_execve { join(args.envp); }", 1, 40, "join() is there for args.argv"),
    ("#if F(1)\nBEGIN { }\n#endif\nEND { }", 1, 1, "this condition is not understood"),
    ("#if 0\n#if F(1)\n#endif\n#elif G(1)\n#endif\nEND { }", 4, 1, "this condition is not understood"),
    ("BEGIN { @ = " + "1 + " * 600 + "1; }", 1, None, "nested too deep"),
    ("kprobe:vfs_open { printf(\"%s\", str(@p[1])); @p[1] = nsecs; }", 1, 36, "a text is read where the probe is"),
]


@pytest.mark.parametrize("program, line, column, message", WRONG, ids=range(len(WRONG)))
def test_wrong(program, line, column, message):
    """One line that says what and where, the program's line, and a mark below the word."""
    p = run(UPTO_ASAN, "run", "-e", program, base(2), check=False)
    said = p.stderr.decode().splitlines()
    assert p.returncode == 1 and len(said) == 3 and not p.stdout, (said, p.stdout)
    head = re.fullmatch(r"upto: -e:(\d+):(\d+): (.*)", said[0])
    assert head and int(head[1]) == line and column in (None, int(head[2])) and message in head[3], said
    mark = said[2].index("^")
    assert set(said[2][4:]) <= {" ", "^", "~"} and (not program or said[1][mark:mark + 1] or message.endswith("ends here")), said


@pytest.mark.long
def test_tools():
    """The programs of bpftrace 0.17's tools folder: each is compiled, or refused, as the manual's table says."""
    tools = sorted(glob.glob("/usr/sbin/*.bt"))
    if len(tools) < 30:
        pytest.skip("no bpftrace")
    with open(os.path.join(TOP, "docs/handlers.md")) as f:
        table = re.findall(r"^\| (\w+(?:-\w+)?\.bt) \| (.*) \|$", f.read(), re.M)
    found = []
    for path in tools:
        said = run(UPTO_ASAN, "record", "-f", "-o", os.path.join(WORK, "tools.upto"), "-e", path, "--", "/bin/false", check=False).stderr.decode()
        refused = re.match(r"upto: \S+\.bt:(\d+):\d+: (.*)", said)
        found.append((os.path.basename(path), f"line {refused[1]}: {refused[2]}" if refused else "runs"))
    assert found == table, set(found) ^ set(table)
    return f"{sum(what == 'runs' for _, what in found)} of {len(found)} run"


# what those tools ask for the guest does not have: programs and libraries, file systems, other kernels' functions
NOT_THERE = {"bashreadline", "gethostlatency", "mdflush", "ssllatency", "sslsnoop", "swapin", "threadsnoop", "xfsdist"}


@pytest.mark.long
@pytest.mark.weight(20)
def test_tools_run(tmp_path):
    """Those that the table says run, and upto's own, all at once in one guest: what they read is recorded, and they print their headings and maps."""
    tools = sorted(glob.glob("/usr/sbin/*.bt"))
    if len(tools) < 30:
        pytest.skip("no bpftrace")
    with open(os.path.join(TOP, "docs/handlers.md")) as f:
        runs = set(re.findall(r"^\| (\w+)\.bt \| runs \|$", f.read(), re.M))
    program, trace = tmp_path / "all.bt", str(tmp_path / "all.upto")
    with open(program, "w") as out:
        for path in tools:
            name = os.path.basename(path).removesuffix(".bt")
            if name in runs - NOT_THERE:
                with open(path) as f:
                    out.write(re.sub(r"@(\w*)", rf"@{name}_\1", f.read().removeprefix("#!/usr/bin/env bpftrace\n").removeprefix("#!/usr/bin/bpftrace\n")))
        for path in glob.glob(os.path.join(TOP, "tools/*.bt")):
            name = os.path.basename(path).removesuffix(".bt")
            if name != "mallocstacks":  # no libc is there
                with open(path) as f:
                    out.write(re.sub(r"@(\w*)", rf"@own{name}_\1", f.read()))
    p = record(trace, qemu_args("6.12", initrd("6.12", "plain")), "-q", "-e", program)
    said = p.stdout.decode(errors="replace")
    assert re.search(r"^Attaching \d\d\d probes\.\.\.", said, re.M) and len(runs - NOT_THERE) > 24, said[:1000]
    headings = re.findall(r"^Tracing .*", said, re.M)
    maps = set(re.findall(r"^@([a-z]+)_", said, re.M))
    assert len(headings) > 15 and maps >= {"cpuwalk", "runqlat", "syscount", "vfscount", "vfsstat", "ownfaults", "ownrunqlat"}, (headings, maps)
    assert re.search(r"^@ownfaults_\[init, busybox\]: \d+$", said, re.M) and re.search(r"^@ownfaults_\[init, \[own memory\]\]: \d+$", said, re.M), said[-3000:]
    assert re.search(r"^\d+ +\d+ +\S+ +[MR] \S+$", said, re.M) and "CAP_SYS_ADMIN" in said, said[:3000]
    return f"{len(headings)} headings, {len(maps)} with maps"


@pytest.mark.weight(6)
def test_own_tools():
    """Those that come with upto run by their names; those that ask for events say what to record."""
    trace = recording("6.12", 1)[0]
    names = [line.split()[0] for line in run(UPTO, "run", "--list").stdout.decode().splitlines()]
    assert names == sorted(os.listdir(os.path.join(TOP, "tools"))) and len(names) > 10
    for name in set(names) - {"biolatency.bt", "runqlat.bt", "faults.bt"}:
        p = run(UPTO, "run", name, trace)
        assert p.stdout.count(b"\n") > 2, (name, p.stdout)
    # all stacks, or the five that call most, or as many as are asked for
    calls = sum(f["calls"] for f in upto_json("top", "--json", "-n", "0", "-F", "malloc", trace)["functions"])
    stacks = {n: [int(c) for c in re.findall(r"^, .*\]: (\d+)$", run(UPTO, "run", "mallocstacks.bt", *n, trace).stdout.decode(), re.M)] for n in ((), ("2",), ("10000",))}
    assert sum(stacks["10000",]) == calls > 10 and sorted(stacks["10000",])[-5:] == stacks[()] and stacks["2",] == stacks[()][-2:], (calls, stacks)
    execs = run(UPTO, "run", "execsnoop.bt", trace).stdout.decode()
    assert re.search(r" cat /proc/kallsyms\n", execs), execs
    # of one that failed the file that it asked for
    calls = [c for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"] if c["name"].startswith("exec")]
    rows = re.findall(r"^ *\d+\.\d+ +\d+ +\d+ (.+)$", execs, re.M)
    failed = [re.search(r'"(.*?)"', c["call"])[1] for c in calls if c["result"] is not None and c["result"] < 0]
    assert len(rows) == len(calls) == execs.count("\n") - 2 and "mount" in failed and not collections.Counter(failed) - collections.Counter(rows), (execs, failed)
    # the handlers alone, without what the kernel does behind them
    handlers = set(re.findall(r"^@us\[(.*)\]:", run(UPTO, "run", "irqlatency.bt", trace).stdout.decode(), re.M))
    assert "__sysvec_apic_timer_interrupt" in handlers and all(name.startswith("__") for name in handlers), handlers


@pytest.mark.weight(40)
def test_runqlat():
    """runqlat.bt against the events: neither CPUs' idle threads wait nor what sleeps, and what was preempted does."""
    trace = os.path.join(WORK, "handlers-runqlat.upto")
    with open(os.path.join(TOP, "tools/runqlat.bt")) as f:
        assert "0x100" in f.read()
    once_a_run(trace, lambda: record(trace, qemu_args("6.12", initrd("6.12", "plain")), "-q", "-e", "runqlat.bt"))
    maps, _ = answers(os.path.join(TOP, "tools/runqlat.bt"), trace)
    ready, waited, preempted = {}, [], 0
    for e in upto_json("events", "--json", trace)["events"]:
        args = e["args"]
        if e["event"] != "sched:sched_switch":
            ready[args["pid"]] = e["ns"]
            continue
        if args["prev_pid"] and args["prev_state"] in (0, 0x100):
            ready[args["prev_pid"]] = e["ns"]
            preempted += args["prev_state"] == 0x100
        if args["next_pid"] in ready:
            waited.append((e["ns"] - ready.pop(args["next_pid"])) // 1000)
    assert 0 not in ready and preempted and len(waited) > 100, (len(waited), preempted)
    assert sum(b["count"] for b in maps["@us"]) == len(waited), (maps, len(waited))
    for b in maps["@us"]:
        assert b["count"] == sum(b.get("min", -1) <= us <= b["max"] for us in waited), (b, waited)
    return f"{len(waited)} waits, {preempted} of what was preempted"


@pytest.mark.long
@pytest.mark.weight(20)
def test_biolatency():
    """biolatency.bt against `upto disk`: each request once, in its operation's bucket."""
    name = os.path.join(WORK, "handlers-biolatency")
    trace, disk = name + ".upto", name + ".disk"
    once_a_run(trace, lambda: record(trace, qemu_args("6.12", code_image("6.12"), disk=disk), "-q", "-e", "biolatency.bt"))
    maps, _ = answers(os.path.join(TOP, "tools/biolatency.bt"), trace)
    took = collections.defaultdict(list)
    for r in upto_json("disk", "--json", "-n", "0", trace)["requests"]:
        took[r["operation"]].append(r["latency_ns"] // 1000)
    reads = maps["@us"]["R"]
    assert sum(b["count"] for b in reads) == len(took["read"]) > 2 and sum(b["count"] for of in maps["@us"].values() for b in of) == sum(map(len, took.values())) > 10, (maps, took)
    # by when the driver began, which is a little before the event
    slowest = max(reads, key=lambda b: b["max"])
    assert slowest.get("min", -1) <= max(took["read"]) * 1.1 and max(took["read"]) <= slowest["max"] * 2, (reads, took)
    os.unlink(disk)
    return f"{len(took['read'])} reads"


def functions_of(trace):
    ret = collections.Counter()
    for f in upto_json("top", "--json", "-n", "0", trace)["functions"]:
        ret[re.sub(r" \[.*\]$", "", f["function"])] += f["calls"]
    return +ret


@pytest.mark.weight(8)
def test_calls():
    """Every call of every function is a hit: as many as top has, function by function; what returned, as calls has it."""
    trace = recording("6.12", 1)[0]
    maps, _ = answers("call:* { @[func] = count(); }", trace)
    want = {k: v for k, v in functions_of(trace).items() if k[0] != "["}
    got = maps["@"]
    assert {k: got.get(k) for k in want} == want, [(k, v, got.get(k)) for k, v in want.items() if got.get(k) != v][:5]
    _, lines = answers('return:vfs_read { printf("%d %d %d %s %d", nsecs - duration, duration, cpu, comm, tid); }', trace)
    calls = upto_json("calls", "--json", "-n", "0", "-F", "vfs_read", "--depth", "1", trace)["calls"]
    want = sorted((c["start_ns"], c["duration_ns"], c["comm"]) for c in calls if c["duration_ns"] is not None)
    got = sorted((int(a), int(b), d) for a, b, c, d, e in (re.fullmatch(r"(\d+) (\d+) (\d+) (.*) (\d+)", line).groups() for line in lines))
    assert got == want and len(got) > 100, (len(got), len(want), [g for g in got if g not in want][:2], [w for w in want if w not in got][:2])
    return f"{sum(maps['@'].values())} calls, {len(got)} returns"


def test_signed_arguments():
    """Arguments of system calls are as wide as the kernel takes them: AT_FDCWD is -100."""
    trace = recording("6.12", 1)[0]
    maps, _ = answers("tracepoint:syscalls:sys_enter_openat { @[args.dfd] = count(); } tracepoint:raw_syscalls:sys_enter /args.id == 257/ { @raw[args.args[0]] = count(); }", trace)
    calls = [c for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"] if c["name"] == "openat"]
    want = collections.Counter(str(int.from_bytes((int(c["args"][0], 16) & 0xffffffff).to_bytes(4, "big"), "big", signed=True)) for c in calls)
    assert maps["@"] == want and want["-100"] > 10, (maps["@"], want)
    assert maps["@raw"] == collections.Counter(str(signed(int(c["args"][0], 16))) for c in calls), maps["@raw"]  # there it is the register


def test_parents():
    """pcomm is what ps calls the process that it calls the parent."""
    trace = recording("6.12", 1)[0]
    maps, _ = answers("tracepoint:syscalls:sys_enter_* { @[pid, ppid, pcomm] = count(); }", trace)
    names, parents = collections.defaultdict(set), {}
    for p in upto_json("ps", "--json", trace)["processes"]:
        names[p["pid"]].add(p["comm"])
        parents[p["pid"]] = p["ppid"]
    got = [key.split(",", 2) for key in maps["@"]]
    assert len(got) > 10 and all(parents[int(pid)] == int(ppid) and comm in (names[int(ppid)] if int(ppid) else ["swapper/0"]) for pid, ppid, comm in got), got
    maps, _ = answers("call:* { @[ppid, pcomm] = count(); }", trace)
    assert {"0,swapper/0", "1,init", "2,kthreadd"} <= set(maps["@"]), maps
    return f"{len(got)} processes"


@pytest.mark.weight(4)
def test_own_time():
    """self_ns and self_insns of all calls of a function are what top has; with callees, what top --total has."""
    trace = recording("6.12", 1)[0]
    rows = {f["function"]: f for f in upto_json("top", "--json", "-n", "0", trace)["functions"]}
    compared = 0
    for name in ("vfs_read", "do_sys_openat2", "schedule", "kmem_cache_alloc_noprof", "strncpy_from_user"):
        maps, _ = answers(f"return:{name} {{ @i = sum(self_insns); @n = count(); }}", trace)
        row = rows[name]
        if maps["@n"] == row["calls"]:  # all of them have returned
            assert maps["@i"] == row["self_insns"], (name, maps, row)
            compared += 1
    assert compared >= 3, compared


@pytest.mark.weight(4)
def test_system_calls():
    """Tracepoints of system calls, without their having been recorded: numbers, arguments, names of files, results."""
    trace = recording("6.12", 1)[0]
    calls = upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"]
    maps, _ = answers("tracepoint:raw_syscalls:sys_enter { @[comm] = count(); @n[args.id] = count(); } tracepoint:syscalls:sys_exit_read { @r = hist(args->ret); } "
                      "tracepoint:syscalls:sys_enter_openat { @o[str(args->filename), args.flags] = count(); }", trace)
    assert maps["@"] == collections.Counter(c["comm"] for c in calls)
    assert sum(maps["@n"].values()) == len(calls)
    results = [c["result"] for c in calls if c["name"] == "read" and c["result"] is not None]
    assert sum(b["count"] for b in maps["@r"]) == len(results) > 100
    for b in maps["@r"]:
        assert b["count"] == sum(b.get("min", -1 << 63) <= r <= b.get("max", 1 << 63) for r in results), b
    opened = collections.Counter(re.search(r'"(.*?)"', c["call"])[1] for c in calls if c["name"] == "openat")
    got = collections.Counter()
    for key, n in maps["@o"].items():
        got[key.rpartition(",")[0]] += n
    assert got == opened, (got - opened, opened - got)
    # each tracepoint of a pattern has its name; the raw ones are two
    maps, _ = answers("tracepoint:syscalls:sys_enter_* { @[probe] = count(); } tracepoint:raw_syscalls:* { @r[probe] = count(); }", trace)
    named = collections.Counter({"stat": "newstat", "fstat": "newfstat", "lstat": "newlstat", "uname": "newuname", "sendfile": "sendfile64", "umount2": "umount"}.get(c["name"], c["name"]) for c in calls)
    assert maps["@"] == {f"tracepoint:syscalls:sys_enter_{name}": n for name, n in named.items()}, maps["@"]
    assert set(maps["@r"]) == {"tracepoint:raw_syscalls:sys_enter", "tracepoint:raw_syscalls:sys_exit"} and maps["@r"]["tracepoint:raw_syscalls:sys_enter"] == len(calls)
    return f"{len(calls)} calls"


def test_overtaken():
    """Calls that a signal's handler overtook, that are made again, and of which what returns is another program, or another thread."""
    exits = 'tracepoint:syscalls:sys_exit_* { printf("%s %d %d %d", probe, args.ret, nsecs, tid); }'
    raw = 'tracepoint:raw_syscalls:sys_exit { printf("%d %d", args.id, args.ret); }'
    trace = make("handlers-signals", SIGNALS)
    of = lambda *rows: [f"tracepoint:syscalls:sys_exit_{name} {value} {ns} {tid}" for name, value, ns, tid in rows]
    assert answers(exits, trace)[1] == of(("nanosleep", 0, 5100, 1), ("read", -4, 5300, 1), ("read", -512, 5700, 1), ("read", 7, 6100, 1), ("futex", -512, 6300, 1),
                                          ("futex", 0, 6500, 1)), answers(exits, trace)
    assert answers(raw, trace)[1] == ["35 0", "-1 -4", "0 -4", "-1 0", "0 -512", "0 7", "202 -512", "202 0"], answers(raw, trace)
    # each once, also where a part ends while the handler runs
    parts = [answer(exits, trace, *part) for part in (["--to", "5350ns"], ["--from", "5350ns"])]
    assert [part.count("sys_exit_read -4") for part in parts] == [0, 1], parts
    trace = make("handlers-forked", made_program(
        entry(200, CLONE, 0x401110), result(300, 0x401110, 2), entry(310, 59, 0x401120), f"event 0 interrupt-return 320 0 {STACK - 64} 0 0x500000 {0x10033:#x} 0",
        entry(400, 1, 0x500010), f"event 0 task-switch 500 500 0 0 0 {INIT} {CHILD}", result(600, 0x401110, 0), "event 0 clock 700 700 0 0 0") +
        [f"task 2 0 250 250 {CHILD} 0xffff888000009000 2 2 1 program /program"])
    assert answers(exits, trace)[1] == of(("clone", 2, 300, 1), ("execve", 0, 320, 1), ("clone", 0, 600, 2)), answers(exits, trace)
    assert answers(raw, trace)[1] == ["56 2", "59 0", "56 0"], answers(raw, trace)
    # of arguments that are addresses some have texts in every trace; of others memory is read
    maps, _ = answers("tracepoint:syscalls:sys_enter_write { @[args.buf, args.fd] = count(); }", trace)
    assert maps == {"@": {"0x2,1": 1}}, maps
    p = run(UPTO, "run", "-e", "tracepoint:syscalls:sys_enter_prctl { print(str(args.arg2)); }", trace, check=False)
    assert p.returncode == 1 and b"not all that the program asks for was recorded" in p.stderr, p


def test_module_window():
    """What the guest runs again for reaches from the first call to the last of a module's function, too."""
    module = 0xffffffffc0000000
    call = lambda at, to: (f"event 0 call {at} 0 {STACK - 64} {KERNEL + 0x20} {to}", f"event 0 clock {at + 10} {at + 10} 0 0 0", f"event 0 return {at + 20} 0 {STACK - 64} 0 {KERNEL + 0x20}",
                           f"event 0 clock {at + 30} {at + 30} 0 0 0")
    trace = make("handlers-modules", ["meta run.directory /", "meta run.argv.0 qemu-system-x86_64", "meta deterministic 1", *boot(*call(150, KERNEL + 0x1000), *call(500000, module)),
                                      f"module 0 100 100 {module} 0x100 m0"])
    for places in ["m0 x=%di"], ["second x=%di", "m0 x=%di"]:
        p = run(UPTO, "probe", trace, *places, "--", "true", check=False)
        assert p.returncode == 1 and b"the guest runs again up to 0.000600\n" in p.stderr, p


def test_libraries():
    """A library goes by its name alone, as by its file's."""
    at = 0x400000
    for file, named in ("libc.so.6", True), ("libc-2.36.so", True), ("libcap.so", False), ("libc-client.so", False):
        trace = make("handlers-library", [*made_program(f"event 0 call 200 0 0x7fff0000 0x401015 {at + 0x1100}", "event 0 clock 240 240 0 0 0"), f"map 0xffff888000008000 {at} 0x4000 0x4000 /lib/{file}",
                                          *(f"function {0x1000 + 0x100 * i} 0x100 {name} 0x4000 /lib/{file}" for i, name in enumerate(("main", "malloc")))])
        assert answers(f"uprobe:/lib/{file}:malloc {{ @ = count(); }}", trace)[0] == {"@": 1}, file
        p = run(UPTO, "run", "-e", "uprobe:libc:malloc { @ = count(); }", trace, check=False)
        assert (p.returncode, b"@: 1" in p.stdout) == (int(not named), named), (file, p)


def test_software():
    """A number behind the name says which of them fire; without one, as bpftrace has it, each hundredth fault and each thousandth switch."""
    lines = [line for i in range(1200) for line in (f"event 0 interrupt {1000 + 10 * i} 0 {STACK - 64} 0x401000 {KERNEL + 0x2000} 14 0",
                                                    f"event 0 interrupt-return {1005 + 10 * i} 0 {STACK - 64} 0 0x401000 0x33 0", f"event 0 clock {1006 + 10 * i} {1006 + 10 * i} 0 0 0")]
    switches = [f"event 0 task-switch {20000 + i} {20000 + i} 0 0 0 {(INIT, CHILD)[i % 2]} {(CHILD, INIT)[i % 2]}" for i in range(2000)]
    trace = make("handlers-software", made_program(*lines, *switches, "event 0 clock 23000 23000 0 0 0") + [f"task 2 0 250 250 {CHILD} 0xffff888000009000 2 2 1 program /program"])
    for more, want in ("", {"@f": 12, "@s": 2}), (":1", {"@f": 1200, "@s": 2000}), (":400", {"@f": 3, "@s": 5}):
        maps, _ = answers(f"software:faults{more} {{ @f = count(); }} software:context-switches{more} {{ @s = count(); }}", trace)
        assert maps == want, (more, maps)


@pytest.mark.weight(4)
def test_times():
    """BEGIN is first, END last; an interval fires at each of its moments, halts included, and a profile on each vCPU that there is."""
    trace = base(2)
    end = upto_json("info", "--json", trace)["duration_ns"]
    maps, lines = answers('BEGIN { printf("begin"); } interval:ms:100 { printf("%d", nsecs); @i = count(); } profile:ms:50 { @p[cpu] = count(); @s[kstack(2) == kstack(2)] = count(); } END { printf("end"); }'
                          .replace("@s[kstack(2) == kstack(2)] = count(); ", ""), trace)
    assert lines[0] == "begin" and lines[-1] == "end" and lines[1:-1] == [str(n) for n in range(100000000, end, 100000000)][:len(lines) - 2]
    assert 0 <= end // 100000000 - maps["@i"] <= 1, (end, maps)
    assert set(maps["@p"]) <= {"0", "1"} and abs(maps["@p"]["0"] - end // 50000000) <= 1, (maps, end)
    # what is asked for may end between two events, and with the last one
    program = 'BEGIN { printf("%d ", nsecs); } interval:us:10 { @n = count(); } profile:us:100 { if (cpu == 0) { @p = count(); } } END { printf("%d %d %d", nsecs, @n, @p); clear(@n); clear(@p); }'
    for start, to in ((0, end), (end // 3 + 7, end // 2), (end // 2, end - 123457), (0, end // 4 + 11)):
        began, ended, n, p = map(int, answer(program, trace, "--from", f"{start}ns", "--to", f"{to}ns").split())
        assert (began, ended, n) == (start, to - 1, (to - start - 1) // 10000) and p == n // 10, (start, to, began, ended, n, p)


@pytest.mark.weight(40)
def test_ways(tmp_path):
    """By an index, in parts at the same time while it is made, or one event after the other: the same answer."""
    trace = str(tmp_path / "ways.upto")
    shutil.copy(recording("6.12", 2)[0], trace)
    seldom = 'kprobe:path_mount { printf("%d %s %d %s", nsecs, comm, cpu, kstack(3)); } kretprobe:path_mount { printf("%d %d %d %s", nsecs, duration, insns, comm); }'
    often = 'kprobe:vfs_open { @[kstack, comm] = count(); printf("%d %s", nsecs, ustack(2)); } kretprobe:vfs_read { @d[comm] = hist(duration); @i = sum(insns); }'
    ended = 'kprobe:vfs_open { if (++@n == 20) { printf("%d", nsecs); exit(); } } END { printf("%d", nsecs); }'
    timed = 'interval:ms:70 { @t = count(); printf("%d", nsecs); } kprobe:path_mount { printf("%d %d", nsecs, @t); }'
    compared = 0
    modes = 'kprobe:kmem_cache_alloc* { @[usermode, cpu] = count(); @n++; if (@n % 500 == 0) { printf("%d %d", nsecs, usermode); } } software:page-faults { @f[usermode] = count(); }'
    for program in (seldom, often, ended, timed, modes.partition(" software")[0]):
        # a probe that is timed on each vCPU has all of the trace replayed, and this one says nothing
        want = answer(program + " profile:s:100000 { }", trace)
        # the first of the others makes the index, the second has it
        got = [answer(program, trace) for _ in range(2)]
        assert got == [want] * 2 and len(want) > 20, (program, want[:500], got[0][:500], got[1][:500])
        compared += want.count("\n")
    assert os.path.exists(trace + ".index")
    # a call that began before --from, and returns behind it; what begins there alone
    calls = upto_json("calls", "--json", "-n", "0", "-F", "kernel_init_freeable", "--depth", "1", trace)["calls"]
    middle = calls[0]["start_ns"] + calls[0]["duration_ns"] // 2
    for program in ('kretprobe:kernel_init_freeable { printf("%d %d", nsecs, duration); }', 'kprobe:kernel_init_freeable, kprobe:path_mount { printf("%d", nsecs); }'):
        for part in (["--from", f"{middle}ns"], ["--to", f"{middle}ns"]):
            want = answer(program + " profile:s:100000 { }", trace, *part)
            assert answer(program, trace, *part) == want and (want or part[0] == "--to"), (program, part, want)
    return f"{compared} lines"


def test_files(tmp_path):
    """A program's file is called as one likes; those that come with upto go by their names, also without .bt; nearly such names are told."""
    path = tmp_path / "prog"
    path.write_text('BEGIN { printf("from %s ", str($1)); exit(); }')
    assert run(UPTO, "run", path, base(2)).stdout == run(UPTO, "run", "-e", path.read_text(), base(2)).stdout == b"Attaching 1 probe...\nfrom  "
    assert b"from here " in run(UPTO, "run", path, "here", base(2)).stdout
    for name, why in (("opensnop", b"opensnop: no file, and no program that comes with upto: did you mean opensnoop.bt"), (str(tmp_path / "none.bt"), b"No such file")):
        p = run(UPTO, "run", name, base(2), check=False)
        assert p.returncode == 1 and why in p.stderr and p.stderr.count(b"\n") == 1, p
    assert run(UPTO, "run", "execsnoop", base(2)).stdout == run(UPTO, "run", "execsnoop.bt", base(2)).stdout
    # before any guest runs again to find that there is no such function
    p = run(UPTO, "run", "-e", "kprobe:vfs_raed { @[arg0] = count(); }", base(2), check=False)
    assert p.returncode == 1 and b"-e:1:1: the trace has no function vfs_raed: did you mean vfs_read" in p.stderr, p
    for place in "tracepoint:sched:sched_swich", "rawtracepoint:sched_swich":
        p = run(UPTO, "run", "-e", place + " { @ = count(); }", base(2), check=False)
        assert p.returncode == 1 and b"-e:1:1: the kernel has no tracepoint sched_swich: did you mean sched_switch" in p.stderr, p


def test_passed_over():
    """Of a handler's probes those that are nowhere are said to be, and the others fire."""
    trace = recording("6.12", 1)[0]
    p = run(UPTO, "run", "-e", "kprobe:vfs_open,\nkprobe:vfs_nonono, kprobe:vfs_read { @[probe] = count(); }", trace)
    want = {f["function"]: f["calls"] for f in upto_json("top", "--json", "-n", "0", trace)["functions"] if f["function"] in ("vfs_open", "vfs_read")}
    assert dict(re.findall(rb"@\[kprobe:(\w+)\]: (\d+)", p.stdout)) == {k.encode(): str(n).encode() for k, n in want.items()} and len(want) == 2, p.stdout
    assert p.stdout.startswith(b"Attaching 2 probes...") and p.stderr == b"upto: -e:2:1: the trace has no function vfs_nonono: passed over\n", p.stderr


def test_probe():
    """What fires has one name at all places that it is called the same at: one key."""
    trace = recording("6.12", 1)[0]
    reads = functions_of(trace)["vfs_read"]
    by_function = "kprobe:vfs_read, kprobe:vfs_rea[d] { @[probe] = count(); } kprobe:vfs_re?d { @[probe] = count(); }"
    by_call = by_function + (' kretprobe:vfs_rea* { @r[probe, "x"] = count(); } kretprobe:vfs_read { @r[probe, "x"] = count(); } '
                             'tracepoint:syscalls:sys_enter_openat { @t[probe] = count(); } tracepoint:syscalls:sys_enter_open* { @t[probe] = count(); }')
    for program in (by_function, by_call):
        maps, _ = answers(program, trace)
        assert maps["@"] == {"kprobe:vfs_read": 3 * reads} and reads > 10, maps
    assert maps["@r"]["kretprobe:vfs_read,x"] == 2 * reads, maps
    opens = sum(c["name"] == "openat" for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"])
    assert maps["@t"]["tracepoint:syscalls:sys_enter_openat"] == 2 * opens > 10, maps


def test_end():
    """END runs to its end, behind exit(), too: of a loop nothing is left out."""
    got = answer("BEGIN { for ($i : 0..3000) { @m[$i] = $i; } exit(); } END { for ($kv : @m) { @sum += $kv.1; @n++; } clear(@m); printf(\"end \"); }", base(2))
    assert got == f"end \n@n: 3000\n@sum: {3000 * 2999 // 2}\n", got


def test_output():
    """What a program prints takes no memory, however much it is."""
    program = "BEGIN { for ($i : 0..100) { @b[$i] = lhist(0, 0, 1000, 1); @b[$i] = lhist(999, 0, 1000, 1); } for ($j : 0..60) { print(@b); } }"
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
    with subprocess.Popen([UPTO, "run", "-e", program, base(2)], stdout=subprocess.PIPE, preexec_fn=limit) as p:
        size = sum(len(block) for block in iter(lambda: p.stdout.read(1 << 20), b""))
    assert p.returncode == 0 and size > 60 * 100 * 70000, (p.returncode, size)
    # of the text that one call makes there is little
    for call, most in (("print(@m, 1)", 200 << 20), (f'time("{"x" * 500}\\n")', 300 << 20)):
        program = f'BEGIN {{ @m["{"k" * 1000}"] = 1; for ($j : 0..800000) {{ {call}; }} clear(@m); }}'
        with subprocess.Popen([UPTO, "run", "-e", program, base(2)], stdout=subprocess.PIPE, preexec_fn=limit) as p:
            size = sum(len(block) for block in iter(lambda: p.stdout.read(1 << 20), b""))
        assert p.returncode == 0 and size > most, (call, p.returncode, size)


@pytest.mark.weight(14)
def test_casts(tmp_path):
    """A cast says how much is read and whether it has a sign; fexit knows the kernel's type of a result, kretprobe does not."""
    program = str(tmp_path / "casts.bt")
    with open(program, "w") as f:
        f.write("""
kprobe:vfs_write { printf("w %s|%lu %lu %lu %lu %ld %s\\n", str(arg1, 16), *(uint32 *)arg1, *(uint8 *)arg1, ((uint64 *)arg1)[1], *(uint16 *)(arg1 + 6), ((int8 *)arg1)[1], str(arg1 + 4, 12)); }
kprobe:vfs_open { $name = ((struct path *)arg0)->dentry->d_name; @named[$name.hash == ((struct path *)arg0)->dentry->d_name.hash, str($name.name)] = count(); }
kprobe:vfs_open { @same[((struct dentry **)arg0)[1]->d_name.hash == ((struct path *)arg0)->dentry->d_name.hash, *(uint64 *)(arg0 + 8) == ((struct path *)arg0)->dentry] = count(); }
kprobe:vfs_open, kprobe:no_such_thing { @listed[arg1 > 0] = count(); }
kprobe:vfs_open { $path = (struct path *)arg0; @chain[*(uint32 *)$path->dentry->d_name.name, ((uint8 *)$path->dentry->d_name.name)[1], buf(*(uint64 *)(arg0 + 8), 4) == buf(((struct path *)arg0)->dentry, 4), str($path->dentry->d_name.name)] = count(); }
kprobe:vfs_open { @two[((struct dentry *)*(uint64 *)(arg0 + 8))->d_name.hash == ((struct path *)arg0)->dentry->d_name.hash, *(uint32 *)kaddr("init_task") >= 0] = count(); }
fentry:vfs_open { @typed[*(uint64 *)(args.path + 8) == args.path->dentry] = count(); }
fexit:vfs_statx { @stat[retval] = count(); }
kretprobe:vfs_statx { @stat_raw[retval] = count(); }
fexit:do_sys_openat2 /retval < 0/ { @open[retval] = count(); }
kretprobe:do_sys_openat2 /retval < 0/ { @never = count(); }
kretprobe:do_sys_openat2 /(int64)retval < 0/ { @cast[(int64)retval] = count(); }
tracepoint:sched:sched_switch { @comm[args.prev_comm, args.prev_comm[0], args.next_comm[15]] = count(); }
""")
    trace = str(tmp_path / "casts.upto")
    p = record(trace, qemu_args("6.12", initrd("6.12", "casts")), "-q", "-e", program)
    said = p.stdout.decode(errors="replace")
    assert b"kprobe:no_such_thing is nowhere in the guest: passed over\n" in p.stderr and b"cannot run again" not in p.stderr, p.stderr
    maps = {}
    for name, key, value in re.findall(r"^@(\w+)\[(.*)\]: (\d+)$", said, re.M):
        maps.setdefault(name, {})[key] = int(value)
    writes = re.findall(r"^w ([ -~]{12,})\|(\d+) (\d+) (\d+) (\d+) (-?\d+) (.*)$", said, re.M)
    for text, four, one, eight, two, second, behind in writes:
        data = text.encode()
        assert (int(four), int(one), int(two), int(second)) == (int.from_bytes(data[:4], "little"), data[0], int.from_bytes(data[6:8], "little"), data[1]), text
        assert len(data) < 16 or int(eight) == int.from_bytes(data[8:], "little"), text
        assert behind == text[4:], (text, behind)
    assert list(maps["two"]) == ["1, 1"] and list(maps["typed"]) == ["1"], maps
    for key in maps["chain"]:
        four, second, same, name = key.split(", ")
        assert int(second) == (name.encode() + b"\0")[1] and (len(name) < 3 or int(four) == int.from_bytes((name.encode() + b"\0")[:4], "little")) and same == "1", key
    assert list(maps["same"]) == ["1, 1"] and sum(maps["listed"].values()) == sum(maps["same"].values()), maps
    # what it reads is in the trace: the program has the same answer of that
    assert run(UPTO, "run", program, trace).stdout.decode() in said.replace("\r", ""), said
    p = run(UPTO, "run", "-e", "kprobe:no_such_thing { @listed[arg1 > 0] = count(); }", trace, check=False)
    assert p.returncode == 1 and b"-e:1:1: " in p.stderr and not p.stdout, p.stderr
    assert all(k.startswith("1, ") for k in maps["named"]) and "1, busybox" in maps["named"], maps["named"]
    assert len(writes) > 2 and [w[0] for w in writes if w[0].startswith("abc")] == ["abcdefghijklmnop"], writes
    assert maps["open"] == maps["cast"] and maps["open"]["-2"] and "@never:" not in said, maps
    assert {int(k) & 0xffffffff: n for k, n in maps["stat"].items()} == {int(k): n for k, n in maps["stat_raw"].items()} and maps["stat"]["-2"] > 2, maps
    assert len(maps["comm"]) > 3 and all(int(k.split(", ")[1]) == ord(k[0]) and k.endswith(", 0") for k in maps["comm"]), maps["comm"]
    return f"{len(writes)} writes"


def test_parts():
    """--from and --to: the parts of a trace add up to the whole."""
    trace = recording("6.12", 1)[0]
    middle = upto_json("info", "--json", trace)["duration_ns"] * 3 // 4
    program = "kprobe:vfs_* { @[probe] = count(); } tracepoint:raw_syscalls:sys_exit { @s = count(); } span:initcall { @i = count(); }"
    parts = [[json.loads(line) for line in run(UPTO, "run", "--json", *part, "-e", program, trace).stdout.splitlines()][1:] for part in ((), ("--to", f"{middle}ns"), ("--from", f"{middle}ns"))]
    sums = [collections.Counter() for _ in parts]
    for counts, lines in zip(sums, parts):
        for line in lines:
            for name, value in line["data"].items():
                for key, n in (value.items() if isinstance(value, dict) else [("", value)]):
                    counts[name, key] += n
    assert sums[0] == sums[1] + sums[2] and all(len(c) > 3 for c in sums), sums
    p = run(UPTO, "run", "--from", "1000s", "-e", program, trace, check=False)
    assert p.returncode == 1 and b"the trace ends before" in p.stderr, p.stderr
    p = run(UPTO, "run", "-e", program, "--", "true", check=False)
    assert p.returncode == 2 and b"for a program on a trace" in p.stderr, p.stderr


@pytest.mark.weight(3)
def test_story():
    """Spans, waits and the log, as timeline, waits and log have them."""
    trace = recording("6.12", 1)[0]
    maps, lines = answers('span:initcall { @[args.name] = sum(insns); @n = count(); } log:* { printf("%s", args.text); } wait:* { @w[args.kind] = count(); }', trace)
    rows = upto_json("timeline", "--json", "--kind", "initcall", trace)["timeline"]
    assert maps["@n"] == len(rows) > 100
    want = collections.Counter()
    for r in rows:
        want[r["name"]] += r["insns"]
    assert maps["@"] == want, [(k, v, maps["@"].get(k)) for k, v in want.items() if maps["@"].get(k) != v][:3]
    log = upto_json("log", "--json", trace)["log"]
    assert len(lines) == len(log) > 50
    assert {r["text"] for r in log if r.get("ns") is not None} <= {x.partition("] ")[2] if x.startswith("[") else x for x in lines} | set(lines)


def test_log_patterns():
    """A line's pattern has colons, as lines have."""
    trace, maps = recording("6.12", 1)[0], {}
    lines = [r["text"] for r in upto_json("log", "--json", trace)["log"]]
    for pattern in "*pci*:*", "*:*", "[a-z]*:*", '"*pci*: *"':
        maps[pattern] = answers(f"log:{pattern} {{ @ = count(); }}", trace)[0].get("@", 0)
        want = sum(1 for line in lines if fnmatch.fnmatchcase(line, pattern.strip('"')))
        assert 0 < maps[pattern] == want < len(lines), (pattern, maps, want, len(lines))


def test_kept_texts():
    """A text that a map keeps is the same one, whatever its address was cast to."""
    trace = recording("6.12", 1)[0]
    program = 't:syscalls:sys_enter_openat { @p[tid] = %sargs.filename; } t:syscalls:sys_exit_openat { printf("%%s\\n", str(@p[tid])); }'
    plain, cast = (run(UPTO_ASAN, "run", "-e", program % words, trace).stdout for words in ("", "(char *)"))
    assert plain == cast and plain.count(b"/") > 10, plain[:300]


@pytest.mark.weight(3)
def test_stacks():
    """kstack at a call is what calls --stack shows: the function, and who called it."""
    trace = recording("6.12", 1)[0]
    # as values they stand further to the right, and no empty line is between them
    shown = answer("kprobe:vfs_statx { @s[tid] = kstack(1); @k[kstack(1)] = tid; if (@n++ == 0) { print(kstack(1)); } }", trace)
    assert re.fullmatch(r"\n        vfs_statx\+0\n\n@k\[\n    vfs_statx\+0\n\]: \d+\n@n: \d+\n(@s\[\d+\]: \n        vfs_statx\+0\n)+", shown), shown
    text = answer("kprobe:vfs_statx { @[kstack, comm] = count(); }", trace)
    stacks = re.findall(r"@\[\n((?:    .*\n)+), (.*)\]: (\d+)", text)
    assert stacks and sum(int(n) for _, _, n in stacks) == functions_of(trace)["vfs_statx"], text[:500]
    for frames, _, _ in stacks:
        names = [line.strip().rpartition("+")[0] for line in frames.splitlines()]
        assert names[0] == "vfs_statx" and "do_syscall_64" in names and re.fullmatch(r".+\+\d+", frames.splitlines()[1].strip()), names


def loop_trace():
    """A trace that takes some time to be asked."""
    return recording("6.12", 1)[0]


def test_interrupted():
    """Ctrl-C: what there is is printed."""
    with subprocess.Popen([UPTO_ASAN, "run", "-e", 'BEGIN { printf("on\\n"); } kprobe:* { @[probe] = count(); } END { printf("end\\n"); }', loop_trace()],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
        time.sleep(3)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=100)
    assert p.returncode == 0 and b"end\n" in out and b"@[kprobe:" in out, (p.returncode, out[:200], err)


def test_interrupted_between_events():
    """Ctrl-C also where a timer fires a thousand million times between two events."""
    with subprocess.Popen([UPTO, "run", "-e", "interval:ns:1 { @n = count(); }", base(2)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
        time.sleep(3)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
    assert p.returncode == 0 and int(re.search(rb"@n: (\d+)", out)[1]) > 1000, (p.returncode, out, err)


def test_edges(tmp_path):
    """A full disk, files that are no programs, traces with nothing in them, times that no trace reaches."""
    trace, empty, nul = base(2), tmp_path / "empty.bt", tmp_path / "nul.bt"
    empty.write_text("")
    nul.write_bytes(b"BEGIN { }\0")
    for file, what in ((empty, "expected a probe"), (nul, "has no NUL bytes"), (tmp_path / "none.bt", "No such file"), (tmp_path, "not a regular file")):
        p = run(UPTO_ASAN, "run", str(file), trace, check=False)
        assert p.returncode == 1 and (what in p.stderr.decode() or "directory" in p.stderr.decode()) and not p.stdout, (file, p.stderr)
    with open("/dev/full", "w") as full:
        p = run(UPTO_ASAN, "run", "-e", "kprobe:vfs_* { @[probe] = count(); }", trace, check=False, stdout=full)
    assert p.returncode == 1 and b"No space left on device" in p.stderr, p.stderr
    # what was never started has neither calls nor the functions' names
    nothing = str(tmp_path / "nothing.upto")
    run(UPTO, "record", "-f", "-o", nothing, "--start", "log:this is never said", "--", *qemu_args("6.12", initrd("6.12", "plain")), check=False)
    p = run(UPTO_ASAN, "run", "-e", 'BEGIN { printf("b\\n"); } call:vfs_read { @ = count(); } END { printf("e\\n"); }', nothing, check=False)
    assert (p.returncode, p.stdout.splitlines()[1:3]) in ((0, [b"b", b"e"]), (1, [])) and (p.returncode == 0 or b"no function vfs_read" in p.stderr), p
    far = answer("interval:s:18446744073 { @never = count(); } interval:s:18446744072 { @never = count(); } END { clear(@never); }", trace)
    assert far == "\n", far
    # what could not be recorded says why, and nothing of a trace that is not there
    p = run(UPTO_ASAN, "record", "-f", "-o", str(tmp_path / "no.upto"), "-e", "uprobe:/nowhere/at/all:f { @ = hist(arg0); }", "--", *qemu_args("6.12", initrd("6.12", "plain")), check=False)
    assert p.returncode in (1, 2) and b"/nowhere/at/all" in p.stderr and b"no.upto" not in p.stderr, p.stderr


def test_limits():
    """A loop without an end, a map without bounds, a text without bounds: each ends with a line that says so."""
    p = run(UPTO, "run", "-e", "BEGIN { while (1) { @n++; } }", base(2))
    assert b"1 handlers were ended after a million rounds" in p.stderr and p.stdout.endswith(b"@n: 1048577\n"), (p.stdout, p.stderr)
    assert len(run(UPTO, "run", "-e", 'BEGIN { for ($i : 0..1000000) { @[$i, "' + "x" * 400 + '"] = 1; } clear(@); printf("%d", len(@)); }', base(2)).stderr.splitlines()) == 1


def test_hostile_names():
    """What a guest calls itself does not steer the terminal."""
    out = run(UPTO, "run", "-e", 'BEGIN { printf("\\033[1m%s", "a\\033[31mb"); }', base(2)).stdout
    assert out.endswith(b"\033[1ma\\x1b[31mb"), out


# two texts of one record; values at a pattern
PAIRS = 'tracepoint:sched:sched_switch /args.prev_comm != "swapper/0"/ { @pair[args.prev_comm, args.next_comm] = count(); } kprobe:vfs_ope* { @p[func] = sum(arg1 == 0); @pn[func] = count(); }'
PROGRAM = PAIRS + (' kprobe:vfs_read { @size = hist(arg2); } kretprobe:vfs_read { @r = lhist(retval, 0, 2000, 200); @e[retval == 0] = count(); } '
           'kprobe:vfs_open { printf("open %s\\n", str(((struct path *)arg0)->dentry->d_name.name)); } tracepoint:sched:sched_switch { @sw[args->next_comm] = count(); } '
           'fentry:do_filp_open { @n[str(args.pathname->name)] = count(); @b[str(args.pathname->name), buf(args.pathname->name, 4), macaddr(args.pathname->name)] = count(); } '
           'kprobe:vfs_open { @who[curtask->tgid == pid, ((struct task_struct *)curtask)->pid == tid, str(curtask->comm) == comm, uid + gid] = count(); } '
           'kretprobe:vfs_open { @back[curtask->pid == tid] = count(); @late = max(*kaddr("jiffies") * 4000000 - nsecs); @early = min(*kaddr("jiffies") * 4000000 - nsecs); }'
           # addresses that go from one probe to another in a map: of this call, of another, and one that the recorder cannot know
           ' kprobe:vfs_open { @names[curtask->comm, curtask->comm == comm] = count(); @path[tid] = (struct path *)arg0; @in[str(((struct path *)arg0)->dentry->d_name.name)] = count(); } '
           'kretprobe:vfs_open /@path[tid]/ { $p = @path[tid]; $d = $p->dentry; @out[str($d->d_name.name)] = count(); @same[$p->dentry == @path[tid]->dentry] = count(); delete(@path[tid]); } '
           'kprobe:vfs_read { @now[tid] = (struct file *)arg0; @at[@now[tid]->f_mode & 1, @by[@now[tid]]] = count(); @by[arg0] = 0; } kprobe:vfs_read { @file[pid, 7] = arg0; if (!@old[tid]) { @old[tid] = (struct file *)arg0; } @reads[tid, arg0] = count(); } '
           'kretprobe:vfs_read { @modes[((struct file *)@file[pid, 7])->f_mode & 1] = count(); @olds[@old[tid]->f_mode & 1] = count(); }'
           # at a system call's tracepoint memory is read by the call's function
           ' tracepoint:syscalls:sys_enter_openat { @opens[str(args.filename), args.flags] = count(); } tracepoint:syscalls:sys_exit_openat { @opened[args.ret] = count(); } '
           'tracepoint:syscalls:sys_enter_openat { @opens2[str(args.filename), args.flags, uid] = count(); @which[probe] = count(); } '
           'tracepoint:syscalls:sys_exit_openat /curtask->pid == tid/ { @opened2[args.ret] = count(); } '
           'tracepoint:syscalls:sys_enter_nanosleep, tracepoint:syscalls:sys_enter_clock_nanosleep { @sleeps[args.rqtp->tv_sec, args.rqtp->tv_nsec, str(curtask->real_parent->comm)] = count(); }'
           # registers, and an argument on the stack
           ' kprobe:vfs_open { @enters[probetype, usermode, reg("di") == arg0, reg("rsi") == arg1] = count(); } kretprobe:vfs_open { @leaves[probetype, reg("ax") == retval] = count(); } '
           'kprobe:do_mmap { @pages[sarg0] = count(); }'
           # of functions that end with a jump, what returns is another one
           ' kretprobe:vfs_* { @ends[func, retval == retval] = count(); @probes[probe, retval == retval] = count(); }')


SILENT = ("-serial", "null", "-monitor", "none")  # what the guest says is not on standard output


def recorded_with(program):
    trace = os.path.join(WORK, "handlers.upto")

    def make():
        p = record(trace, qemu_args("6.12", initrd("6.12", "plain")), "--deterministic", "-e", program, more=SILENT)
        with open(trace + ".said", "wb") as f:
            f.write(p.stdout)

    once_a_run(trace, make)
    with open(trace + ".said", "rb") as f:
        return trace, f.read().decode(errors="replace")


@pytest.mark.weight(50)
def test_recorded():
    """record -e records what a program reads and prints its answer, which is that of the trace, and right by what upto tells otherwise."""
    trace, said = recorded_with(PROGRAM)
    text = run(UPTO, "run", "-e", PROGRAM, trace).stdout.decode()
    assert said.replace("\r\n", "\n").endswith(text), (said[-500:], text[-500:])
    maps, lines = answers(PROGRAM, trace)
    calls = functions_of(trace)
    assert sum(b["count"] for b in maps["@size"]) == calls["vfs_read"] == sum(maps["@e"].values())
    assert len(lines) == calls["vfs_open"] and "open init\n" in lines
    assert sum(maps["@n"].values()) == calls["do_filp_open"] and "/init" in maps["@n"]
    pairs = collections.Counter(f"{e['args']['prev_comm']},{e['args']['next_comm']}" for e in upto_json("events", "--json", "-e", "sched:sched_switch", trace)["events"]
                                if e["args"]["prev_comm"] != "swapper/0")
    assert maps["@pair"] == pairs, (maps["@pair"], pairs)
    assert maps["@pn"] == {k: v for k, v in calls.items() if k.startswith("vfs_ope")}, maps["@pn"]
    # what the running thread's structure says, and bytes as they are
    assert set(maps["@who"]) == {"1,1,1,0"} and set(maps["@back"]) == {"1"} and sum(maps["@who"].values()) == calls["vfs_open"], (maps["@who"], maps["@back"])
    assert 0 <= maps["@late"] - maps["@early"] < 300e6, maps
    shown = {tuple(k.rsplit(",", 2)) for k in maps["@b"]}
    assert {name for name, _, _ in shown} == set(maps["@n"]), shown
    assert {(name[:4], ":".join(f"{b:02X}" for b in name[:6].encode())) for name in maps["@n"] if len(name) > 5} == {(b, mac) for name, b, mac in shown if len(name) > 5}, shown
    assert maps["@in"] == maps["@out"] and sum(maps["@in"].values()) == calls["vfs_open"] == maps["@same"]["1"], (maps["@in"], maps["@out"], maps["@same"])
    assert {k.split(",")[1] for k in maps["@names"]} == {"1"} and "init,1" in maps["@names"], maps["@names"]
    assert maps["@modes"] == {"1": calls["vfs_read"]}, maps["@modes"]
    assert maps["@opens2"] == {f"{k},0": v for k, v in maps["@opens"].items()} and maps["@opened2"] == maps["@opened"] and "-2" in maps["@opened"], maps
    assert maps["@which"] == {"tracepoint:syscalls:sys_enter_openat": sum(maps["@opens"].values())} and maps["@sleeps"] == {"0,0,init": 1}, maps
    assert {k.split(",")[0] for k in maps["@at"]} == {"1"} and sum(maps["@at"].values()) == calls["vfs_read"], maps["@at"]
    assert maps["@enters"] == {"kprobe,0,1,1": calls["vfs_open"]} and maps["@leaves"] == {"kretprobe,1": calls["vfs_open"]}, (maps["@enters"], maps["@leaves"])
    # other programs that ask for some of it, or for the same in another order, have it from the same records
    less = 'kprobe:vfs_open { @some[reg("rsi") == arg1, arg0 != 0] = count(); } kprobe:vfs_open { @one[arg0 == reg("di")] = count(); }'
    assert b"again" not in run(UPTO, "run", "-e", less, trace).stderr
    assert answers(less, trace)[0] == {"@some": {"1,1": calls["vfs_open"]}, "@one": {"1": calls["vfs_open"]}}, answers(less, trace)
    ends = {f"{k},1": n for k, n in calls.items() if k.startswith("vfs_")}
    assert maps["@ends"] == ends and "vfs_getattr,1" in ends, (maps["@ends"], ends)
    assert maps["@probes"] == {f"kretprobe:{k}": n for k, n in ends.items()}, maps["@probes"]
    # where in its file what is mapped begins, in pages: all that run are busybox
    mapped = {int(offset, 16) // 4096 for offset in re.findall(rb"^ +LOAD +(0x[0-9a-f]+)", run("readelf", "-lW", shutil.which("busybox")).stdout, re.M)}
    assert set(map(int, maps["@pages"])) == mapped and len(mapped) > 2, (maps["@pages"], mapped)
    # each thread's first file: of its reads of others nothing is told
    firsts = {key.split(",")[0]: 0 for key in maps["@reads"]}
    for key, n in maps["@reads"].items():
        firsts[key.split(",")[0]] += n * (int(key.split(",")[1]) & M64 == maps["@old"][key.split(",")[0]] & M64)
    unknown = calls["vfs_read"] - sum(firsts.values())
    said_lost = re.search(rb"(\d+) values are 0, or empty: the program's maps had other addresses", run(UPTO, "run", "-e", PROGRAM, trace).stderr)
    assert unknown and said_lost and int(said_lost[1]) == unknown and maps["@olds"] == {"0": unknown, "1": calls["vfs_read"] - unknown}, (said_lost, unknown, maps["@olds"])
    # what was read, by the results that user code got
    reads = [c for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"] if c["name"] == "read"]
    assert sum(b["count"] for b in maps["@r"]) == calls["vfs_read"] >= len(reads)
    return f"{calls['vfs_read']} reads, {len(lines)} files"


@pytest.mark.weight(12)
def test_program():
    """Functions of a program, in each process that runs it: what they are given and give back is what it prints itself."""
    # its name is what finds it
    program, trace = os.path.join(WORK, "handlers-program", "probed"), os.path.join(WORK, "handlers-probed.upto")
    os.makedirs(os.path.dirname(program), exist_ok=True)
    run("gcc", "-g", "-O2", "-static", "-o", program, os.path.join(TOP, "tests/guests/probed.c"))
    image = initrd("6.12", "probed", f"{program}=bin/probed", newer_than=(program,), image=trace + ".img")
    text = ('uprobe:/bin/probed:count { printf("%d %s\\n", arg0, comm); } uretprobe:/bin/probed:weigh { printf("= %d\\n", retval); @w[func] = count(); } '
            'call:probed:weigh { @c = count(); @s[ustack(1)] = count(); } usdt:/bin/probed:probed:weighed { @static[arg0, arg1] = count(); } '
            'usdt:/bin/probed:probed:waited /arg0 > 1/ { @waited[probe] = sum(arg1); } U:/bin/probed:probed:weighed { @again = count(); }')
    p = record(trace, qemu_args("6.12", image), "--debug", program, "-e", text)
    told = [(int(n), int(sum_)) for n, sum_ in re.findall(r'told count\((\d+), "\w+"\) = (\d+)', p.stdout.decode())]
    lines = answer(text, trace).splitlines()
    assert len(told) == 6 and [int(line.split()[0]) for line in lines if line.endswith(" probed")] == [n for n, _ in told], lines
    assert [int(line[2:]) for line in lines if line.startswith("= ")] == [value for _, sum_ in told for value in (14, sum_)], lines
    statics = collections.Counter(row for n, _ in told for row in ((7, 1), (n % 32 + 7 * 2, 0)))
    assert {line for line in lines if line.startswith("@static")} == {f"@static[{a}, {b}]: {n}" for (a, b), n in statics.items()}, lines
    assert "@waited[usdt:/bin/probed:probed:waited]: 20" in lines and "@again: 12" in lines, lines
    assert "@c: 12" in lines and "@w[weigh]: 12" in lines and "    weigh+0" in lines, lines


@pytest.mark.long
@pytest.mark.weight(80)
def test_past():
    """On a trace without any of it, the guest runs again: the answer is what record -e printed."""
    _, said = recorded_with(PROGRAM)
    trace = os.path.join(WORK, "handlers-plain.upto")
    record(trace, qemu_args("6.12", initrd("6.12", "plain")), "--deterministic")
    p = run(UPTO, "run", "-e", PROGRAM, trace)
    assert b"the guest runs again" in p.stderr
    text = p.stdout.decode()
    assert said.replace("\r\n", "\n").endswith(text), (said[-800:], text[-800:])
    again = run(UPTO, "run", "-e", PROGRAM, trace)
    # what could not be known is said both times, and nothing else
    assert again.stdout.decode() == text and re.fullmatch(rb"upto: \d+ values are 0, or empty: the program's maps had other addresses than the recorder\n", again.stderr), again.stderr
    assert again.stderr in p.stderr, p.stderr


# docs/tutorial_one_liners.md of bpftrace 0.17, the second to the twelfth; the first lists tracepoints
LESSONS = {
    2: 'BEGIN { printf("hello world\\n"); }',
    3: 'tracepoint:syscalls:sys_enter_openat { printf("%s %s\\n", comm, str(args->filename)); }',
    4: "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }",
    5: "tracepoint:syscalls:sys_exit_read /pid == 1/ { @bytes = hist(args->ret); }",
    6: "kretprobe:vfs_read { @bytes = lhist(retval, 0, 2000, 200); }",
    7: "kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @ns[comm] = hist(nsecs - @start[tid]); delete(@start[tid]); }",
    8: "tracepoint:sched:sched* { @[probe] = count(); } interval:s:5 { exit(); }",
    9: "profile:hz:99 { @[kstack] = count(); }",
    10: "tracepoint:sched:sched_switch { @[kstack] = count(); }",
    11: "tracepoint:block:block_rq_issue { @ = hist(args->bytes); }",
    12: '#include <linux/path.h>\n#include <linux/dcache.h>\n\nkprobe:vfs_open\n{\n\tprintf("open path: %s\\n", str(((struct path *)arg0)->dentry->d_name.name));\n}\n',
}


@pytest.mark.long
@pytest.mark.weight(60)
def test_lessons(tmp_path):
    """The lessons of bpftrace's tutorial, with a recording that is made for all of them, and on that trace one by one."""
    # maps of one program have one kind of value each: here they are the lessons' own
    together = "\n".join(re.sub(r"@(\w*)", rf"@l{n}\1", text).replace("#include", "//") for n, text in LESSONS.items() if n != 8) + "\ntracepoint:sched:sched* { @l8[probe] = count(); }"
    program = tmp_path / "lessons.bt"
    program.write_text(together)
    trace = os.path.join(WORK, "handlers-lessons.upto")
    p = record(trace, qemu_args("6.12", initrd("6.12", "plain")), "--deterministic", "-e", str(program), more=SILENT)
    said = p.stdout.decode(errors="replace").replace("\r\n", "\n")
    assert said.endswith(run(UPTO, "run", str(program), trace).stdout.decode())
    outs = {n: answer(text, trace) for n, text in LESSONS.items()}
    calls = functions_of(trace)
    assert outs[2] == "hello world\n"
    assert outs[3].count("\n") == sum(c["name"] == "openat" for c in upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"]) > 5
    assert sum(int(n) for n in re.findall(r": (\d+)$", outs[4], re.M)) == len(upto_json("syscalls", "--json", "-n", "0", trace)["syscalls"])
    assert sum(int(n) for n in re.findall(r" +(\d+) \|", outs[6])) == calls["vfs_read"]
    assert sum(int(n) for n in re.findall(r" +(\d+) \|", outs[7])) == calls["vfs_read"]
    switches = upto_json("events", "--json", "-e", "sched:sched_switch", trace)["events"]
    assert f"@[tracepoint:sched:sched_switch]: {len(switches)}\n" in outs[8] and sum(int(n) for n in re.findall(r"^\]: (\d+)$", outs[10], re.M)) == len(switches)
    ticks = upto_json("info", "--json", trace)["duration_ns"] // (1000000000 // 99)
    assert abs(sum(int(n) for n in re.findall(r"^\]: (\d+)$", outs[9], re.M)) - ticks) <= 1, (outs[9][-300:], ticks)
    assert outs[12].count("open path: ") == calls["vfs_open"]
    return f"{len(switches)} switches, {ticks} samples"
