#!/bin/sh
# How many small packets a second pass between two interfaces, one by one: through the kernel's own bridge, through the kernel's tbf behind it, and
# through `aqmkit bridge` by its two kinds of input and output, in turns in one run.
#
#   sudo bench/live/packets.sh [SECONDS [ROUNDS]]
#
# needs ip, tc, python3 and jq, and builds aqmkit first unless AQMKIT names one; several, separated by spaces, are compared. A sender makes frames of 64 bytes as
# fast as a core can (bench/live/flood.py); on veth that core also does the kernel's work for each as far as the middle, so that it sends no more than
# the kernel's own bridge passes on. A line has the packets that were sent, those that arrived, both in
# millions a second, and the processor time of the bridge's process for each that arrived: medians of the rounds.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-3}
rounds=${2:-3}
. bench/live/build.sh
. bench/live/namespaces.sh
connect_through_middle
arrived() { ip -n "$right" -j -s link show r0 | jq '.[0].stats64.rx.packets'; }

# flooded NAME PID: adds a round to what is known of NAME; PID is that of the bridge, or empty.
flooded() {
    grep -qx "$1" "$work/names" 2>/dev/null || echo "$1" >> "$work/names"
    before="$(arrived) $(used "$2")"
    sent=$(ip netns exec "$left" python3 bench/live/flood.py l0 "$seconds")
    after="$(arrived) $(used "$2")"
    echo "$sent $before $after" | awk -v s="$seconds" -v OFS='\t' '{ n = $4 - $2; print $1 / s / 1e6, n / s / 1e6, (n ? ($5 - $3) / n * 1e9 : 0) }' >> "$work/$1"
}

# bridged NAME AQMKIT IO
bridged() {
    ip netns exec "$middle" "$2" -q bridge b0 b1 --rate 10gbit --aqm fifo:limit=2000 --io "$3" > /dev/null 2>&1 &
    bridge=$!
    sleep 2
    flooded "$1" "$bridge"
    kill "$bridge"
    wait "$bridge" 2>/dev/null || true
}

for _ in $(seq "$rounds"); do
    ip -n "$middle" link add kernel type bridge mcast_snooping 0
    for port in b0 b1; do ip -n "$middle" link set $port master kernel; done
    ip -n "$middle" link set kernel up
    flooded "the kernel's bridge" ""
    tc -n "$middle" qdisc add dev b1 root tbf rate 10gbit burst 1mb limit 10mb
    flooded "the kernel's bridge and tbf" ""
    tc -n "$middle" qdisc del dev b1 root
    ip -n "$middle" link del kernel
    number=0
    for aqmkit in $AQMKIT; do
        number=$((number + 1))
        name=$([ "$AQMKIT" = "$aqmkit" ] && echo aqmkit || echo "aqmkit $number")
        bridged "$name bridge" "$aqmkit" af-packet
        bridged "$name bridge, AF_XDP" "$aqmkit" af-xdp
    done
done
printf '%-30s %9s %9s %9s\n' "" "sent Mpps" "passed" "CPU ns"
while read -r name; do
    printf '%-30s %9.2f %9.2f %9.0f\n' "$name" "$(median "$work/$name" 1)" "$(median "$work/$name" 2)" "$(median "$work/$name" 3)"
done < "$work/names"
