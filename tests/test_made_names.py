# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that kernels of other versions call otherwise: traces that are made."""
from guest import UPTO_ASAN, upto_json
from made import KERNEL, make
from test_made import STACK, boot


def test_kasan_before_5_12():
    """KASAN is folded as in later kernels, where check_memory_region() was not yet kasan_check_range()."""
    work, check, load = (KERNEL + 0x1000 * i for i in (1, 2, 3))
    for name in "check_memory_region", "kasan_check_range":
        symbols = (KERNEL, 0x100, "startup_64"), (work, 0x100, "do_work"), (check, 0x100, name), (load, 0x100, "__asan_load8")
        trace = make("kasan-" + name, boot(f"event 0 call 100 0 {STACK} {KERNEL + 0x20} {work}", f"event 0 call 110 0 {STACK - 64} {work + 8} {load}",
                                           f"event 0 call 115 0 {STACK - 128} {load + 8} {check}", f"event 0 return 125 0 {STACK - 128} 0 {load + 8}",
                                           f"event 0 return 130 0 {STACK - 64} 0 {work + 8}", f"event 0 return 200 0 {STACK} 0 {KERNEL + 0x20}",
                                           "event 0 clock 300 300 0 0 0", symbols=symbols))
        top = upto_json("top", "--json", trace, upto=UPTO_ASAN)
        assert top["instruments"]["KASAN"]["insns"] == 20, (name, top)
        assert {f["function"]: f["self_insns"] for f in top["functions"]}["do_work"] == 100, (name, top)
