#!/usr/bin/env bash
# Builds the module sch_dualpi2 for a kernel that scripts/fetch-kernel has put into a folder: no Debian kernel has it, so its source comes from Debian's
# package of the kernel's source, and the compiler and headers from the Debian release of that kernel. They are unpacked in FOLDER/build (400 MB,
# removed afterwards), and not installed. The build runs there in a user namespace of its own.
#
#   bench/linux/dualpi2.sh FOLDER
set -euo pipefail
here=$(cd "$1" && pwd)
release=$(cat "$here/release")
version=$(echo "$release" | grep -o '^[0-9]*\.[0-9]*')
export APT_CONFIG=$(cd "$(dirname "$0")/../.." && pwd)/target/kernels/apt.conf
build=$here/build
trap 'rm -rf "$build"' EXIT
mkdir -p "$build"/{dev,proc,tmp,module,archives/partial}
for link in bin sbin lib lib64; do
    mkdir -p "$build/usr/$link"
    ln -s "usr/$link" "$build/$link"
done

# With an empty list of installed packages, apt downloads all that these need, of the newest release.
: > "$build/status"
newest=(-o "Dir::State::status=$build/status" -o "Dir::Cache::archives=$build/archives" -o Debug::NoLocking=1)
apt-get -qq -y "${newest[@]}" --no-install-recommends --download-only install "linux-headers-$release" make binutils dash coreutils grep sed gawk findutils
for file in "$build"/archives/*.deb; do
    dpkg-deb -x "$file" "$build"
done
ln -s gawk "$build/usr/bin/awk"
(cd "$build" && apt-get -qq download "linux-source-$version")
dpkg-deb --fsys-tarfile "$build"/linux-source-*.deb | tar -xO "./usr/src/linux-source-$version.tar.xz" |
    tar -xJO "linux-source-$version/net/sched/sch_dualpi2.c" > "$build/module/sch_dualpi2.c"
echo 'obj-m := sch_dualpi2.o' > "$build/module/Makefile"

unshare --map-root-user --mount /bin/sh -ec "mount --rbind /dev '$build/dev'; mount --rbind /proc '$build/proc'
    exec chroot '$build' /usr/bin/env -i PATH=/usr/bin make -s -C '/usr/src/linux-headers-$release' M=/module modules"
cp "$build/module/sch_dualpi2.ko" "$here/modules/99-sch_dualpi2.ko"
