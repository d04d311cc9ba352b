//! The built-in distributions: mixtures fitted to figures of the measurement of 2003.
//!
//! The measurement itself may not be distributed (see [`super::published`]). Of each distribution only these figures
//! were used: the mean, the ratio of the second moment to the mean, ten quantiles and the largest value. A few
//! lognormals and a Pareto tail were fitted to them by least squares of the logarithms: the mean with a weight of 1 /
//! 0.4 %, the ratio with 1 / 2 %, quantiles up to 99 % with 1 / 5 %, 99.9 % with 1 / 6 %, 99.99 % with 1 / 8 %, 99.999
//! % with 1 / 10 %. Parameters were rounded to three digits. No load was fitted: the load of a number of users is a
//! result.

use std::sync::OnceLock;

use super::super::browser::{Distributions, Object};
use super::super::empirical::Empirical;
use super::super::mah_tables::MahTables;
use super::mixture::{Mixture, Part};

const fn lognormal(weight: f64, median: f64, sigma: f64) -> Part {
    Part::Lognormal { weight, median, sigma }
}

const fn pareto(weight: f64, low: f64, shape: f64) -> Part {
    Part::Pareto { weight, low, shape }
}

/// Components, and the largest value.
type Fit = (&'static [Part], f64);

/// Bytes of a response with a page's top-level object.
const TOP_RESPONSE: Fit = (
    &[
        lognormal(0.265, 364.0, 0.156),
        lognormal(0.569, 832.0, 1.68),
        lognormal(0.164, 23_500.0, 0.751),
        pareto(0.00269, 697_000.0, 1.25),
    ],
    718e6,
);

/// Bytes of a response with an embedded object.
const EMBEDDED_RESPONSE: Fit = (
    &[
        lognormal(0.426, 214.0, 0.385),
        lognormal(0.44, 1540.0, 0.88),
        lognormal(0.127, 10_700.0, 0.732),
        pareto(0.00642, 45_000.0, 1.24),
        pareto(0.000_392, 1.03e6, 1.32),
    ],
    681e6,
);

/// Bytes of a request for a top-level object.
const TOP_REQUEST: Fit = (
    &[
        lognormal(0.502, 326.0, 0.218),
        lognormal(0.495, 580.0, 0.628),
        lognormal(0.000_844, 6970.0, 0.206),
        pareto(0.00278, 379.0, 0.714),
    ],
    76e6,
);

/// Bytes of a request for an embedded object.
const EMBEDDED_REQUEST: Fit = (
    &[
        lognormal(0.427, 376.0, 0.2),
        lognormal(0.542, 516.0, 0.477),
        lognormal(0.0314, 1020.0, 0.833),
        pareto(0.000_077_1, 28_100.0, 1.05),
    ],
    34.5e6,
);

/// Objects of a page including the top-level one, before rounding.
const OBJECTS: Fit = (
    &[
        lognormal(0.609, 1.07, 0.506),
        lognormal(0.247, 3.64, 0.447),
        lognormal(0.139, 18.6, 0.783),
        pareto(0.00496, 16.7, 1.28),
    ],
    45_110.0,
);

/// Think time in seconds.
const THINK: Fit = (
    &[
        lognormal(0.545, 3.36, 0.872),
        lognormal(0.352, 29.4, 0.24),
        lognormal(0.0568, 214.0, 0.225),
        lognormal(0.0468, 791.0, 0.443),
    ],
    3656.0,
);

fn table((parts, max): Fit) -> Empirical {
    Mixture { parts: parts.to_vec(), max }.table()
}

/// The built-in distributions; the number of consecutive pages from one server is that of `http-mah`.
pub(super) fn distributions() -> &'static Distributions {
    static MADE: OnceLock<Distributions> = OnceLock::new();
    MADE.get_or_init(|| Distributions {
        top: Object { request: table(TOP_REQUEST), reply: table(TOP_RESPONSE) },
        embedded: Object { request: table(EMBEDDED_REQUEST), reply: table(EMBEDDED_RESPONSE) },
        files: table(OBJECTS),
        stay: MahTables::default().stay,
        think: table(THINK),
    })
}

/// Mean number of objects of a page, after rounding to whole objects.
const OBJECTS_MEAN: f64 = 5.65;

/// Sizes in bytes of all responses, top-level and embedded ones together, according to the built-in distributions.
#[must_use]
pub fn responses() -> Empirical {
    static MADE: OnceLock<Empirical> = OnceLock::new();
    let all = || {
        let total = |fit: Fit| fit.0.iter().map(|part| part.weight()).sum::<f64>();
        let (top, embedded) =
            (1.0 / OBJECTS_MEAN / total(TOP_RESPONSE), (1.0 - 1.0 / OBJECTS_MEAN) / total(EMBEDDED_RESPONSE));
        let of = |fit: Fit, factor: f64| fit.0.iter().map(move |part| part.scaled(factor));
        let parts = of(TOP_RESPONSE, top).chain(of(EMBEDDED_RESPONSE, embedded)).collect();
        Mixture { parts, max: TOP_RESPONSE.1 }.table()
    };
    MADE.get_or_init(all).clone()
}

#[cfg(test)]
mod tests;
