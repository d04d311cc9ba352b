#!/bin/sh
# The delay that a discipline keeps: the kernel's own behind its shaper, the same of aqmkit on a bridge, and the same simulated. Senders leave
# segmentation to their interface (GSO), or do it themselves, because the kernel's disciplines take a super-packet for one packet and aqmkit does not.
#
#   sudo bench/live/delays.sh [SECONDS [ROUNDS [RATE [DISCIPLINE...]]]]
#
# needs iperf3, ip, tc, ethtool and jq, and builds aqmkit first unless AQMKIT names one. Four TCP connections with CUBIC over RATE (default: 40mbit)
# and a round trip of 20 ms, which is that of another bridge behind the bottleneck, for all the same. What this kernel lacks is said. A line has the
# mean round trip that the senders' TCP measured less that of an empty path, which is the same measurement for all, and on the bridge also the mean
# wait that aqmkit measured; the least and the most of the rounds. Disciplines (default: codel, fq_codel) have the defaults of tc and 1000 packets.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-10}
rounds=${2:-3}
rate=${3:-40mbit}
shift "$(($# < 3 ? $# : 3))"
disciplines=${*:-codel fq_codel}
. bench/live/build.sh
. bench/live/namespaces.sh
beyond=aqmkit-beyond-$$
path=
at_end() {
    [ -z "$path" ] || kill "$path" 2>/dev/null || true
    ip netns del "$beyond" 2>/dev/null || true
}
ip netns add "$beyond"
plug "$left" l0 1 b0
ip link add b1 netns "$middle" type veth peer name c0 netns "$beyond"
ip link add r0 netns "$right" type veth peer name c1 netns "$beyond"
host "$right" r0 2
ip -n "$middle" link set b1 up
for device in c0 c1; do ip -n "$beyond" link set $device up; done
for place in "$left" "$right"; do ip netns exec "$place" sysctl -qw net.ipv4.tcp_no_metrics_save=1; done
ip netns exec "$beyond" "$AQMKIT" -q bridge c0 c1 --rate 10gbit --delay 10ms --aqm fifo --name path > /dev/null 2>&1 &
path=$!
sleep 2
ip netns exec "$right" iperf3 -s > /dev/null 2>&1 &

# loaded NAME: adds the mean extra round trip of four connections, in ms, to what is known of NAME.
loaded() {
    grep -qx "$1" "$work/names" 2>/dev/null || echo "$1" >> "$work/names"
    ip netns exec "$left" iperf3 -J -c 10.7.0.2 -C cubic -P 4 -t "$seconds" -O 2 > "$work/out.json"
    jq '[.end.streams[].sender.mean_rtt] | add / length / 1000 - 20' "$work/out.json" >> "$work/$1"
    jq '.end.sum_received.bits_per_second / 1e6' "$work/out.json" >> "$work/$1.rate"
}

# in_kernel DISCIPLINE HOW
in_kernel() {
    ip -n "$middle" link add kernel type bridge mcast_snooping 0
    for port in b0 b1; do ip -n "$middle" link set $port master kernel; done
    ip -n "$middle" link set kernel up
    tc -n "$middle" qdisc add dev b1 root handle 1: tbf rate $rate burst 5000 limit 10mb
    sleep 1
    if tc -n "$middle" qdisc add dev b1 parent 1: handle 2: "$1" limit 1000 2> /dev/null; then
        loaded "$1, kernel, segmentation $2"
    else
        echo "$1" >> "$work/lacking"
    fi
    tc -n "$middle" qdisc del dev b1 root
    ip -n "$middle" link del kernel
}

# on_bridge DISCIPLINE HOW
on_bridge() {
    ip netns exec "$middle" "$AQMKIT" -q bridge b0 b1 --rate "$rate" --back-rate 1gbit --aqm "$1:limit=1000" --back-aqm fifo --json > "$work/bridge.json" 2> /dev/null &
    bridge=$!
    sleep 2
    loaded "$1, aqmkit, segmentation $2"
    kill "$bridge"
    wait "$bridge" 2>/dev/null || true
    jq '.queue_delay_ms.forth.mean' "$work/bridge.json" >> "$work/$1, aqmkit, segmentation $2.own"
}

for _ in $(seq "$rounds"); do
    for how in on off; do
        segmentation $how
        for discipline in $disciplines; do
            in_kernel "$discipline" $how
            on_bridge "$discipline" $how
        done
    done
done
spread() { sort -g "$1" | awk '{ all[NR] = $1 } END { printf "%.2f to %.2f", all[1], all[NR] }'; }
printf '%-40s %18s %18s %18s\n' "" "round trip, ms" "own measure, ms" "Mbit/s received"
while read -r name; do
    own=
    [ ! -s "$work/$name.own" ] || own=$(spread "$work/$name.own")
    printf '%-40s %18s %18s %18s\n' "$name" "$(spread "$work/$name")" "$own" "$(spread "$work/$name.rate")"
done < "$work/names"
[ ! -e "$work/lacking" ] || echo "not in this kernel: $(sort -u "$work/lacking" | tr '\n' ' ')"
# shellcheck disable=SC2086
"$AQMKIT" compare $disciplines --rate "$rate" --rtt 20ms --bulk 4 --cc cubic --duration "${seconds}s" --out "$work/simulated" --json 2> /dev/null \
    | jq -r '.runs[] | "\(.labels.aqm), simulated: mean wait \(.links[].queue_delay_ms.mean | . * 100 | round / 100) ms"'
