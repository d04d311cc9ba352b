//! `shape`: puts a queue in front of an interface of this machine.

use aqmkit_aqm::Catalogue;
use aqmkit_lab::rates::second;
use aqmkit_live::cleanup::{self, BridgeState};
use aqmkit_live::ctl;
use aqmkit_live::netns::cookie;
use aqmkit_live::shape::{ShapeSetup, open};
use aqmkit_packets::shaper::Setup;

use super::args::wire;
use super::fail::{Failure, wrong};
use super::link::note;
use super::progress::Talk;
use super::queue;
use super::standing::{self, Ended, Ledger, Service};
use super::stop;

/// `aqmkit shape`.
///
/// # Errors
/// When an argument is wrong, or the machine lacks something.
pub(super) fn shape(args: &wire::Shape, disciplines: &Catalogue, talk: Talk) -> Result<(), Failure> {
    let directory = ctl::directory();
    let setup = setup(args, disciplines)?;
    let interfaces = vec![setup.interface.clone()];
    standing::check_exist(&interfaces)?;
    note(cleanup::clean(&directory), talk);
    // Kernels before 5.14 cannot identify namespaces; the check for other bridges then finds no records.
    let place = cookie().unwrap_or_default();
    standing::check_unused(&directory, place, &interfaces)?;
    stop::listen_once()?;
    let _ledger = Ledger::open(
        &directory,
        BridgeState { name: args.name.clone(), place, interfaces, ..BridgeState::default() },
        talk,
    );
    let running = open(&setup, &args.name)?;
    let what = if setup.ingress.is_some() { "what leaves and enters" } else { "what leaves" };
    let service = Service { directory: &directory, name: &args.name, watched: args.watched };
    standing::run_service(&running, service, &format!("shaping {what} {}", setup.interface), talk)?;
    let report = running.control.report();
    let measured = running.close()?;
    talk.note(&format!("from now on {} has no queue of aqmkit", setup.interface));
    let counts = report.directions.first().map(|d| (setup.interface.clone(), d.device));
    Ended { report: &report, measured: &measured, interfaces: counts.into_iter().collect() }.print(args.json)
}

/// Describes the settings.
///
/// # Errors
/// When an argument is invalid.
pub(super) fn describe(args: &wire::Shape, disciplines: &Catalogue) -> Result<String, Failure> {
    let setup = setup(args, disciplines)?;
    let one = |s: &Setup| format!("{} {}", s.rate, s.aqm.name());
    let arriving = setup.ingress.as_ref().map_or_else(String::new, |s| format!(", {} for what arrives", one(s)));
    Ok(format!("at {}, {} for what leaves{arriving}", setup.interface, one(&setup.egress)))
}

fn setup(args: &wire::Shape, disciplines: &Catalogue) -> Result<ShapeSetup, Failure> {
    let (Some(interface), Some(rate)) = (&args.interface, args.rate) else {
        return wrong("no interface given", "give an interface and a --rate");
    };
    standing::check_name(&args.name)?;
    let egress = queue::setup("egress", rate.first, &args.queue.aqm, &args.queue, disciplines)?;
    let ingress = match (second(args.rate, "--ingress-rate", args.ingress_rate)?, &args.ingress_aqm) {
        (None, None) => None,
        (None, Some(_)) => return wrong("--ingress-aqm has no rate", "give a second rate: --rate 20mbit/95mbit"),
        (Some(arriving), aqm) => {
            let aqm = aqm.as_ref().unwrap_or(&args.queue.aqm);
            Some(queue::setup("ingress", arriving, aqm, &args.queue, disciplines)?)
        }
    };
    Ok(ShapeSetup {
        interface: interface.clone(),
        egress,
        ingress,
        threads: standing::threads(args.threads),
        classes: queue::classes(&args.queue.class)?,
        salt: standing::salt(),
    })
}
