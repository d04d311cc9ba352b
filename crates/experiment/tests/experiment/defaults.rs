//! Every discipline with its defaults lets a small link be used.

use aqmkit_aqm::registry;
use aqmkit_sim::{Control, run};

use super::parse;

/// Four CUBIC flows of Linux hosts over 10 Mbit/s and 50 ms must use most of the link with any discipline. This detects
/// defaults that were derived for other links, like those of a RED whose average took half a minute to fall below
/// `max`.
#[test]
fn the_defaults_of_every_discipline_carry_four_flows() {
    let mut low = Vec::new();
    for entry in registry::ALL {
        let text = format!(
            "title = \"t\"\nduration = \"20s\"\nwarmup = \"10s\"\n[topology]\nrate = \"10mbit\"\ndelays = \"50ms\"\naqm = \"{}\"\n\
             [transport]\nprofile = \"linux-6\"\ncongestion = \"cubic\"\n[[traffic]]\nkind = \"bulk\"\nflows = 4\nclass = \"tcp\"\nstagger = \"5s\"\n",
            entry.name
        );
        let experiment = parse(&text).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        let spec = experiment.plan().into_iter().next().unwrap();
        let output = run(spec.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
        let used = output.windows[0].links["bottleneck"].utilization;
        if used < 0.8 {
            low.push(format!("{} {used:.2}", entry.name));
        }
    }
    assert!(low.is_empty(), "{low:?}");
}

/// A full-sized packet uses up a quantum of one full-sized packet, so a sparse flow does not send two packets in its
/// first turn; the second waits a round. Beside four bulk flows at 40 Mbit/s the 99th percentile of its delay is 0.41
/// to 0.47 ms in Linux 7.3, and 0.72 ms with a quantum that leaves 14 bytes.
#[test]
fn a_full_packet_uses_up_a_quantum() {
    let text = "title = \"t\"\nduration = \"30s\"\nwarmup = \"10s\"\n[topology]\nrate = \"40mbit\"\ndelays = \"20ms\"\naqm = \"fq-codel\"\n\
                [transport]\nprofile = \"linux-6\"\ncongestion = \"cubic\"\n[[traffic]]\nname = \"bulk\"\nkind = \"bulk\"\nflows = 4\nclass = \"tcp\"\n\
                [[traffic]]\nname = \"sparse\"\nkind = \"cbr\"\nrate = \"64kbit\"\npacket = \"200b\"\nclass = \"sparse\"\n";
    let experiment = parse(text).unwrap_or_else(|e| panic!("{}", super::rendered(&e)));
    let spec = experiment.plan().into_iter().next().unwrap();
    let output = run(spec.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
    let p99 = output.windows[0].classes["sparse"].queue_delay_ms.unwrap().p99;
    assert!((0.2..=0.47).contains(&p99), "{p99} ms");
}
