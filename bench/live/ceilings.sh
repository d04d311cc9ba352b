#!/bin/sh
# The most that a bottleneck carries, and what each Gbit and each packet costs: the kernel's tbf, `aqmkit link`, `aqmkit shape`, `aqmkit bridge`,
# and mahimahi where it is installed, in turns in one run.
#
#   sudo bench/live/ceilings.sh [SECONDS [ROUNDS]]
#
# needs iperf3, ip, tc, ethtool and jq, and builds aqmkit first unless AQMKIT names one; several, separated by spaces, are
# compared (for example an older one). Every bottleneck has 10 Gbit/s and a first-in first-out queue. A line has, for one TCP
# connection and for UDP packets of 46 bytes that one sender makes as fast as it can: what arrived, the processor time of
# the bottleneck's process for it, and that of all that take part, which are the sender, the receiver and the bottleneck; the kernel's
# own work for a packet counts where it was done, and tbf shows 0 for a process of its own. UDP packets are counted when they arrive at the
# receiver's host, because its iperf3 reads fewer of them than the bottleneck lets pass. The processes of mahimahi took what mm-link with all its
# children took, less the iperf3 among them. mm-link needs an ordinary user (here nobody), net.ipv4.ip_forward=1, and to belong to root with the
# set-user-ID bit. Median of the rounds for rates, least for processor time, because other work on the machine only adds.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-3}
rounds=${2:-3}
. bench/live/build.sh
. bench/live/namespaces.sh

# note NAME FILE KIND CPU PACKETS: adds a round to what is known of NAME; CPU is that of the bottleneck's process, PACKETS the UDP packets that arrived.
note() {
    case $3 in
        tcp) amount='.end.sum_received.bytes * 8 / 1e9' ;;
        udp) amount='$packets / 1e6' ;;
    esac
    jq -r --argjson cpu "$4" --argjson packets "$5" "(.end.sum_sent // .end.sum).seconds as \$s | ($amount) as \$n
        | (.end.cpu_utilization_percent | .host_total + .remote_total) / 100 * \$s as \$ends
        | [\$n / \$s, \$cpu / \$n, (\$cpu + \$ends) / \$n] | @tsv" "$2" >> "$work/$1.$3"
}

tcp="-t $seconds -J"
udp="-u -b 0 -l 18 -t $seconds -J"

# datagrams [COMMAND...]: the UDP packets that have arrived at a host so far, whether somebody read them or not; COMMAND enters the host.
datagrams() { "$@" awk '/^Udp: [0-9]/ { print $2 + $3 + $4 }' /proc/net/snmp; }

# through NAME PID: both kinds of traffic from the left namespace to the right one; PID is the bottleneck's process or empty.
through() {
    for kind in tcp udp; do
        [ $kind = tcp ] && options=$tcp || options=$udp
        before=$(used "$2")
        packets=$(datagrams ip netns exec "$right")
        # shellcheck disable=SC2086
        ip netns exec "$left" iperf3 -c 10.7.0.2 $options > "$work/out.json" || true
        after=$(used "$2")
        packets=$(($(datagrams ip netns exec "$right") - packets))
        note "$1" "$work/out.json" $kind "$(awk -v a="$after" -v b="$before" 'BEGIN { print a - b }')" $packets
    done
}

# beside NAME NAMESPACE AQMKIT OPTIONS: through a bottleneck that a process keeps in a namespace.
beside() {
    # shellcheck disable=SC2086
    ip netns exec "$2" "$3" -q $4 --rate 10gbit --aqm fifo:limit=2000 > /dev/null 2>&1 &
    bridge=$!
    sleep 2
    through "$1" "$bridge"
    kill "$bridge"
    wait "$bridge" 2>/dev/null || true
}

# linked NAME AQMKIT: through a link.
linked() {
    for kind in tcp udp; do
        [ $kind = tcp ] && options=$tcp || options=$udp
        "$2" -q link --rate 10gbit --aqm fifo:limit=2000 --server 'iperf3 -s' --out "$work/link.json" \
            -- sh -c "iperf3 -c \$AQMKIT_BASE $options > $work/out.json; '$2' ctl show --json > $work/after.json" > /dev/null 2>&1 || true
        note "$1" "$work/out.json" $kind "$(jq .machine.cpu_s "$work/link.json")" \
            "$(sent_up "$work/after.json")"
    done
}

# of_children DIRECTORY: the processor time of the children of a shell, from the second line of its times, less that of the iperf3 in out.json.
of_children() {
    jq -r '.end | .cpu_utilization_percent.host_total / 100 * (.sum_sent // .sum).seconds' "$1/out.json" > "$1/client"
    awk -F '[ms ]+' 'NR == FNR { client = $1; next } FNR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 - client }' "$1/client" "$1/times"
}

# The names of the lines, in their order.
: > "$work/names"
line() { grep -qx "$1" "$work/names" || echo "$1" >> "$work/names"; }

ip netns exec "$right" iperf3 -s > /dev/null 2>&1 &
sleep 1
for _ in $(seq "$rounds"); do
    connect_directly
    segmentation on
    tc -n "$left" qdisc add dev l0 root tbf rate 10gbit burst 1mb limit 10mb
    line "tbf"
    through "tbf" ""
    segmentation off
    line "tbf, segmentation off"
    through "tbf, segmentation off" ""
    number=0
    for aqmkit in $AQMKIT; do
        number=$((number + 1))
        name=$([ "$AQMKIT" = "$aqmkit" ] && echo aqmkit || echo "aqmkit $number")
        line "$name link"
        linked "$name link" "$aqmkit"
        line "$name shape"
        connect_directly
        segmentation on
        beside "$name shape" "$left" "$aqmkit" "shape l0"
        line "$name bridge"
        connect_through_middle
        segmentation on
        beside "$name bridge" "$middle" "$aqmkit" "bridge b0 b1"
        segmentation off
        line "$name bridge, segmentation off"
        beside "$name bridge, segmentation off" "$middle" "$aqmkit" "bridge b0 b1"
        line "$name bridge, AF_XDP, segmentation off"
        beside "$name bridge, AF_XDP, segmentation off" "$middle" "$aqmkit" "bridge b0 b1 --io af-xdp"
    done
    if command -v mm-link > /dev/null; then
        # A trace of 10 Gbit/s: 833 opportunities of 1500 bytes in each ms.
        line mahimahi
        install -d -o nobody "$work/nobody"
        chmod go+x "$work"
        awk 'BEGIN { for (ms = 1; ms <= 3; ms++) for (i = 0; i < 833; i++) print ms }' > "$work/trace"
        for kind in tcp udp; do
            [ $kind = tcp ] && options=$tcp || options=$udp
            iperf3 -s -p 5302 > /dev/null 2>&1 &
            own=$!
            sleep 1
            packets=$(datagrams env)
            # As an ordinary user: mahimahi refuses root.
            su nobody -s /bin/sh -c "mm-link $work/trace $work/trace -- sh -c 'iperf3 -p 5302 -c \$MAHIMAHI_BASE $options' > $work/nobody/out.json; times > $work/nobody/times" || true
            kill $own
            note mahimahi "$work/nobody/out.json" $kind "$(of_children "$work/nobody")" $(($(datagrams env) - packets))
        done
    fi
done
printf '%-36s %29s   %29s\n' "" "one TCP connection" "UDP packets of 46 bytes"
printf '%-36s %9s %9s %9s   %9s %9s %9s\n' "" "Gbit/s" "CPU s/Gb" "of all" "Mpps" "CPU us/p" "of all"
while read -r name; do
    printf '%-36s' "$name"
    for kind in tcp udp; do
        file="$work/$name.$kind"
        printf ' %9.2f %9.3f %9.3f  ' "$(median "$file" 1)" "$(least "$file" 2)" "$(least "$file" 3)"
    done
    printf '\n'
done < "$work/names"
command -v mm-link > /dev/null || echo "mahimahi: not installed"
