#!/bin/sh
# An apt of its own for another Debian suite than the host's, or for another architecture: its lists and cache lie below
# DIR, and nothing of the host is touched. The mirror is the host's own.
# usage: suite-apt.sh SUITE DIR [TYPES [ARCHITECTURE]]   (default: deb; "deb deb-src" knows sources, too)
#   prints the configuration file, for "apt-get -c FILE" and "apt-cache -c FILE"
set -eu
suite=$1 arch=${4:-amd64}
mkdir -p "$2"
dir=$(cd "$2" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

exec 9>"$dir/lock"
flock 9
if [ -s "$dir/done" ]; then
	echo "$dir/apt.conf"
	exit 0
fi
[ -f "$keyring" ] || { echo "suite-apt.sh: no $keyring: install debian-archive-keyring" >&2; exit 1; }
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" "Created-By: Packages" 'Component: main' | head -n 1)
if [ -z "$mirror" ]; then
	echo "suite-apt.sh: apt has no source for $release, whose mirror might have $suite" >&2
	exit 1
fi
mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/parts"
: >"$dir/status"
cat >"$dir/suite.sources" <<END
Types: ${3:-deb}
URIs: $mirror
Suites: $suite
Components: main
Architectures: $arch
Signed-By: $keyring
END
# read after the host's own configuration, of which the proxies are wanted and the hooks are not
cat >"$dir/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
APT::Architecture "$arch";
APT::Architectures "$arch";
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Dir::State "$dir";
Dir::State::lists "$dir/lists";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/suite.sources";
Dir::Etc::sourceparts "$dir/parts";
Dir::Etc::preferences "$dir/preferences";
Dir::Etc::preferencesparts "$dir/parts";
END
# an unknown suite is only a warning to apt-get update: what counts is that there are packages
apt-get -c "$dir/apt.conf" -q update >"$dir/update.log" 2>&1 || true
if ! apt-cache -c "$dir/apt.conf" show apt >/dev/null 2>&1; then
	grep -E '^(Err|E|W):' "$dir/update.log" | head -3 >&2
	echo "suite-apt.sh: $mirror has no $suite" >&2
	exit 1
fi
echo "$suite" >"$dir/done"
echo "$dir/apt.conf"
