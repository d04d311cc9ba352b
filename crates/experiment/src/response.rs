//! Statistics of response times, as claims name them.

use std::fmt;

use aqmkit_base::Duration;
use aqmkit_base::units::parse_duration;
use aqmkit_measure::metric::percent;

use super::problem::Problem;

/// A statistic of the response times of one run or two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Response {
    /// `share<=500ms`: the share of responses that take at most this time.
    Within(Duration),
    /// `share>5s`: the share of responses that take longer.
    Beyond(Duration),
    /// `p90`: the percentile.
    Percentile(f64),
    /// `mean<=2s`: the mean with longer times cut to this one, which is the area above the plotted curve.
    Mean(Duration),
    /// `gain<=2s`: the other run's mean divided by this run's mean, with longer times cut to this one.
    Gain(Duration),
    /// `peak>=2500ms`: the first peak in the distribution of small responses' times, at or after this time.
    Peak(Duration),
    /// `crossover`: the time from which on the other run has completed more responses.
    Crossover,
    /// `alike`: the share of the fastest responses within which the runs differ by at most 20 %.
    Alike,
}

impl Response {
    /// Parses one of the notations listed above.
    ///
    /// # Errors
    /// When the text is none of them.
    pub fn parse(text: &str) -> Result<Response, Problem> {
        let time = |start: &str| parse_duration(text.strip_prefix(start)?.trim()).ok();
        let found = match text {
            "crossover" => Some(Response::Crossover),
            "alike" => Some(Response::Alike),
            _ => time("share<=")
                .map(Response::Within)
                .or_else(|| time("share>").map(Response::Beyond))
                .or_else(|| time("mean<=").map(Response::Mean))
                .or_else(|| time("gain<=").map(Response::Gain))
                .or_else(|| time("peak>=").map(Response::Peak))
                .or_else(|| percent(text).map(Response::Percentile)),
        };
        found.ok_or_else(|| {
            Problem::new(format!("{text:?} is not a statistic of response times"))
                .right("use for example share<=500ms, share>5s, p90, mean<=2s, gain<=2s, peak>=1s, crossover or alike")
        })
    }

    /// Whether it compares with a second run.
    #[must_use]
    pub fn compares(self) -> bool {
        matches!(self, Response::Crossover | Response::Alike | Response::Gain(_))
    }

    /// Whether it is a fraction or ratio rather than a time.
    #[must_use]
    pub fn is_share(self) -> bool {
        matches!(self, Response::Within(_) | Response::Beyond(_) | Response::Alike | Response::Gain(_))
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Response::Within(t) => write!(f, "share<={t}"),
            Response::Beyond(t) => write!(f, "share>{t}"),
            Response::Percentile(p) => write!(f, "p{p}"),
            Response::Mean(t) => write!(f, "mean<={t}"),
            Response::Gain(t) => write!(f, "gain<={t}"),
            Response::Peak(t) => write!(f, "peak>={t}"),
            Response::Crossover => f.write_str("crossover"),
            Response::Alike => f.write_str("alike"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "share<=500ms",
            "share>5s",
            "p0",
            "p0.5",
            "p99.9",
            "mean<=2s",
            "gain<=2s",
            "peak>=2.5s",
            "crossover",
            "alike",
        ] {
            assert_eq!(Response::parse(text).unwrap().to_string(), text);
        }
        for text in ["share<=", "share<=500", "p100", "p-1", "mean", "share<5s", "crossing"] {
            assert!(Response::parse(text).is_err(), "{text}");
        }
    }
}
