#!/bin/sh
# What the live link carries: real TCP at several rates, and the smallest packets, beside bare loops over TUN devices, AF_PACKET
# and AF_XDP in the same run.
#
#   sudo bench/live/run.sh [SECONDS]
#
# needs iperf3, ip and jq, and builds aqmkit and the bare loop first. Each line is one run: what the receiver got, what share
# of the link's rate that is, how late packets were handed on, and how much of a core the link took.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-5}
cargo build --release --quiet -p aqmkit
cargo build --release --quiet -p aqmkit-live --example bare
target=${CARGO_TARGET_DIR:-target}/release
aqmkit=$target/aqmkit
bare=$target/examples/bare
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

late() { jq -r '"late p50 \(.lateness_ms.p50 * 1000 | round) us, p99 \(.lateness_ms.p99 * 1000 | round) us, max \(.lateness_ms.max * 1000 | round) us; \(.machine.cpu_s / .duration_s * 100 | round) % of a core\(if .valid then "" else "; NOT VALID: " + (.doubts | join("; ")) end)"' "$1"; }

tcp='iperf3 -R -J -c $AQMKIT_BASE -t '$seconds' > '$work'/tcp.json'
for rate in 40 100 200 400 800; do
    "$aqmkit" -q link --rate ${rate}mbit --delay 5ms --aqm fifo:limit=500 --cc cubic --server 'iperf3 -s' --out "$work/link.json" \
        -- sh -c "$tcp" 2>/dev/null || true
    got=$(jq '.end.sum_received.bits_per_second / 1e6 | round' "$work/tcp.json")
    printf 'TCP at %s Mbit/s: %s Mbit/s received; %s\n' "$rate" "$got" "$(late "$work/link.json")"
done
for kind in tun packet xdp; do
    "$bare" $kind 'iperf3 -s' "$tcp" 2> "$work/cost" || true
    printf 'TCP over the bare loop, %s: %s Mbit/s received; %s\n' $kind \
        "$(jq '.end.sum_received.bits_per_second / 1e6 | round' "$work/tcp.json")" "$(tail -n 1 "$work/cost")"
done

udp='iperf3 -u -b 0 -l 18 -J -c $AQMKIT_BASE -t '$seconds' > '$work'/udp.json'
pps='(.end.sum.packets - .end.sum.lost_packets) / .end.sum.seconds / 1000 | round'
"$aqmkit" -q link --rate 10gbit --aqm fifo:limit=1000 --server 'iperf3 -s' --out "$work/link.json" -- sh -c "$udp" 2>/dev/null || true
printf '46-byte packets over the link: %s kpps received; %s\n' "$(jq "$pps" "$work/udp.json")" "$(late "$work/link.json")"
for kind in tun packet xdp; do
    "$bare" $kind 'iperf3 -s' "$udp" 2> "$work/cost" || true
    printf '46-byte packets over the bare loop, %s: %s kpps received; %s\n' $kind "$(jq "$pps" "$work/udp.json")" "$(tail -n 1 "$work/cost")"
done
