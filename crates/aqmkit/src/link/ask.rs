//! Builds the settings of a link from the arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_aqm::Catalogue;
use aqmkit_base::trace::Trace;
use aqmkit_base::{BitRate, Bytes, Duration};
use aqmkit_experiment::Problem;
use aqmkit_files::bounded;
use aqmkit_live::link::LinkSetup;
use aqmkit_packets::shaper::Setup;

use crate::args;
use crate::fail::{Failure, wrong};
use crate::queue;
use crate::standing;

/// The settings of the link.
pub(super) fn setup(args: &args::Link, disciplines: &Catalogue) -> Result<LinkSetup, Failure> {
    let classes = queue::classes(&args.class)?;
    let [down_rate, up_rate] = separate_rates(args)?;
    let of_both = args.rate.map(|rates| rates.first);
    let direction = |name,
                     rate: Option<BitRate>,
                     trace: &Option<PathBuf>,
                     delay: Option<Duration>,
                     aqm: &Option<String>| {
        // Options for one direction override those for both.
        let trace = if rate.is_some() { None } else { trace.as_ref().or(args.trace.as_ref()) };
        let trace = trace.map(|file| read_trace(file)).transpose()?;
        let Some(rate) = trace.as_ref().map(|t| t.mean_rate()).or(rate).or(of_both) else {
            return wrong(format!("{name} has no rate"), "give --rate 40mbit, --rate 50mbit/10mbit, or --trace FILE");
        };
        let aqm = aqm.as_deref().unwrap_or(&args.aqm);
        let setup = Setup::new(name, rate, delay.unwrap_or(args.delay), queue::spec(aqm, None, disciplines)?);
        let setup = Setup {
            trace,
            classes: classes.names().to_vec(),
            wire: args.wire.wire(),
            framing: args.framing.framing(),
            mean_packet: Bytes(args.mtu.min(1000).into()),
            seed: args.seed,
            ..setup
        };
        queue::usable(setup, aqm)
    };
    Ok(LinkSetup {
        down: direction("down", down_rate, &args.down_trace, args.down_delay, &args.down_aqm)?,
        up: direction("up", up_rate, &args.up_trace, args.up_delay, &args.up_aqm)?,
        classes: classes.clone(),
        plan: None,
        on_demand: true,
        ecn: if args.ecn { Some(true) } else { args.no_ecn.then_some(false) },
        cc: args.cc.clone(),
        mtu: args.mtu,
        outside: args.nat,
        threads: standing::threads(args.threads),
        in_kernel: None,
    })
}

/// The rates given for each direction separately.
fn separate_rates(args: &args::Link) -> Result<[Option<BitRate>; 2], Failure> {
    let both = args.rate.and_then(|rates| Some([rates.first, rates.second?]));
    let Some(both) = both else { return Ok([args.down_rate, args.up_rate]) };
    let others = [
        ("--down-rate", args.down_rate.is_some()),
        ("--up-rate", args.up_rate.is_some()),
        ("--down-trace", args.down_trace.is_some()),
        ("--up-trace", args.up_trace.is_some()),
    ];
    match others.iter().find(|(_, given)| *given) {
        None => Ok(both.map(Some)),
        Some((option, _)) => wrong(
            format!("--rate gives the rates of both directions, and {option} that of one"),
            format!("leave {option} out"),
        ),
    }
}

fn read_trace(file: &Path) -> Result<Arc<Trace>, Failure> {
    let name = file.display().to_string();
    let text = bounded::text(file, &bounded::RATES)
        .map_err(|e| Problem::from(e).right("give a file of delivery opportunities"))?;
    match Trace::parse(&name, &text) {
        Ok(trace) => Ok(Arc::new(trace)),
        Err(e) => wrong(e.to_string(), e.right),
    }
}

/// Describes the link on one line.
pub(super) fn title(setup: &LinkSetup) -> String {
    let delay = |s: &Setup| if s.delay.is_zero() { String::new() } else { format!(" {}", s.delay) };
    let one = |s: &Setup| format!("{} {}{}", s.aqm.name(), s.rate, delay(s));
    format!("down {}, up {}", one(&setup.down), one(&setup.up))
}
