tc qdisc add dev veth0 root handle 1: netem delay 40ms 10ms loss 0.5% limit 20000
tc qdisc add dev veth0 parent 1:1 handle 2: tbf rate 25mbit burst 16k limit 200k
