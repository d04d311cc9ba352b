#!/bin/sh
# A bridge for a long time, under a load that changes, with clients that are killed, and links beside it that end in every way:
# its memory has to be steady, and nothing may be left.
#
#   sudo bench/live/soak.sh [MINUTES]
#
# needs iperf3, ip, ethtool, ping, curl and jq, and builds aqmkit first unless AQMKIT names one. In turns of ten seconds: several TCP connections,
# one of them with ECN, or a flood of small datagrams, or nothing but a ping; in half of the turns the clients are killed before
# they have finished. In each turn `ctl` changes the rate, or the discipline, the metrics are read, and a link runs a transfer; in
# turns it ends by itself, its command is killed, it is asked to end (SIGTERM), or it is killed, and cleaned up after. Every tenth turn an
# interface of the bridge is taken away and comes back. Each minute a line says what the bridge's process has. The exit code is 1 if its memory at the
# end is more than a tenth above that after the first sixth of the time, if it has more descriptors or threads than then, if it ended, or if
# anything is left when it has been asked to end: processes, control sockets and records, bridges of the kernel, offloads.
set -eu
cd "$(dirname "$0")/../.."
minutes=${1:-60}
. bench/live/build.sh
. bench/live/namespaces.sh
connect_through_middle
offloads=$(ip netns exec "$middle" ethtool -k b1)
for port in 5201 5202 5203; do ip netns exec "$right" iperf3 -s -p $port -D -I "$work/server-$port"; done
ip netns exec "$middle" "$AQMKIT" -q bridge b0 b1 --rate 30mbit --aqm fq-codel --name soak --metrics 127.0.0.1:9000 --json > "$work/bridge.json" 2> "$work/bridge.err" &
bridge=$!
sleep 2

# has: memory in KiB, descriptors and threads of the bridge's process.
has() {
    awk '/^VmRSS/ { rss = $2 } /^Threads/ { threads = $2 } END { printf "%s ", rss; print threads }' "/proc/$bridge/status" | {
        read -r rss threads
        echo "$rss $(find "/proc/$bridge/fd" -mindepth 1 | wc -l) $threads"
    }
}

# client SECONDS ARGUMENTS: one in the left namespace; its process is put down.
client() {
    for_seconds=$1
    shift
    ip netns exec "$left" iperf3 -c 10.7.0.2 -t "$for_seconds" "$@" > /dev/null 2>&1 &
    echo $! >> "$work/clients"
}

# a_link TURN: one that ends in one of four ways.
a_link() {
    "$AQMKIT" -q link --rate 20mbit --delay 5ms --aqm codel --server 'iperf3 -s -1' \
        -- sh -c 'echo $$ > '"$work"'/command; exec iperf3 -R -t 3 -c $AQMKIT_BASE' > /dev/null 2>&1 &
    link=$!
    sleep 2
    case $(($1 % 4)) in
        0) ;;
        1) kill -KILL "$(cat "$work/command")" ;;
        2) kill -TERM $link ;;
        3)
            kill -KILL $link
            wait $link 2>/dev/null || true
            "$AQMKIT" link --cleanup > /dev/null 2>&1 || true
            ;;
    esac
    wait $link 2>/dev/null || true
}

wrong=0
say_wrong() {
    echo "wrong: $*"
    wrong=1
}

start=$(date +%s)
end=$((start + minutes * 60))
settled=$((start + minutes * 10))
first=
turn=0
killed=0
next_line=$start
echo "minutes   KiB  descriptors  threads  turns  clients killed"
while now=$(date +%s); [ "$now" -lt "$end" ]; do
    if ! kill -0 "$bridge" 2>/dev/null; then
        say_wrong "the bridge ended: $(cat "$work/bridge.err")"
        exit 1
    fi
    if [ -z "$first" ] && [ "$now" -ge "$settled" ]; then first=$(has); fi
    if [ "$now" -ge "$next_line" ]; then
        # shellcheck disable=SC2046
        printf '%7s %5s %12s %8s %6s %15s\n' $(((now - start) / 60)) $(has) $turn $killed
        next_line=$((next_line + 60))
    fi
    turn=$((turn + 1))
    : > "$work/clients"
    case $((turn % 4)) in
        0) ip netns exec "$left" ping -q -i 0.2 -c 20 10.7.0.2 > /dev/null 2>&1 || true ;;
        1)
            client 8 -p 5201 -P 4
            client 8 -p 5202 -R
            ;;
        2) client 8 -p 5203 -u -b 40M -l 100 ;;
        3)
            ip netns exec "$left" sysctl -qw net.ipv4.tcp_ecn=1
            client 8 -p 5201
            client 8 -p 5203 -u -b 2M -R
            ;;
    esac
    rate=$(((turn * 37) % 50 + 5))
    ip netns exec "$middle" "$AQMKIT" ctl set --to soak --rate ${rate}mbit > /dev/null || say_wrong "ctl set --rate ${rate}mbit failed"
    if [ $((turn % 3)) = 0 ]; then
        aqm=$(echo fifo codel fq-codel pie red:ecn=true cake | cut -d ' ' -f $((turn / 3 % 6 + 1)))
        ip netns exec "$middle" "$AQMKIT" ctl set --to soak --aqm "$aqm" > /dev/null || say_wrong "ctl set --aqm $aqm failed"
    fi
    ip netns exec "$middle" curl -sf http://127.0.0.1:9000/metrics > "$work/metrics" || say_wrong "no metrics"
    a_link $turn
    if [ $((turn % 10)) = 0 ]; then
        ip -n "$middle" link del b0
        sleep 1
        plug "$left" l0 1 b0
        sleep 1
    fi
    # Half of the clients end by themselves.
    while read -r pid; do
        if [ $((turn % 2)) = 0 ] && kill -KILL "$pid" 2>/dev/null; then killed=$((killed + 1)); fi
        wait "$pid" 2>/dev/null || true
    done < "$work/clients"
    passed=$(($(date +%s) - now))
    [ $passed -ge 10 ] || sleep $((10 - passed))
done
last=$(has)
[ -n "$first" ] || first=$last
# shellcheck disable=SC2086
set -- $first $last
echo "after the first sixth: $1 KiB, $2 descriptors, $3 threads; at the end: $4 KiB, $5 descriptors, $6 threads; $turn turns, $killed clients killed"
[ "$4" -le $(($1 + $1 / 10)) ] || say_wrong "memory grew"
[ "$5" -le "$2" ] || say_wrong "descriptors grew"
[ "$6" -le "$3" ] || say_wrong "threads grew"
kill -TERM "$bridge"
wait "$bridge" 2>/dev/null || true
jq -e .lateness_ms "$work/bridge.json" > /dev/null 2>&1 || say_wrong "no summary: $(cat "$work/bridge.err")"
pgrep -f "$AQMKIT -q bridge b0 b1 --rate 30mbit --aqm fq-codel --name soak" > /dev/null && say_wrong "the bridge's process is left"
pgrep -f "$AQMKIT -q link --rate 20mbit --delay 5ms --aqm codel" > /dev/null && say_wrong "processes of links are left"
found=$(find "$AQMKIT_RUNTIME_DIR" -mindepth 1)
[ -z "$found" ] || say_wrong "left in the runtime directory: $found"
[ "$(ip netns exec "$middle" ethtool -k b1)" = "$offloads" ] || say_wrong "the offloads of b1 are not as they were"
found=$(ip -n "$middle" -o link show type bridge)
[ -z "$found" ] || say_wrong "left bridges: $found"
found=$(ip -n "$middle" -d link show | grep -c "promiscuity [1-9]" || true)
[ "$found" = 0 ] || say_wrong "interfaces stay promiscuous"
"$AQMKIT" ctl list 2>/dev/null | grep -q soak && say_wrong "ctl lists the bridge"
[ $wrong = 1 ] || echo "nothing is left"
exit $wrong
