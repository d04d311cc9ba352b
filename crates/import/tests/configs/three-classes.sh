#!/bin/bash
IF=enp3s0
TC=/sbin/tc
$TC qdisc del dev $IF root
$TC qdisc add dev $IF root handle 1: htb default 30
$TC class add dev $IF parent 1: classid 1:1 htb rate 18mbit burst 15k
$TC class add dev $IF parent 1:1 classid 1:10 htb rate 2mbit ceil 18mbit burst 15k prio 0   # calls
$TC class add dev $IF parent 1:1 classid 1:20 htb rate 6mbit ceil 18mbit burst 15k prio 1
$TC class add dev $IF parent 1:1 classid 1:30 htb rate 10mbit ceil 17mbit burst 15k prio 2
$TC qdisc add dev $IF parent 1:10 handle 10: pfifo limit 50
$TC qdisc add dev $IF parent 1:20 handle 20: fq_codel limit 600 target 8ms ecn
$TC qdisc add dev $IF parent 1:30 handle 30: sfq perturb 10
$TC filter add dev $IF parent 1: protocol ip prio 1 u32 match ip dport 5060 0xffff flowid 1:10
$TC filter add dev $IF parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xff flowid 1:10
$TC filter add dev $IF parent 1: protocol ip prio 2 u32 match ip protocol 6 0xff match ip dport 443 0xffff flowid 1:20
$TC filter add dev $IF parent 1: protocol ip prio 3 u32 match ip dst 198.51.100.0/24 flowid 1:20
$TC filter add dev $IF parent 1: protocol ip prio 4 handle 7 fw flowid 1:20
for host in 10 11 12; do
