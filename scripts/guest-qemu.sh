#!/bin/sh
# Bring the QEMU of another Debian suite than the host's, with all that it needs: unpacked below a folder, never
# installed on the host.
# usage: guest-qemu.sh SUITE DIR
#   DIR  gets bin/qemu-system-x86_64, a script that runs it with its own C library, firmware and modules
set -eu
here=$(cd "$(dirname "$0")" && pwd)
suite=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
[ -x "$dir/bin/qemu-system-x86_64" ] && exit 0

conf=$("$here/suite-apt.sh" "$suite" "$(dirname "$dir")/apt-$suite")
rm -rf "$dir/root"
mkdir -p "$dir/root" "$dir/bin" "$dir/packages/partial"
apt-get -c "$conf" -q -y --no-install-recommends --download-only -o Dir::Cache::archives="$dir/packages" \
	install qemu-system-x86 >"$dir/apt.log" 2>&1 || { tail -n 3 "$dir/apt.log" >&2; exit 1; }
for package in "$dir"/packages/*.deb; do dpkg-deb -x "$package" "$dir/root"; done
rm -rf "$dir/packages"

# suites with a merged /usr have their libraries there alone
cat >"$dir/bin/new" <<END
#!/bin/sh
root='$dir/root'
libraries=\$root/usr/lib/x86_64-linux-gnu
loader=\$libraries/ld-linux-x86-64.so.2
QEMU_MODULE_DIR=\$libraries/qemu exec "\$loader" --argv0 qemu-system-x86_64 --library-path "\$libraries" \\
	"\$root/usr/bin/qemu-system-x86_64" -L "\$root/usr/share/qemu" -L "\$root/usr/share/seabios" \\
	-L "\$root/usr/lib/ipxe/qemu" "\$@"
END
chmod 755 "$dir/bin/new"
"$dir/bin/new" --version
mv "$dir/bin/new" "$dir/bin/qemu-system-x86_64"
