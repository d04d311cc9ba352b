#!/bin/sh
# TCP in both directions at once through `aqmkit bridge`, `shape` and `link`, with one thread for both directions and with one for each, in turns in
# one run.
#
#   sudo bench/live/both_ways.sh [SECONDS [ROUNDS [RATE]]]
#
# needs iperf3, ip, ethtool and jq, and builds aqmkit first unless AQMKIT names one; several, separated by spaces, are compared. One that has no
# --threads is measured without it. Every bottleneck has RATE (10gbit) in each direction and a first-in first-out queue; one connection sends each way. A
# line has what was received in each direction, the processor time of the bottleneck's process for each Gbit, and the lateness of departures
# that 99 % of the packets do not exceed: medians of the rounds, for the processor time the least.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-3}
rounds=${2:-3}
rate=${3:-10gbit}
. bench/live/build.sh
. bench/live/namespaces.sh

# note NAME CPU: adds a round to what is known of NAME, from out.json of iperf3 and from the summary late.json.
note() {
    grep -qx "$1" "$work/names" 2>/dev/null || echo "$1" >> "$work/names"
    late=$(jq '.lateness_ms.p99 * 1000' "$work/late.json")
    jq -r --argjson cpu "$2" --argjson late "$late" '[.end.sum_received, .end.sum_received_bidir_reverse] as [$there, $back]
        | [$there.bits_per_second / 1e9, $back.bits_per_second / 1e9, $cpu / (($there.bytes + $back.bytes) * 8 / 1e9), $late]
        | @tsv' "$work/out.json" >> "$work/$1"
}

# beside NAME NAMESPACE AQMKIT OPTIONS: through a bottleneck that a process keeps in a namespace.
beside() {
    # shellcheck disable=SC2086
    ip netns exec "$2" "$3" -q $4 --rate "$rate" --aqm fifo:limit=2000 --json > "$work/late.json" 2> /dev/null &
    process=$!
    sleep 2
    before=$(used "$process")
    ip netns exec "$left" iperf3 -c 10.7.0.2 -t "$seconds" --bidir -J > "$work/out.json" || true
    after=$(used "$process")
    kill "$process"
    wait "$process" 2>/dev/null || true
    process=
    note "$1" "$(awk -v a="$after" -v b="$before" 'BEGIN { print a - b }')"
}

# linked NAME AQMKIT OPTIONS: through a link.
linked() {
    # shellcheck disable=SC2086
    "$2" -q link $3 --rate "$rate" --aqm fifo:limit=2000 --server 'iperf3 -s' --out "$work/late.json" \
        -- sh -c "iperf3 -c \$AQMKIT_BASE -t $seconds --bidir -J > $work/out.json" > /dev/null 2>&1 || true
    note "$1" "$(jq .machine.cpu_s "$work/late.json")"
}

# with NAME AQMKIT OPTIONS: every bottleneck of a program with these options.
with() {
    connect_through_middle
    segmentation on
    beside "$1 bridge" "$middle" "$2" "bridge b0 b1 $3"
    segmentation off
    beside "$1 bridge, AF_XDP" "$middle" "$2" "bridge b0 b1 --io af-xdp $3"
    connect_directly
    segmentation on
    beside "$1 shape" "$left" "$2" "shape l0 --ingress-rate $rate $3"
    linked "$1 link" "$2" "$3"
}

ip netns exec "$right" iperf3 -s > /dev/null 2>&1 &
sleep 1
for _ in $(seq "$rounds"); do
    number=0
    for aqmkit in $AQMKIT; do
        number=$((number + 1))
        name=$([ "$AQMKIT" = "$aqmkit" ] && echo aqmkit || echo "aqmkit $number")
        if "$aqmkit" bridge --help | grep -q -e --threads; then
            for threads in 1 2; do with "$name, threads $threads," "$aqmkit" "--threads $threads"; done
        else
            with "$name" "$aqmkit" ""
        fi
    done
done
printf '%-40s %9s %9s %9s %12s\n' "one TCP connection each way" "Gbit/s" "and back" "CPU s/Gb" "late p99 us"
sort "$work/names" | while read -r name; do
    file="$work/$name"
    printf '%-40s %9.2f %9.2f %9.3f %12.0f\n' "$name" "$(median "$file" 1)" "$(median "$file" 2)" "$(least "$file" 3)" "$(median "$file" 4)"
done
