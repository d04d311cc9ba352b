tc qdisc add dev eth0 root handle 1: tbf rate 12mbit burst 20k limit 60k
tc qdisc add dev eth0 parent 1:1 handle 2: prio bands 3
tc qdisc add dev eth0 parent 2:1 handle 21: pfifo limit 30
tc qdisc add dev eth0 parent 2:2 handle 22: fq_codel
tc qdisc add dev eth0 parent 2:3 handle 23: sfq
tc filter add dev eth0 parent 2: protocol ip prio 1 flower ip_proto udp dst_port 3478 classid 2:1
tc filter add dev eth0 parent 2: protocol ip prio 2 u32 match ip dsfield 0x20 0xfc flowid 2:3
