//! The metrics that a run reports: valid values of `metric`.

use std::collections::BTreeMap;

use aqmkit_measure::metric::{Metric, percent};
use aqmkit_sim::output::{AppStats, ClassStats, Engine, FlowStats, Limits, LinkStats, Summary, Window};
use serde_json::{Value, json};

use super::path::Path;
use super::problem::{Problem, suggest};

/// Matches any name in a path.
const ANY: &str = "*";

/// Names of the reported links, classes and traffic.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) links: Vec<String>,
    pub(super) classes: Vec<String>,
    pub(super) apps: Vec<String>,
    /// Kinds of exchanges of each app, if its model declares them.
    pub(super) kinds: BTreeMap<String, Vec<String>>,
}

/// Separates metrics that are added.
pub const PLUS: &str = " + ";

/// Separates dividend and divisor; the dividend can be a sum.
pub const OVER: &str = " / ";

/// Checks that `metric` is a number that every run reports, or a sum or ratio of such numbers. `below` is the part of
/// the path that follows from `where`.
pub(super) fn check_metric(below: &[&str], metric: &str, names: &Names) -> Result<(), Problem> {
    if metric.matches(OVER).count() > 1 {
        return Err(Problem::new("a ratio has one division").right("write a / b"));
    }
    metric.split(OVER).flat_map(|side| side.split(PLUS)).try_for_each(|term| check_term(below, term, names))
}

fn check_term(below: &[&str], metric: &str, names: &Names) -> Result<(), Problem> {
    let path = Path::parse(metric).ok_or_else(|| {
        Problem::new(format!("{metric:?} is not a valid path"))
            .right("use a field, or keys joined by dots, for example queue_delay_ms.p90")
    })?;
    let parts: Vec<&str> = below.iter().copied().chain(path.0.iter().map(String::as_str)).collect();
    let sample = sample();
    let mut here = &sample;
    for (depth, part) in parts.iter().enumerate() {
        let table = here.as_object();
        if depth + 1 == parts.len() && percent(part).is_some() && table.is_some_and(|t| t.contains_key("p90")) {
            return Ok(()); // from the stored distribution
        }
        let any = table.and_then(|t| t.get(ANY)).filter(|_| allowed(&parts[..depth], part, names).is_ok());
        let own = table.and_then(|t| t.get(*part)).filter(|_| *part != ANY);
        here = match own.or(any) {
            Some(next) => next,
            None => {
                let known = allowed(&parts[..depth], part, names).err();
                let known = known.unwrap_or_else(|| table.into_iter().flat_map(|t| t.keys().cloned()).collect());
                let problem = Problem::new(format!("there is no quantity {metric}: {part} does not exist"));
                return Err(problem.right(suggest(part, known.iter().map(String::as_str))));
            }
        };
    }
    match here.as_object() {
        None => Ok(()),
        Some(table) => {
            let known: Vec<&str> = table.keys().map(String::as_str).filter(|k| *k != ANY).collect();
            let help = if known.is_empty() {
                "choose one of its parts".to_owned()
            } else {
                format!("choose one of its parts: {}", known.join(", "))
            };
            Err(Problem::new(format!("{metric} is not a single number")).right(help))
        }
    }
}

/// Checks that `part` can follow `above` in a path; otherwise returns the names that can.
fn allowed(above: &[&str], part: &str, names: &Names) -> Result<(), Vec<String>> {
    let known = match above {
        ["links"] => &names.links,
        ["classes"] => &names.classes,
        ["apps"] => &names.apps,
        ["apps", app, "response_time_ms" | "completed"] => match names.kinds.get(*app) {
            Some(kinds) => kinds,
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    if known.iter().any(|n| n == part) { Ok(()) } else { Err(known.clone()) }
}

/// A window with all fields that any run can have.
fn sample() -> Value {
    let any = || Some(Summary::default());
    let drops = || BTreeMap::from([(ANY.to_owned(), 0)]);
    let computed = |level| Metric::computed(level).map(|name| (name.to_owned(), 0.0)).collect();
    let link = LinkStats { drops: drops(), queue_delay_ms: any(), computed: computed("links"), ..LinkStats::default() };
    let class = ClassStats {
        drops: drops(),
        queue_delay_ms: any(),
        latency_ms: any(),
        computed: computed("classes"),
        ..ClassStats::default()
    };
    let app = AppStats {
        response_time_ms: BTreeMap::from([(ANY.to_owned(), Summary::default())]),
        completed: BTreeMap::from([(ANY.to_owned(), 0)]),
        counters: BTreeMap::from([(ANY.to_owned(), 0.0)]),
        frame_rate: Some(0.0),
        playable_frame_rate: Some(0.0),
        computed: computed("apps"),
        limits: Some(Limits { window_bytes: Some(0.0), window_bps: Some(0.0), ..Limits::default() }),
        ..AppStats::default()
    };
    let window = Window {
        links: BTreeMap::from([(ANY.to_owned(), link)]),
        classes: BTreeMap::from([(ANY.to_owned(), class)]),
        apps: BTreeMap::from([(ANY.to_owned(), app)]),
        flows: FlowStats::default(),
        ..Window::default()
    };
    let mut fields = serde_json::to_value(window).unwrap_or_default();
    if let Some(table) = fields.as_object_mut() {
        table.retain(|key, _| !["name", "from_s", "to_s"].contains(&key.as_str()));
        table.insert("engine".to_owned(), serde_json::to_value(Engine::default()).unwrap_or(json!({})));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            links: vec!["bottleneck".into()],
            classes: vec!["tcp".into(), "other".into()],
            apps: vec!["web".into(), "bulk".into(), "game".into()],
            kinds: [("web".into(), vec!["request".into(), "page".into()]), ("bulk".into(), vec![])].into(),
        }
    }

    #[test]
    fn fields_of_the_output_are_quantities() {
        let ok = |below: &[&str], metric| check_metric(below, metric, &names()).is_ok();
        assert!(ok(&[], "classes.tcp.goodput_bps"));
        assert!(ok(&["classes", "tcp"], "queue_delay_ms.p90"));
        assert!(ok(&["classes", "tcp"], "queue_delay_ms.p25"));
        assert!(!ok(&["classes", "tcp"], "queue_delay_ms.p100") && !ok(&["classes", "tcp"], "goodput_bps.p25"));
        assert!(ok(&["apps", "web"], "response_time_ms.page.p50"));
        assert!(ok(&["apps", "web"], "completed.page") && !ok(&["apps", "web"], "completed"), "each kind by itself");
        assert!(!ok(&["apps", "web"], "response_time_ms.pages.p50") && !ok(&[], "apps.bulk.response_time_ms.page.p50"));
        assert!(ok(&["apps", "game"], "response_time_ms.any.p50"), "its kinds are not known");
        assert!(ok(&["links", "bottleneck"], "drops.early"));
        assert!(ok(&[], "flows.throughput_bps.min") && ok(&[], "engine.packets"));
        assert!(!ok(&[], "classes.udp.goodput_bps"));
        assert!(!ok(&["classes", "tcp"], "queue_delay_ms"));
        assert!(!ok(&["classes", "tcp"], "goodput"));
        assert!(!ok(&[], "name") && !ok(&[], "classes.*.goodput_bps"));
    }

    #[test]
    fn an_unknown_quantity_names_the_known_ones() {
        use miette::Diagnostic as _;
        let problem = check_metric(&["classes", "tcp"], "goodput", &names()).unwrap_err();
        assert!(problem.help().unwrap().to_string().starts_with("did you mean goodput_bps?"));
    }
}
