#!/bin/sh
# Run the tests with a Python that has pytest and xdist: the user's own, else the system's.
# usage: pytest.sh [pytest's arguments]
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
for python in python3 /usr/bin/python3; do
	if "$python" -c 'import pytest, xdist' 2>/dev/null; then
		cd "$top"
		exec "$python" -m pytest "$@"
	fi
done
echo "upto: the tests need pytest and pytest-xdist (Debian: python3-pytest python3-pytest-xdist)" >&2
exit 1
