#!/bin/sh
# Bring a package of npm's, as it is published, without what it depends on: for programs that tests read exports with.
# usage: npm-package.sh NAME VERSION SHA512 DIR
#   SHA512  of the package's file, in base64; another one is refused
#   DIR     gets what is in the package
set -eu
name=$1 version=$2 sha512=$3
mkdir -p "$4"
dir=$(cd "$4" && pwd)
[ -e "$dir/.whole" ] && exit 0
command -v npm >/dev/null || { echo "no npm" >&2; exit 1; }

tmp=$(mktemp -d "$dir/tmp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
(cd "$tmp" && npm pack --silent "$name@$version" >pack.log 2>&1) || { tail -n 3 "$tmp/pack.log" >&2; exit 1; }
found=$(openssl dgst -sha512 -binary "$tmp"/*.tgz | base64 -w0)
[ "$found" = "$sha512" ] || { echo "$name@$version: is another file: sha512 $found" >&2; exit 1; }
tar -xzf "$tmp"/*.tgz -C "$dir" --strip-components=1
: >"$dir/.whole"
