//! Arguments of Python functions that are named like options of the command, as texts.

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

/// Names of arguments, each with its value as text.
pub(crate) type Options = [(String, String)];

/// The traffic arguments.
const TRAFFIC: [&str; 11] =
    ["bulk", "upload", "web", "video", "call", "game", "voip", "http", "cbr", "mpeg", "videoconf"];

/// A comparison of these arguments.
pub(crate) fn comparison(
    disciplines: Vec<String>,
    options: &Options,
    sweep: Vec<String>,
    ecn: bool,
) -> PyResult<Comparison> {
    let mut asked = Comparison { disciplines, sweep, mix: Mix { ecn, ..Mix::default() }, ..Comparison::default() };
    let (mut rates, mut up): (Option<Rates>, _) = (None, None);
    for (name, text) in options {
        match name.as_str() {
            "rate" => rates = Some(read(name, text, str::parse)?),
            "up" => up = Some(read(name, text, parse_rate)?),
            "rtt" => asked.rtt = Some(read(name, text, parse_duration)?),
            "preset" => asked.preset = Some(text.clone()),
            "limit" => asked.limit = Some(read(name, text, str::parse)?),
            "duration" => asked.duration = Some(read(name, text, parse_duration)?),
            "warmup" => asked.warmup = Some(read(name, text, parse_duration)?),
            _ => traffic(&mut asked.mix, name, text)?,
        }
    }
    asked.down = rates.map(|rates| rates.first);
    asked.up = second(rates, "up", up).map_err(failure)?;
    Ok(asked)
}

/// A request for advice of these arguments.
pub(crate) fn request(want: &str, options: &Options, alone: bool, ecn: bool, jobs: usize) -> PyResult<Request> {
    let mut asked = Request { alone, mix: Mix { ecn, ..Mix::default() }, ..Request::new(want, jobs) };
    for (name, text) in options {
        match name.as_str() {
            "rate" => asked.rate = Some(read(name, text, str::parse)?),
            "rtt" => asked.rtt = Some(text.clone()),
            "preset" => asked.preset = Some(text.clone()),
            "among" => asked.among = Some(text.split(',').map(str::to_owned).collect()),
            "budget" => asked.budget = read(name, text, str::parse)?,
            "fresh" => asked.fresh = read(name, text, str::parse)?,
            "limit" => asked.limit = Some(read(name, text, parse_amount)?),
            "duration" => asked.duration = read(name, text, parse_duration)?,
            "warmup" => asked.warmup = read(name, text, parse_duration)?,
            "seed" => asked.seed = Some(read(name, text, str::parse)?),
            "out" => asked.out = Some(text.into()),
            _ => traffic(&mut asked.mix, name, text)?,
        }
    }
    Ok(asked)
}

/// Sets an argument of traffic or of its transport.
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

/// The value of an argument.
fn read<T, E: Display>(name: &str, text: &str, parse: impl Fn(&str) -> Result<T, E>) -> PyResult<T> {
    parse(text).map_err(|e| exception(&Problem::new(format!("{name} cannot be {text:?}")).right(e.to_string())))
}
