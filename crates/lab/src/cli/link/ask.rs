//! What link the arguments ask for.

use aqmkit_base::{Bytes, Duration, Instant};
use aqmkit_live::link::LinkSetup;
use aqmkit_live::shaper::Setup;

use crate::cli::args;
use crate::cli::fail::{Failure, wrong};
use crate::cli::queue;

/// The link that the arguments ask for.
pub(super) fn setup(args: &args::Link) -> Result<LinkSetup, Failure> {
    let down = args.down_rate.or(args.rate);
    let up = args.up_rate.or(args.rate);
    let (Some(down), Some(up)) = (down, up) else {
        return wrong("the link has no rate", "write --rate 40mbit, or both --down-rate and --up-rate");
    };
    let direction = |name, rate, delay: Option<Duration>, aqm: &Option<String>| {
        let aqm = queue::spec(aqm.as_deref().unwrap_or(&args.aqm), None)?;
        let setup = Setup::new(name, rate, delay.unwrap_or(args.delay), aqm);
        Ok::<_, Failure>(Setup {
            overhead: args.overhead,
            mean_packet: Bytes(args.mtu.min(1000).into()),
            seed: args.seed,
            ..setup
        })
    };
    Ok(LinkSetup {
        down: direction("down", down, args.down_delay, &args.down_aqm)?,
        up: direction("up", up, args.up_delay, &args.up_aqm)?,
        classes: queue::classes(&args.class)?,
        windows: vec![("all".to_owned(), Instant::ZERO, Instant::FAR_FUTURE)],
        sample_every: None,
        ecn: if args.ecn { Some(true) } else { args.no_ecn.then_some(false) },
        cc: args.cc.clone(),
        mtu: args.mtu,
    })
}

/// The link in a line.
pub(super) fn title(setup: &LinkSetup) -> String {
    let one = |s: &Setup| format!("{} {} {}", s.aqm.name(), s.rate, s.delay);
    format!("down {}, up {}", one(&setup.down), one(&setup.up))
}
