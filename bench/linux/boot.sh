#!/usr/bin/env bash
# Boots a kernel that is in target/linux/VERSION in a virtual machine, builds the network of guest.sh there, and runs JOBS in it, with the settings
# (NAME=VALUE). Prints what the jobs print. The clock of the virtual machine counts instructions, so that other work on this machine does not change the
# results. It needs no root and no KVM.
#
#   bench/linux/boot.sh VERSION JOBS NAME=VALUE...
#
# SHIFT=1 makes the processor half as fast (an instruction takes 2^SHIFT ns).
# Debian packages: qemu-system-x86 busybox-static iproute2 procps dash cpio gcc libc6-dev
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD/../../target/linux/$1
jobs=$2
shift 2

root=$(mktemp -d)
files=$(mktemp "$here/files.XXXXXX")
trap 'rm -rf "$root" "$files"' EXIT
mkdir -p "$root"/{bin,tools,proc,sys,dev,tmp,run}
cp "$(command -v busybox)" "$root/bin/busybox"
for tool in tc ip dash sysctl; do
    cp "$(command -v "$tool")" "$root/tools/$tool"
done
gcc -O2 -static -o "$root/tools/measure" measure.c
for program in "$root"/tools/*; do
    ldd "$program" 2> /dev/null | grep -o '/[^ ]*' || true
done | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
cp -r "$here/modules" guest.sh "$root"
cp "$jobs" "$root/jobs"
printf '#!/bin/busybox sh\n/bin/busybox --install -s /bin\nexec /tools/dash /guest.sh\n' > "$root/init"
chmod +x "$root/init"
for setting in "$@"; do
    printf "%s='%s'\n" "${setting%%=*}" "${setting#*=}"
done > "$root/settings"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$files"

# An instruction takes a nanosecond of its time, and idle time passes at once.
qemu-system-x86_64 -accel tcg,thread=single -icount "shift=${SHIFT:-0},sleep=off" -cpu max -smp 1 -m 768 -nic none -nographic -no-reboot \
    -kernel "$here/vmlinuz" -initrd "$files" -append "console=ttyS0 quiet panic=-1" < /dev/null 2>&1 |
    sed -u 's/\r//g' | sed -un '/^Linux [0-9]/,${/reboot: Power down/!p}'
