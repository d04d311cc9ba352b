#!/bin/sh
# The most small packets that a link carries: UDP packets of 46 bytes, from a program that hands each to the kernel alone, and from one
# that hands over 64 at a time (UDP_SEGMENT), which reach the link as a super-packet.
#
#   sudo bench/live/datagrams.sh [SECONDS [ROUNDS]]
#
# needs python3 and jq, and builds aqmkit first unless AQMKIT names one; several, separated by spaces, are compared. The link has
# 10 Gbit/s and a first-in first-out queue. A line has the packets that came through in a second, those that the kernel dropped in front
# of the link because it was too slow, and the processor time of the link for each: the median of the rounds, for the processor time the
# least.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-3}
rounds=${2:-3}
. bench/live/build.sh
work=$(mktemp -d)
# Of its own, so that ctl finds the link alone.
export AQMKIT_RUNTIME_DIR="$work/run"
mkdir -m 700 "$AQMKIT_RUNTIME_DIR"
trap 'rm -rf "$work"' EXIT
cat > "$work/receive.py" <<'PYTHON'
import socket, time
# Nobody reads: the kernel counts what comes to the socket.
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("", 9009))
time.sleep(3600)
PYTHON
cat > "$work/send.py" <<'PYTHON'
import os, socket, sys, time
together, seconds = int(sys.argv[1]), float(sys.argv[2])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect((os.environ["AQMKIT_BASE"], 9009))
if together > 1:
    sender.setsockopt(socket.IPPROTO_UDP, 103, 18)  # UDP_SEGMENT
data = bytes(18 * together)
end = time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(64):
        try:
            sender.send(data)
        except OSError:
            pass  # the device is full
PYTHON
# A link that the sender overwhelms is not valid as a measurement of the discipline, so what passed is read from its control socket.
for _ in $(seq "$rounds"); do
    number=0
    for aqmkit in $AQMKIT; do
        number=$((number + 1))
        for together in 1 64; do
            "$aqmkit" -q link --rate 10gbit --aqm fifo:limit=2000 --server "python3 $work/receive.py" --out "$work/out.json" -- \
                sh -c "sleep 0.5; '$aqmkit' ctl show --json > $work/before.json; python3 $work/send.py $together $seconds; '$aqmkit' ctl show --json > $work/after.json" \
                > /dev/null 2>&1 || true
            jq -r --slurpfile before "$work/before.json" --slurpfile after "$work/after.json" \
                '([$before, $after] | map(.[0].directions[] | select(.name == "up") | .total.sent_packets)) as [$from, $to]
                | ($to - $from) as $packets
                | [$packets / ($after[0].at_s - $before[0].at_s) / 1e6, .machine.dropped_before / ($packets + .machine.dropped_before) * 100, .machine.cpu_s / $packets * 1e9] | @tsv' \
                "$work/out.json" >> "$work/$number.$together"
        done
    done
done
middle() { cut -f "$2" "$1" | sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
number=0
for aqmkit in $AQMKIT; do
    number=$((number + 1))
    for together in 1 64; do
        file="$work/$number.$together"
        printf '%s, %2d at a time: %.2f Mpps, %.1f %% dropped in front, %.0f ns of a core for each\n' "$aqmkit" $together \
            "$(middle "$file" 1)" "$(middle "$file" 2)" "$(cut -f 3 "$file" | sort -g | head -n 1)"
    done
done
