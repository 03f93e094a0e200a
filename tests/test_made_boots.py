# SPDX-License-Identifier: GPL-2.0-or-later
"""Made traces of several boots."""
import pytest

from guest import UPTO, upto_json
from made import KERNEL, make


@pytest.mark.parametrize("found", (False, True))
def test_first_kernel_not_found(found):
    """A first boot whose kernel was not found has none of the names of the next boot's, at the addresses for which that one is linked."""
    slide = 0x1000000
    trace = make(f"boots-{found}", [
        "meta kernel_ns 100", "meta kernel_insns 1", *([] if found else [f"meta symbols {2 ** 64 - 1}"]),
        "meta boot.1.start_ns 1000000", "meta boot.1.by reset", "meta boot.1.kernel_ns 1500000", "meta boot.1.kernel_insns 2000",
        "meta boot.1.symbols 0", f"meta boot.1.slide {slide}", ("symbol", KERNEL, 0x100, "outer"), ("symbol", KERNEL + 0x100, 0x100, "inner"),
        *(line for insns, ns, base in ((10, 200, KERNEL), (3000, 1600000, KERNEL + slide)) for line in (
            ("event 0 clock", insns, ns, "0 0 0"), ("event 0 call", insns + 10, ns + 10, "0xffff888000001000", base + 0x10, base + 0x100),
            ("event 0 clock", insns + 20, ns + 20, "0 0 0"), ("event 0 return", insns + 30, ns + 30, "0xffff888000001000 0", base + 0x10),
            ("event 0 clock", insns + 40, ns + 40, "0 0 0")))])
    calls = upto_json("calls", "--json", "-F", "inner", trace, upto=UPTO)["calls"]
    assert len(calls) == 1 + found, calls
