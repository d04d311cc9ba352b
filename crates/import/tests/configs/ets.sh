tc qdisc add dev swp1 root handle 1: htb default 1
tc class add dev swp1 parent 1: classid 1:1 htb rate 400mbit ceil 400mbit burst 100k cburst 100k
tc qdisc add dev swp1 parent 1:1 handle 2: ets bands 4 strict 1 quanta 6000 3000 1514 priomap 3 3 3 3 0 0 1 1 2 2 2 2 2 2 2 2
tc qdisc add dev swp1 parent 2:2 handle 20: red limit 400000 min 30000 max 90000 avpkt 1000 burst 50 ecn adaptive bandwidth 400mbit probability 0.05
tc qdisc add dev swp1 parent 2:4 handle 40: codel limit 500 ecn
