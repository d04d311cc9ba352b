# A directory for files, $work, one for the sockets of aqmkit ctl, and network namespaces, which the other scripts read. All of it, and what runs in the namespaces, is gone when a script
# ends, after its own at_end. The namespaces are two hosts, $left with the interface l0 (10.7.0.1) and $right with r0 (10.7.0.2), connected
# directly, or through $middle with the interfaces b0 and b1. The names have the number of the process, so that several scripts can run.
left=aqmkit-left-$$
middle=aqmkit-middle-$$
right=aqmkit-right-$$

make_namespaces() {
    for namespace in "$left" "$middle" "$right"; do
        ip netns add "$namespace"
        ip -n "$namespace" link set lo up
    done
}

# Also ends the processes that run in them, and removes their interfaces.
remove_namespaces() {
    for namespace in "$left" "$middle" "$right"; do
        ip netns pids "$namespace" 2>/dev/null | xargs -r kill 2>/dev/null || true
        ip netns del "$namespace" 2>/dev/null || true
    done
}

# host NAMESPACE DEVICE NUMBER: gives the device of a host its address.
host() {
    ip -n "$1" addr add "10.7.0.$3/24" dev "$2"
    ip -n "$1" link set "$2" up
}

# plug NAMESPACE DEVICE NUMBER MIDDLE: connects a host to an interface in the middle.
plug() {
    ip link add "$2" netns "$1" type veth peer name "$4" netns "$middle"
    host "$1" "$2" "$3"
    ip -n "$middle" link set "$4" up
}

# unplug: removes all interfaces between them.
unplug() {
    ip -n "$left" link del l0 2>/dev/null || true
    ip -n "$right" link del r0 2>/dev/null || true
}

# Connects the hosts through the middle.
connect_through_middle() {
    unplug
    plug "$left" l0 1 b0
    plug "$right" r0 2 b1
}

# Connects the hosts directly.
connect_directly() {
    unplug
    ip link add l0 netns "$left" type veth peer name r0 netns "$right"
    host "$left" l0 1
    host "$right" r0 2
}

# segmentation on|off: whether the hosts hand super-packets to their interface.
segmentation() {
    for end in "$left l0" "$right r0"; do
        ip netns exec "${end% *}" ethtool -K "${end#* }" tso "$1" tx-udp-segmentation "$1" > /dev/null 2>&1
    done
}

# used PID: processor time of a process so far, in seconds; 0 without one.
ticks=$(getconf CLK_TCK 2>/dev/null || echo 100)
used() { [ -z "$1" ] && echo 0 || awk -v ticks="$ticks" '{ print ($14 + $15) / ticks }' "/proc/$1/stat"; }

# FILE NUMBER: the median of a column, and the least.
median() { cut -f "$2" "$1" | sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
least() { cut -f "$2" "$1" | sort -g | head -n 1; }

# sent_up FILE: the packets that a link has sent in its direction up, from what `aqmkit ctl show --json` printed. A link that a sender overwhelms is not
# valid as a measurement of its discipline, so its own file has no results.
sent_up() { jq '.directions[] | select(.name == "up") | .total.sent_packets' "$1"; }

at_end() { :; }
clean() {
    at_end
    remove_namespaces
    rm -rf "$work"
}
work=$(mktemp -d)
# Of its own, so that ctl finds what a script has started, and nothing else.
export AQMKIT_RUNTIME_DIR="$work/sockets"
mkdir -m 700 "$AQMKIT_RUNTIME_DIR"
trap clean EXIT
trap 'exit 130' INT TERM
make_namespaces
