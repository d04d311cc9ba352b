//! The link and traffic of `advise`, as an experiment without disciplines.

use aqmkit_advise::install::Rates;
use aqmkit_advise::wish::{AmountOf, KINDS, Wish};
use aqmkit_base::units::{parse_duration, parse_rate};
use aqmkit_base::{BitRate, Duration};
use aqmkit_experiment::Catalogues;
use toml::{Table, Value};

use super::Request;
use crate::compare::{Comparison, Mix};
use crate::error::{LabError, wrong};

/// The link and its traffic.
pub(super) struct Setting {
    /// The experiment without a sweep. Each traffic group has its own class.
    pub(super) experiment: Table,
    /// The names of the traffic groups.
    pub(super) groups: Vec<String>,
    /// The rates of both directions.
    pub(super) rates: Rates,
    /// The round-trip times, as text for the answer.
    rtt: String,
}

impl Setting {
    /// Combines the requested traffic with that of the wish.
    ///
    /// # Errors
    /// When a rate, a round-trip time, the preset or an amount of traffic is invalid.
    pub(super) fn of(asked: &Request, wish: &Wish) -> Result<Setting, LabError> {
        if let Some(rates) =
            asked.rate.filter(|rates| rates.first.as_bps() == 0 || rates.second.is_some_and(|r| r.as_bps() == 0))
        {
            return wrong(format!("--rate {rates}: a rate must be above zero"), "for example --rate 50mbit/10mbit");
        }
        let (rtt, range) = round_trips(asked.rtt.as_deref())?;
        let two_ways = asked.rate.is_some_and(|rates| rates.second.is_some()) || asked.preset.is_some();
        let mix = mix(asked, wish, two_ways)?;
        let compared = Comparison {
            disciplines: vec!["fifo".to_owned()],
            down: asked.rate.map(|rates| rates.first),
            up: asked.rate.and_then(|rates| rates.second),
            rtt,
            framing: asked.framing,
            preset: asked.preset.clone(),
            mix,
            duration: Some(asked.duration),
            warmup: Some(asked.warmup),
            ..Comparison::default()
        };
        let mut experiment = compared.experiment(&Catalogues::default())?;
        experiment.remove("sweep");
        if let Some(Value::Table(topology)) = experiment.get_mut("topology")
            && let Some((from, to)) = range
        {
            let ends = Value::Array(vec![Value::String(from.to_string()), Value::String(to.to_string())]);
            topology.insert("delays".to_owned(), Value::Table([("uniform".to_owned(), ends)].into_iter().collect()));
        }
        let groups = own_classes(&mut experiment);
        let rates = rates_of(&experiment);
        let round_trip = range.map_or_else(|| delay_of(&experiment), |(from, to)| format!("{from} to {to}"));
        let mut setting = Setting { experiment, groups, rates, rtt: round_trip };
        let title = format!("The advised discipline and others on {}", setting.link_words());
        let about = format!(
            "The last comparison of aqmkit advise, under seeds that its search did not use. The wish was: {}",
            asked.want.trim()
        );
        setting.experiment.insert("title".to_owned(), Value::String(title));
        setting.experiment.insert("about".to_owned(), Value::String(about));
        Ok(setting)
    }

    /// The experiment with all link rates multiplied by `factor`.
    pub(super) fn scaled(&self, factor: f64) -> Table {
        let scale = |table: &mut Table| {
            let rate = table.get("rate").and_then(Value::as_str).and_then(|text| parse_rate(text).ok());
            if let Some(rate) = rate {
                let scaled = BitRate::from_bps((rate.as_bps() as f64 * factor).round() as u64);
                table.insert("rate".to_owned(), Value::String(scaled.to_string()));
            }
        };
        let mut experiment = self.experiment.clone();
        if let Some(Value::Table(topology)) = experiment.get_mut("topology") {
            scale(topology);
            if let Some(Value::Array(links)) = topology.get_mut("links") {
                links.iter_mut().filter_map(Value::as_table_mut).for_each(scale);
            }
        }
        experiment
    }

    /// The rates of the directions that have a queue.
    pub(super) fn both(&self) -> Vec<BitRate> {
        [Some(self.rates.down), self.rates.up].into_iter().flatten().collect()
    }

    /// Describes the link, for the answer.
    pub(super) fn link_words(&self) -> String {
        let rates = match self.rates.up {
            None => self.rates.down.to_string(),
            Some(up) => format!("{} down and {up} up", self.rates.down),
        };
        format!("{rates}, round trips of {}", self.rtt)
    }

    /// Describes the traffic, for the answer: `2 bulk flows, 13 web users`.
    pub(super) fn traffic_words(&self) -> String {
        let list = self.experiment.get("traffic").and_then(Value::as_array);
        let one = |group: &Value| {
            let name = group.get("name")?.as_str()?;
            let amount = ["flows", "users", "viewers", "calls", "players"]
                .iter()
                .find_map(|key| Some(format!("{} {key}", group.get(*key)?.as_integer()?)));
            let amount = amount.or_else(|| Some(group.get("rate")?.as_str()?.to_owned())).unwrap_or_default();
            let amount = match amount.strip_prefix("1 ") {
                Some(many) => format!("1 {}", many.trim_end_matches('s')),
                None => amount,
            };
            Some(format!("{name} ({amount})"))
        };
        list.into_iter().flatten().filter_map(one).collect::<Vec<_>>().join(", ")
    }

    /// The rates, for the name of the directory.
    pub(super) fn short(&self) -> String {
        match self.rates.up {
            None => self.rates.down.to_string(),
            Some(up) => format!("{}-{up}", self.rates.down),
        }
    }

    /// Facts about the search, as (name, value) pairs.
    pub(super) fn facts(&self, asked: &Request, disciplines: usize, seed: u64) -> Vec<(String, String)> {
        let transport = self
            .experiment
            .get("transport")
            .map_or_else(|| "the default profile".to_owned(), |table| table.to_string().replace('\n', " "));
        [
            ("aqmkit", env!("CARGO_PKG_VERSION").to_owned()),
            ("disciplines", disciplines.to_string()),
            ("budget of the search", format!("{} runs", asked.budget)),
            ("fresh seeds", asked.fresh.to_string()),
            ("a run", format!("{} after {} of warm-up", asked.duration, asked.warmup)),
            ("transport", transport),
            ("seed", seed.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// The round-trip time, and the range from which it is drawn if there is one.
type RoundTrips = (Option<Duration>, Option<(Duration, Duration)>);

/// Parses `15ms..120ms` into a range and a representative value; or parses a single time.
fn round_trips(text: Option<&str>) -> Result<RoundTrips, LabError> {
    let Some(text) = text else { return Ok((None, None)) };
    let one = |part: &str| match parse_duration(part.trim()) {
        Ok(time) => Ok(time),
        Err(error) => wrong(format!("--rtt {text}: {error}"), "for example --rtt 30ms or --rtt 15ms..120ms"),
    };
    let Some((from, to)) = text.split_once("..") else { return Ok((Some(one(text)?), None)) };
    let (from, to) = (one(from)?, one(to)?);
    if from >= to {
        return wrong(format!("--rtt {text} does not rise"), "write the shorter time first: 15ms..120ms");
    }
    Ok((Some(from), Some((from, to))))
}

/// The traffic of the options and of the wish; plus the default mix, unless `--alone` is given or an option names
/// traffic.
fn mix(asked: &Request, wish: &Wish, two_ways: bool) -> Result<Mix, LabError> {
    let mut mix = asked.mix.clone();
    let given = !mix.is_empty();
    for wanted in &wish.traffic {
        let kind = wanted.kind;
        let of_option = match kind.amount {
            AmountOf::Count => count(&mut mix, kind.name).is_some_and(|place| place.is_some()),
            AmountOf::Load => load(&mut mix, kind.name).is_some_and(|place| place.is_some()),
        };
        if of_option && wanted.amount.is_some() {
            return wrong(
                format!("the amount of {} is given twice, by the wish and by --{}", kind.name, kind.name),
                "leave one out",
            );
        }
        if kind.name == "upload" && !two_ways {
            return wrong(
                "--want: an upload needs a queue in the other direction",
                "give both rates, DOWN/UP: --rate 50mbit/10mbit",
            );
        }
        if !of_option {
            set(&mut mix, kind.name, wanted.amount.unwrap_or(kind.usual));
        }
    }
    if !given && !asked.alone {
        for kind in KINDS.iter().filter(|kind| ["bulk", "upload", "web", "video", "call", "voip"].contains(&kind.name))
        {
            let there = count(&mut mix, kind.name).is_some_and(|place| place.is_some())
                || load(&mut mix, kind.name).is_some_and(|place| place.is_some());
            if !there && (kind.name != "upload" || two_ways) {
                set(&mut mix, kind.name, kind.usual);
            }
        }
    }
    Ok(mix)
}

/// The option for the number of sources of this kind of traffic.
fn count<'a>(mix: &'a mut Mix, kind: &str) -> Option<&'a mut Option<u32>> {
    match kind {
        "bulk" => Some(&mut mix.bulk),
        "upload" => Some(&mut mix.upload),
        "video" => Some(&mut mix.video),
        "call" => Some(&mut mix.call),
        "game" => Some(&mut mix.game),
        "voip" => Some(&mut mix.voip),
        "mpeg" => Some(&mut mix.mpeg),
        "videoconf" => Some(&mut mix.videoconf),
        _ => None,
    }
}

/// The option for the load of this kind of traffic.
fn load<'a>(mix: &'a mut Mix, kind: &str) -> Option<&'a mut Option<f64>> {
    match kind {
        "web" => Some(&mut mix.web),
        "http" => Some(&mut mix.http),
        _ => None,
    }
}

fn set(mix: &mut Mix, kind: &str, amount: f64) {
    if let Some(place) = count(mix, kind) {
        *place = Some(amount as u32);
    } else if let Some(place) = load(mix, kind) {
        *place = Some(amount);
    }
}

/// Gives each traffic group its own class, so that its delay is measured separately; returns the names of the groups.
fn own_classes(experiment: &mut Table) -> Vec<String> {
    let Some(Value::Array(list)) = experiment.get_mut("traffic") else { return Vec::new() };
    let mut names = Vec::new();
    for group in list.iter_mut().filter_map(Value::as_table_mut) {
        if let Some(name) = group.get("name").cloned() {
            names.extend(name.as_str().map(str::to_owned));
            group.insert("class".to_owned(), name);
        }
    }
    names
}

/// Reads the rates from the experiment, because they may come from a preset.
fn rates_of(experiment: &Table) -> Rates {
    let topology = experiment.get("topology");
    let rate = |value: Option<&Value>| value.and_then(Value::as_str).and_then(|text| parse_rate(text).ok());
    let of_link = |name: &str| {
        let links = topology.and_then(|t| t.get("links")).and_then(Value::as_array)?;
        rate(links.iter().find(|link| link.get("name").and_then(Value::as_str) == Some(name))?.get("rate"))
    };
    let down = of_link("down").or_else(|| rate(topology.and_then(|t| t.get("rate"))));
    Rates { down: down.unwrap_or_default(), up: of_link("up") }
}

fn delay_of(experiment: &Table) -> String {
    experiment.get("topology").and_then(|t| t.get("delays")).and_then(Value::as_str).unwrap_or_default().to_owned()
}
