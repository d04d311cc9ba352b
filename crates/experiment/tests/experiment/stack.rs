//! Stacks from outside in experiment files.

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_sim::Control;
use aqmkit_stack::Addition;
use aqmkit_stack::stop_and_wait::StopAndWait;

const FILE: &str = r#"
title = "One datagram at a time"
duration = "20s"
warmup = "5s"

[topology]
rate = "10mbit"
delays = "100ms"
aqm = "fifo"

[transport]
stack = "stop-and-wait"

[[traffic]]
kind = "bulk"
flows = 1
stagger = "1s"
"#;

fn read(set: &[&str]) -> Result<Experiment, String> {
    let mut catalogues = Catalogues::default();
    catalogues.stacks.add(Addition::of::<StopAndWait>()).map_err(|e| e.to_string())?;
    let overrides = Overrides { set: set.iter().map(ToString::to_string).collect(), ..Overrides::default() };
    Experiment::parse_with("stack.toml", FILE, &overrides, &catalogues).map_err(|e| format!("{e:?}"))
}

/// One segment of 1000 bytes in 100 ms.
#[test]
fn its_connections_run_over_the_stack() {
    let rate = |set: &[&str]| {
        let run = read(set).unwrap().plan().swap_remove(0);
        let output = aqmkit_sim::run(run.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
        output.windows[0].classes["bulk"].goodput_bps / 1e3
    };
    let (one, double) = (rate(&[]), rate(&["transport.stop-and-wait.segment=500"]));
    // A round trip is 100 ms and the time for 1046 bytes at 10 Mbit/s.
    assert!((one / (8.0 / 0.10084) - 1.0).abs() < 0.02, "{one} kbit/s");
    assert!((double / (4.0 / 0.10044) - 1.0).abs() < 0.02, "{double} kbit/s");
}

#[test]
fn what_is_wrong_is_named_with_what_would_be_right() {
    let refused = |set: &str| read(&[set]).unwrap_err();
    let unknown = refused("transport.stack=\"stop-and-wit\"");
    assert!(unknown.contains("there is no stack") && unknown.contains("did you mean stop-and-wait?"), "{unknown}");
    assert!(refused("transport.profile=\"rfc\"").contains("both a stack and a profile"));
    assert!(refused("transport.congestion=\"cubic\"").contains("has no congestion control"));
    assert!(refused("transport.stop-and-wait.tries=0").contains("tries"));
    assert!(refused("transport.mss=\"1000b\"").contains("mss"));
}

#[test]
fn runs_with_other_parameters_are_stored_apart() {
    let key = |set: &[&str]| read(set).unwrap().hash();
    assert_eq!(key(&[]), key(&["transport.stop-and-wait.tries=8"]));
    assert_ne!(key(&[]), key(&["transport.ecn=true"]));
    assert_ne!(key(&[]), key(&["transport.stop-and-wait.tries=7"]));
}

/// A traffic may have a profile where the others have a stack.
#[test]
fn a_traffic_with_a_profile_takes_nothing_of_the_stack() {
    let run = read(&["traffic.bulk.transport={ profile = \"linux-6\" }"]).unwrap().plan().swap_remove(0);
    assert!(run.scenario().unwrap().groups[0].stack.is_none());
    assert!(read(&[]).unwrap().plan().swap_remove(0).scenario().unwrap().groups[0].stack.is_some());
}
