//! Sizes of web responses in the model `http-unc`.

use aqmkit_base::Bytes;
use aqmkit_traffic::http_unc::responses;
use serde::Deserialize;

use super::{formula, probability, share, size, table};

table![Size, Share];

/// The whole of which a share is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    #[default]
    Responses,
    Bytes,
}

formula! {
    /// The size that this share of the responses of `http-unc` does not exceed.
    "http-unc-size", "Le, Aikat, Jeffay and Smith 2004, section 3; 2003, discussion",
    Size { share: f64 },
    |a| size(responses().quantile(probability("share", a.share)?))
}

formula! {
    /// The share of `http-unc`'s responses, or of their bytes, in responses within this range of sizes.
    "http-unc-share", "Le, Aikat, Jeffay and Smith 2004, section 3, Figures 1 and 2",
    Share { above: Option<Bytes> = None, upto: Option<Bytes> = None, of: Of = Of::default() },
    |a| share(between(a.above.map_or(0.0, Bytes::as_f64), a.upto.map_or(f64::INFINITY, Bytes::as_f64), a.of))
}

/// The share in responses above `low` and up to `high` bytes.
fn between(low: f64, high: f64, of: Of) -> f64 {
    let sizes = responses();
    let (mut found, mut all) = (0.0, 0.0);
    for (u, width) in steps() {
        let bytes = sizes.quantile(u);
        let weight = width * if of == Of::Bytes { bytes } else { 1.0 };
        all += weight;
        if bytes > low && bytes <= high {
            found += weight;
        }
    }
    found / all
}

/// Probabilities and their widths: even below 0.9, and increasingly fine towards 1, where few responses hold many
/// bytes.
fn steps() -> impl Iterator<Item = (f64, f64)> {
    const EVEN: u32 = 18_000;
    const FINE: u32 = 20_000;
    const DECADES: f64 = 9.0;
    let even = (0..EVEN).map(|i| ((f64::from(i) + 0.5) * 0.9 / f64::from(EVEN), 0.9 / f64::from(EVEN)));
    let above = |i: u32| 0.1 * 10_f64.powf(-f64::from(i) / f64::from(FINE) * DECADES);
    let fine = (0..FINE).map(move |i| (1.0 - f64::midpoint(above(i), above(i + 1)), above(i) - above(i + 1)));
    even.chain(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for of in [Of::Responses, Of::Bytes] {
            let parts = between(0.0, 1e4, of) + between(1e4, 1e6, of) + between(1e6, f64::INFINITY, of);
            assert!((parts - 1.0).abs() < 1e-9);
        }
        assert!((between(0.0, responses().quantile(0.5), Of::Responses) - 0.5).abs() < 1e-4);
        // From 0.1 % on the tails of both kinds are Pareto: 0.177 x 0.00269 (697 kB / 1 MB)^1.25 of the top-level
        // responses; of the embedded ones 0.823 (0.00642 (45 kB / 1 MB)^1.24 + 0.000392), because all responses of the
        // second component are larger.
        let tail = 0.177 * 0.002_69 * 0.697_f64.powf(1.25) + 0.823 * (0.006_42 * 0.045_f64.powf(1.24) + 0.000_392);
        let found = between(1e6, f64::INFINITY, Of::Responses);
        assert!((found / tail - 1.0).abs() < 0.03, "{found} for {tail}");
    }
}
