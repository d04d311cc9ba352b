//! `measure --to` and `measure --serve`: a test between two hosts.

use std::net::IpAddr;
use std::time::Duration;

use aqmkit_active::{ActiveError, Phase, Server, Settings};
use aqmkit_estimate::measurement::Measurement;
use aqmkit_estimate::{Estimate, Given, Measured, Trial, estimate};
use aqmkit_files::put;

use super::text;
use crate::args::measure::Measure;
use crate::fail::{Failure, wrong};
use crate::progress::Talk;
use crate::say;

/// Time without load before, between and behind the loads.
const IDLE: Duration = Duration::from_secs(3);

/// Serves tests until the process ends.
///
/// # Errors
/// When the port is taken, or the address is not one of this host.
pub(super) fn serve(args: &Measure, address: Option<IpAddr>, talk: Talk) -> Result<(), Failure> {
    let place =
        address.map_or_else(|| format!("port {}", args.port), |address| format!("{address} port {}", args.port));
    let failed = |error: std::io::Error| {
        let advice = format!("another port: --port {}, here and with --to", args.port.wrapping_add(1).max(1024));
        wrong(format!("cannot serve at {place}: {error}"), advice)
    };
    let server = Server::bind(address, args.port).or_else(failed)?;
    talk.note(&format!(
        "serving at {place}, in TCP and UDP, until Ctrl-C; on the other host: aqmkit measure --to THIS_HOST{}",
        if args.port == aqmkit_active::PORT { String::new() } else { format!(" --port {}", args.port) }
    ));
    server.serve()
}

/// Tests the path to a host and prints the estimates of both directions.
///
/// # Errors
/// When the test fails, or the estimate cannot be written.
pub(super) fn test(args: &Measure, host: &str, talk: Talk) -> Result<(), Failure> {
    let settings = Settings {
        host: host.to_owned(),
        port: args.port,
        flows: args.flows,
        time: Duration::from_nanos(args.time.as_nanos()),
        data: args.data.0,
        idle: IDLE,
    };
    let begins = &mut |phase| {
        if talk != Talk::Quiet {
            say::message(&words(phase, &settings));
        }
    };
    let seen = aqmkit_active::measure(&settings, begins).or_else(|ActiveError { what, right }| wrong(what, right))?;
    let [down, up] = [direction(seen.down)?, direction(seen.up)?];
    let both = Estimate { up_bps: up.up_bps, ..down.clone() };
    if let Some(file) = &args.out {
        let mut comments = vec![format!("Estimated by aqmkit measure --to {host}")];
        for (name, one) in [("From", &down), ("To", &up)] {
            comments.push(format!("{name} {host}: {}", one.sentence()));
            comments.extend(one.unseen.iter().map(|unseen| format!("Not seen: {unseen}.")));
        }
        put(file, &Measured::of(&both).text(&comments))?;
    }
    if args.json {
        return Ok(say::print(&serde_json::to_string_pretty(&serde_json::json!({ "down": down, "up": up }))?)?);
    }
    let parts = [("From", &down), ("To", &up)].map(|(name, one)| format!("{name} {host}\n\n{}", text(one)));
    Ok(say::print(&(parts.join("\n") + &super::next(args)))?)
}

/// The estimate of one direction.
fn direction(seen: Measurement) -> Result<Estimate, Failure> {
    let given = Given { has_other_direction: true, ..Given::default() };
    match Trial::of(vec![seen], given) {
        Ok(trial) => Ok(estimate(&trial)),
        Err(error) => wrong(error.what, error.right),
    }
}

/// The progress message for a phase.
fn words(phase: Phase, settings: &Settings) -> String {
    let Settings { host, flows, time, data, .. } = settings;
    let load = format!("{flows} connections, {} s or {} MB at most", time.as_secs_f64(), data / 1_000_000);
    match phase {
        Phase::Idle => format!("sparse packets alone to {host}"),
        Phase::Up => format!("load to {host}: {load}"),
        Phase::Pause => "the queue empties".to_owned(),
        Phase::Down => format!("load from {host}: {load}"),
        Phase::End => "the queue empties; the last packets return".to_owned(),
    }
}
