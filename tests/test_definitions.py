# SPDX-License-Identifier: GPL-2.0-or-later
"""What definitions of probes become in the kernel's words: of files that are compiled here, and stand for a kernel or are programs."""
import json
import os
import re
import shutil
import subprocess

import pytest

from guest import CHECK, TOP, UPTO_ASAN, WORK, Once, is_older, record, run
from test_sources import multiboot, other_args

SOURCES = [os.path.join(TOP, "tests/programs", name) for name in ("defined.c", "defined_too.c")]


def compiled(name, *options, tool="gcc"):
    path = os.path.join(WORK, "defined-" + name)
    with Once(path):
        if is_older(path, *SOURCES):
            # as a kernel's are: named from the folder of the compilation on
            run(tool, "-g", "-O2", "-static", "-nostdlib", "-o", path, *map(os.path.basename, SOURCES), *options, cwd=os.path.dirname(SOURCES[0]))
    return path


def kernel():
    """A file that is taken for a kernel's."""
    return compiled("kernel", "-Wl,-e,start_kernel", "-Wl,--defsym=_text=__executable_start")


def program():
    return compiled("program", "-Dstart_kernel=begin", "-Wl,-e,begin")


def place_of(file, function, offset=0):
    """Where it is in a program's file, in the kernel's words."""
    [(address, start, at)] = [(int(a, 16), int(s, 16), int(o, 16)) for a in re.findall(rf"^(\w+) \w {function}$", run("nm", file).stdout.decode(), re.M)
                              for s, o in re.findall(r" \.text +PROGBITS +(\w+) (\w+)", run("readelf", "-SW", file).stdout.decode())]
    return f"{file}:{address - start + at + offset:#x}"


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


def test_words_of_uftrace():
    """Values in uftrace's words are values of functions in programs, too; $argN are registers there, or on the stack."""
    p = program()
    assert definition(p, "weigh@arg2/u,arg1/s") == {"weigh": [place_of(p, "weigh"), "arg2=%si:u64", "arg1=+0(%di):string"]}
    assert definition(p, "weigh@retval/i32") == {"weigh__return": [place_of(p, "weigh"), "$retval:s32"]}
    assert definition(p, "many $arg1 seventh=$arg7:s64") == {"many": [place_of(p, "many"), "arg1=%di:x64", "seventh=+8(%sp):s64"]}
    for text in "weigh%return $arg1", "weigh%return $retval $arg1":
        refused(p, text, "where a program's function returns, $retval is known")
    for text in "weigh+4 $arg1", "weigh:4 $arg1", "twice $arg1", place_of(p, "weigh").split(":")[1] + " $arg1":
        refused(p, text, "$argN is known only where a function of 64 bits begins")
    # more than 4096 characters are no less
    many = " ".join(f"v{i}=%di" for i in range(128)) + ":u" + "64"
    values = definition(p, "weigh " + many + " " * 4096)["weigh"]
    assert len(values) == 129 and values[-1] == "v127=%di:u64", values[-1]


def test_places():
    """A function is all of its code: inlined, in either file, without a name in debug information, and by patterns."""
    k, p = kernel(), program()
    lines = probe(k, "-D", "helper").stdout.splitlines()
    assert len(lines) == 2 and all(re.fullmatch(r"p:probe/helper _text\+\d+", line) for line in lines), lines
    for file in k, p:
        [own] = probe(file, "-D", "helper@defined_too.c").stdout.splitlines()
        assert own in probe(file, "-D", "helper").stdout.splitlines()
    assert len(probe(p, "-D", "helper").stdout.splitlines()) == 2
    assert definition(p, "twice").keys() == {"twice"} and definition(p, "twice") != {"twice": [place_of(p, "weigh")]}
    assert definition(p, "m*") == {"many": [place_of(p, "many")], "member_of_nothing": [place_of(p, "member_of_nothing")]}
    assert definition(p, "member_of_nothing+1 %di") == {"member_of_nothing": [place_of(p, "member_of_nothing", 1), "arg1=%di:x64"]}
    refused(p, "member_of_nothing n", "has no function member_of_nothing")
    refused(p, "twice%return", "inlined everywhere")
    bare = os.path.join(WORK, "defined-bare")
    run("objcopy", "--strip-debug", p, bare)
    assert definition(bare, "m*") == {"many": [place_of(bare, "many")], "member_of_nothing": [place_of(bare, "member_of_nothing")]}
    assert definition(bare, "weigh@arg2/u") == {"weigh": [place_of(bare, "weigh"), "arg2=%si:u64"]}
    for text in "weigh deep", "helper@defined.c", "weigh:4":
        refused(bare, text, "has no debug information")


@pytest.mark.parametrize("dwarf", [4, 5])
def test_clang(dwarf):
    """By function and source, and lines, of what clang compiled: in DWARF 5 a unit's own source is its file 0."""
    if not shutil.which("clang"):
        pytest.skip("no clang")
    p = compiled(f"clang-{dwarf}", f"-gdwarf-{dwarf}", "-Dstart_kernel=begin", "-Wl,-e,begin", tool="clang")
    assert definition(p, "weigh@defined.c deep") == {"weigh": [place_of(p, "weigh"), "deep=%si:s64"]}
    refused(p, "weigh@defined_too.c", "has no function weigh in defined_too.c")
    listed = json.loads(probe(p, "--json", "-L", "weigh").stdout)
    assert listed["file"].endswith("defined.c") and listed["lines"][0]["code"], listed
    assert re.search(r"\tlong( int)?\tdeep$", probe(p, "-V", "weigh").stdout, re.M)


def test_addresses():
    """An address, and a static probe, have neither function nor source: what is known there is shown, or why it is not."""
    k, p = kernel(), program()
    assert definition(k, "0xffffffff81000000 %di:u32 $comm") == {"p_0xffffffff81000000": ["0xffffffff81000000", "%di:u32", "$comm"]}
    refused(k, "0xffffffff81000000 deep", "the kernel's addresses are those at run time")
    refused(k, "0xffffffff81000000", "the kernel's addresses are those at run time", "-V")
    at = place_of(p, "weigh")
    address = at.split(":")[1]
    assert definition(p, address + " deep") == {"p_" + address: [at, "deep=%si:s64"]}
    assert "\tlong int\tdeep\n" in probe(p, "-V", address).stdout
    assert definition(p, "sdt_defined:wh*") == {"whole": [place_of(p, "member_of_nothing", 1), "arg1={%di}:u64", "arg2={%sp,8,+,@4}:s32"]}
    assert definition(p, "sdt_defined:whole now=%si:u8") == {"whole": [place_of(p, "member_of_nothing", 1), "now=%si:u8"]}
    for text in "sdt_defined:whole deep", "sdt_defined:whole@arg1":
        refused(p, text, "variables and $argN are of functions")
    refused(p, "sdt_defined:whole", "a static probe has no variables", "-V")
    refused(p, "sdt_defined:nosuch", "has no static probe of that name")
    refused(k, "sdt_defined:whole", "in which program?")


def test_kernel_types():
    """What debug information tells of results and parameters is by it; what else leads on from a number is left to the kernel's own types."""
    for file in kernel(), program():
        assert definition(file, "step%return $retval->name:string")["step__return"][1:] == ["name=+0(+0(%ax)):string"]
        assert definition(file, "weigh $arg1->next->name:string")["weigh"][1:] == ["name=+0(+0(+8(%di))):string"]
        for text, value in (("weigh:1 $current->pid", "pid=$current->pid"), ("weigh x=((item*)$arg1)->next:u64", "x=((item*){%di})->next:u64"),
                            ("many $keep(here,$current->pid,$arg7)", "arg1=$keep(here,$current->pid,{%sp,8,+,@8})"),
                            ("step%return ((item*)$retval)->name", "name=((item*){%ax})->name")):
            [[_, own]] = definition(file, text).values()
            assert own == value, (text, own)
        refused(file, "weigh%return $retval->name", "no structure")
        refused(file, "weigh $retval->name", "$retval is known only where a function returns")
    assert definition(kernel(), "many%return ((item*)$arg2)->next") == {"many__return": ["many+0", "next=((item*){%sp,entry%si})->next"]}


def test_hostile():
    """Texts of static probes that end early have no values of what is behind them; bits of a number are within it."""
    p = program()
    assert definition(p, "sdt_defined:ends*") == {name: [place_of(p, "member_of_nothing", 1)] for name in ("ends", "ends_within")}
    assert definition(p, "weigh %di:b3@5/8 %di:b64@0/64") == {"weigh": [place_of(p, "weigh"), "arg1=%di:b3@5/8", "arg2=%di:b64@0/64"]}
    for kind in "b-1@1/8", "b1@-1/8", "b4@5/8", "b0@0/8", "b1@8/8", "b4294967295@1/8", "b1@1/7", "b@/8", "b1@1/8/", "b1 @1/8":
        p = probe(kernel(), "-D", "weigh %di:" + kind)
        assert p.returncode == 1 and "no type of a probe's value" in p.stderr, (kind, p)


def test_words():
    """Words that perf probe and the kernel have: whole paths of the source, so many lines, where memory is."""
    k = kernel()
    own, line = SOURCES[0], next(i for i, text in enumerate(open(SOURCES[0]), 1) if "product = n * 2" in text)
    assert definition(k, f"{own}:{line} n") == definition(k, f"defined.c:{line} n") != {}
    assert definition(k, f"{own};sink*=*product;") == definition(k, "defined.c;sink*=*product;") != {}
    listed = probe(k, "-L", f"{own}:{line}-{line + 2}").stdout
    assert [row.split()[0] for row in listed.splitlines() if "=" in row or "sink" in row] == [str(line), str(line + 2)], listed
    many = open(own).read().split("many(", 1)[0].count("\n") + 1
    for asked, said in (("many:1+2", [1, 2]), ("many:1+1", [1]), ("many:1-2", [1, 2]), ("many:2+99999999", [2, 3, 4]), ("many:0+1", [0])):
        rows = json.loads(probe(k, "--json", "-L", asked).stdout)["lines"]
        assert [r["line"] for r in rows] == said and rows[0]["source_line"] == many + said[0], (asked, rows)
    for asked in "many:1+0", "many:1+-3", "many:1--3", "many:999999999999+999999999999":
        assert probe(k, "-L", asked).returncode == 1, asked
    for value in "item->name:string@user", "item->name@user:string", "item->name:string":
        assert definition(k, "weigh " + value)["weigh"][1] == "name=+0(+0(%di)):string"
    assert definition(k, "p:a/b weigh +8(%di):x64@user")
    refused(k, "weigh deep:@user", "no type of a probe's value")
    # the kernel's own words have offsets in programs there
    p = probe(program(), "-D", "p:a/b /bin/x:12")
    assert p.returncode == 1 and ("has no function 12" in p.stderr or "No such file" in p.stderr), p


def test_arrays():
    """An element of an array of several dimensions is where C has it."""
    k = kernel()
    for value, own in (("grid", "+20(%di):s32[12]"), ("grid[1]", "+36(%di):s32[4]"), ("grid[2][3]", "+64(%di):s32"), ("bytes", "+68(%di):x8[6]"),
                       ("bytes[5]", "+73(%di):x8"), ("names[1]", "+82(%di):string"), ("names[1][2]", "+84(%di):s8"), ("next->grid[1][1]", "+40(+8(%di)):s32"),
                       ("grid[1]:x8[4]", "+36(%di):x8[4]")):
        assert definition(k, f"weigh v=item->{value}")["weigh"][1] == "v=" + own, value
    assert definition(k, "weigh v=item[1].grid[0][1]")["weigh"][1] == "v=+120(%di):s32"
    for value, said in (("grid[1][2][3]", "[3] is asked of what is no array"), ("grid[1].x", "no structure")):
        refused(k, "weigh item->" + value, said)


def test_bits():
    """A bit field has the sign that its type has."""
    assert definition(kernel(), "weigh item->in.low item->in.high other=item->in.low:u32")["weigh"][1:] == [
        "low={%di,16,+,@4,61,<<,61,sar}:s32", "high=+16(%di):b4@3/32", "other=+16(%di):b3@0/32"]


@pytest.mark.weight(3)
def test_recorded():
    """What record asks the recorder for are these lines, also of a function without values, which is inlined; the guest here has none of them."""
    p = record(os.path.join(WORK, "defined.upto"), other_args(multiboot("calls")), "--debug", kernel(), "--probe", "twice", "--probe", "helper@defined_too.c",
               "--probe", "0xffffffff81000000 %di", "--probe", "nowhere")
    said = p.stderr.decode()
    for text in "twice", "helper@defined_too.c":
        [line] = probe(kernel(), "-D", text).stdout.splitlines()
        assert f"--probe {line.rstrip()}: the kernel, with the modules that were loaded, has no such place" in said, said
    assert "--probe nowhere: " in said and "0xffffffff81000000" not in said, said
    for text, why in (("0xffffffff81000000 deep", "the kernel's addresses are those at run time"), ("weigh:1 nothing", "there is no variable nothing"),
                      ("twice%return", "inlined everywhere"), ("twice $arg1", "$argN is known only where")):
        q = run(UPTO_ASAN, "record", "-o", os.path.join(WORK, "defined-no.upto"), "--debug", kernel(), "--probe", text, "--", "qemu-system-x86_64", check=False)
        assert q.returncode == 2 and why in q.stderr.decode() and q.stderr.count(b"\n") == 1, (text, q.stderr)


def test_strings():
    """An array of strings is as many values, each by a pointer of its own."""
    k = kernel()
    assert definition(k, "weigh +8(+16(%si)):ustring[2]@user names=item->name:string[3]")["weigh"][1:] == [
        "arg1=+0(+8(+16(%si))):string", "arg1_1=+0(+16(+16(%si))):string",
        *(f"names{n}=+0(+{at}(+0(%di))):string" for n, at in (("", 0), ("_1", 8), ("_2", 16)))]
    refused(k, "weigh %di:string[..3]", "no type of a probe's value")
    refused(k, "weigh %di:string[64] b=%di:string[64] c=%di:string[1]", "more values than a probe may have")


def built(folder, sources, *options, tool="gcc"):
    """A program of these sources, {file: text}, that nothing runs."""
    for name, text in sources.items():
        (folder / name).write_text(text)
    if not shutil.which(tool):
        pytest.skip("no " + tool)
    path = str(folder / "program")
    run(tool, "-g", "-O2", "-w", "-static", "-nostdlib", "-Wl,-e,main", "-o", path, *(name for name in sources if not name.endswith((".h", ".ld"))), *options, cwd=folder)
    return path


@pytest.mark.parametrize("options", [[], ["-flto"]])
def test_inlined_elsewhere(tmp_path, options):
    """A header's function that stands by itself in one unit is inlined in others, by its name as by a pattern; -flto has all code in another unit."""
    p = built(tmp_path, {"h.h": "extern volatile int sink;\nstatic inline int helper(int v) { sink += v; return sink ^= 5; }\n",
                         "a.c": '#include "h.h"\nvolatile int sink;\nint (*volatile fp)(int) = helper;\n__attribute__((noinline)) int first(int x) { return helper(x) + 1; }\n',
                         "b.c": '#include "h.h"\nextern int (*volatile fp)(int);\nint first(int);\n'
                                '__attribute__((noinline)) int second(int y)\n{\n\tsink = y;\n\treturn helper(y + 3) * first(y);\n}\nint main(int c) { return fp(c) + second(c); }\n'}, *options)
    by_name, by_pattern = (sorted(probe(p, "-D", text).stdout.splitlines()) for text in ("helper v", "helper* v"))
    assert len(by_name) == 3 and by_name == by_pattern, (by_name, by_pattern)
    for function, values in ("first", "x"), ("second", "y"):
        assert definition(p, f"{function} {values}") == {function: [place_of(p, function), values + "=%di:s32"]}
        assert f"\tint\t{values}\n" in probe(p, "-V", function).stdout
    assert definition(p, "second:2 y").keys() == {"second_L2"} and "\tsink = y;" in probe(p, "-L", "second").stdout


FIRST = """
struct pair { long a, b; }; struct many { long a[4]; };
volatile long sink;
__attribute__((noinline)) void use(volatile int *p) { sink += *p; }
__attribute__((noinline)) int f(int x, long y, double z, struct pair two, struct many all, int w, int u, int v)
{
	volatile int l[4];

	l[x & 3] = y;
	use(&l[y & 3]);
	use(&x);
	use((int *)&two);
	return l[1] + x + y + z + two.b + all.a[2] + w + u + v;
}
int main(int c) { struct pair p = { c, 2 }; static struct many m; return f(c, 2, 3, p, m, c, 5, 6); }
"""


@pytest.mark.parametrize("tool,options", [("gcc", ["-O0"]), ("gcc", ["-fno-var-tracking"]), ("gcc", []), ("clang", ["-O0"])])
def test_first_instruction(tmp_path, tool, options):
    """Where a function begins, its parameters are where callers put them, also if they have one place in all of it, which is made later."""
    p = built(tmp_path, {"f.c": FIRST}, *options, tool=tool)
    place, *values = definition(p, "f x y two.b all.a[2] w u v")["f"]
    assert place == place_of(p, "f")
    assert values == ["x=%di:s32", "y=%si:s64", "b=%cx:s64", "a=+24(%sp):s64", "w=%r8:s32", "u=%r9:s32", "v=+40(%sp):s32"]
    refused(p, "f l[1]", "l: ")


GIVEN = """
typedef float four __attribute__((vector_size(16)));
struct empty {}; struct point { int x, y; point(int a, int b) : x(a), y(b) {} };
struct owner { int *p; owner(owner &&o); ~owner(); }; struct holder { owner o; }; struct mover { int *p; mover(mover &&o); ~mover() = default; };
struct base { virtual int get(); int n; }; struct floating { float f; };
enum small : unsigned char { SMALL = 200 }; enum below { BELOW = -1 };
volatile int sink;
owner::owner(owner &&o) : p(o.p) {} owner::~owner() { sink++; } int base::get() { return n; }
#define NOT __attribute__((noinline, noclone)) extern "C"
NOT int given_empty(empty, int x) { return sink = x; }
NOT int given_point(point p, int x) { return sink = p.y + x; }
NOT int given_owner(owner o, int x) { return sink = x; }
NOT int given_holder(holder h, int x) { return sink = x; }
NOT int given_base(base b, int x) { return sink = x; }
NOT int given_mover(mover m, int x) { return sink = x; }
NOT owner *given_pointer(owner *o, owner &r, int x) { sink = x; return o; }
NOT holder given_result(int x) { sink = x; return holder{owner(static_cast<owner &&>(*(owner *)0))}; }
NOT int given_vector(four v, int x) { return sink = v[0] + x; }
NOT int given_quad(__float128 v, int x) { return sink = x; }
NOT int given_floating(floating f, int x) { return sink = f.f + x; }
NOT int given_member(int (base::*m)(), int x) { return sink = x + (m != nullptr); }
NOT int given_enums(small s, below b, int x) { return sink = s + b + x; }
static __attribute__((noinline)) int given_some(int unused, int x) { return sink = x; }
int main(int c) { return given_some(c, 5) + given_some(c + 1, 5) + given_point(point(c, 1), c); }
"""
SIX = "rdi:r8:rdi rsi:r8:rsi rdx:r8:rdx rcx:r8:rcx r8:r8:r8 r9:r8:r9"


@pytest.mark.parametrize("tool", ["g++", "clang++"])
def test_given(tmp_path, tool):
    """What a program's function takes is by the ABI; where that cannot be told, it is the registers. g++ does not say which classes are given by their address: what they have tells, but for what may be made."""
    p = built(tmp_path, {"given.cc": GIVEN}, *["-fno-rtti", "-fno-exceptions", "-nodefaultlibs", "-Wl,--unresolved-symbols=ignore-all"], tool=tool)
    lines = run(os.path.join(CHECK, "tests/program_prototypes"), p, "").stdout.decode().splitlines()
    said = {function: rest for function, _, rest in (line.partition(" ") for line in lines)}
    address = lambda first: f"{first}:p8:rdi x:d4:rsi"
    want = {"empty": ":o0:nowhere x:d4:rdi", "point": "p:o8:rdi x:d4:rsi", "owner": address("o"), "holder": address("h"), "base": address("b"), "mover": SIX,
            "pointer": "o:p8:rdi r:p8:rsi x:d4:rdx", "result": address("(result)"), "vector": SIX, "quad": SIX, "floating": SIX, "member": SIX,
            "enums": "s:u1:rdi b:d4:rsi x:d4:rdx"}
    assert {name: said["given_" + name] for name in want} == want
    clones = [rest for function, rest in said.items() if "given_some" in function]
    assert clones == [SIX] or tool == "clang++", said


def test_old_members():
    """DWARF 2 has members' places as expressions."""
    old = compiled("dwarf-2", "-gdwarf-2", "-Wl,-e,start_kernel", "-Wl,--defsym=_text=__executable_start")
    for text in "weigh item->next->names[1] item->grid[2] item->bytes", "weigh item->in.low item->in.high":
        assert definition(old, text) == definition(kernel(), text), text


def test_per_cpu(tmp_path):
    """A per-CPU variable has no one place, wherever the kernel's image has the template."""
    k = built(tmp_path, {"k.c": '__attribute__((section(".data..percpu"))) int own = 3;\nint all = 4;\nvoid start_kernel(int x) { own += x; all++; }\n',
                         "k.ld": "SECTIONS { . = 0xffffffff81000000; _text = .; .text : { *(.text) } .data : { *(.data) }\n"
                                 "__per_cpu_start = .; .data..percpu : { *(.data..percpu) } __per_cpu_end = .; }\n"}, "-Wl,-T,k.ld", "-Wl,-e,start_kernel", "-mcmodel=kernel", "-fno-pic")
    assert definition(k, "start_kernel all") == {"start_kernel": ["start_kernel+0", "all=@all+0:s32"]}
    refused(k, "start_kernel own", "it is each CPU's own")


def test_namespaces(tmp_path):
    """clang has functions within the entries of their namespaces."""
    p = built(tmp_path, {"n.cc": "volatile int sink;\nnamespace outer { namespace {\ninline int in(int a) { sink = a; return a * 3; }\n"
                                 "__attribute__((noinline)) int own(int y) { return in(y) + 2; }\n} }\nint main(int c) { return outer::own(c); }\n"}, tool="clang++")
    [own] = re.findall(r"\w+ t (\S*own\S*)", run("nm", p).stdout.decode())
    assert definition(p, "own y") == {"own": [place_of(p, own), "y=%di:s32"]}
    assert definition(p, "in a").keys() == {"in"}
    assert "\tint\ty\n" in probe(p, "-V", "own").stdout
