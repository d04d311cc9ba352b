//! Every discipline, as it comes and with its options on.

use aqmkit_aqm::registry::{self, Spec};

use super::spec;

/// The catalogue with default parameters.
pub fn defaults() -> Vec<Spec> {
    registry::ALL.iter().map(|e| Spec::named(e.name).expect("it is in the list")).collect()
}

/// The catalogue with options on that the defaults leave off.
pub fn options() -> Vec<Spec> {
    let three = r#"{"class": "tcp", "min": 5, "max": 20}, {"class": "multimedia", "max": 7.5, "weight": 0.0625},
                   {"class": "*", "max": 4.28, "weight": 0.25}"#;
    let bytes = r#"{"class": "tcp", "min": "5kb", "max": "20kb"}, {"class": "*", "max": "7kb", "weight": 0.25}"#;
    let shares = r#"{"class": "tcp", "share": 0.72, "parent": "elastic", "limit": 20},
                    {"class": "multimedia", "share": 0.16, "parent": "elastic", "limit": "9kb"},
                    {"class": "other", "share": 0.12, "limit": 20}"#;
    let weights = r#"{"class": "tcp", "weight": 2}, {"class": "*", "weight": 0.7}"#;
    vec![
        spec("fifo", r#"{"limit": 20, "drop": "front"}"#),
        spec("fifo", r#"{"limit": "20kb", "drop": "random"}"#),
        spec("erd", r#"{"limit": "20kb", "threshold": "10kb", "probability": 0.3, "ecn": true}"#),
        spec("red", r#"{"limit": 60, "gentle": true, "byte_mode": true, "ecn": true, "weight": 0.05}"#),
        spec("red", r#"{"limit": 60, "weight": 0.05, "wait": true}"#),
        spec(
            "red",
            r#"{"limit": "60kb", "min": "5kb", "max": "15kb", "ecn": true, "harddrop": false, "weight": 0.05}"#,
        ),
        spec(
            "red",
            r#"{"limit": "60kb", "burst": 12, "bandwidth": "3mbit", "ecn": true, "harddrop": false, "nodrop": true, "adaptive": true,
                "interval": "4ms"}"#,
        ),
        spec(
            "ared",
            r#"{"limit": 60, "weight": 0.05, "interval": "10ms", "max_p": 0.3, "ecn": true, "harddrop_from": 1}"#,
        ),
        spec(
            "ared",
            r#"{"limit": "60kb", "weight": 0.05, "byte_mode": true, "variant": "feng", "ecn": true, "harddrop": false}"#,
        ),
        spec("pi", r#"{"limit": "60kb", "q_ref": "5kb", "a": 0.02, "b": 0.015, "byte_mode": true, "ecn": true}"#),
        spec("pi", r#"{"limit": 60, "q_ref": 5, "design": {"flows": 60, "rtt": "60ms"}, "ecn": true}"#),
        spec("rem", r#"{"limit": 60, "target": 5, "gamma": 0.1, "phi": 1.1, "ecn": true, "mark_at": "departure"}"#),
        spec(
            "rem",
            r#"{"limit": "60kb", "target": "5kb", "gamma": 1, "phi": 1.1, "price": "backlog", "byte_mode": true,
                "weight": 0.5, "ecn": true}"#,
        ),
        spec("blue", r#"{"limit": 20, "d1": 0.05, "d2": 0.01, "freeze": "3ms", "trigger": 12, "ecn": true}"#),
        spec("blue", r#"{"limit": "20kb", "d1": 0.3, "d2": 0.1, "freeze": "0ms"}"#),
        spec(
            "sfb",
            r#"{"limit": 60, "levels": 3, "bins": 5, "target": 4, "d1": 0.2, "d2": 0.05, "rehash": "40ms", "db": "25ms"}"#,
        ),
        spec(
            "sfb",
            r#"{"limit": "40kb", "max": 8, "d1": 0.3, "freeze": "2ms", "rehash": "0s", "penalty_rate": 300, "ecn": false}"#,
        ),
        spec("sred", r#"{"limit": 60, "zombies": 10, "max_p": 0.6, "ecn": true}"#),
        spec("sred", r#"{"limit": "30kb", "zombies": 20, "weight": 0.2, "full": false}"#),
        spec("choke", r#"{"limit": 60, "min": 3, "max": 30, "weight": 0.2, "candidates": 3, "ecn": true}"#),
        spec(
            "choke",
            r#"{"limit": 60, "min": 3, "max": 30, "weight": 0.5, "regions": 5, "draw": "front", "gentle": true}"#,
        ),
        spec(
            "choke",
            r#"{"limit": "60kb", "min": "2kb", "max": "20kb", "burst": 9, "bandwidth": "2mbit", "byte_mode": true, "draw": "back",
                "ecn": true, "harddrop": true, "nodrop": true}"#,
        ),
        spec("fred", r#"{"limit": 60, "max": 20, "ecn": true, "weight": 0.05}"#),
        spec("fred", r#"{"limit": 60, "max": 20, "many_flows": false, "weight": 0.05}"#),
        spec("afd", r#"{"limit": 60, "buffer": 40, "sampling": 1.5, "q_target": 5, "interval": "1ms", "ecn": true}"#),
        spec("afd", r#"{"limit": "60kb", "buffer": 25, "sampling": 1, "interval": "500us", "replace": "oldest"}"#),
        spec(
            "red-pd",
            r#"{"limit": 60, "min": 2, "max": 8, "weight": 0.1, "rtt": "1ms", "ecn": true, "noidle": false, "m": 4, "k": 2,
                "unresponsive_penalty": 1.5, "burst_drops": 5, "max_flows": 2, "max_monitored": 3}"#,
        ),
        spec(
            "red-pd",
            r#"{"limit": 60, "min": 2, "max": 8, "weight": 0.1, "rtt": "1ms", "noidle": false, "max_flows": 2, "max_monitored": 3,
                "ns2_spacing": true, "ns2_below_min": true, "ns2_last_interval": true}"#,
        ),
        spec(
            "red-pd",
            r#"{"limit": "60kb", "min": "5kb", "max": "15kb", "byte_mode": true, "identify": "single", "rtt": "3ms",
                "drop_rate": 0.1, "interval_min": "1ms", "max_flows": 5, "unresponsive_test": false}"#,
        ),
        spec(
            "floyd-fall",
            r#"{"limit": 60, "min": 2, "max": 8, "weight": 0.1, "interval": "5ms", "ecn": true, "max_restricted": 3, "max_flows": 4}"#,
        ),
        spec(
            "floyd-fall",
            r#"{"limit": "60kb", "min": "5kb", "max": "15kb", "byte_mode": true, "interval": "5ms", "borrow": true, "friendly": false,
                "c": "800bps", "weight": 0.2, "restricted_limit": "9kb"}"#,
        ),
        spec("rio", r#"{"limit": 60, "in": ["tcp", "other"], "weight": 0.1, "ecn": true}"#),
        spec(
            "rio",
            r#"{"limit": "60kb", "in": ["*"], "in_min": "2kb", "in_max": "9kb", "out_min": "1kb", "out_max": "4kb",
                "weight": 0.2, "coupled": false, "gentle": true, "ecn": true, "harddrop": false}"#,
        ),
        spec("rio", r#"{"limit": 60, "in": ["multimedia"], "weight": 0.2, "coupled": false}"#),
        spec("wred", r#"{"limit": 60, "weight": 0.2, "ecn": true, "classes": [{"class": "other"}, {"max": 20}]}"#),
        spec(
            "wred",
            r#"{"limit": 60, "burst": 20, "bandwidth": "3mbit", "classes": [{"class": "tcp", "min": 4}, {"max": 9}]}"#,
        ),
        spec("wred", r#"{"limit": "60kb", "weight": 0.2, "gentle": true, "classes": [{"max": "9kb"}]}"#),
        spec(
            "gred",
            r#"{"limit": 60, "grio": true, "ecn": true, "classes": [{"class": "tcp", "prio": 1, "limit": 20, "weight": 0.2},
                {"class": "other", "prio": 2, "min": 2, "max": 30, "max_p": 0.3, "weight": 0.1}]}"#,
        ),
        spec(
            "gred",
            r#"{"limit": "60kb", "grio": true, "ecn": true, "harddrop": true, "classes": [{"class": "tcp", "burst": 12, "bandwidth": "3mbit"},
                {"max": "20kb", "weight": 0.2}]}"#,
        ),
        spec("rio-ps", r#"{"limit": 60, "threshold": 3, "t_c": "7ms", "t_u": "2ms", "flows": 4, "weight": 0.2}"#),
        spec("rio-ps", r#"{"limit": "60kb", "slr": 0.5, "t_c": "0s", "weight": 0.2, "ecn": false}"#),
        spec(
            "dcn",
            r#"{"limit": 60, "q_ref": 5, "a": 1.7, "b": 1.8, "t_update": "5ms", "t_dec": "20ms", "clearing": "5ms", "ecn": true,
                "sb_slots": 3, "hb_limit": 2}"#,
        ),
        spec(
            "dcn",
            r#"{"limit": "60kb", "q_ref": "5kb", "a": 1.7, "b": 1.8, "as_printed": true, "counting": "bytes",
                "pktcount": "arrived", "t_dec": "7ms", "p_init": 3.0, "threshold": 2.0, "hb_limit": 100, "sb_slots": 50}"#,
        ),
        spec("cbt", &format!(r#"{{"limit": 60, "ecn": true, "classes": [{three}]}}"#)),
        spec("cbt", &format!(r#"{{"limit": "60kb", "counting": "bytes", "classes": [{bytes}]}}"#)),
        spec("cbq", &format!(r#"{{"classes": [{shares}]}}"#)),
        spec(
            "cbq",
            r#"{"link_sharing": "ancestors", "maxburst": 4, "minburst": 1, "classes": [{"class": "tcp", "share": 0.3, "limit": 20},
                {"class": "multimedia", "share": 0.2, "priority": 1, "borrow": false, "limit": 20},
                {"class": "*", "share": 0.4, "priority": 2, "parent": "g", "limit": "9kb"}]}"#,
        ),
        spec("tbf", r#"{"rate": "3mbit", "burst": "4kb", "limit": "20kb"}"#),
        spec("tbf", r#"{"rate": "2mbit", "burst": "9kb", "peakrate": "5mbit", "minburst": "2kb", "latency": "80ms"}"#),
        spec(
            "tbf",
            r#"{"rate": "4mbit", "burst": "3kb", "aqm": {"name": "codel", "limit": 60, "target": "2ms", "interval": "20ms", "ecn": true}}"#,
        ),
        spec(
            "prio",
            r#"{"bands": 4, "priomap": [3, 2], "class": [{"name": "voice", "match": ["dscp ef", "multimedia"],
                "aqm": {"name": "tbf", "rate": "1mbit", "burst": "3kb", "limit": "9kb"}},
                {"name": "tcp", "aqm": {"name": "fq-codel", "limit": 60, "flows": 4, "target": "2ms", "interval": "20ms"}},
                {"match": "dscp cs1", "aqm": {"name": "red", "limit": 60, "ecn": true, "weight": 0.05}}]}"#,
        ),
        spec("pfifo-fast", r#"{"limit": 20}"#),
        spec("pfifo-fast", r#"{"limit": "20kb"}"#),
        spec(
            "ets",
            r#"{"strict": 1, "quanta": ["3000b", "500b"], "priomap": [2, 0, 1], "classes": [{"name": "multimedia", "aqm": {"name": "fifo", "limit": 20}},
                {"name": "tcp", "aqm": {"name": "cake", "limit": 60, "bandwidth": "2mbit", "rtt": "10ms", "target": "1ms"}},
                {"aqm": {"name": "tbf", "rate": "3mbit", "burst": "2kb", "aqm": {"name": "red", "limit": 60, "ecn": true, "weight": 0.05}}}]}"#,
        ),
        spec(
            "htb",
            r#"{"default": "rest", "classes": [{"name": "all", "rate": "4mbit", "ceil": "8mbit", "burst": "4kb", "cburst": "2kb"},
                {"name": "tcp", "parent": "all", "rate": "1mbit", "ceil": "8mbit", "quantum": "1500b"},
                {"name": "voice", "parent": "all", "rate": "500kbit", "ceil": "2mbit", "prio": 1, "quantum": "1500b", "match": "dscp ef", "aqm": {"name": "codel", "limit": 60, "target": "2ms", "interval": "20ms", "ecn": true}},
                {"name": "rest", "parent": "all", "rate": "1mbit", "ceil": "4mbit", "prio": 1, "quantum": "3000b", "aqm": {"name": "tbf", "rate": "3mbit", "burst": "2kb", "limit": "9kb"}}]}"#,
        ),
        spec(
            "htb",
            r#"{"r2q": 100, "direct_qlen": 20, "classes": [{"name": "tcp", "rate": "2mbit", "aqm": {"name": "cake", "limit": 60, "bandwidth": "1mbit", "rtt": "10ms", "target": "1ms"}}]}"#,
        ),
        spec("drr", &format!(r#"{{"limit": 60, "quantum": "300b", "flow_limit": "20kb", "classes": [{weights}]}}"#)),
        spec("drr", &format!(r#"{{"limit": "60kb", "buckets": 3, "headdrop": true, "classes": [{weights}]}}"#)),
        spec(
            "drr",
            r#"{"limit": 60, "quantum": "900b", "latency_critical": ["tcp"], "contract": "2kb", "period": "5ms", "contracts": 8}"#,
        ),
        spec("sfq", r#"{"limit": 60, "divisor": 4, "depth": 30, "flows": 3, "perturb": "3ms", "quantum": "500b"}"#),
        spec("sfq", r#"{"limit": "60kb", "divisor": 7, "depth": 20, "headdrop": true, "perturb": "700us"}"#),
        spec(
            "sfq",
            r#"{"limit": 100, "divisor": 4, "depth": 60, "perturb": "9ms", "redflowlimit": "40kb", "max": "12kb", "weight": 0.2, "ecn": true}"#,
        ),
        spec(
            "sfq",
            r#"{"divisor": 3, "redflowlimit": "40000b", "probability": 0.3, "headdrop": true, "ecn": true, "harddrop": true}"#,
        ),
        spec(
            "fq",
            r#"{"limit": 20, "flow_limit": 12, "quantum": "600b", "initial_quantum": "900b", "refill_delay": "9ms", "ce_threshold": "3ms",
                "orphan_mask": 3, "salt": 7, "weights": [16384, 20000, 30000]}"#,
        ),
        spec(
            "fq",
            r#"{"limit": "20kb", "maxrate": "8mbit", "timer_slack": "200us", "orphan_mask": 1, "priomap": [0, 1, 2]}"#,
        ),
        spec(
            "fq",
            r#"{"limit": 20, "maxrate": "4mbit", "low_rate_threshold": "5mbit", "timer_slack": "0s", "pacing": true}"#,
        ),
        spec("wfq", &format!(r#"{{"limit": 60, "delta": "3000b", "flows": 5, "classes": [{weights}]}}"#)),
        spec("wfq", &format!(r#"{{"limit": "60kb", "clock": "self", "flows": 3, "classes": [{weights}]}}"#)),
        spec(
            "csfq",
            &format!(
                r#"{{"limit": 60, "k": "2ms", "k_alpha": "5ms", "k_c": "5ms", "flows": 4, "ecn": true, "classes": [{weights}]}}"#
            ),
        ),
        spec(
            "csfq",
            r#"{"role": "core", "limit": "60kb", "threshold": "0b", "k": "2ms", "k_alpha": "5ms", "k_c": "5ms"}"#,
        ),
        spec("csfq", r#"{"role": "edge", "limit": 60}"#),
        spec(
            "hhf",
            r#"{"limit": 60, "quantum": "300b", "hh_limit": 3, "reset_timeout": "8ms", "admit_bytes": "4kb", "evict_timeout": "20ms",
                "non_hh_weight": 5, "salt": 7}"#,
        ),
        spec("hhf", r#"{"limit": "60kb", "admit_bytes": "1kb", "reset_timeout": "100ms", "flow": "hosts"}"#),
        spec(
            "cobalt",
            r#"{"limit": 60, "target": "1ms", "interval": "10ms", "mtu": "200b", "p_inc": 0.1, "p_dec": 0.02}"#,
        ),
        spec("cobalt", r#"{"limit": "60kb", "ecn": false, "target": "3ms", "interval": "5ms"}"#),
        spec("codel", r#"{"limit": 60, "ecn": true, "ce_threshold": "4ms", "target": "2ms", "interval": "20ms"}"#),
        spec("codel", r#"{"limit": 60, "ce_threshold": "1ms", "ce_threshold_selector": "0x1/0x3"}"#),
        spec("codel", r#"{"limit": "60kb", "reentry": "2012", "max_drops": 3, "target": "1ms", "interval": "9ms"}"#),
        spec("fq-codel", r#"{"limit": 60, "flows": 4, "quantum": "300b", "target": "2ms", "interval": "20ms"}"#),
        spec("fq_codel", r#"{"limit": "60kb", "drop_batch": 3, "ecn": false, "salt": 7, "memory_limit": "40kb"}"#),
        spec(
            "cake",
            r#"{"limit": 60, "bandwidth": "8mbit", "memlimit": "60kb", "quantum": "400b", "rtt": "10ms", "target": "1ms", "ack_filter": "aggressive",
                "overhead": "44b", "mpu": "96b", "linklayer": "atm", "ingress": true}"#,
        ),
        spec(
            "cake",
            r#"{"limit": "60kb", "diffserv": "diffserv4", "isolation": "dual-srchost", "ack_filter": "on", "target": "1ms", "rtt": "5ms",
                "classes": [{"class": "tcp", "dscp": "cs1"}, {"class": "other", "dscp": "ef"}]}"#,
        ),
        spec(
            "cake",
            r#"{"limit": 60, "diffserv": "precedence", "isolation": "hosts", "salt": 9, "overhead": "-4b", "linklayer": "ptm"}"#,
        ),
        spec(
            "cake",
            r#"{"limit": 60, "diffserv": "diffserv8", "isolation": "flowblind", "bandwidth": "3mbit", "quantum": "300b", "memlimit": "1mb"}"#,
        ),
        spec("pie", r#"{"limit": 60, "ecn": true, "bytemode": true, "alpha": 2, "beta": 2, "max_burst": "15ms"}"#),
        spec(
            "pie",
            r#"{"limit": 60, "derandomize": false, "cap": false, "decay": "low", "active_from": 20, "beta": 2,
                "dq_rate_estimator": true, "dq_threshold": "5kb"}"#,
        ),
        spec(
            "docsis-pie",
            r#"{"limit": 60, "target": "2ms", "alpha": 3, "beta": 9, "max_burst": "5ms", "burst_reset": "20ms"}"#,
        ),
        spec(
            "docsis-pie",
            r#"{"limit": "60kb", "msr": "5mbit", "peak_rate": "20mbit", "traffic_burst": "9kb", "target": "1ms", "tupdate": "3ms",
                "alpha": 5, "beta": 9, "max_burst": "0s", "latency_high": "6ms", "latency_low": "1ms", "avpkt": "700b", "min_pktsize": "40b"}"#,
        ),
        spec("fq-pie", r#"{"limit": 60, "flows": 4, "ecn": true, "alpha": 2, "max_burst": "0ms", "target": "3ms"}"#),
        spec("fq-pie", r#"{"limit": "60kb", "dq_rate_estimator": true, "dq_threshold": "3kb", "tupdate": "4ms"}"#),
        spec("pi2", r#"{"limit": 60, "target": "3ms", "tupdate": "4ms", "alpha": 5, "beta": 20}"#),
        spec("pi2", r#"{"limit": "60kb", "ecn": false, "max_p": 1.0, "alpha": 50}"#),
        spec("step", r#"{"limit": 60, "sojourn": "2ms"}"#),
        spec("step", r#"{"limit": "60kb", "threshold": "9kb", "not_ect": "pass"}"#),
        spec("curvy-red", r#"{"limit": "60kb", "s_c": 6, "f": 1, "u": 3, "ecn": false}"#),
        spec("dualq", r#"{"limit": 60, "s_c": 5, "s_l": 7, "u_l": 2, "t": "4kb", "classifier": "l4s_ect"}"#),
        spec("dualpi2", r#"{"limit": 60, "memlimit": "60kb", "typical_rtt": "2ms", "random": true, "mtu": "0b"}"#),
        spec(
            "dualpi2",
            r#"{"limit": "60kb", "target": "1ms", "alpha": 20, "beta": 100, "step_thresh": "2p", "tshift": "20ms",
                "overload": "overflow", "drop_at": "drop_enqueue", "classifier": "any_ect", "min_qlen_step": 0}"#,
        ),
    ]
}
