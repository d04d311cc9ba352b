# What the virtual machine of run.sh runs: one line of results for each discipline and kind of hosts.
export PATH=/tools:/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
for module in /modules/*.ko; do
    insmod "$module"
done
. /settings
rate=$((rate / slow))

ip link set lo up
for name in sender router receiver; do
    ip netns add "$name"
done
ip link add s0 netns sender type veth peer name r0 netns router
ip link add r1 netns router type veth peer name d0 netns receiver
ip -n sender addr add 10.7.1.1/24 dev s0
ip -n router addr add 10.7.1.2/24 dev r0
ip -n router addr add 10.7.2.2/24 dev r1
ip -n receiver addr add 10.7.2.1/24 dev d0
for end in 'sender s0' 'router r0' 'router r1' 'receiver d0'; do
    set -- $end
    ip -n "$1" link set "$2" up
done
ip -n sender route add default via 10.7.1.2
ip -n receiver route add default via 10.7.2.2
ip netns exec router sysctl -q -w net.ipv4.ip_forward=1
tc -n receiver qdisc add dev d0 root netem delay "$((20 * slow))ms" limit 20000
ip netns exec receiver measure server &

# tc counts 14 bytes of Ethernet with each packet of 1500. A bucket of one packet makes tbf cut super-packets, so that the discipline sees packets.
shaped=$((rate * 1514 / 1500))
options() {
    case $1 in
        fifo) echo pfifo limit 100 ;;
        red) echo red limit 151400 min 15140 max 45420 avpkt 1514 burst 17 probability 0.02 bandwidth "${rate}kbit" ;;
        choke) echo choke limit 100 min 10 max 30 burst 17 probability 0.02 bandwidth "${rate}kbit" ;;
        codel | fq_codel) echo "$1" target "$((5 * slow))ms" interval "$((100 * slow))ms" ;;
        *) echo "$1" ;;
    esac
}

# Ticks of the processor since the start: all, and those without work.
ticks() {
    read -r _ user nice system idle wait irq soft _ < /proc/stat
    echo $((user + nice + system + idle + wait + irq + soft)) $((idle + wait))
}

# measured HOSTS
measured() {
    for discipline in $disciplines; do
        tc -n router qdisc replace dev r1 root handle 1: tbf rate "${shaped}kbit" burst "$burst" limit 100000000
        tc -n router qdisc add dev r1 parent 1:1 handle 2: $(options "$discipline")
        ip -n sender tcp_metrics flush > /dev/null
        ip -n receiver tcp_metrics flush > /dev/null
        ip netns exec router measure delays r0 r1 "$((5 * slow))" "$seconds" > /tmp/delays &
        meter=$!
        set -- "$1" $(ticks)
        ip netns exec sender measure client 10.7.2.1 4 "$seconds" cubic
        wait $meter
        set -- "$@" $(ticks)
        echo "$1, $discipline: $(cat /tmp/delays), processor used $((100 - 100 * ($5 - $3) / ($4 - $2))) %"
        tc -n router qdisc del dev r1 root
        sleep 1
    done
}

echo "Linux $(uname -r), ${rate} kbit/s of IP packets, $((20 * slow)) ms, four flows of cubic, $((5 * slow)) to $seconds s"
measured defaults
[ "$hosts" = all ] || poweroff -f
ip netns exec receiver sysctl -q -w net.ipv4.tcp_comp_sack_nr=0
measured 'no compressed acknowledgements'
ip -n sender link set s0 gso_max_segs 1
measured 'no segmentation offload either'
poweroff -f
