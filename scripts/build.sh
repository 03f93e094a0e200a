#!/bin/sh
# Configure (once) and build.
# usage: build.sh release|check|threads
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$top/build/$1
case $1 in
release) options="--buildtype=release -Db_ndebug=false" ;;
check) options="--buildtype=debugoptimized -Db_sanitize=address,undefined -Dc_args=-fsanitize=float-cast-overflow -Dtests=true -Dwerror=true" ;;
threads) options="--buildtype=debugoptimized -Db_sanitize=thread -Db_lundef=false" ;;
*) echo "build.sh: release, check or threads" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086
[ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" \
	${PREFIX:+--prefix="$PREFIX"} $options
ninja -C "$dir"
