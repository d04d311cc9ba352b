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
# agree.sh measures a newer kernel and more disciplines. Debian packages: those of boot.sh, and xz-utils
set -euo pipefail
cd "$(dirname "$0")"
../../scripts/fetch-kernel 6.1 ../../target/linux/6.1 veth sch_choke sch_netem sch_tbf sch_codel sch_fq_codel sch_red sch_sfb
./boot.sh 6.1 run.guest "rate=${1:-40000}" "seconds=${2:-25}" "disciplines=${*:3}" "burst=${BURST:-1600}" "hosts=${HOSTS:-all}" "slow=${SLOW:-1}"
