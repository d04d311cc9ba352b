#!/usr/bin/env bash
# Puts the simulator beside the disciplines of Linux 7.3: four bulk transfers and a sparse flow (200 bytes each 20 ms) through each of them, between the
# kernel's own hosts in a virtual machine whose clock counts instructions, and the same in the simulator (agree.toml). Prints both as a table, and how many
# values are within the rule of agree.py.
#
#   bench/linux/agree.sh [KBIT [SECONDS [CASE...]]]     default: 10000 35 and all cases: a discipline, with +ecn for cubic with ECN, +dctcp for
#                                                       DCTCP, or +both for two flows of each; fq+maxrate
#
# The kernel is Debian's (trixie-backports): its packages are downloaded through apt, unpacked in target/linux, and not installed. sch_dualpi2, which Debian
# leaves out, is built from the kernel's source (dualpi2.sh: 300 MB of packages; without it, its cases are left out). The virtual machine needs no root and
# no KVM. MEASURED=FILE takes a measurement that was made before, such as linux-7.3.txt, from this folder. AQMKIT names the command if it is built already.
# Debian packages: those of boot.sh, and xz-utils python3
set -euo pipefail
cd "$(dirname "$0")"
rate=${1:-10000}
seconds=${2:-35}
cases=${*:3}
work=../../target/linux/7.3
mkdir -p "$work"
if [ -z "${MEASURED:-}" ]; then
    ../../scripts/fetch-kernel 7.3 "$work" veth sch_tbf sch_netem sch_codel sch_fq_codel sch_red sch_choke sch_sfb sch_pie sch_fq_pie sch_hhf sch_sfq \
        sch_cake sch_fq tcp_dctcp
    [ -f "$work/modules/99-sch_dualpi2.ko" ] || ./dualpi2.sh "$work" || echo "dualpi2 is left out: its module could not be built" >&2
    MEASURED=$work/measured-$rate.txt
    ./boot.sh 7.3 agree.guest "rate=$rate" "seconds=$seconds" "cases=${cases:-fifo codel red choke sfb pie fq_codel fq_pie hhf sfq fq cake dualpi2 \
        fq+maxrate codel+ecn pie+ecn fq_codel+ecn cake+ecn dualpi2+dctcp dualpi2+both}" | tee "$MEASURED"
fi
if [ -z "${AQMKIT:-}" ]; then
    cargo build --release --locked --quiet -p aqmkit
    AQMKIT=${CARGO_TARGET_DIR:-../../target}/release/aqmkit
fi
"$AQMKIT" -q run agree.toml --set "topology.rate=$((rate * 1514 / 1500))kbit" --set "params.cake.bandwidth=${rate}kbit" \
    --set "duration=$((seconds - 5))s" --out "$work/simulated-$rate" > /dev/null
./agree.py "$MEASURED" "$work/simulated-$rate/summary.csv"
