#!/bin/sh
# What a queue inside the kernel costs: each discipline of `aqmkit kernel` as a classifier before a shaper, and as a queue discipline where the kernel
# has those in BPF, beside the shaper alone, the kernel's own disciplines behind it, and aqmkit's own link and bridge, all in one run.
#
#   sudo bench/live/kernel.sh [SECONDS [ROUNDS [DISCIPLINE...]]]      all disciplines, or these
#
# needs iperf3, ip, tc and jq, and builds aqmkit first unless AQMKIT names one. UDP packets of 46 bytes go from one namespace to another
# over a pair of devices and through a shaper of 10 Gbit/s, which never has to hold them, as fast as one sender makes them. A line has the
# packets per second that arrived at the other namespace's device (its process may read fewer, where sender and queue take all processors, and
# lose the others), and the processor time of the sender for each packet that it sent, with all that the kernel does for it; for a classifier also
# how long the program took, as the kernel measures it (`kernel.bpf_stats_enabled`). Least and median of the rounds, because other
# work on the machine only adds. The measurement itself and the call of a program take time too: where clang and bpftool are, a program that
# does nothing shows how much. What is not there is said.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-2}
rounds=${2:-5}
shift "$(($# < 2 ? $# : 2))"
disciplines=$*
. bench/live/build.sh
. bench/live/namespaces.sh
timed=$(cat /proc/sys/kernel/bpf_stats_enabled)
at_end() { echo "$timed" > /proc/sys/kernel/bpf_stats_enabled; }
echo 1 > /proc/sys/kernel/bpf_stats_enabled
connect_directly
ip netns exec "$right" iperf3 -s > /dev/null 2>&1 &
sleep 1

# A number of each round from a file, one a line: the least and the median.
spread() { sort -n "$1" | awk '{ all[NR] = $1 } END { printf "%s, median %s", all[1], all[int((NR + 1) / 2)] }'; }

# How many packets have arrived at the receiver's device.
arrived() { ip -n "$right" -s -j link show r0 | jq '.[0].stats64.rx.packets'; }

# measure NAME: what one sender gets through the queue that stands there now.
measure() {
    : > "$work/pps"
    : > "$work/cpu"
    : > "$work/run"
    for _ in $(seq "$rounds"); do
        before=$(arrived)
        ip netns exec "$left" iperf3 -u -b 0 -l 18 -J -c 10.7.0.2 -t "$seconds" > "$work/udp.json"
        jq --argjson packets $(($(arrived) - before)) '$packets / .end.sum.seconds / 1000 | round' "$work/udp.json" >> "$work/pps"
        jq '.end.cpu_utilization_percent.host_total / 100 * .end.sum.seconds / .end.sum.packets * 1e9 | round' "$work/udp.json" >> "$work/cpu"
        ip netns exec "$left" "$AQMKIT" kernel show --json | jq '.[0].mean_run_ns // empty | round' >> "$work/run"
    done
    run=
    [ ! -s "$work/run" ] || run="; program $(spread "$work/run") ns"
    printf '%-24s %s kpps at most; sender %s ns a packet%s\n' "$1" "$(sort -n "$work/pps" | tail -n 1)" "$(spread "$work/cpu")" "$run"
}

tbf="tbf rate 10gbit burst 1mb limit 10mb"
tc -n "$left" qdisc add dev l0 root handle 1: $tbf
measure "tbf"
for own in "red limit 1000000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10gbit" "pie" "codel" "fq_codel"; do
    name=${own%% *}
    if tc -n "$left" qdisc add dev l0 parent 1: handle 2: $own 2>/dev/null; then
        measure "tbf, kernel's $name"
        tc -n "$left" qdisc del dev l0 parent 1: handle 2:
    else
        printf '%-24s not in this kernel\n' "tbf, kernel's $name"
    fi
done
# What measuring and calling a program takes.
printf 'int empty(void *skb) { return -1; }\n' > "$work/empty.c"
clang=$(command -v clang || command -v clang-19 || true)
if [ -n "$clang" ] && command -v bpftool > /dev/null && "$clang" -O2 -target bpf -c "$work/empty.c" -o "$work/empty.o" 2>/dev/null &&
    tc -n "$left" qdisc add dev l0 clsact && tc -n "$left" filter add dev l0 egress bpf da obj "$work/empty.o" sec .text; then
    id=$(tc -n "$left" filter show dev l0 egress | grep -o ' id [0-9]*' | tail -n 1 | cut -d ' ' -f 3)
    for _ in $(seq "$rounds"); do
        before=$(bpftool prog show id "$id" -j)
        ip netns exec "$left" iperf3 -u -b 0 -l 18 -c 10.7.0.2 -t "$seconds" > /dev/null
        bpftool prog show id "$id" -j | jq --argjson before "$before" \
            '((.run_time_ns - ($before.run_time_ns // 0)) / (.run_cnt - ($before.run_cnt // 0))) | round'
    done > "$work/run"
    printf '%-24s program %s ns\n' "a program that does nothing" "$(spread "$work/run")"
    tc -n "$left" qdisc del dev l0 clsact
else
    printf '%-24s not measured: it needs clang and bpftool\n' "a program that does nothing"
fi
tc -n "$left" qdisc del dev l0 root

for discipline in ${disciplines:-$("$AQMKIT" list disciplines --json | jq -r '.[] | select(.runs | index("kernel")) | .name')}; do
    ip netns exec "$left" "$AQMKIT" kernel install "$discipline" dev l0 rate 10gbit > /dev/null
    measure "tbf, aqmkit $discipline"
    ip netns exec "$left" "$AQMKIT" kernel remove dev l0
done

# The wrapper is among the kernel's types where it has queue disciplines in BPF.
for discipline in ${disciplines:-red dcn pie codel}; do
    if grep -q bpf_struct_ops_Qdisc_ops /sys/kernel/btf/vmlinux; then
        ip netns exec "$left" "$AQMKIT" kernel install "$discipline" dev l0 rate 10gbit queue > /dev/null
        measure "aqmkit $discipline queue"
        ip netns exec "$left" "$AQMKIT" kernel remove dev l0
    else
        printf '%-24s not in this kernel\n' "aqmkit $discipline queue"
    fi
done

# A queue in aqmkit's own process, between two devices of a third namespace and on a link of its own.
"$AQMKIT" -q link --rate 10gbit --aqm fifo:limit=1000 --server 'iperf3 -s' --out "$work/own.json" \
    -- sh -c "iperf3 -u -b 0 -l 18 -J -c \$AQMKIT_BASE -t $seconds > $work/udp.json; '$AQMKIT' ctl show --json > $work/after.json" > /dev/null 2>&1 || true
# own KIND PACKETS CPU: so many packets went through it, and it took so many seconds of a processor in all.
own() {
    printf '%-24s %s kpps; aqmkit %s ns a packet\n' "aqmkit $1, fifo" \
        "$(jq --argjson packets "$2" '$packets / .end.sum.seconds / 1000 | round' "$work/udp.json")" \
        "$(jq -n --argjson packets "$2" --argjson cpu "$3" '$cpu / $packets * 1e9 | round')"
}
own link "$(sent_up "$work/after.json")" "$(jq .machine.cpu_s "$work/own.json")"
connect_through_middle
ip netns exec "$middle" "$AQMKIT" -q bridge b0 b1 --rate 10gbit --aqm fifo:limit=1000 > /dev/null 2>&1 &
bridge=$!
sleep 2
before=$(arrived)
cpu=$(used "$bridge")
ip netns exec "$left" iperf3 -u -b 0 -l 18 -J -c 10.7.0.2 -t "$seconds" > "$work/udp.json"
own bridge $(($(arrived) - before)) "$(awk -v a="$(used "$bridge")" -v b="$cpu" 'BEGIN { print a - b }')"
