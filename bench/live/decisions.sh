#!/bin/sh
# How long the kernel's programs take to decide about an arrival whose time and headers are known: the law, the state, the counters, and looking up the
# maps of the program, as the kernel measures it in the replays of crates/live/tests/kernel (BPF_PROG_TEST_RUN, 12,000 arrivals a replay).
#
#   sudo -E bench/live/decisions.sh [ROUNDS]
#
# needs cargo. A line has the least, the median and the most of all replays of a discipline, with several settings each; other work on the machine only adds.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-5}
times=$(mktemp)
trap 'rm "$times"' EXIT
for _ in $(seq "$rounds"); do
    said=$(cargo test --quiet --locked -p aqmkit-live --test kernel replays -- --nocapture 2>&1) || { echo "$said" >&2; exit 1; }
    echo "$said" | grep -oE '[a-z]+: [0-9]+ ns a decision' >> "$times" || { echo "This kernel does not replay the programs: $said" >&2; exit 1; }
done
sort -k 1,1 -k 2,2n "$times" | awk '
    function tell() { if (n) printf "%-6s %3d ns, median %3d, most %3d (%d replays)\n", name, all[1], all[int((n + 1) / 2)], all[n], n }
    { sub(":", "", $1); if ($1 != name) { tell(); name = $1; n = 0 } all[++n] = $2 }
    END { tell() }'
