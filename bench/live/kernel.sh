#!/usr/bin/env bash
# A discipline inside the kernel and on a live link, under the same load: 8 CUBIC connections, 40 Mbit/s, 20 ms round trip. Prints a line for each.
#   kernel.sh AQMKIT DISCIPLINE [NAME=VALUE…]      TRAFFIC_SECONDS=12 of traffic each; root, iperf3, python3
# In the kernel: a sender in a namespace of its own, a router whose device has the discipline, and behind it a live link without a bottleneck for the delay.
set -euo pipefail

aqmkit=$(realpath "$1")
discipline=$2
shift 2
seconds=${TRAFFIC_SECONDS:-12}
work=$(mktemp -d)
sender=aqmkit-sender-$$
link=
end() {
    [ -z "$link" ] || { kill "$link" 2>/dev/null && wait "$link" 2>/dev/null; } || true
    ip netns del "$sender" 2>/dev/null || true
    rm -rf "$work"
}
trap end EXIT

load() { # ADDRESS OPTIONS…: the load, from where it is run
    iperf3 -c "$@" -C cubic -P 8 -t "$seconds" -J > "$work/iperf.json"
}

"$aqmkit" link --rate 10gbit --delay 10ms --no-ecn --server 'sleep 600' -- sleep 600 > /dev/null 2> "$work/link" &
link=$!
sleep 2
mapfile -t inside < <(pgrep -P "$link")
router=${inside[0]} receiver=${inside[1]}
ip netns add "$sender"
ip link add va netns "$sender" type veth peer name vb netns "$router"
# Single packets, as a network brings them to a router.
ip -n "$sender" link set va gso_max_segs 1 up
ip -n "$sender" addr add 10.9.1.1/24 dev va
ip -n "$sender" route add default via 10.9.1.2
nsenter -t "$router" -n sh -c 'ip addr add 10.9.1.2/24 dev vb; ip link set vb up; sysctl -qw net.ipv4.ip_forward=1'
nsenter -t "$receiver" -n ip route add 10.9.1.0/24 dev aqmkit0
nsenter -t "$router" -n "$aqmkit" kernel install "$discipline" dev aqmkit0 rate 40mbit "$@" > /dev/null
nsenter -t "$receiver" -n iperf3 -s -1 > /dev/null &
sleep 1
export -f load
export seconds work
ip netns exec "$sender" bash -c 'load 198.18.0.2'
nsenter -t "$router" -n "$aqmkit" kernel show dev aqmkit0 --json > "$work/show.json"
python3 - "$work" "$discipline" <<'PYTHON'
import json
import sys

work, name = sys.argv[1:]
shown = json.load(open(f"{work}/show.json"))[0]
traffic = json.load(open(f"{work}/iperf.json"))["end"]["sum_received"]["bits_per_second"] / 1e6
counted = shown["statistics"]
lost = 100 * sum(counted["drops"].values()) / counted["packets"]
print(f"{name} kernel: {traffic:.1f} Mbit/s, mean wait {1e3 * shown['mean_wait_s']:.2f} ms, lost {lost:.2f} %")
PYTHON
kill "$link" && wait "$link" 2>/dev/null || true
link=

parameters=$(IFS=,; echo "$*")
"$aqmkit" link --down-rate 40mbit --up-rate 1gbit --delay 10ms --down-aqm "$discipline:$parameters" --no-ecn --json --server 'iperf3 -s -1' \
    -- bash -c 'sleep 1; load $AQMKIT_BASE -R' > "$work/live.json" 2> "$work/link"
python3 - "$work" "$discipline" <<'PYTHON'
import json
import sys

work, name = sys.argv[1:]
down = json.load(open(f"{work}/live.json"))["links"]["down"]
traffic = json.load(open(f"{work}/iperf.json"))["end"]["sum_received"]["bits_per_second"] / 1e6
wait, lost = down["queue_delay_ms"]["mean"], 100 * down["drop_rate"]
print(f"{name} live: {traffic:.1f} Mbit/s, mean wait {wait:.2f} ms, lost {lost:.2f} %")
PYTHON
