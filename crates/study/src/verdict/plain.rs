//! Claims whose value is a single number of a single run, which can be measured outside of a study.

use std::collections::BTreeMap;

use aqmkit_experiment::{Expect, OVER, PLUS, Statistic};

use super::evidence::{paths, quantity, selects};
use super::{Published, in_unit};

/// How to get a claim's value from the results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    /// Name of the window.
    pub window: String,
    /// Metric with full paths: see `aqmkit_experiment::number`.
    pub metric: String,
    /// Statistic over time; `None` for the window's value.
    pub seconds: Option<Statistic>,
    /// Factor from the metric's unit to the unit of the published row.
    pub factor: f64,
}

impl Plain {
    /// How to get the value of this claim.
    ///
    /// # Errors
    /// When the claim needs more than one number: exchanges, a comparison with another run, or an ordering.
    pub fn of(expect: &Expect, published: &Published) -> Result<Plain, String> {
        let single = expect.exchanges.is_none() && expect.responses.is_none() && expect.order.is_none();
        let Some(window) = expect.window.clone().filter(|_| single && expect.against.is_empty()) else {
            return Err(format!("{}: the claim is not about one number of one run", expect.id));
        };
        let row = published.get(&expect.id).ok_or_else(|| format!("published.csv has no row {}", expect.id))?;
        let factor = in_unit(row, quantity(expect, 1.0)?)?;
        let sides: Vec<String> = paths(expect).iter().map(|side| side.join(PLUS)).collect();
        Ok(Plain { window, metric: sides.join(OVER), seconds: expect.seconds, factor })
    }
}

/// The first of the runs that a claim selects.
///
/// # Errors
/// When it selects no run, or several combinations of the sweep.
pub fn first_run<'a>(
    expect: &Expect,
    planned: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> Result<usize, String> {
    let found: Vec<_> = planned.enumerate().filter(|(_, labels)| selects(expect, labels)).collect();
    let combination = |labels: &BTreeMap<String, String>| {
        let axes = labels.iter().filter(|(axis, _)| !["repeat", "seed"].contains(&axis.as_str()));
        axes.map(|(axis, label)| (axis.clone(), label.clone())).collect::<Vec<_>>()
    };
    let Some((index, first)) = found.first() else { return Err(format!("{}: no run is selected", expect.id)) };
    if found.iter().any(|(_, labels)| combination(labels) != combination(first)) {
        return Err(format!("{}: the claim is about several combinations", expect.id));
    }
    Ok(*index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_experiment::{Experiment, Overrides};

    const ROWS: &str = "id,source,where,what,unit,low,high,kind\n\
        X,CBT,V,goodput,KB/s,100,100,value\n\
        S,CBT,V,share,%,90,90,value\n";

    fn claim(id: &str, rest: &str) -> Expect {
        let text = format!(
            "title = 'x'\nduration = '10s'\n[topology]\nrate = '1mbit'\n[[traffic]]\nkind = 'short-flows'\n[sweep]\naqm = ['red', 'fifo']\n\
             [[expect]]\nid = '{id}'\n{rest}"
        );
        Experiment::parse("x.toml", &text, &Overrides::default()).unwrap().expects.remove(0)
    }

    fn plain(id: &str, rest: &str) -> Result<Plain, String> {
        Plain::of(&claim(id, rest), &Published::parse(ROWS).unwrap())
    }

    /// The claim's number times the factor is in the row's unit: a KB/s is 8192 bit/s, a share is in percent.
    #[test]
    fn a_claim_about_one_number_tells_how_to_take_it() {
        let rate = plain("X", "where = { class = 'short-flows', aqm = 'red' }\nmetric = 'goodput_bps'").unwrap();
        assert_eq!(
            (rate.window.as_str(), rate.metric.as_str(), rate.seconds),
            ("all", "classes.short-flows.goodput_bps", None)
        );
        assert!((rate.factor * 8192.0 - 1.0).abs() < 1e-12, "{}", rate.factor);
        let share = plain(
            "S",
            "where = { class = 'short-flows', aqm = 'red' }\nmetric = 'goodput_bps + goodput_bps / throughput_bps'",
        )
        .unwrap();
        assert_eq!(
            share.metric,
            "classes.short-flows.goodput_bps + classes.short-flows.goodput_bps / classes.short-flows.throughput_bps"
        );
        assert!((share.factor - 100.0).abs() < 1e-9, "{}", share.factor);
        let second =
            plain("X", "where = { class = 'short-flows', aqm = 'red' }\nmetric = 'goodput_bps'\nseconds = 'max'")
                .unwrap();
        assert_eq!(second.seconds, Some(Statistic::Max));
        assert_eq!(
            plain("Y", "where = { class = 'short-flows', aqm = 'red' }\nmetric = 'goodput_bps'"),
            Err("published.csv has no row Y".to_owned())
        );
    }

    #[test]
    fn other_claims_are_refused() {
        for rest in [
            "where = { app = 'short-flows' }\nexchanges = { size = ['1b', '3kb'] }\nmetric = 'count'",
            "where = { class = 'short-flows' }\nmetric = 'goodput_bps'\norder = 'red > fifo'\nalong = 'aqm'",
            "where = { class = 'short-flows', aqm = 'red' }\nmetric = 'goodput_bps'\nagainst = { aqm = 'fifo' }",
        ] {
            let error_text = plain("X", rest);
            assert_eq!(error_text, Err("X: the claim is not about one number of one run".to_owned()), "{rest}");
        }
    }

    /// All repeats belong to one combination; the first is used.
    #[test]
    fn the_first_run_of_one_combination_is_found() {
        let red = claim("X", "where = { class = 'short-flows', aqm = 'red' }\nmetric = 'goodput_bps'");
        let labels = |aqm: &str, repeat: u32, window: &str| -> BTreeMap<String, String> {
            let of = [
                ("aqm", aqm.to_owned()),
                ("repeat", repeat.to_string()),
                ("seed", (7 * repeat).to_string()),
                ("more", window.to_owned()),
            ];
            of.map(|(axis, label)| (axis.to_owned(), label)).into()
        };
        let planned = [labels("fifo", 1, "a"), labels("red", 1, "a"), labels("red", 2, "a"), labels("red", 1, "b")];
        assert_eq!(first_run(&red, planned[..3].iter()), Ok(1));
        assert_eq!(first_run(&red, planned[..1].iter()), Err("X: no run is selected".to_owned()));
        assert_eq!(first_run(&red, planned.iter()), Err("X: the claim is about several combinations".to_owned()));
    }
}
