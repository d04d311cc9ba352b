//! Compares the decisions of each fixed-point law with those of the floating-point discipline, over millions of
//! arrivals with every parameter varied. Given equal random numbers, they may differ by rounding only.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

mod afd;
mod ared;
mod blue;
mod cbt;
mod codel;
mod csfq;
mod dcn;
mod erd;
mod fred;
mod own_queue;
mod pi;
mod pie;
mod red;
mod rem;
mod rio;
mod sfb;
mod sred;
mod step;
mod trace;
mod wred;

use aqmkit_aqm::Aqm;
use aqmkit_aqm::registry::{Link, Parameters, Spec};
use aqmkit_kernel_laws::law::Law;
use serde_json::Value;

use trace::{Departures, Outcome, Shape, compare, link};

/// Decisions per trace.
const DECISIONS: u64 = 60_000;

/// A discipline with these parameters.
fn spec(name: &str, table: &Value) -> Spec {
    Spec::read(name, table.clone()).unwrap().effective(&link()).unwrap()
}

/// How a discipline is compared: its parameters, both configurations, and the discipline itself.
trait Pair {
    const NAME: &'static str;
    const DEPARTURES: Departures = Departures::Real;
    type Aqm: Aqm;
    type Law: Law;
    fn params(parameters: &Parameters) -> &<Self::Aqm as Aqm>::Params;
    fn fixed(params: &<Self::Aqm as Aqm>::Params, link: &Link) -> <Self::Law as Law>::Config;
}

/// Defines the pair of a discipline: its parameters variant, its module, and its name.
macro_rules! pair {
    ($variant:ident, $module:ident, $name:literal) => {
        pair!($variant, $module, $name, Real);
    };
    ($variant:ident, $module:ident, $name:literal, $departures:ident) => {
        struct $variant;

        impl super::Pair for $variant {
            const NAME: &'static str = $name;
            const DEPARTURES: super::trace::Departures = super::trace::Departures::$departures;
            type Aqm = aqmkit_aqm::disciplines::$module::$variant;
            type Law = aqmkit_kernel_laws::disciplines::$module::$variant;
            fn params(parameters: &aqmkit_aqm::registry::Parameters) -> &aqmkit_aqm::disciplines::$module::Params {
                let aqmkit_aqm::registry::Parameters::$variant(params) = parameters else { panic!($name) };
                params
            }
            fn fixed(
                params: &aqmkit_aqm::disciplines::$module::Params,
                link: &aqmkit_aqm::registry::Link,
            ) -> aqmkit_kernel_laws::disciplines::$module::Config {
                aqmkit_kernel::$module::config(params, link).unwrap()
            }
        }
    };
}
use pair;

/// Compares on random and bursty traces, after applying `change` to the law's parameters.
fn changed<P: Pair>(tables: &[Value], decisions: u64, change: impl Fn(&mut <P::Law as Law>::Config)) -> Outcome {
    let mut all = Outcome::default();
    for (i, table) in tables.iter().enumerate() {
        let spec = spec(P::NAME, table);
        let params = P::params(spec.parameters());
        let config = <P::Aqm as Aqm>::config(params, &link()).unwrap();
        let mut fixed = P::fixed(params, &link());
        change(&mut fixed);
        let mut one = Outcome::default();
        for shape in [Shape::Random, Shape::Bursty] {
            one += compare::<P::Aqm, P::Law>(&config, &fixed, (i as u64, shape), decisions, P::DEPARTURES);
        }
        assert!(one.signals > decisions / 2000, "{}: {table} signals too seldom to compare: {one:?}", P::NAME);
        all += one;
    }
    all
}

/// Asserts that at most `allowed` decisions differ.
fn hold<P: Pair>(tables: &[Value], allowed: u64) {
    let all = changed::<P>(tables, DECISIONS, |_| {});
    println!("{}: {} of {} decisions differ", P::NAME, all.different, all.decisions);
    assert!(all.different <= allowed, "{}: {} of {} decisions differ", P::NAME, all.different, all.decisions);
}

/// Asserts that a wrong parameter of the law is detected.
fn notice<P: Pair>(table: &Value, allowed: u64, what: &str, change: impl Fn(&mut <P::Law as Law>::Config)) {
    let all = changed::<P>(std::slice::from_ref(table), DECISIONS, change);
    assert!(all.different > 10 * allowed.max(1), "{}: a wrong {what} makes {} differ", P::NAME, all.different);
}
