#!/usr/bin/env bash
# Measures the disciplines of Linux 6.1 with its own hosts, for a comparison with the simulator: four flows of cubic from a sender to a receiver over a
# router with tbf and the discipline, in a virtual machine. Its clock counts instructions, so that other work on this machine does not change
# the results. First with the hosts' defaults, then without compressed acknowledgements, then without segmentation offload too.
#
#   bench/linux/run.sh [KBIT [SECONDS [DISCIPLINE...]]]     default: 40000 25 fifo codel fq_codel red choke sfb
#
# One thing can be moved at a time, by variables: SHIFT=1 makes the processor half as fast (an instruction takes 2^SHIFT ns), BURST=3000 gives tbf a larger
# bucket (bytes), HOSTS=defaults leaves the other kinds of hosts out. SLOW=2 halves the rate, and doubles the round trip and codel's times: the same in
# packets, and a processor that is twice as fast beside it. With each result is how much of the processor's time was used.
#
# It needs no root and no KVM. The kernel is Debian's of bookworm: the package is downloaded through apt, unpacked in target/linux, and not installed.
# Debian packages: qemu-system-x86 busybox-static iproute2 procps dash cpio gcc libc6-dev
set -euo pipefail
cd "$(dirname "$0")"
rate=${1:-40000}
seconds=${2:-25}
disciplines=${*:3}
work=$PWD/../../target/linux

if [ ! -f "$work/vmlinuz" ]; then
    mkdir -p "$work/package" "$work/modules"
    package=$(apt-cache pkgnames linux-image-6.1.0- | grep -E '^linux-image-6\.1\.0-[0-9]+-cloud-amd64$' | sort -V | tail -n 1)
    [ -n "$package" ] || { echo "there is no cloud kernel 6.1 in apt's lists (Debian 12)" >&2; exit 1; }
    (cd "$work/package" && apt-get -qq download "$package" && dpkg-deb -x "$package"*.deb .)
    for module in veth sch_choke sch_netem sch_tbf sch_codel sch_fq_codel sch_red sch_sfb; do
        find "$work/package" -name "$module.ko" -exec cp {} "$work/modules" \;
    done
    cp "$work"/package/boot/vmlinuz-* "$work/vmlinuz"
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
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
cp -r "$work/modules" guest.sh "$root"
printf '#!/bin/busybox sh\n/bin/busybox --install -s /bin\nexec /tools/dash /guest.sh\n' > "$root/init"
chmod +x "$root/init"
printf 'rate=%s seconds=%s disciplines="%s" burst=%s hosts=%s slow=%s\n' "$rate" "$seconds" "${disciplines:-fifo codel fq_codel red choke sfb}" "${BURST:-1600}" \
    "${HOSTS:-all}" "${SLOW:-1}" > "$root/settings"
files=$(mktemp "$work/files.XXXXXX")
trap 'rm -rf "$root" "$files"' EXIT
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) > "$files"

# An instruction takes a nanosecond of its time, and idle time passes at once.
qemu-system-x86_64 -accel tcg,thread=single -icount "shift=${SHIFT:-0},sleep=off" -cpu max -smp 1 -m 768 -nographic -no-reboot -kernel "$work/vmlinuz" \
    -initrd "$files" -append "console=ttyS0 quiet panic=-1" < /dev/null 2>&1 |
    sed -u 's/\r//g' | grep --line-buffered -a -o -E 'Linux [0-9].*|^(defaults|no |tc:|RTNETLINK).*'
