//! What link the arguments ask for.

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{Bytes, Duration, Instant};
use aqmkit_live::link::LinkSetup;
use aqmkit_live::shaper::Setup;
use aqmkit_live::wire::Classes;
use aqmkit_live::wire::classes::Named;

use crate::cli::args;
use crate::cli::compare::written;
use crate::cli::fail::{Failure, wrong};

/// The link that the arguments ask for.
pub(super) fn setup(args: &args::Link) -> Result<LinkSetup, Failure> {
    let down = args.down_rate.or(args.rate);
    let up = args.up_rate.or(args.rate);
    let (Some(down), Some(up)) = (down, up) else {
        return wrong("the link has no rate", "write --rate 40mbit, or both --down-rate and --up-rate");
    };
    let direction = |name, rate, delay: Option<Duration>, aqm: &Option<String>| {
        let aqm = discipline(aqm.as_deref().unwrap_or(&args.aqm))?;
        let setup = Setup::new(name, rate, delay.unwrap_or(args.delay), aqm);
        Ok::<_, Failure>(Setup {
            overhead: args.overhead,
            mean_packet: Bytes(args.mtu.min(1000).into()),
            seed: args.seed,
            ..setup
        })
    };
    let classes = args.class.iter().map(|c| c.parse::<Named>()).collect::<Result<Vec<_>, _>>();
    let classes = match classes {
        Ok(list) if list.is_empty() => Classes::default(),
        Ok(list) => Classes::new(list),
        Err(e) => return wrong("a class cannot be read", e.to_string()),
    };
    Ok(LinkSetup {
        down: direction("down", down, args.down_delay, &args.down_aqm)?,
        up: direction("up", up, args.up_delay, &args.up_aqm)?,
        classes,
        windows: vec![("all".to_owned(), Instant::ZERO, Instant::FAR_FUTURE)],
        sample_every: None,
        ecn: if args.ecn { Some(true) } else { args.no_ecn.then_some(false) },
        cc: args.cc.clone(),
        mtu: args.mtu,
    })
}

fn discipline(text: &str) -> Result<Spec, Failure> {
    let (name, table) = written(text)?;
    match Spec::read(name, toml::Value::Table(table)) {
        Ok(spec) => Ok(spec),
        Err(e) => wrong(format!("{text}: {}", e.message().trim()), format!("see aqmkit describe {name}")),
    }
}

/// The link in a line.
pub(super) fn title(setup: &LinkSetup) -> String {
    let one = |s: &Setup| format!("{} {} {}", s.aqm.name(), s.rate, s.delay);
    format!("down {}, up {}", one(&setup.down), one(&setup.up))
}
