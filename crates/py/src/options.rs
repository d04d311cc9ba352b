//! Parses arguments of Python functions that correspond to options of the command. Their values arrive as text.

use std::fmt::Display;

use aqmkit_base::Rates;
use aqmkit_base::near::suggest;
use aqmkit_base::units::{parse_amount, parse_duration, parse_rate};
use aqmkit_experiment::Problem;
use aqmkit_lab::advise::Request;
use aqmkit_lab::compare::{Comparison, Mix};
use aqmkit_lab::rates::second;
use pyo3::prelude::*;

use crate::problem::{exception, failure};

/// (name, text) pairs of arguments.
pub(crate) type Options = [(String, String)];

/// Names of the traffic arguments.
const TRAFFIC: [&str; 11] =
    ["bulk", "upload", "web", "video", "call", "game", "voip", "http", "cbr", "mpeg", "videoconf"];

/// Parses the arguments of a comparison.
pub(crate) fn comparison(
    disciplines: Vec<String>,
    options: &Options,
    sweep: Vec<String>,
    ecn: bool,
) -> PyResult<Comparison> {
    let mut comparison = Comparison { disciplines, sweep, mix: Mix { ecn, ..Mix::default() }, ..Comparison::default() };
    let (mut rates, mut up): (Option<Rates>, _) = (None, None);
    for (name, text) in options {
        match name.as_str() {
            "rate" => rates = Some(read(name, text, str::parse)?),
            "up" => up = Some(read(name, text, parse_rate)?),
            "rtt" => comparison.rtt = Some(read(name, text, parse_duration)?),
            "preset" => comparison.preset = Some(text.clone()),
            "limit" => comparison.limit = Some(read(name, text, str::parse)?),
            "duration" => comparison.duration = Some(read(name, text, parse_duration)?),
            "warmup" => comparison.warmup = Some(read(name, text, parse_duration)?),
            _ => traffic(&mut comparison.mix, name, text)?,
        }
    }
    comparison.down = rates.map(|rates| rates.first);
    comparison.up = second(rates, "up", up).map_err(failure)?;
    Ok(comparison)
}

/// Parses the arguments of a request for advice.
pub(crate) fn request(want: &str, options: &Options, alone: bool, ecn: bool, jobs: usize) -> PyResult<Request> {
    let mut request = Request { alone, mix: Mix { ecn, ..Mix::default() }, ..Request::new(want, jobs) };
    for (name, text) in options {
        match name.as_str() {
            "rate" => request.rate = Some(read(name, text, str::parse)?),
            "rtt" => request.rtt = Some(text.clone()),
            "preset" => request.preset = Some(text.clone()),
            "among" => request.among = Some(text.split(',').map(str::to_owned).collect()),
            "budget" => request.budget = read(name, text, str::parse)?,
            "fresh" => request.fresh = read(name, text, str::parse)?,
            "limit" => request.limit = Some(read(name, text, parse_amount)?),
            "duration" => request.duration = read(name, text, parse_duration)?,
            "warmup" => request.warmup = read(name, text, parse_duration)?,
            "seed" => request.seed = Some(read(name, text, str::parse)?),
            "out" => request.out = Some(text.into()),
            _ => traffic(&mut request.mix, name, text)?,
        }
    }
    Ok(request)
}

/// Sets one argument about traffic or its transport.
fn traffic(mix: &mut Mix, name: &str, text: &str) -> PyResult<()> {
    let count = || read(name, text, str::parse).map(Some);
    let share = || read(name, text, str::parse).map(Some);
    match name {
        "bulk" => mix.bulk = count()?,
        "upload" => mix.upload = count()?,
        "web" => mix.web = share()?,
        "video" => mix.video = count()?,
        "call" => mix.call = count()?,
        "game" => mix.game = count()?,
        "voip" => mix.voip = count()?,
        "http" => mix.http = share()?,
        "cbr" => mix.cbr = Some(read(name, text, parse_rate)?),
        "mpeg" => mix.mpeg = count()?,
        "videoconf" => mix.videoconf = count()?,
        "cc" => mix.cc = Some(text.to_owned()),
        "transport" => mix.transport = Some(text.to_owned()),
        other => {
            let what = format!("there is no traffic {other:?}");
            return Err(exception(&Problem::new(what).right(suggest(other, TRAFFIC))));
        }
    }
    Ok(())
}

/// Parses the value of an argument.
fn read<T, E: Display>(name: &str, text: &str, parse: impl Fn(&str) -> Result<T, E>) -> PyResult<T> {
    parse(text).map_err(|e| exception(&Problem::new(format!("{name} cannot be {text:?}")).right(e.to_string())))
}
