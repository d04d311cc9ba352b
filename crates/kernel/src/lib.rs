//! The disciplines of aqmkit for the Linux kernel.
//!
//! A [`Classifier`] is a BPF program that decides about each packet before a stock queue discipline. Its law is compiled from
//! `aqmkit_kernel_laws`; here are the built programs, and what turns a user's parameters ([`Spec`]) into the words that the
//! program finds in its map. Nothing here talks to a kernel: `aqmkit_live::kernel` does.

#![forbid(unsafe_code)]

mod classes;
mod laws;
pub mod number;

use aqmkit_aqm::ParamError;
use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_base::FlowKind;
use aqmkit_embed::Packed;
use aqmkit_kernel_laws::disciplines as fixed;
use aqmkit_kernel_laws::law::{Arrival, Law, Program, Surroundings};
use aqmkit_kernel_laws::words::Words;

pub use classes::{Match, RULES, Rule};
pub use laws::{afd, ared, blue, cbt, codel, csfq, dcn, erd, fred, pi, pie, red, rem, rio, sfb, sred, step, wred};

/// A discipline as a BPF program before a stock queue discipline.
#[derive(Clone, Copy, Debug)]
pub struct Classifier {
    /// The discipline's name.
    pub name: &'static str,
    /// The names of the gauges that it keeps, in order.
    pub gauges: &'static [&'static str],
    /// How many of them, from the first on, are rates, which it keeps in Mbit/s.
    rates: usize,
    /// 64-bit words of its state.
    pub state_words: usize,
    /// 64-bit words of its parameters.
    pub config_words: usize,
}

macro_rules! classifiers {
    ($($variant:ident = $module:ident :: $law:ident, $name:literal;)*) => {
        /// Every discipline that runs as a classifier.
        pub const CLASSIFIERS: &[Classifier] = &[$(Classifier {
            name: $name,
            gauges: <fixed::$module::$law as Law>::GAUGES,
            rates: <fixed::$module::$law as Law>::RATES,
            state_words: size_of::<Program<fixed::$module::$law>>() / 8,
            config_words: size_of::<<fixed::$module::$law as Law>::Config>() / 8,
        },)*];

        /// The parameters of a discipline as its program finds them, with its limit first.
        fn config(spec: &Spec, link: &Link) -> Result<Vec<u64>, ParamError> {
            match spec.effective(link)?.parameters() {
                $(Parameters::$variant(params) => laws::$module::config(params, link).map(|config| words(&config)),)*
                _ => Err(not_there(spec.name())),
            }
        }
    };
}

classifiers! {
    Erd = erd::Erd, "erd";
    Red = red::Red, "red";
    Ared = ared::Ared, "ared";
    Pi = pi::Pi, "pi";
    Rem = rem::Rem, "rem";
    Blue = blue::Blue, "blue";
    Step = step::Step, "step";
    Cbt = cbt::Cbt, "cbt";
    Rio = rio::Rio, "rio";
    Wred = wred::Wred, "wred";
    Sred = sred::Sred, "sred";
    Afd = afd::Afd, "afd";
    Csfq = csfq::Csfq, "csfq";
    Fred = fred::Fred, "fred";
    Sfb = sfb::Sfb, "sfb";
    Codel = codel::Codel, "codel";
    Pie = pie::Pie, "pie";
    Dcn = dcn::Dcn, "dcn";
}

fn not_there(name: &str) -> ParamError {
    let names: Vec<&str> = CLASSIFIERS.iter().map(|c| c.name).collect();
    let what = format!("{name} does not run in the kernel");
    ParamError::sentence("discipline", what, format!("those that do are {}", names.join(", ")))
}

/// The classifier of a discipline.
///
/// # Errors
/// When it does not run in the kernel.
pub fn classifier(name: &str) -> Result<&'static Classifier, ParamError> {
    CLASSIFIERS.iter().find(|c| c.name == name).ok_or_else(|| not_there(name))
}

fn words(of: &impl Words) -> Vec<u64> {
    let mut words = Vec::new();
    of.write(&mut |word| words.push(word));
    words
}

/// What the program of a discipline finds in its map of settings: the surroundings, the rules by which packets belong to the link's
/// classes, then the discipline's parameters. `version` is above 0, and higher with each change.
///
/// # Errors
/// When a parameter or a rule cannot be used on this link, or not in the kernel.
pub fn settings(spec: &Spec, link: &Link, rules: &[Rule], version: u64) -> Result<Vec<u64>, ParamError> {
    let config = config(spec, link)?;
    let rules = classes::words(link, rules)?;
    let kinds = [FlowKind::Connection, FlowKind::Hosts, FlowKind::Source, FlowKind::Destination];
    let flow_kind = kinds.iter().position(|kind| *kind == spec.flow()).unwrap_or(0) as u64;
    let byte_time = number::factor("rate", 1e9 / link.rate.bytes_per_sec())?;
    let mut all = words(&Surroundings { version, byte_time, flow_kind });
    all.extend(rules);
    all.extend(config);
    Ok(all)
}

/// The built programs.
static PROGRAMS: Packed = Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/programs.packed")));

/// A built program, which is there: a test looks for all of them.
fn program(name: &str) -> &'static [u8] {
    PROGRAMS.get(&format!("{name}.bpf.o")).unwrap_or_default()
}

/// The queue discipline that can stand behind the classifier of this name in the place of a stock one (Linux 6.16 with `CONFIG_NET_SCH_BPF`), an ELF file for
/// BPF. The one of CoDel can drop packets at the head of the queue.
#[must_use]
pub fn queue(name: &str) -> &'static [u8] {
    program(if name == "codel" { "codel-queue" } else { "queue" })
}

/// Whether the queue discipline behind the classifier applies the law to packets that leave, instead of the classifier to those that arrive: CoDel
/// does where nothing is marked, for only a classifier can mark.
#[must_use]
pub fn at_head(spec: &Spec) -> bool {
    matches!(spec.parameters(), Parameters::Codel(params) if !params.ecn && params.ce_threshold.is_none())
}

/// Changes the settings of a discipline that is [`at_head`] so that it is there.
pub fn set_at_head(settings: &mut [u64]) {
    if let Some(word) = settings.get_mut(SETTINGS_BEFORE + fixed::codel::AT_HEAD) {
        *word = 1;
    }
}

/// Words of the settings before the discipline's own.
pub const SETTINGS_BEFORE: usize = <Surroundings as Words>::COUNT + RULES;

/// How many gauges a program has room for.
pub const GAUGES: usize = aqmkit_kernel_laws::law::GAUGES;

impl Classifier {
    /// The program, an ELF file for BPF.
    #[must_use]
    pub fn object(&self) -> &'static [u8] {
        program(self.name)
    }

    /// The gauges under their names, from the words in which the program keeps them; rates in bits per second.
    pub fn read_gauges(&self, words: [u64; GAUGES]) -> impl Iterator<Item = (&'static str, f64)> + use<> {
        let rates = self.rates;
        let read = move |(i, (name, word)): (usize, (&'static str, u64))| {
            let unit = if i < rates { 1e6 } else { 1.0 };
            (name, number::float(aqmkit_kernel_laws::fixed::Fixed(word as i64)) * unit)
        };
        self.gauges.iter().copied().zip(words).enumerate().map(read)
    }
}

/// Bytes of an arrival, and of the verdict after it.
const EVENT: usize = size_of::<Arrival>() + 8;

/// An arrival as a program's map `events` has it.
pub type Event = [u8; EVENT];

/// An arrival for a replay in the kernel.
#[must_use]
pub fn event(arrival: &Arrival) -> Event {
    let words = [
        arrival.now,
        arrival.flow,
        arrival.bytes,
        arrival.packets,
        arrival.waiting_packets,
        arrival.waiting_bytes,
        arrival.empty_since,
        arrival.ecn_capable,
        arrival.class,
        arrival.leaves_at,
        arrival.free_at,
    ];
    let bytes = words.iter().flat_map(|w| w.to_ne_bytes()).chain(arrival.draws.iter().flat_map(|d| d.to_ne_bytes()));
    let mut event = [0; EVENT];
    event.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    event
}

/// The verdict after an arrival: [`aqmkit_kernel_laws::law::Verdict::code`].
#[must_use]
pub fn decision(event: &Event) -> u32 {
    let [.., a, b, c, d, _, _, _, _] = *event;
    u32::from_ne_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use aqmkit_aqm::registry;
    use aqmkit_base::BitRate;

    use super::*;

    #[test]
    fn the_catalogue_says_which_disciplines_run_in_the_kernel() {
        for entry in registry::ALL {
            let here = CLASSIFIERS.iter().any(|c| c.name == entry.name);
            assert_eq!(registry::runs_in_kernel(entry.name).is_ok(), here, "{}", entry.name);
        }
    }

    #[test]
    fn every_program_is_inside() {
        let objects =
            CLASSIFIERS.iter().map(|c| (c.name, c.object())).chain(["red", "codel"].map(|name| (name, queue(name))));
        for (name, object) in objects {
            assert!(object.starts_with(b"\x7fELF"), "{name}");
        }
    }

    /// The words that a program expects are those that it is given, in number.
    #[test]
    fn settings_have_the_size_of_the_map() {
        let link = Link::new(BitRate::from_mbps(10));
        for classifier in CLASSIFIERS {
            let spec = Spec::named(classifier.name).expect("it is in the catalogue");
            let words = settings(&spec, &link, &[], 1).expect("its defaults can be used");
            assert_eq!(words.len(), SETTINGS_BEFORE + classifier.config_words, "{}", classifier.name);
        }
    }

    #[test]
    fn codel_is_at_the_head_where_it_does_not_mark() {
        let link = Link::new(BitRate::from_mbps(10));
        let read = |table: serde_json::Value| Spec::read("codel", table).expect("parameters of codel");
        let plain = read(serde_json::json!({}));
        assert!(at_head(&plain) && !at_head(&Spec::named("pie").expect("it is in the catalogue")));
        assert!(!at_head(&read(serde_json::json!({ "ecn": true }))));
        assert!(!at_head(&read(serde_json::json!({ "ce_threshold": "3ms" }))));
        // The word that is set is the one that the program looks at.
        let Parameters::Codel(params) = plain.effective(&link).expect("its defaults").parameters().clone() else {
            panic!("not codel")
        };
        let mut config = codel::config(&params, &link).expect("its defaults can be used");
        config.at_head = 1;
        let mut all = settings(&plain, &link, &[], 1).expect("its defaults can be used");
        set_at_head(&mut all);
        assert_eq!(all[SETTINGS_BEFORE..], words(&config));
    }

    #[test]
    fn what_does_not_run_there_is_refused() {
        let link = Link::new(BitRate::from_mbps(10));
        let error = settings(&Spec::named("sfq").expect("it is in the catalogue"), &link, &[], 1).expect_err("sfq");
        assert!(error.to_string().contains("sfq does not run in the kernel"), "{error}");
    }
}
