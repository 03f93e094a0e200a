# SPDX-License-Identifier: GPL-2.0-or-later
# The front door; the build is Meson's.

all: build-deps
	scripts/build.sh release

build-deps:
	scripts/deps.sh build

demo: all
	scripts/demo.sh

check:
	scripts/deps.sh check
	scripts/build.sh release
	scripts/build.sh check
	tests/run.py $(TESTS)

bench: all
	scripts/deps.sh bench
	bench/run.py $(BENCH)

# prefix=/usr and DESTDIR=… as usual
install:
	scripts/build.sh release
	$(if $(prefix),meson configure build/release --prefix='$(prefix)')
	ninja -C build/release
	DESTDIR='$(DESTDIR)' meson install -C build/release --no-rebuild

clean:
	rm -rf build/release build/check

.PHONY: all build-deps demo check bench install clean
