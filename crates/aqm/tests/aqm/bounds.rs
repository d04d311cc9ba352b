//! The range of every parameter, found by trial, and whether it can be changed while packets wait: compared with `docs/parameters.md`, so that no
//! bound moves unnoticed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fmt::Write as _;

use crate::common::driver::{Op, Play};
use crate::common::page::{Row, in_its_place, plain, rows};
use crate::common::{Log, Pkt, cx, gauge, link};
use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::{Duration, Instant, Rng};
use serde_json::{Value, json};

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Number,
    Whole,
    Bytes,
    Time,
    Rate,
}

impl Form {
    const ALL: [Form; 5] = [Form::Number, Form::Whole, Form::Bytes, Form::Time, Form::Rate];

    /// `x` numbers, bytes, seconds or bits per second.
    fn value(self, x: f64) -> Value {
        match self {
            Form::Number => json!(x),
            Form::Whole => json!(x as i64),
            Form::Bytes => json!(format!("{}b", x as u64)),
            Form::Time => json!(format!("{}ns", (x * 1e9).round() as u64)),
            Form::Rate => json!(format!("{}bit", x as u64)),
        }
    }

    /// The smallest step.
    fn step(self) -> f64 {
        match self {
            Form::Number => 0.0,
            Form::Time => 1e-9,
            _ => 1.0,
        }
    }

    fn print(self, x: f64) -> String {
        match self {
            Form::Number | Form::Whole => format!("{x}"),
            Form::Bytes => format!("{x}b"),
            Form::Time if x == 0.0 => "0".to_owned(),
            Form::Time => Duration::from_secs_f64(x).to_string(),
            Form::Rate => format!("{x}bit"),
        }
    }
}

/// A parameter of a discipline that can be tried.
struct Tried<'a> {
    discipline: &'a str,
    row: &'a Row,
    form: Form,
    /// Other parameters that are not at their defaults.
    others: Value,
}

impl Tried<'_> {
    fn spec(&self, x: f64) -> Option<Spec> {
        let (mut table, _) = in_its_place(self.discipline, &self.row.name, &self.form.value(x));
        for (name, value) in self.others.as_object().into_iter().flatten() {
            table[name] = value.clone();
        }
        Spec::read(self.discipline, table).ok().filter(|spec| spec.effective(&link()).is_ok())
    }

    fn takes(&self, x: f64) -> bool {
        self.spec(x).is_some()
    }

    /// The last value that is taken between one that is and one that is not.
    fn edge(&self, mut taken: f64, mut refused: f64) -> f64 {
        while (taken - refused).abs() > self.form.step().max(1e-9 * taken.abs()) {
            let middle = f64::midpoint(taken, refused);
            let middle = if self.form.step() == 1.0 { middle.floor() } else { middle };
            if middle == taken || middle == refused {
                break;
            }
            *(if self.takes(middle) { &mut taken } else { &mut refused }) = middle;
        }
        let times = || [1, 3, 6].into_iter().map(|digits| round(taken, digits));
        match self.form {
            Form::Number => {}
            Form::Time => return times().find(|x| (x / taken - 1.0).abs() < 1e-8 && self.takes(*x)).unwrap_or(taken),
            _ => return taken,
        }
        // The bound itself where it is taken, else what it is not to reach.
        let near = round(f64::midpoint(taken, refused), 9);
        if near.abs() < 1e-11 { 0.0 } else { near }
    }

    /// The ranges that are taken, in words.
    fn ranges(&self) -> String {
        let decades = (-12..=15).flat_map(|e| [1.0, 2.0, 5.0].map(|d| d * 10_f64.powi(e)));
        let grid: Vec<f64> = [-1e6, -1.0, 0.0].into_iter().chain(decades).filter(|x| self.has(*x)).collect();
        let mut ranges: Vec<String> = Vec::new();
        let mut from = None;
        for (i, x) in grid.iter().enumerate() {
            match (self.takes(*x), from.is_some()) {
                (true, false) if i == 0 => from = Some(String::new()),
                (true, false) => from = Some(self.end(*x, grid[i - 1], ["from", "above"])),
                (false, true) => {
                    let to = self.end(grid[i - 1], *x, ["to", "below"]);
                    ranges.push(format!("{} {to}", from.take().unwrap()));
                }
                _ => {}
            }
        }
        ranges.extend(from.map(|from| if from.is_empty() { "any".to_owned() } else { from }));
        if ranges.is_empty() { "none alone".to_owned() } else { ranges.join(", or ").trim().to_owned() }
    }

    /// Whether the form can say it.
    fn has(&self, x: f64) -> bool {
        let least = if self.form == Form::Number || self.form == Form::Whole { f64::NEG_INFINITY } else { 0.0 };
        let whole = self.form == Form::Number || x.abs() >= self.form.step() * 0.99 || x == 0.0;
        // Times and lengths end where their counters do.
        let most = match self.form {
            Form::Time => 1e9,
            Form::Number => f64::INFINITY,
            _ => 4e9,
        };
        x >= least && x <= most && whole && (self.form != Form::Time || x == 0.0 || x >= 1e-9)
    }

    /// One end of a range: the words where it belongs to the range and where it does not.
    fn end(&self, taken: f64, refused: f64, words: [&str; 2]) -> String {
        let edge = self.edge(taken, refused);
        let word = if self.takes(edge) { words[0] } else { words[1] };
        format!("{word} {}", self.form.print(edge))
    }

    /// The discipline as it is by default, and with another value of this parameter.
    fn two(&self) -> Option<(Spec, Spec)> {
        let before = in_its_place(self.discipline, &self.row.name, &json!(null)).1;
        let before = Spec::read(self.discipline, before).unwrap();
        let before = before.effective(&link()).ok()?;
        let values = [0.03, 0.3, 2.0, 3.0, 7.0, 30.0, 999.0, 3e4, 3e6]
            .map(|x| if self.form == Form::Time { x / 1e3 } else { x });
        let others = values.iter().filter(|x| self.has(**x)).filter_map(|x| self.spec(*x));
        let after = others.map(|s| s.effective(&link()).unwrap()).find(|s| plain(s) != plain(&before))?;
        Some((before, after))
    }

    /// Whether a queue with packets in it takes another value; its words where it does not.
    fn live(&self) -> String {
        let Some((before, after)) = self.two() else { return "-".to_owned() };
        let mut queue = before.build::<Pkt>(&link(), Instant::ZERO).unwrap();
        let (mut rng, mut log) = (Rng::stream(1, "bounds"), Log::default());
        (0..5).for_each(|id| queue.enqueue(Pkt::new(id, id), &mut cx(Instant::ZERO, &mut rng, &mut log)));
        match queue.reconfigure(&after, &link(), &mut cx(Instant::ZERO, &mut rng, &mut log)) {
            Ok(()) => "yes".to_owned(),
            Err(error) => format!("no: {}", error.want),
        }
    }
}

/// Rounds to this many digits.
fn round(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap()
}

/// How the values of a parameter are written: as a number of something, or not at all, as a word or a list.
fn form(discipline: &str, row: &Row) -> Option<Form> {
    if matches!(row.name.as_str(), "class" | "parent" | "name" | "match" | "default") {
        return None;
    }
    let reads = |form: Form, x: f64| {
        let (table, _) = in_its_place(discipline, &row.name, &form.value(x));
        Spec::read(discipline, table).is_ok()
    };
    Form::ALL.into_iter().find(|form| match form {
        Form::Number => [0.5, 0.013, 1.5].iter().any(|x| reads(Form::Number, *x)),
        Form::Time => reads(Form::Time, 0.01),
        form => reads(*form, 3.0) || reads(*form, 3000.0),
    })
}

/// The parameters of a discipline that can be tried.
fn tried<'a>(discipline: &'a str, rows: &'a [Row]) -> Vec<Tried<'a>> {
    let others = Value::Null;
    let all = rows.iter().filter_map(|row| Some((row, form(discipline, row)?)));
    all.map(|(row, form)| Tried { discipline, row, form, others: others.clone() }).collect()
}

fn document() -> String {
    let mut text = "# Parameter ranges\n\nEach range was found by varying one parameter with the others at their defaults, on a link of \
                    10 Mbit/s. Queue lengths are in packets. The last column says whether the parameter can change while packets are queued (`aqmkit ctl`). \
                    The [discipline pages](disciplines/README.md) explain the parameters. `make pages` writes this file.\n"
        .to_owned();
    for entry in registry::ALL {
        let rows = rows(entry.name);
        let _ = writeln!(text, "\n## {}\n\n| parameter | values | can be changed |\n|---|---|---|", entry.name);
        for one in tried(entry.name, &rows) {
            let _ = writeln!(text, "| `{}` | {} | {} |", one.row.name, one.ranges(), one.live());
        }
    }
    text
}

/// With `UPDATE_PAGES=1` this writes the document; without, it holds it to the sources.
#[test]
fn bounds_are_those_that_are_written_down() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/parameters.md");
    let text = document();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    for (now, then) in text.lines().zip(found.lines()) {
        assert_eq!(now, then, "a bound has moved: if that is right, run make pages");
    }
    assert_eq!(text.lines().count(), found.lines().count(), "docs/parameters.md has other rows: run make pages");
}

/// Parameters that set the initial state of a queue, which a change does not restore: DCN's share, and the credit of `DualPI2`'s queue that may not
/// starve.
const BEGINNINGS: [(&str, &str); 5] =
    [("dcn", "flows"), ("dcn", "p_init"), ("dcn", "avpkt"), ("dualpi2", "mtu"), ("dualpi2", "classic_protection")];

/// A discipline whose parameters are changed before the first packet is the one that was made with them.
#[test]
fn a_change_before_the_first_packet_is_as_from_the_beginning() {
    let mut wrong = Vec::new();
    for entry in registry::ALL {
        // A stream of its own, so that another discipline changes nothing here.
        let mut draw = Rng::stream(1, &format!("changes.{}", entry.name));
        let rows = rows(entry.name);
        for one in tried(entry.name, &rows).iter().filter(|one| one.live() == "yes") {
            let Some((before, after)) = one.two() else { continue };
            if BEGINNINGS.contains(&(entry.name, one.row.name.as_str())) {
                continue;
            }
            let differs = (0..3).any(|_| {
                let ops: Vec<Op> = (0..300).map(|_| Op::from((draw.below(1 << 32) as u32).to_le_bytes())).collect();
                let ops: Vec<Op> = ops.into_iter().filter(|op| !matches!(op, Op::Reconfigure(_))).collect();
                let play = Play::new(&after, link());
                play.run(&ops) != Play { before: Some(&before), ..play.clone() }.run(&ops)
            });
            if differs {
                wrong.push(format!("{}: {}", entry.name, one.row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where one parameter sets another's default, each has a bound of its own.
#[test]
fn a_bound_that_another_hides_is_there() {
    let reads = |name: &str, table: Value| Spec::read(name, table).unwrap().effective(&link()).is_ok();
    for (max_rtt, taken) in [("1us", true), ("999ns", false)] {
        assert_eq!(reads("dualpi2", json!({ "max_rtt": max_rtt, "tupdate": "10us" })), taken, "{max_rtt}");
    }
    // Alone, a gain below zero makes b smaller than a.
    for (a, taken) in [(0.0, true), (-0.1, false)] {
        assert_eq!(reads("dcn", json!({ "a": a, "b": 1.0 })), taken, "{a}");
    }
    for (min_share, taken) in [(0.5, true), (0.501, false)] {
        assert_eq!(reads("floyd-fall", json!({ "min_share": min_share, "max_share": 0.9 })), taken, "{min_share}");
    }
}

/// The range of parameters that depends on others, where those are not at their defaults.
#[test]
fn ranges_that_follow_from_other_parameters() {
    let mut wrong = Vec::new();
    for (name, others, parameter, values) in [
        ("ared", json!({ "variant": "feng" }), "alpha", "from 1 to 1000000"),
        ("ared", json!({ "variant": "feng" }), "beta", "from 1 to 1000000"),
        ("sfb", json!({ "db": "0s" }), "rehash", "to 0, or from 100us"),
        ("sfb", json!({ "rehash": "0s" }), "db", "any"),
        ("sfb", json!({ "target": 3 }), "max", "from 4"),
        ("sfb", json!({ "max": 9 }), "target", "from 0 to 8"),
        ("red-pd", json!({ "identify": "single" }), "k", "from 1 to 1000000"),
        ("red-pd", json!({ "k": 1 }), "m", "from 1 to 16"),
        ("red-pd", json!({ "interval_min": "100us" }), "interval_max", "from 100us"),
        (
            "drr",
            json!({ "contract": "2kb", "latency_critical": ["tcp"], "period": "5ms" }),
            "contracts",
            "from 1 to 1048576",
        ),
        ("drr", json!({ "contract": "2kb", "latency_critical": ["tcp"] }), "period", "from 1ns"),
        ("pi", json!({ "b": 0 }), "a", "from 0 to 1000000"),
        ("pi", json!({ "a": 1e6 }), "b", "from 0 to 1000000"),
        ("blue", json!({ "limit": 30 }), "trigger", "from 0 to 30"),
        ("afd", json!({ "beta": 1e300 }), "alpha", "from 0"),
        ("afd", json!({ "limit": 30 }), "q_target", "from 0 to 30"),
        ("floyd-fall", json!({ "min_share": 1e-6 }), "max_share", "from 0.000001 to 0.999"),
        ("floyd-fall", json!({ "max_share": 0.999 }), "min_share", "from 0.000001 to 0.5"),
        ("dcn", json!({ "p_min": 2.0, "p_max": 9.0 }), "p_init", "from 2 to 9"),
        ("dcn", json!({ "p_init": 9.0, "p_max": 50.0 }), "p_min", "above 0 to 9"),
        ("codel", json!({ "target": "1ms" }), "interval", "from 1ms"),
        ("codel", json!({ "interval": "9ms" }), "target", "from 1ns to 9ms"),
        ("docsis-pie", json!({ "avpkt": "100b" }), "min_pktsize", "from 1b to 100b"),
        ("sfq", json!({ "divisor": 9 }), "flows", "from 1 to 9"),
    ] {
        let rows = rows(name);
        let row = rows.iter().find(|row| row.name == parameter).unwrap();
        let form = form(name, row).unwrap();
        let found = Tried { discipline: name, row, form, others: others.clone() }.ranges();
        if found != values {
            wrong.push(format!("{name} {others}: {parameter} {found}, not {values}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An average in packets says nothing in bytes, and starts afresh; other changes leave it where it is.
#[test]
fn an_average_stays_unless_its_unit_changes() {
    let red =
        |limit: &str| Spec::read("red", json!({ "limit": limit, "weight": 0.25 })).unwrap().effective(&link()).unwrap();
    let (packets, more, bytes) = (red("60p"), red("80p"), red("60000b"));
    for (after, stays) in [(&packets, true), (&more, true), (&bytes, false)] {
        let mut queue = packets.build::<Pkt>(&link(), Instant::ZERO).unwrap();
        let (mut rng, mut log) = (Rng::stream(1, "average"), Log::default());
        (0..5).for_each(|id| queue.enqueue(Pkt::new(id, id), &mut cx(Instant::ZERO, &mut rng, &mut log)));
        let before = gauge(&*queue, "avg");
        queue.reconfigure(after, &link(), &mut cx(Instant::ZERO, &mut rng, &mut log)).unwrap();
        let now = gauge(&*queue, "avg");
        assert!(before > 1.0 && now == if stays { before } else { 0.0 }, "{before}, then {now}");
    }
}
