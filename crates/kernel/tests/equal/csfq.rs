//! CSFQ, which owns its queue.

use aqmkit_aqm::disciplines::csfq::Params;
use aqmkit_aqm::registry::{Link, Parameters};
use aqmkit_kernel_laws::disciplines::csfq as fixed;
use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::json;

use super::own_queue::OwnQueue;
use super::{Pair, hold, notice};

/// Tolerated differences among 960,000 decisions.
const ALLOWED: u64 = 1;

struct OfCsfq;

impl Pair for OfCsfq {
    const NAME: &'static str = "csfq";
    type Aqm = OwnQueue;
    type Law = fixed::Csfq;

    fn params(parameters: &Parameters) -> &Params {
        let Parameters::Csfq(params) = parameters else { panic!("not csfq") };
        params
    }

    fn fixed(params: &Params, link: &Link) -> fixed::Config {
        aqmkit_kernel::csfq::config(params, link).unwrap()
    }
}

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "limit": 40, "threshold": 0 }),
        json!({ "k": "20ms", "k_alpha": "50ms", "k_c": "30ms", "limit": 60, "threshold": 10 }),
        json!({ "k": "1s", "k_alpha": "3s", "k_c": "100ms", "ecn": true }),
        json!({ "flows": 16, "k_c": "50ms", "threshold": "8kb" }),
        json!({ "limit": "30kb", "ecn": true, "threshold": "2kb", "k_alpha": "20ms" }),
        json!({ "limit": 200, "classes": [{ "class": "tcp", "weight": 3 }, { "class": "*", "weight": 0.7 }] }),
        json!({ "k": "3ms", "k_alpha": "5ms", "k_c": "2ms", "limit": 100, "threshold": 5, "flows": 16_384 }),
    ];
    hold::<OfCsfq>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "limit": 60, "threshold": 10, "k_c": "50ms", "flows": 64,
        "classes": [{ "class": "tcp", "weight": 3 }, { "class": "*", "weight": 0.7 }] });
    notice::<OfCsfq>(&table, ALLOWED, "rate of the link", |c| c.capacity.0 -= c.capacity.0 / 100);
    notice::<OfCsfq>(&table, ALLOWED, "threshold", |c| c.threshold = c.threshold.plus(Fixed::whole(2)));
    notice::<OfCsfq>(&table, ALLOWED, "time of congestion", |c| c.k_c += c.k_c / 50);
    notice::<OfCsfq>(&table, ALLOWED, "constant of flows", |c| c.of_flow.decay.0[3][1].high -= 1 << 22);
    notice::<OfCsfq>(&table, ALLOWED, "constant of the link", |c| c.of_link.decay.0[3][1].high -= 1 << 22);
    notice::<OfCsfq>(&table, ALLOWED, "silence before a flow", |c| c.of_flow.k *= 2);
    notice::<OfCsfq>(&table, ALLOWED, "weight", |c| c.per_weight[1].mantissa.high -= 1 << 26);
    notice::<OfCsfq>(&table, ALLOWED, "number of flows", |c| c.flows /= 2);
}
