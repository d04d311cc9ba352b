//! Packets per CPU second of each stack beside this project's TCP: one endless transfer at 20 Mbit/s behind CoDel for 60 s, five times each.
//!
//! ```text
//! cargo run --release -p aqmkit-stack-speed
//! ```

use std::fs;
use std::sync::Arc;

use aqmkit_stack::Factory;
use aqmkit_stack_bench::aqmkit_transport::{Overrides, Profile};
use aqmkit_stack_bench::{Case, stack};
use aqmkit_stack_noq::Noq;
use aqmkit_stack_quinn::Quinn;
use aqmkit_stack_sctp::Sctp;
use aqmkit_stack_smoltcp::Smoltcp;
use aqmkit_stack_str0m::Str0m;

/// CPU time of this thread in seconds, as Linux counts it.
fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

fn measure(name: &str, case: &Case) -> Option<String> {
    let mut speeds = Vec::new();
    let mut packets = 0;
    for _ in 0..5 {
        let before = cpu_seconds()?;
        packets = case.clone().run().output.engine.packets;
        speeds.push(packets as f64 / (cpu_seconds()? - before) / 1000.0);
    }
    speeds.sort_by(f64::total_cmp);
    Some(format!("{name:<14} {packets:>8} {:>8.0} ({:.0} to {:.0})", speeds[2], speeds[0], speeds[4]))
}

/// This project's TCP with its congestion control CUBIC.
fn own(profile: &str) -> Option<Profile> {
    Overrides::default().apply(Profile::named(profile)?).ok()
}

#[allow(clippy::print_stdout, reason = "the table is for people")]
fn main() -> Result<(), &'static str> {
    let stacks: [Arc<dyn Factory>; 8] = [
        stack::<Quinn>("cubic", false),
        stack::<Quinn>("bbr", false),
        stack::<Noq>("cubic", false),
        stack::<Noq>("bbr3", false),
        stack::<Smoltcp>("cubic", false),
        stack::<Smoltcp>("reno", false),
        stack::<Sctp>("reno", false),
        stack::<Str0m>("gcc", false),
    ];
    let behind_codel = ("codel", "{}");
    let mut cases: Vec<(String, Case)> =
        stacks.into_iter().map(|stack| (stack.name(), Case::endless(stack, behind_codel))).collect();
    for name in ["linux-6", "rfc"] {
        let profile = own(name).ok_or("a profile is missing")?;
        cases.push((format!("own {name}"), Case::own(profile, behind_codel)));
    }
    println!("{:<14} {:>8} thousands per CPU second: median (least to most)", "", "packets");
    for (name, case) in cases {
        let case = Case { seconds: 60, ..case };
        println!("{}", measure(&name, &case).ok_or("the CPU time of a thread is only known on Linux")?);
    }
    Ok(())
}
