# Dumbbells S1, S2 and S3 for ns-2: long or short TCP transfers through one link with RED.
#
#   ns dumbbell.tcl [key=value ...]
#
#   scenario s1: 50 long transfers, 100 Mbit/s; s2: 1000, 1 Gbit/s; s3: 940 short ones per second, 100 Mbit/s (s1)
#   tcp      newreno or sack                                        (newreno)
#   seconds  simulated time; 0 only builds the scenario             (100)
#   warm     the statistics but "packets" leave out the time before (20)
#   access   sides of the bottleneck with a link of 1 Gbit/s for each flow: 1 or 2; s1 and s2 (1)
#   seed                                                            (1)
#
# The short transfers of s3 have no SYN and no FIN, which ns-2's one-way TCP lacks. Their agents are used again half a second after a transfer.
#
# Everything that costs ns-2 time without changing the scenario is off: no trace, only the packet headers that
# are used, no routing protocol.

array set opt {scenario s1 tcp newreno seconds 100 warm 20 access 1 seed 1}
foreach arg $argv {
    if {![regexp {^(\w+)=(.*)$} $arg -> key value] || ![info exists opt($key)]} {
        puts stderr "dumbbell.tcl: unknown argument \"$arg\""
        exit 2
    }
    set opt($key) $value
}
switch $opt(tcp) {
    newreno { set sender Agent/TCP/Newreno; set receiver Agent/TCPSink }
    sack    { set sender Agent/TCP/Sack1;   set receiver Agent/TCPSink/Sack1 }
    default { puts stderr "dumbbell.tcl: tcp is newreno or sack"; exit 2 }
}

# Rate, number of long transfers, and how much longer the queue and RED's thresholds are than those of S1.
switch $opt(scenario) {
    s1 { set rate 100e6; set flows 50;   set times 1 }
    s2 { set rate 1e9;   set flows 1000; set times 10 }
    s3 { set rate 100e6; set flows 0;    set times 1 }
    default { puts stderr "dumbbell.tcl: scenario is s1, s2 or s3"; exit 2 }
}
set packet  1500
set bottleneck_delay 5.0 ;# ms

Agent/TCP set packetSize_ [expr {$packet - 40}] ;# ns-2 adds the 40 bytes of header
Agent/TCP set window_     10000
Queue/RED set thresh_     [expr {30 * $times}]
Queue/RED set maxthresh_  [expr {90 * $times}]
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
expr {srand($opt(seed))}
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
$sim queue-limit $left $right [expr {500 * $times}]
$sim queue-limit $right $left 100000
route $left 1 $right
route $right 1 $left
set monitor [$sim monitor-queue $left $right ""]
set queue   [$monitor get-pkts-integrator]

for {set i 0} {$i < $flows} {incr i} {
    set rtt [expr {20.0 + 280.0 * $i / max(1, $flows - 1)}]
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
    $sim at [expr {double($i) / $flows}] "$transfer start"
}

# One server sends all short transfers, over a link of its own; the round trip is 100 ms.
if {$opt(scenario) eq "s3"} {
    set host [$sim node]
    access_link $sim $host $left [expr {50 - $bottleneck_delay}]
    $sim at 0 next_transfer
}
set idle {}

# A sender and a receiver that have been idle for long enough, or new ones.
proc free_pair {} {
    global idle sim sender receiver host right
    if {[llength $idle] && [lindex $idle 0 0] <= [$sim now]} {
        set pair [lindex $idle 0 1]
        set idle [lrange $idle 1 end]
        return $pair
    }
    set from [new $sender]
    set to   [new $receiver]
    $sim attach-agent $host $from
    $sim attach-agent $right $to
    $sim connect $from $to
    return [list $from $to]
}

# Starts a transfer now and the next after an exponential interval. Sizes are Pareto with exponent 0.9 from 1 KB on, cut at 1 MB: 9 KB in the mean.
proc next_transfer {} {
    global sim packet carried
    set tail [expr {pow(1e-3, 0.9)}]
    set size [expr {1000.0 * pow(1 - rand() * (1 - $tail), -1 / 0.9)}]
    set pair [free_pair]
    set carried([lindex $pair 0]) $pair
    [lindex $pair 0] advanceby [expr {int(ceil($size / ($packet - 40)))}]
    $sim at [expr {[$sim now] - log(1 - rand()) / 940}] next_transfer
}

# ns-2 calls this when everything is acknowledged.
Agent/TCP instproc done {} {
    global sim carried
    if {[info exists carried($self)]} {
        $sim at [expr {[$sim now] + 0.5}] "take_back $carried($self)"
        unset carried($self)
    }
}

proc take_back {from to} {
    global sim idle
    $from reset
    $to reset
    lappend idle [list [$sim now] [list $from $to]]
}

# What was counted up to now.
proc counts {} {
    global sim monitor queue tcp
    $queue newpoint [$sim now] [$queue set lasty_]
    set all [list arrived [$monitor set parrivals_] left [$monitor set pdepartures_] \
        dropped [$monitor set pdrops_] bytes [$monitor set bdepartures_] area [$queue set sum_]]
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
    global before opt rate flows
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
    puts [format "utilisation=%.4f" [expr {$of(bytes) * 8 / ($span * $rate)}]]
    puts [format "drops=%.5f" [expr {$of(dropped) / $of(arrived)}]]
    puts [format "mean_queue=%.2f" [expr {$of(area) / $span}]]
    if {$flows > 0} {
        puts [format "jain=%.4f" [expr {$sum ** 2 / ($flows * $squares)}]]
    }
    exit 0
}

if {$opt(seconds) == 0} {
    $sim at 0 {puts "packets=0"; exit 0}
} elseif {$opt(warm) >= $opt(seconds)} {
    puts stderr "dumbbell.tcl: warm must be below seconds"
    exit 2
} else {
    $sim at $opt(warm) warmed_up
    $sim at $opt(seconds) report
}
$sim run
