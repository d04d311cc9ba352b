#!/bin/sh
# Upstream on the WAN port, downstream behind an IFB.
WAN=eth1
UP=19000kbit
DOWN=94000kbit
modprobe ifb
ip link add ifb1 type ifb
ip link set ifb1 up
tc qdisc del dev $WAN root 2>/dev/null
tc qdisc add dev $WAN root cake bandwidth $UP diffserv4 nat dual-srchost ack-filter overhead 18 mpu 64
tc qdisc add dev $WAN handle ffff: ingress
tc filter add dev $WAN parent ffff: protocol all prio 10 matchall \
    action mirred egress redirect dev ifb1
tc qdisc add dev ifb1 root cake bandwidth "$DOWN" besteffort wash ingress dual-dsthost \
    rtt 60ms overhead 18 mpu 64
