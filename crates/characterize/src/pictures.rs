//! Plots of the sections.

use aqmkit_results::card::{Cloud, Line, Lines, Picture};

use crate::evidence::{Evidence, Place};
use crate::quantities::{Quantity, ROUND_TRIPS, rtt_advantage};

/// The figure of a section of the card.
pub(crate) enum Drawing {
    /// Goodput against the delay at a link, second by second: one ellipse per label of an axis.
    Plane { link: &'static str, axis: Option<(&'static str, &'static [&'static str])> },
    /// A metric over the labels of an axis.
    Over { axis: &'static str, x: &'static str, y: &'static str, logarithmic: bool, of: &'static str },
    /// Several metrics side by side.
    Values { y: &'static str, logarithmic: bool, of: &'static [(&'static str, Quantity)] },
    /// A column of the time series of the first repeat.
    Time { column: &'static str, y: &'static str, labels: &'static [(&'static str, &'static str)] },
    /// The second flow's goodput divided by the first's, over the second flow's RTT.
    RoundTrips,
    /// The delay with each parameter halved and doubled.
    Parameters,
    /// The CPU time per packet.
    Cost,
    /// No picture.
    None,
}

impl Drawing {
    /// Draws the plot from an experiment; `None` if the plot is not made from its results.
    pub(crate) fn picture(
        &self,
        evidence: &Evidence<'_>,
        disciplines: &[String],
        axes: &[(String, Vec<String>)],
    ) -> Option<Picture> {
        match self {
            Drawing::Plane { link, axis } => Some(Picture::Plane(clouds(evidence, disciplines, link, *axis))),
            Drawing::Over { axis, x, y, logarithmic, of } => {
                let labels = axes.iter().find(|(name, _)| name == axis).map(|(_, labels)| labels.clone())?;
                let value =
                    |aqm: &str, label: &str| evidence.mean(aqm, Place { labels: &[(axis, label)], window: "all" }, of);
                let lines = lines(disciplines, |aqm| {
                    let values =
                        labels.iter().enumerate().filter_map(|(i, label)| Some((i as f64, value(aqm, label)?)));
                    values.collect()
                });
                Some(Picture::Bars(Lines {
                    x: (*x).into(),
                    y: (*y).into(),
                    logarithmic: *logarithmic,
                    ticks: labels.clone(),
                    lines,
                }))
            }
            Drawing::Values { y, logarithmic, of } => {
                let lines = lines(disciplines, |aqm| {
                    let values = of.iter().enumerate();
                    values.filter_map(|(i, (_, quantity))| Some((i as f64, quantity(evidence, aqm)?))).collect()
                });
                let ticks = of.iter().map(|(name, _)| (*name).to_owned()).collect();
                Some(Picture::Bars(Lines { x: String::new(), y: (*y).into(), logarithmic: *logarithmic, ticks, lines }))
            }
            Drawing::Time { column, y, labels } => {
                let lines = lines(disciplines, |aqm| series(evidence, aqm, labels, column));
                let (x, ticks) = ("time, s".to_owned(), Vec::new());
                Some(Picture::Lines(Lines { x, y: (*y).into(), logarithmic: true, ticks, lines }))
            }
            Drawing::RoundTrips => {
                let lines = lines(disciplines, |aqm| {
                    let values = ROUND_TRIPS.iter().enumerate();
                    values
                        .filter_map(|(i, (label, _))| Some((i as f64, rtt_advantage(evidence, aqm, label)?)))
                        .collect()
                });
                Some(Picture::Lines(Lines {
                    x: "round trip of the second; the first: 100 ms".to_owned(),
                    y: "goodputs, second / first".to_owned(),
                    logarithmic: true,
                    ticks: ROUND_TRIPS.iter().map(|(label, _)| (*label).to_owned()).collect(),
                    lines,
                }))
            }
            Drawing::Parameters | Drawing::Cost | Drawing::None => None,
        }
    }
}

/// One line per discipline that has points.
fn lines(disciplines: &[String], points: impl Fn(&str) -> Vec<(f64, f64)>) -> Vec<Line> {
    let of = |(discipline, aqm): (usize, &String)| Line { discipline, name: String::new(), points: points(aqm) };
    disciplines.iter().enumerate().map(of).filter(|line| !line.points.is_empty()).collect()
}

fn series(evidence: &Evidence<'_>, aqm: &str, labels: &[(&str, &str)], column: &str) -> Vec<(f64, f64)> {
    let first = evidence.runs(aqm, labels).find(|run| run.labels.get("repeat").is_some_and(|repeat| repeat == "1"));
    let Some(series) = first.map(|run| &run.output.series) else { return Vec::new() };
    let values = series.columns.get(column).into_iter().flatten().enumerate();
    values.filter(|(_, value)| value.is_finite()).map(|(i, value)| (i as f64 * series.interval_s, *value)).collect()
}

fn clouds(
    evidence: &Evidence<'_>,
    disciplines: &[String],
    link: &str,
    axis: Option<(&'static str, &'static [&'static str])>,
) -> Vec<Cloud> {
    let combinations: Vec<Vec<(&str, &str)>> = match axis {
        None => vec![Vec::new()],
        Some((axis, labels)) => labels.iter().map(|label| vec![(axis, *label)]).collect(),
    };
    let mut all = Vec::new();
    for labels in &combinations {
        // Combinations are distinguished by their names.
        let name =
            labels.first().filter(|_| combinations.len() > 1).map_or(String::new(), |(_, label)| (*label).to_owned());
        for (discipline, aqm) in disciplines.iter().enumerate() {
            let points: Vec<(f64, f64)> =
                evidence.runs(aqm, labels).flat_map(|run| seconds(run.output, link)).collect();
            if !points.is_empty() {
                all.push(Cloud { discipline, name: name.clone(), points });
            }
        }
    }
    all
}

/// Queue delay of a link and total goodput, for each interval that has both.
fn seconds(output: &aqmkit_measure::output::Output, link: &str) -> Vec<(f64, f64)> {
    let columns = &output.series.columns;
    let Some(delays) = columns.get(&format!("links.{link}.queue_delay_ms.mean")) else { return Vec::new() };
    let goodputs: Vec<&Vec<f64>> = columns
        .iter()
        .filter(|(name, _)| name.starts_with("classes.") && name.ends_with(".goodput_bps"))
        .map(|(_, v)| v)
        .collect();
    let goodput = |i: usize| goodputs.iter().filter_map(|of| of.get(i)).filter(|value| value.is_finite()).sum::<f64>();
    let points = delays.iter().enumerate().filter(|(_, delay)| delay.is_finite());
    points.map(|(i, delay)| (*delay, goodput(i))).collect()
}
