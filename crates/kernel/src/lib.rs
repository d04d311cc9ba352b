//! The disciplines of aqmkit for the Linux kernel.
//!
//! A [`Classifier`] is a BPF program that decides on each packet in front of a stock qdisc. Its law is compiled from
//! `aqmkit_kernel_laws`. This crate has the built programs, and converts a user's parameters ([`Spec`]) into the words
//! of the program's settings map. It does not talk to a kernel: `aqmkit_live::kernel` does.

#![forbid(unsafe_code)]

mod classes;
mod laws;
pub mod number;

use aqmkit_aqm::ParamError;
use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_base::FlowKind;
use aqmkit_files::packed::Packed;
use aqmkit_kernel_laws::disciplines as fixed;
use aqmkit_kernel_laws::law::{Arrival, Law, Program, Surroundings};
use aqmkit_kernel_laws::words::Words;

pub use classes::{Match, RULES, Rule};
pub use laws::{afd, ared, blue, cbt, codel, csfq, dcn, erd, fred, pi, pie, red, rem, rio, sfb, sred, step, wred};

/// A discipline as a BPF program in front of a stock qdisc.
#[derive(Clone, Copy, Debug)]
pub struct Classifier {
    /// Name of the discipline.
    pub name: &'static str,
    /// Names of its gauges, in order.
    pub gauges: &'static [&'static str],
    /// How many gauges, starting with the first, are rates, which the program keeps in Mbit/s.
    rates: usize,
    /// Size of the law's state, in 64-bit words.
    pub state_words: usize,
    /// Size of the law's parameters, in 64-bit words.
    pub config_words: usize,
}

macro_rules! classifiers {
    ($($variant:ident = $module:ident :: $law:ident, $name:literal;)*) => {
        /// All disciplines that run in the kernel.
        pub const CLASSIFIERS: &[Classifier] = &[$(Classifier {
            name: $name,
            gauges: <fixed::$module::$law as Law>::GAUGES,
            rates: <fixed::$module::$law as Law>::RATES,
            state_words: size_of::<Program<fixed::$module::$law>>() / 8,
            config_words: size_of::<<fixed::$module::$law as Law>::Config>() / 8,
        },)*];

        /// A discipline's parameters as words, the limit first.
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

/// Looks up a discipline's classifier.
///
/// # Errors
/// When the discipline does not run in the kernel.
pub fn classifier(name: &str) -> Result<&'static Classifier, ParamError> {
    CLASSIFIERS.iter().find(|c| c.name == name).ok_or_else(|| not_there(name))
}

fn words(of: &impl Words) -> Vec<u64> {
    let mut words = Vec::new();
    of.write(&mut |word| words.push(word));
    words
}

/// The settings map of a program: surroundings, class rules, then the discipline's parameters. `version` must be
/// positive and increase with each change.
///
/// # Errors
/// When a parameter or rule is invalid on this link, or not supported in the kernel.
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

/// The built BPF programs.
static PROGRAMS: Packed = Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/programs.packed")));

/// A built program; a test checks that all of them exist.
fn program(name: &str) -> &'static [u8] {
    PROGRAMS.get(&format!("{name}.bpf.o")).unwrap_or_default()
}

/// The ELF object of the BPF qdisc that can replace a stock one behind this classifier (Linux 6.16 with
/// `CONFIG_NET_SCH_BPF`). That of CoDel can drop at the head of the queue.
#[must_use]
pub fn queue(name: &str) -> &'static [u8] {
    program(if name == "codel" { "codel-queue" } else { "queue" })
}

/// Whether the BPF qdisc applies the law to departing packets rather than the classifier to arriving ones. True for
/// CoDel without ECN: only the classifier can mark.
#[must_use]
pub fn at_head(spec: &Spec) -> bool {
    matches!(spec.parameters(), Parameters::Codel(params) if !params.ecn && params.ce_threshold.is_none())
}

/// Sets the flag that moves the law of an [`at_head`] discipline to the head of the queue.
pub fn set_at_head(settings: &mut [u64]) {
    if let Some(word) = settings.get_mut(SETTINGS_BEFORE + fixed::codel::AT_HEAD) {
        *word = 1;
    }
}

/// Number of settings words before the discipline's own.
pub const SETTINGS_BEFORE: usize = <Surroundings as Words>::COUNT + RULES;

/// Maximum number of gauges of a program.
pub const GAUGES: usize = aqmkit_kernel_laws::law::GAUGES;

impl Classifier {
    /// The ELF object of the program.
    #[must_use]
    pub fn object(&self) -> &'static [u8] {
        program(self.name)
    }

    /// Decodes the gauges, with their names; rates in bit/s.
    pub fn read_gauges(&self, words: [u64; GAUGES]) -> impl Iterator<Item = (&'static str, f64)> + use<> {
        let rates = self.rates;
        let read = move |(i, (name, word)): (usize, (&'static str, u64))| {
            let unit = if i < rates { 1e6 } else { 1.0 };
            (name, number::float(aqmkit_kernel_laws::fixed::Fixed(word as i64)) * unit)
        };
        self.gauges.iter().copied().zip(words).enumerate().map(read)
    }
}

/// Size in bytes of an arrival followed by its verdict.
const EVENT: usize = size_of::<Arrival>() + 8;

/// An element of the map `events`.
pub type Event = [u8; EVENT];

/// Encodes an arrival for a replay in the kernel.
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

/// The verdict on an event, as [`aqmkit_kernel_laws::law::Verdict::code`].
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

    /// The settings have exactly the words that the program expects.
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
        // The flag that is set is the one that the program reads.
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
