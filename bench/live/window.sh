#!/bin/sh
# How the receive window of one CUBIC download grows over a live link, as its sender sees it every 10 ms, beside the simulated window of `linux-6` with the
# machine's tcp_rmem and tcp_wmem: from the start of the connection, at a first-in first-out queue of 1.5 bandwidth-delay products.
#
#   sudo bench/live/window.sh [RATE_MBIT [RTT_MS [SECONDS [KEY=VALUE...]]]]
#
# needs python3, and builds aqmkit first unless AQMKIT names one. Default: 200 60 8; a KEY is one of the experiment, such as transport.scaling_ratio=0.5.
# Sender and receiver have real-time priority, so that other programs do not delay them. The last lines have the receive buffer and the window at the end: their
# ratio is the kernel's scaling_ratio where the window has grown as far as the buffer.
set -eu
cd "$(dirname "$0")/../.."
rate=${1:-200}
rtt=${2:-60}
seconds=${3:-8}
shift "$(($# < 3 ? $# : 3))"
. bench/live/build.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
# 1.5 rate x rtt in packets of 1500 bytes.
limit=$((rate * rtt / 8))
quoted() { sed 's/\([0-9][0-9]*\)/"\1b"/g; s/[[:space:]][[:space:]]*/, /g' "/proc/sys/net/ipv4/$1"; }

chrt -f 1 true 2> /dev/null && first="chrt -f 1" || first=
"$AQMKIT" -q link --rate "${rate}mbit" --delay "$((rtt / 2))ms" --aqm "fifo:limit=$limit" --cc cubic --out "$work/link.json" \
    --server "$first python3 bench/live/window.py serve $seconds > $work/live" \
    -- sh -c "$first python3 bench/live/window.py fetch $((seconds + 1))" > "$work/end" 2> "$work/said" || { cat "$work/said" >&2; exit 1; }

set -- --set "transport.tcp_rmem=[$(quoted tcp_rmem)]" --set "transport.tcp_wmem=[$(quoted tcp_wmem)]" $(for pair; do echo "--set $pair"; done)
cat > "$work/window.toml" << END
title = "Receive window"
duration = "${seconds}s"

[topology]
rate = "${rate}mbit"
delays = "${rtt}ms"

[transport]
profile = "linux-6"
congestion = "cubic"

[[sweep.aqm]]
name = "fifo"
limit = "${limit}p"

[[traffic]]
kind = "bulk"
flows = 1
stagger = "0s"
END
mkfifo "$work/pcap"
python3 bench/live/window.py simulated < "$work/pcap" > "$work/simulated" &
"$AQMKIT" -q run "$work/window.toml" "$@" --pcap "$work/pcap" --out "$work/out" > /dev/null
wait
echo "$rate Mbit/s, $rtt ms; $("$AQMKIT" --version), Linux $(uname -r), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg) at the end"
echo
python3 bench/live/window.py table "$work/live" "$work/simulated"
echo
cat "$work/end"
tail -n 1 "$work/live" | awk '{ print "at the end " $4 " s limited by the receive window" }'
