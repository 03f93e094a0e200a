#!/bin/sh
# Configure (once) and build.
# usage: build.sh release|check|threads|fuzz [ninja's targets]
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$top/build/$1
kind=$1
shift
case $kind in
release) options="--buildtype=release -Db_ndebug=false" ;;
check) options="--buildtype=debugoptimized -Db_sanitize=address,undefined -Dc_args=-fsanitize=float-cast-overflow -Dtests=true -Dwerror=true" ;;
threads) options="--buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false" ;;
fuzz) # libFuzzer, and small tables, so that inputs are fast
	options="-Dtests=true -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false"
	export CC=clang CFLAGS="-fsanitize=fuzzer-no-link -DUPTO_SMALL_TABLES"
	;;
*) echo "build.sh: release, check, threads or fuzz" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086
[ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" \
	${PREFIX:+--prefix="$PREFIX"} $options
ninja -C "$dir" "$@"
