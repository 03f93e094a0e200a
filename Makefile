# SPDX-License-Identifier: GPL-2.0-or-later
# The front door; the build is Meson's.

empty :=
space := $(empty) $(empty)

# says what is missing, and installs nothing
all:
	scripts/deps.sh --look build
	scripts/build.sh release

# installs what is missing, where there is apt: all that build and demo want, or SETS="build demo check bench"
deps:
	scripts/deps.sh $(SETS)

demo:
	scripts/deps.sh build demo
	scripts/build.sh release
	scripts/demo.sh

# TESTS='a b' runs those that have either in their names
NAMES = $(if $(TESTS),-k '$(subst $(space), or ,$(strip $(TESTS)))')
built:
	scripts/deps.sh check
	scripts/build.sh release
	scripts/build.sh check

check: built
	scripts/pytest.sh $(NAMES)

# What takes longer: parts of less than 40 minutes on two cores, and check-kernels and check-built, of an hour and a half
# or more. What one of them finds stays in build/ by its name: inputs in tests/crashes, recordings in tests or tests-sid, what failed tests said in failed/ there.

# libFuzzer, SECONDS_EACH for each of TARGETS='calls trace' or all, two at a time
SECONDS_EACH = 140
fuzz:
	scripts/deps.sh check
	UPTO_FUZZ_SECONDS=$(SECONDS_EACH) scripts/pytest.sh tests/test_fuzz.py -m fuzz \
		$(if $(TARGETS),-k '$(subst $(space), or ,$(strip $(TARGETS)))')

# other releases of the kernel and other numbers of vCPUs, and more ways to slow a guest down or to choose from it
check-kernels: built
	scripts/deps.sh kernels
	scripts/pytest.sh -m '(kernels or long) and not built' $(NAMES)

# kernels that the tests compile: with debug information, by clang, with few options, PREEMPT_RT, KASAN and lockdep
check-built: built
	scripts/deps.sh kernels
	scripts/pytest.sh -m built $(NAMES)

# what is held against the outside, under Debian's newest QEMU
check-qemus: built
	scripts/guest-qemu.sh sid build/qemu/sid
	UPTO_TEST_QEMU=build/qemu/sid/bin UPTO_TEST_WORK=tests-sid scripts/pytest.sh -m 'qemus and not kernels and not built' $(NAMES)

# guests that the host has hardly any time for: what is true must not depend on its speed
THROTTLED = boots chosen code ending events history latency past smp thin truth whole why
check-throttled: built
	UPTO_TEST_QEMU=tests/throttled UPTO_TEST_WORK=tests-throttled scripts/pytest.sh $(THROTTLED:%=tests/test_%.py) $(NAMES)

# do the tests notice COUNT small changes, drawn by SEED, in rooms ROOM='trace replay' or all? Takes two hours for 100
COUNT = 100
mutants:
	scripts/deps.sh check
	scripts/mutants.py --count $(COUNT) $(if $(SEED),--seed $(SEED)) $(addprefix --room ,$(ROOM))

# one after the other, whatever -j says; the others, too, where one fails. It takes some three hours on two cores
# that do nothing else, as its parts add up; check-built goes alone: for changes of guest/ and of recorder/kernel
check-all:
	@failed=; for part in check check-throttled check-kernels check-qemus fuzz; do $(MAKE) $$part || failed="$$failed $$part"; done; \
		if [ -n "$$failed" ]; then echo "check-all: failed:$$failed" >&2; exit 1; fi

bench:
	scripts/deps.sh bench
	scripts/build.sh release
	bench/run.py $(BENCH)

# prefix=/usr and DESTDIR=… as usual
install:
	scripts/build.sh release
	$(if $(prefix),meson configure build/release --prefix='$(prefix)')
	ninja -C build/release
	DESTDIR='$(DESTDIR)' meson install -C build/release --no-rebuild

clean:
	rm -rf build/release build/check

.PHONY: all deps demo built check fuzz mutants check-built check-kernels check-qemus check-throttled check-all bench install clean
