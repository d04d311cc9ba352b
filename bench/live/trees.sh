#!/bin/sh
# Trees of queues: the kernel's own, built with tc, beside the same tree simulated by aqmkit.
#
#   sudo bench/live/trees.sh [SECONDS [WORD]]
#
# needs ip, tc and python3, and builds aqmkit first unless AQMKIT names one. Flows of datagrams at constant rates go from one network namespace to another, over an
# interface with the tree (default: 10 seconds). A line has the rate of a flow that arrives, with MAC headers, which the kernel counts, and its mean delay; of the kernel and
# simulated. Rates are to agree to 10 %, delays to 20 % or 1 ms; the exit status says whether all do. Trees that this kernel lacks are named and left out; `scripts/kernels 7.3 bench trees`
# runs this script in a virtual machine, with a kernel that has them. WORD: only trees with it in their names. A busy machine delays
# senders and receivers: repeat the command before you believe a difference.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
    echo "skipped: network namespaces need root"
    exit 0
fi
. bench/live/build.sh
. bench/live/namespaces.sh
at_end() { :; }
connect_directly
for end in "$left l0" "$right r0"; do
    ip netns exec "${end% *}" ethtool -K "${end#* }" tso off gso off tx off > /dev/null 2>&1 || true
done
python3 bench/live/trees.py "$AQMKIT" "$left" "$right" "$work" "${1:-10}" "${2:-}"
