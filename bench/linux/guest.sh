# What the virtual machine of boot.sh runs first: modules, and a sender, a router and a receiver in namespaces; the receiver's answers take 20 ms.
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
tc -n receiver qdisc add dev d0 root netem delay "$((20 * ${slow:-1}))ms" limit 20000

# Nothing that a host has learnt of the path stays for the next measurement.
forget() {
    ip -n sender tcp_metrics flush > /dev/null
    ip -n receiver tcp_metrics flush > /dev/null
}
. /jobs
poweroff -f
