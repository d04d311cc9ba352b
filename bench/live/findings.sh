#!/bin/sh
# What an operator once found wrong with live links and bridges, tried again: for each of the eleven findings the result of then and that of now.
#
#   sudo bench/live/findings.sh [NUMBER...]
#
# needs iperf3, ip, ethtool, python3, curl, jq, ping, setpriv and unshare, and builds aqmkit first unless AQMKIT names one. Without numbers all
# are tried, in about two minutes. The exit code is 1 if one is not mended.
set -eu
cd "$(dirname "$0")/../.."
. bench/live/build.sh
. bench/live/namespaces.sh
# Other users and the namespaces need its whole path.
AQMKIT=$(realpath "$AQMKIT")
chmod 755 "$work"
running=
at_end() {
    for process in $running; do kill -KILL "$process" 2>/dev/null || true; done
    "$AQMKIT" link --cleanup > /dev/null 2>&1 || true
}
wrong=0

# told NUMBER TITLE BEFORE NOW CONDITION: prints a finding; CONDITION is a test of awk that says whether it is mended.
told() {
    if awk "BEGIN { exit !($5) }"; then verdict=mended; else verdict="NOT MENDED"; fi
    [ "$verdict" = mended ] || wrong=1
    printf '%2d  %s: %s\n      before: %s\n      now:    %s\n' "$1" "$2" "$verdict" "$3" "$4"
}

# In the namespaces.
left() { ip netns exec "$left" "$@"; }
middle() { ip netns exec "$middle" "$@"; }
right() { ip netns exec "$right" "$@"; }

# memory NAME PID: a line of the memory of a process, in KiB.
memory() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$2/status"; }

# start_bridge OPTIONS: in the middle; sets $bridge and waits until it runs.
start_bridge() {
    ip netns exec "$middle" "$AQMKIT" bridge b0 b1 --aqm fifo --name found "$@" > "$work/summary" 2> "$work/said" &
    bridge=$!
    running="$running $bridge"
    for _ in $(seq 100); do
        ! grep -q '^bridging' "$work/said" 2> /dev/null || return 0
        sleep 0.05
    done
    echo "the bridge does not start: $(cat "$work/said")" >&2
    exit 1
}

# end_bridge: asks it to end; sets $code.
end_bridge() {
    kill -TERM "$bridge"
    code=0
    wait "$bridge" || code=$?
}

# serve COMMAND...: in the right namespace until the end.
serve() {
    ip netns exec "$right" "$@" > /dev/null 2>&1 &
    running="$running $!"
}

finding_1() {
    start_bridge --rate 100mbit --metrics 127.0.0.1:9000
    before=$(memory VmRSS "$bridge")
    middle python3 bench/live/findings.py connections 2000 > "$work/open" &
    sleep 4
    idle=$(($(memory VmRSS "$bridge") - before))
    threads=$(find "/proc/$bridge/task" -mindepth 1 -maxdepth 1 | wc -l)
    wait $!
    echo 5 > "/proc/$bridge/clear_refs"
    middle python3 bench/live/findings.py header 200 > "$work/header"
    header=$(($(memory VmHWM "$bridge") - before))
    answers=$(middle curl -s -m 20 -o /dev/null -w '%{http_code}' http://127.0.0.1:9000/metrics)
    end_bridge
    told 1 "memory of --metrics under 2,000 idle connections, and a header line of 200 MiB" "4.2 GB; 262 MB" \
        "$idle KiB, with $threads threads in all; $header KiB, after $(cat "$work/header") were taken; then /metrics answers $answers" \
        "$idle < 10240 && $header < 10240 && $threads < 8 && $answers == 200"
}

finding_2() {
    start_bridge --rate 1gbit --metrics 127.0.0.1:9000 --json
    left ping -c 1 -W 2 10.7.0.2 > /dev/null
    kill -STOP "$bridge"
    sent=$(left python3 bench/live/findings.py flood 10.7.0.2 1)
    kill -CONT "$bridge"
    sleep 1
    middle curl -s http://127.0.0.1:9000/metrics > "$work/metrics"
    overrun=$(awk '/^aqmkit_overrun_packets_total/ { n += $NF } END { print n + 0 }' "$work/metrics")
    offered=$(awk '/^aqmkit_offered_packets_total/ { n += $NF } END { print n + 0 }' "$work/metrics")
    shown=$(middle "$AQMKIT" ctl show --json | jq '[.directions[].device.overrun] | add')
    end_bridge
    valid=$(jq .valid "$work/summary")
    told 2 "frames dropped in front of a bridge that is stopped for a second" \
        "380,610 of 384,704 lost, metrics and ctl silent, exit code 0" \
        "$sent sent; metrics: $offered offered, $overrun overrun; ctl: $shown overrun; valid: $valid; exit code $code" \
        "$overrun > 0 && $shown == $overrun && $offered + $overrun >= 0.999 * $sent && \"$valid\" == \"false\" && $code == 1"
}

finding_3() {
    connect_directly
    serve iperf3 -s -1
    sleep 0.5
    ip netns exec "$left" python3 bench/live/findings.py capture l0 "$work/host.pcap" 3 &
    capture=$!
    sleep 0.5
    left iperf3 -c 10.7.0.2 -t 1 -b 50M > /dev/null
    wait $capture
    "$AQMKIT" replay "$work/host.pcap" --aqm pie --rate 20mbit > "$work/both"
    "$AQMKIT" replay "$work/host.pcap" --aqm pie --rate 20mbit --from 10.7.0.1/32 > "$work/one"
    notes() { tr '\n' ' ' < "$1" | sed 's/note: /\n/g' | tail -n +2; }
    cut=$(notes "$work/both" | grep -o '^[0-9]* packets longer.*segmented' || true)
    warned=$(notes "$work/both" | grep -o '^both directions of connections pass this one queue' || true)
    again=$(notes "$work/one" | grep -c 'both directions' || true)
    told 3 "replay of a capture of an end host" "both directions in one queue and 740 packets of up to 65,160 bytes, without a word" \
        "it says \"$cut\" and \"$warned\"; with --from that is said $again times" \
        "\"$cut\" != \"\" && \"$warned\" != \"\" && $again == 0"
    connect_through_middle
}

finding_4() {
    serve iperf3 -s
    start_bridge --rate 10gbit
    left iperf3 -J -c 10.7.0.2 -t 2 > "$work/as-it-is"
    ip -n "$left" link set l0 gso_max_segs 1
    left iperf3 -J -c 10.7.0.2 -t 2 > "$work/advised"
    end_bridge
    rate='.end.sum_received.bits_per_second / 1e6 | round'
    as_it_is=$(jq "$rate" "$work/as-it-is")
    advised=$(jq "$rate" "$work/advised")
    told 4 "the guide's advice to senders" "gso_max_segs 1: 297 to 352 Mbit/s; tso off: 1,100 to 2,100" \
        "the guide has no advice, because none is needed: $as_it_is Mbit/s with the senders as they are, $advised with gso_max_segs 1" \
        "$(cat docs/guide/*.md | grep -c 'gso_max_segs') == 0 && $as_it_is > $advised"
    connect_through_middle
}

finding_5() {
    # The middle is a machine with a network, the right namespace another host there.
    ip -n "$middle" addr add 10.7.0.3/24 dev b1
    middle sysctl -qw net.ipv4.ip_forward=1
    outside=$(middle "$AQMKIT" -q link --rate 10mbit --nat --user nobody -- sh -c 'ping -q -c 2 10.7.0.2 > /dev/null && echo "$(id -un) reached it"' 2> /dev/null | head -n 1)
    rootless=$(cd / && setpriv --reuid 65534 --regid 65534 --clear-groups env -u AQMKIT_RUNTIME_DIR unshare -Urn "$AQMKIT" -q link --rate 10mbit -- \
        sh -c 'ping -q -c 2 $AQMKIT_BASE > /dev/null && echo "works"' 2> /dev/null | head -n 1)
    told 5 "networks behind a link, the user of its command, links without root" "none, root, not documented" \
        "a host behind the machine: ${outside:-not reached}; without root: ${rootless:-no}; named $(grep -c 'unshare -Urn' docs/guide/live.md) times in the guide" \
        "\"$outside\" == \"nobody reached it\" && \"$rootless\" == \"works\""
    connect_through_middle
}

finding_6() {
    ip netns exec "$middle" nohup "$AQMKIT" -q bridge b0 b1 --rate 100mbit --name found > /dev/null 2>&1 &
    bridge=$!
    running="$running $bridge"
    sleep 1
    kill -HUP "$bridge"
    sleep 1
    passes=$(left ping -q -c 3 -i 0.2 10.7.0.2 | grep -o '[0-9]* received' || true)
    if kill -0 "$bridge" 2> /dev/null; then alive=runs; else alive=ended; fi
    [ $alive = ended ] || end_bridge
    told 6 "SIGHUP to nohup aqmkit bridge" "the bridge ends, and with it the wire" "it $alive; 3 pings: $passes" "\"$alive\" == \"runs\" && \"$passes\" == \"3 received\""
}

# offloads_off: how many of the offloads that a bridge switches off are off.
offloads_off() { for device in b0 b1; do middle ethtool -k $device; done | grep -cE '^(generic-receive-offload|rx-vlan-offload): off' || true; }

finding_7() {
    for device in b0 b1; do middle ethtool -K $device gro on; done
    at_first=$(offloads_off)
    kills=0
    left_off=0
    for io in af-packet af-xdp; do
        for milliseconds in 5 10 15 20 25 30 40 50 70 100; do
            ip netns exec "$middle" "$AQMKIT" -q bridge b0 b1 --rate 100mbit --io $io --name found > /dev/null 2>&1 &
            bridge=$!
            sleep "$(awk -v ms=$milliseconds 'BEGIN { print ms / 1000 }')"
            kill -KILL "$bridge" 2> /dev/null || true
            wait "$bridge" 2> /dev/null || true
            middle "$AQMKIT" bridge --cleanup > /dev/null 2>&1 || true
            kills=$((kills + 1))
            [ "$(offloads_off)" = "$at_first" ] || left_off=$((left_off + 1))
        done
    done
    stale=$(find "$AQMKIT_RUNTIME_DIR" -mindepth 1 | wc -l)
    told 7 "SIGKILL in the first 100 ms of a bridge" "GRO, or rxvlan, stays off for good; sockets stay" \
        "after $kills kills and bridge --cleanup: $left_off times something is off, $stale files stay" "$left_off == 0 && $stale == 0"
}

finding_8() {
    start_bridge --rate 100mbit --metrics 127.0.0.1:9000
    sleep 0.5
    threads=$(cat /proc/"$bridge"/task/*/status | awk '
        /^Name:/ { name = $2 }
        /^CapEff:/ { full += $2 != "0000000000000000"; who = who ($2 == "0000000000000000" ? "" : " " name " " $2) }
        /^NoNewPrivs:/ { n += $2 } /^Seccomp:/ { s += $2 == 2 } /^Name:/ { all++ }
        END { print all, n, s, full ":" who }')
    end_bridge
    # A directory that anyone can write to, in which the next files are planted as links to another.
    open=$work/open-to-all
    mkdir "$open"
    chmod 777 "$open"
    echo precious > "$work/precious"
    for ahead in $(seq 1 3000); do ln -s "$work/precious" "$open/$(($$ + ahead)).draft"; done
    AQMKIT_RUNTIME_DIR=$open timeout 1 ip netns exec "$middle" "$AQMKIT" bridge b0 b1 --rate 100mbit --name found > /dev/null 2> "$work/refused" || true
    kept=$(cat "$work/precious")
    refused=$(tr '\n' ' ' < "$work/refused")
    set -- $threads
    told 8 "rights of the threads, and a planted directory for runtime files" "main, control and metrics keep all capabilities, no no_new_privs, no seccomp; another file is overwritten" \
        "of $1 threads $2 with no_new_privs, $3 with a filter, ${threads#* * * } with capabilities; the other file is $kept (${refused%% })" \
        "$1 == $2 && $1 == $3 && ${4%:} <= 1 && \"$kept\" == \"precious\""
}

finding_9() {
    operators() { bpftool struct_ops list 2> /dev/null | wc -l; }
    orphans() { awk '/^TCP:/ { print $5 }' /proc/net/sockstat; }
    operators_before=$(operators)
    # The kernel counts those of all namespaces.
    orphans_before=$(orphans)
    "$AQMKIT" -q link --rate 20mbit --delay 20ms --cc dctcp --ecn --aqm red:ecn=true --server 'iperf3 -s' \
        -- timeout 2 sh -c 'iperf3 -P 40 -t 30 -c $AQMKIT_BASE' > /dev/null 2>&1 || true
    seconds=0
    while [ "$(orphans)" -gt "$orphans_before" ] || [ "$(operators)" -gt "$operators_before" ]; do
        [ $seconds -lt 130 ] || break
        sleep 1
        seconds=$((seconds + 1))
    done
    told 9 "orphan sockets and struct_ops after interrupted transfers with --cc dctcp" "41 and 5, for two minutes" "none after $seconds s" "$seconds <= 15"
}

finding_10() {
    "$AQMKIT" -q link --rate 50mbit --delay 1ms --aqm fifo --server 'iperf3 -s' --out "$work/link.json" \
        -- sh -c "date +%s%N > $work/times; iperf3 -J -t 3 -c \$AQMKIT_BASE > $work/iperf.json; date +%s%N >> $work/times" > /dev/null 2>&1
    used=$(jq '.links.up.utilization * 100 | round' "$work/link.json")
    # What iperf3 counted, with headers, over the time of the command.
    true=$(jq --argjson ns "$(awk 'NR == 1 { from = $1 } END { print $1 - from }' "$work/times")" \
        '.end.sum_received.bytes * 8 * 1500 / 1448 / (50e6 * $ns / 1e9) * 100 | round' "$work/iperf.json")
    classes=$("$AQMKIT" -q link --rate 10mbit --aqm cbt --class tcp=tcp --class multimedia=udp:5004 --server 'iperf3 -s' \
        -- sh -c 'iperf3 -R -t 1 -c $AQMKIT_BASE; iperf3 -R -u -b 2M --cport 5004 -t 1 -c $AQMKIT_BASE' 2>&1 | grep -cE '^ *(tcp|multimedia) ' || true)
    silent=
    for aqm in red codel pie; do
        "$AQMKIT" link --rate 10mbit --aqm $aqm --ecn -- true 2>&1 | grep -qi 'note.*ecn' || silent="$silent $aqm"
    done
    told 10 "the summary of 3 s of a saturated link, the guide's classes, --ecn without marks" "87 % of the rate; no class; not a word" \
        "$used % (by iperf3 and the clock: $true %); $classes lines of classes; silent with:${silent:- none}" "$used - $true < 2 && $true - $used < 2 && $classes >= 2 && \"$silent\" == \"\""
}

finding_11() {
    start_bridge --rate 100mbit --metrics 127.0.0.1:9000
    sleep 1
    idle=$(memory VmRSS "$bridge")
    for end in "$left l0" "$right r0" "$middle b0" "$middle b1"; do ip -n "${end% *}" link set "${end#* }" mtu 4000; done
    sleep 1
    larger=$(left ping -q -c 3 -i 0.2 -M "do" -s 3900 10.7.0.2 | grep -o '[0-9]* received' || true)
    longest=$(middle curl -s http://127.0.0.1:9000/metrics | grep -o 'aqmkit_queue_delay_seconds_bucket.*le="[0-9.]*"' | sed 's/.*le="//; s/"//' | sort -g | tail -n 1)
    listed=$(cd / && setpriv --reuid 65534 --clear-groups "$AQMKIT" ctl list 2>&1 | head -n 1 || true)
    end_bridge
    "$AQMKIT" -q link --rate 10mbit -- sleep 30 > /dev/null 2>&1 &
    link=$!
    sleep 1
    began=$(date +%s%N)
    kill -TERM $link
    ended=0
    wait $link || ended=$?
    took=$((($(date +%s%N) - began) / 1000000))
    told 11 "a raised MTU; SIGTERM; ctl list without permission; the longest delay of the histogram; memory of an idle bridge" \
        "larger frames dropped; 130 after 2 s; nothing runs; 1.07 s; 59 to 174 MB" \
        "3 pings of 3,900 bytes: $larger; $ended after $took ms; \"$listed\"; $longest s; $idle KiB" \
        "\"$larger\" == \"3 received\" && $ended == 143 && $took < 1500 && \"$listed\" != \"nothing runs\" && $longest > 10 && $idle < 59000"
    connect_through_middle
}

connect_through_middle
for number in ${*:-1 2 3 4 5 6 7 8 9 10 11}; do "finding_$number"; done
exit $wrong
