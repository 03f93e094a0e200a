#!/bin/sh
# Configure (once) and build.
# usage: build.sh release|check
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
dir=$top/build/$1
case $1 in
release) options="--buildtype=release -Db_ndebug=false" ;;
check) options="--buildtype=debugoptimized -Db_sanitize=address,undefined -Dc_args=-fsanitize=float-cast-overflow -Dtests=true -Dwerror=true" ;;
*) echo "build.sh: release or check" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086
[ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" \
	${PREFIX:+--prefix="$PREFIX"} $options
ninja -C "$dir"
