# Dumbbell S1 for ns-2: long TCP transfers through one link of 100 Mbit/s with RED.
#
#   ns s1.tcl [key=value ...]
#
#   tcp      newreno or sack                                        (newreno)
#   seconds  simulated time; 0 only builds the scenario             (100)
#   warm     the statistics but "packets" leave out the time before (20)
#   flows    transfers                                              (50)
#   access   sides of the bottleneck with a link of 1 Gbit/s for each flow: 1 or 2 (1)
#   seed                                                            (1)
#
# Everything that costs ns-2 time without changing the scenario is off: no trace, only the packet headers that
# are used, no routing protocol.

array set opt {tcp newreno seconds 100 warm 20 flows 50 access 1 seed 1}
foreach arg $argv {
    if {![regexp {^(\w+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "s1.tcl: what is \"$arg\"?"
        exit 2
    }
    set opt($key) $value
}
switch $opt(tcp) {
    newreno { set sender Agent/TCP/Newreno; set receiver Agent/TCPSink }
    sack    { set sender Agent/TCP/Sack1;   set receiver Agent/TCPSink/Sack1 }
    default { puts stderr "s1.tcl: tcp is newreno or sack"; exit 2 }
}

set rate    100e6
set packet  1500
set bottleneck_delay 5.0 ;# ms

Agent/TCP set packetSize_ [expr {$packet - 40}] ;# ns-2 adds the 40 bytes of header
Agent/TCP set window_     10000
Queue/RED set thresh_     30
Queue/RED set maxthresh_  90
Queue/RED set q_weight_   [expr {1.0 / 512}]
Queue/RED set linterm_    10    ;# 1 / max_p
Queue/RED set gentle_     false
Queue/RED set wait_       false ;# drops are drawn from the first packet after a drop on
Queue/RED set bytes_      false
Queue/RED set queue_in_bytes_ false
Queue/RED set mean_pktsize_   $packet

remove-all-packet-headers
add-packet-header IP TCP Flags
set sim [new Simulator]
ns-random $opt(seed)
$sim rtproto Manual

# A route from `node` to its neighbour, for everything or only for what is addressed to it.
proc route {node everything neighbour} {
    set table [$node get-module Manual]
    if {$everything} {
        $table add-route-to-adj-node -default $neighbour
    } else {
        $table add-route-to-adj-node $neighbour
    }
}

# A link of a flow's own, which never drops, between a host and its router.
proc access_link {sim host router ms} {
    $sim duplex-link $host $router 1Gb ${ms}ms DropTail
    $sim queue-limit $host $router 100000
    $sim queue-limit $router $host 100000
    route $host 1 $router
    route $router 0 $host
}

set left  [$sim node]
set right [$sim node]
$sim simplex-link $left $right $rate ${bottleneck_delay}ms RED
$sim simplex-link $right $left $rate ${bottleneck_delay}ms DropTail
$sim queue-limit $left $right 500
$sim queue-limit $right $left 100000
route $left 1 $right
route $right 1 $left
set monitor [$sim monitor-queue $left $right ""]
set queue   [$monitor get-pkts-integrator]

for {set i 0} {$i < $opt(flows)} {incr i} {
    set rtt [expr {20.0 + 280.0 * $i / max(1, $opt(flows) - 1)}]
    set ms  [expr {$rtt / 2 - $bottleneck_delay}]
    if {$opt(access) == 2} {
        set client [$sim node]
        access_link $sim $client $right 1.0
        set ms [expr {$ms - 1.0}]
    } else {
        set client $right
    }
    set server [$sim node]
    access_link $sim $server $left $ms

    set tcp($i) [new $sender]
    set sink    [new $receiver]
    $tcp($i) set fid_ $i
    $sim attach-agent $server $tcp($i)
    $sim attach-agent $client $sink
    $sim connect $tcp($i) $sink
    set transfer [new Application/FTP]
    $transfer attach-agent $tcp($i)
    $sim at [expr {double($i) / $opt(flows)}] "$transfer start"
}

# What was counted up to now.
proc counts {} {
    global sim monitor queue tcp
    $queue newpoint [$sim now] [$queue set lasty_]
    set all [list arrived [$monitor set parrivals_] left [$monitor set pdepartures_] \
        dropped [$monitor set pdrops_] area [$queue set sum_]]
    foreach i [array names tcp] {
        lappend all acked,$i [$tcp($i) set ack_]
    }
    return $all
}

proc warmed_up {} {
    global before
    array set before [counts]
}

proc report {} {
    global before opt rate packet
    array set now [counts]
    set span [expr {double($opt(seconds) - $opt(warm))}]
    foreach key [array names before] {
        set of($key) [expr {double($now($key) - $before($key))}]
    }
    set sum 0.0
    set squares 0.0
    foreach key [array names of acked,*] {
        set sum     [expr {$sum + $of($key)}]
        set squares [expr {$squares + $of($key) ** 2}]
    }
    puts [format "packets=%.0f" $now(left)]
    puts [format "utilisation=%.4f" [expr {$of(left) * $packet * 8 / ($span * $rate)}]]
    puts [format "drops=%.5f" [expr {$of(dropped) / $of(arrived)}]]
    puts [format "mean_queue=%.2f" [expr {$of(area) / $span}]]
    puts [format "jain=%.4f" [expr {$sum ** 2 / ($opt(flows) * $squares)}]]
    exit 0
}

if {$opt(seconds) == 0} {
    $sim at 0 {puts "packets=0"; exit 0}
} elseif {$opt(warm) >= $opt(seconds)} {
    puts stderr "s1.tcl: warm must be below seconds"
    exit 2
} else {
    $sim at $opt(warm) warmed_up
    $sim at $opt(seconds) report
}
$sim run
