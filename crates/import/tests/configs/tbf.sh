# qdisc lines as `tc -b` takes them
qdisc replace dev wlan0 root handle 1: tbf rate 30mbit burst 32k latency 400ms
qdisc add dev wlan0 parent 1:1 handle 10: fq_codel target 10ms noecn
