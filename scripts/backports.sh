#!/bin/sh
# Make sure that apt knows the backports of this Debian release, packages and sources. Needs root or sudo.
# The mirror is the one that the release itself comes from.
set -eu
if [ "$(. /etc/os-release && echo "$ID")" != debian ]; then
	echo "upto: this release has no QEMU that is new enough, and only Debian's backports are known here" >&2
	exit 1
fi
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
list=/etc/apt/sources.list.d/upto-backports.sources
if [ "$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi

known() { apt-get indextargets --format '$(CREATED_BY) $(CODENAME)' | grep -q "^$1 $release-backports$"; }
known Packages && known Sources && exit 0

mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" "Created-By: Packages" | head -n 1)
if [ -z "$mirror" ]; then
	echo "upto: apt has no source for $release: run 'apt-get update' as root" >&2
	exit 1
fi
$as_root tee "$list" >/dev/null <<END
Types: deb deb-src
URIs: $mirror
Suites: $release-backports
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
$as_root apt-get -q update
