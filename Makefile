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

# what is held against the outside, once more under Debian's newest QEMU
ORACLES = ftrace or entries or strace or deterministic or gdbstub or stacks or ps or calls or program or modules or mappings or boots

# TESTS='a b' runs those that have either in their names; check-all runs also what takes hours
check check-all:
	scripts/deps.sh check
	scripts/build.sh release
	scripts/build.sh check
	$(if $(filter check-all,$@),scripts/guest-qemu.sh sid build/qemu/sid)
	$(if $(filter check-all,$@),UPTO_TEST_QEMU=build/qemu/sid/bin scripts/pytest.sh -k '$(ORACLES)')
	scripts/pytest.sh $(if $(filter check-all,$@),--all) $(if $(TESTS),-k '$(subst $(space), or ,$(strip $(TESTS)))')

# libFuzzer, SECONDS_EACH for each of TARGETS='calls trace' or all, two at a time: 40 minutes on two cores
SECONDS_EACH = 220
fuzz:
	scripts/deps.sh check
	UPTO_FUZZ_SECONDS=$(SECONDS_EACH) scripts/pytest.sh tests/test_fuzz.py \
		-k 'explore$(if $(TARGETS), and ($(subst $(space), or ,$(strip $(TARGETS)))))'

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

.PHONY: all deps demo check check-all fuzz bench install clean
