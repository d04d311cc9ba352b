//! The gauges of each discipline, which figures and experiments ask for by name, and what they show of a queue in which nothing has happened.

use std::fmt::Write as _;

use crate::common::bench::Bench;
use aqmkit_aqm::registry;
use aqmkit_aqm::registry::Spec;

/// The gauges before the first packet, on a link of 10 Mbit/s with the classes tcp, multimedia and other. Nothing has been counted, averaged or
/// decided yet; any value that is not zero is a parameter (`max_p`, `threshold`, `burst_allowance`) or follows from the link without flows: a share
/// of one packet, of the whole link, of `1/200` of the packets in 800 ms, ten round trips of 40 ms, a thousandth of the link.
const FRESH: &str = "
fifo:
erd:
red: avg 0
ared: avg 0, max_p 0.1
pi: p 0
rem: price 0, p 0
blue: p 0
sfb: p.max 0, p.mean 0, bins.over 0
sred: hit_rate 0, flows 0, repeated_hits 0
choke: avg 0, candidates 0
fred: avg 0, avgcq 1, flows 0
afd: m_fair 1000, flows 0
red-pd: avg 0, drop_rate 0, interval 0.4, identified 0, monitored 0, unresponsive 0, filter.max 0
floyd-fall: avg 0, avg.class 0, restricted 0, class.rate 10000
rio: avg.in 0, avg.out 0, queue.in 0
wred: avg 0
gred: avg.* 0, queue.* 0
rio-ps: avg.in 0, avg.out 0, queue.in 0, threshold 8, flows 0
dcn: p_ref 5, flows 0
cbt: avg.0 0, avg.1 0, avg.2 0
cbq:
tbf:
prio: queue.0 0, queue.1 0, queue.2 0
pfifo-fast: queue.0 0, queue.1 0, queue.2 0
ets: queue.0 0
htb: queue.direct 0
drr: deficit 0
sfq: flows 0
fq: queue.0 0, queue.1 0, queue.2 0, queue.fast 0, throttled 0
wfq: round 0, active 0, flows 0
csfq: alpha 10000000, arriving 0, accepted 0, congested 0, flows 0
hhf: heavy_hitters 0, queue.heavy 0, queue.light 0
codel: count 0, dropping 0
cobalt: p 0, count 0
fq-codel: new_flows 0, old_flows 0, fattest 0
pie: p 0, qdelay 0, burst_allowance 0.15
docsis-pie: p 0, qdelay 0, burst_allowance 0, state 0
fq-pie: new_flows 0, old_flows 0, fattest 0
cake: sparse_flows 0, bulk_flows 0, p.max 0, queue.best effort 0, queue.bulk 0, queue.voice 0
pi2: p 0, p_classic 0, p_scalable 0
step:
curvy-red: avg_delay 0, p 0
dualq: avg_delay 0, p_c 0, l.packets 0, c.packets 0
dualpi2: p 0, p_c 0, p_cl 0, l.packets 0, c.packets 0
";

#[test]
fn a_fresh_queue_shows_its_gauges() {
    let mut shown = String::from("\n");
    for entry in registry::ALL {
        let queue = Bench::new(&Spec::named(entry.name).expect("it is in the list")).queue;
        write!(shown, "{}:", entry.name).expect("a string takes all");
        queue.probe(&mut |name, value| write!(shown, " {name} {value},").expect("a string takes all"));
        shown = shown.trim_end_matches(',').to_owned() + "\n";
    }
    assert_eq!(shown, FRESH);
}
