tc qdisc add dev eth3 root handle 1: tbf rate 8mbit burst 10kb limit 100kb
tc qdisc add dev eth3 parent 1: pie limit 400p target 20ms tupdate 30ms alpha 2 beta 20 ecn bytemode
