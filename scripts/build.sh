#!/bin/sh
# Configure (once) and build.
# usage: build.sh release|check|threads|fuzz [ninja's targets]
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$top/build/$1
kind=$1
shift
mkdir -p "$top/build"
case $kind in
release) options="--buildtype=release -Db_ndebug=false" ;;
check) # small chunks, so that what depends on where one begins is seen
	options="--buildtype=debugoptimized -Db_sanitize=address,undefined -Dtests=true -Dwerror=true"
	export CFLAGS="-fsanitize=float-cast-overflow -DUPTO_SMALL_CHUNKS"
	;;
threads) options="--buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false" ;;
fuzz) # libFuzzer, and small tables, so that inputs are fast
	options="-Dtests=true -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false"
	export CC=clang CFLAGS="-fsanitize=fuzzer-no-link -DUPTO_SMALL_TABLES"
	;;
*) echo "build.sh: release, check, threads or fuzz" >&2; exit 2 ;;
esac
# what the page is built with; without it upto has no report
web=$top/web
if command -v npm >/dev/null && ! [ "$web/node_modules/.package-lock.json" -nt "$web/package-lock.json" ]; then
	(flock 9; cd "$web" && npm ci --ignore-scripts --no-audit --no-fund --silent) 9>"$top/build/npm.lock" ||
		echo "build.sh: npm cannot bring what the page is built with: no upto report" >&2
fi
# shellcheck disable=SC2086
[ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" \
	${PREFIX:+--prefix="$PREFIX"} $options
ninja -C "$dir" "$@"
