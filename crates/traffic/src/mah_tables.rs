//! Mah's measurements of web traffic (1995), as quantiles and counts.

use super::empirical::Empirical;
use super::model::ParamError;

/// The five distributions of the model `http-mah`.
#[derive(Clone, Debug, PartialEq)]
pub struct MahTables {
    /// Bytes of a request.
    pub request: Empirical,
    /// Bytes of a reply.
    pub reply: Empirical,
    /// Files of a page, including the main document.
    pub files: Empirical,
    /// Consecutive documents from one server.
    pub stay: Empirical,
    /// Seconds from the end of a page to the next request.
    pub think: Empirical,
}

/// The names of the published files, in the order of [`MahTables::parse`].
pub const FILES: [&str; 5] =
    ["HttpRequestLength.cdf", "HttpReplyLength.cdf", "HttpConnections.cdf", "HttpServerStay.cdf", "HttpThinkTime.cdf"];

/// Upper limits for the values in [`FILES`]: a tebibyte, a million files or documents, 30 years.
const MOST: [f64; 5] = [1_099_511_627_776.0, 1_099_511_627_776.0, 1e6, 1e6, 1e9];

impl MahTables {
    /// Parses the texts of [`FILES`].
    ///
    /// # Errors
    /// When a text is missing or cannot be parsed, with file and line.
    pub fn parse(texts: &[&str]) -> Result<Self, ParamError> {
        let table = |i: usize| {
            let text =
                texts.get(i).ok_or_else(|| ParamError::new("data", FILES[i], "the file must be loaded first"))?;
            Empirical::parse(FILES[i], text, MOST[i])
        };
        Ok(MahTables { request: table(0)?, reply: table(1)?, files: table(2)?, stay: table(3)?, think: table(4)? })
    }
}

impl Default for MahTables {
    /// The built-in distributions.
    fn default() -> Self {
        MahTables {
            request: Empirical::from_quantiles(REQUEST),
            reply: Empirical::with_tail(REPLY, 1_636_039.0, 7231.0),
            files: Empirical::from_counts(FILES_PER_PAGE),
            stay: Empirical::from_counts(DOCS_PER_SERVER),
            think: Empirical::from_quantiles(THINK),
        }
    }
}

/// Request length in bytes (4100 samples, mean 337): a hump at 200 to 300, another at 1050 to 1150.
#[rustfmt::skip]
const REQUEST: &[(f64, f64)] = &[
    (0.0, 100.0), (0.01, 118.0), (0.05, 135.0), (0.10, 148.0), (0.15, 190.0), (0.20, 198.0), (0.25, 204.0),
    (0.30, 209.0), (0.35, 214.0), (0.40, 220.0), (0.45, 226.0), (0.50, 231.0), (0.55, 239.0), (0.60, 246.0),
    (0.65, 257.0), (0.70, 269.0), (0.75, 282.0), (0.80, 291.0), (0.85, 315.0), (0.86, 355.0), (0.87, 1028.0),
    (0.88, 1049.0), (0.90, 1057.0), (0.92, 1061.0), (0.94, 1072.0), (0.95, 1079.0), (0.96, 1094.0),
    (0.98, 1122.0), (0.99, 1134.0), (0.995, 1147.0), (0.999, 1190.0), (1.0, 1373.0),
];

/// Reply length in bytes (4100 samples, mean 7231, largest 1 636 039). The Pareto tail begins at the last quantile.
#[rustfmt::skip]
const REPLY: &[(f64, f64)] = &[
    (0.0, 62.0), (0.01, 83.0), (0.02, 90.0), (0.05, 103.0), (0.10, 110.0), (0.15, 306.0), (0.20, 412.0),
    (0.25, 560.0), (0.30, 830.0), (0.35, 1078.0), (0.40, 1434.0), (0.45, 1800.0), (0.50, 2112.0),
    (0.55, 2522.0), (0.60, 2811.0), (0.65, 3275.0), (0.70, 3886.0), (0.75, 4797.0), (0.80, 6036.0),
    (0.82, 6836.0), (0.85, 8188.0), (0.88, 10379.0), (0.90, 12581.0), (0.92, 15503.0), (0.94, 20344.0),
    (0.95, 23332.0), (0.96, 29273.0), (0.97, 33537.0), (0.98, 47758.0), (0.985, 53998.0), (0.99, 67379.0),
];

/// Files per page, with counts out of 1444 pages.
#[rustfmt::skip]
const FILES_PER_PAGE: &[(f64, f64)] = &[
    (1.0, 739.0), (2.0, 302.0), (3.0, 108.0), (4.0, 53.0), (5.0, 72.0), (6.0, 36.0), (7.0, 24.0), (8.0, 22.0),
    (9.0, 16.0), (10.0, 17.0), (11.0, 9.0), (12.0, 6.0), (13.0, 1.0), (14.0, 6.0), (15.0, 4.0), (16.0, 11.0),
    (17.0, 1.0), (18.0, 2.0), (19.0, 5.0), (20.0, 4.0), (21.0, 1.0), (32.0, 1.0), (35.0, 1.0), (37.0, 1.0),
    (63.0, 1.0), (65.0, 1.0),
];

/// Consecutive documents from one server, with counts out of 498 stays.
#[rustfmt::skip]
const DOCS_PER_SERVER: &[(f64, f64)] = &[
    (1.0, 178.0), (2.0, 83.0), (3.0, 52.0), (4.0, 45.0), (5.0, 30.0), (6.0, 23.0), (7.0, 12.0), (8.0, 22.0),
    (9.0, 12.0), (10.0, 6.0), (11.0, 4.0), (12.0, 4.0), (13.0, 6.0), (14.0, 3.0), (15.0, 6.0), (16.0, 3.0),
    (18.0, 1.0), (19.0, 3.0), (21.0, 1.0), (23.0, 1.0), (28.0, 1.0), (50.0, 1.0), (54.0, 1.0),
];

/// Think time in seconds (1314 samples, mean 1804; the longest include nights).
#[rustfmt::skip]
const THINK: &[(f64, f64)] = &[
    (0.0, 1.005), (0.01, 1.102), (0.05, 1.58), (0.10, 2.212), (0.15, 3.211), (0.20, 4.198), (0.25, 5.171),
    (0.30, 6.682), (0.35, 8.323), (0.40, 10.911), (0.45, 13.019), (0.50, 16.192), (0.55, 20.243),
    (0.60, 25.119), (0.65, 32.696), (0.70, 41.638), (0.75, 61.573), (0.80, 98.426), (0.82, 128.3),
    (0.85, 197.0), (0.86, 247.5), (0.87, 379.8), (0.88, 454.7), (0.89, 538.1), (0.90, 794.5), (0.91, 1174.5),
    (0.92, 1866.6), (0.93, 3283.0), (0.94, 4434.6), (0.95, 6014.2), (0.96, 8329.2), (0.97, 16337.9),
    (0.98, 28400.3), (0.985, 51423.7), (0.99, 61568.4), (0.995, 73348.4), (0.999, 84659.4), (1.0, 86394.9),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_the_published_ones() {
        let t = MahTables::default();
        let cases = [(&t.request, 337.0), (&t.reply, 7231.0), (&t.files, 2.84), (&t.stay, 4.01), (&t.think, 1804.0)];
        for (table, published) in cases {
            assert!((table.mean() / published - 1.0).abs() < 0.03, "{} is not {published}", table.mean());
        }
    }

    #[test]
    fn the_tail_of_the_replies_is_as_heavy_as_measured() {
        let reply = MahTables::default().reply;
        let shape = reply.tail_shape().unwrap();
        // Slope of the measured tail -0.98; the paper fits 1.04 to 1.14. Two of 4100 replies hold 11 % of all bytes.
        assert!((0.8..1.2).contains(&shape), "{shape}");
        let above = |bytes: f64| {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let mid = f64::midpoint(low, high);
                if reply.quantile(mid) > bytes { high = mid } else { low = mid }
            }
            1.0 - low
        };
        assert!((above(1e3) - 0.66).abs() < 0.01, "{}", above(1e3));
        assert!((above(1e4) - 0.125).abs() < 0.005, "{}", above(1e4));
        assert!((above(1e5) - 0.005).abs() < 0.002, "{}", above(1e5));
    }

    #[test]
    fn missing_and_bad_files_are_named() {
        let fails = |texts: &[&str]| MahTables::parse(texts).unwrap_err().to_string();
        assert!(fails(&[]).contains("HttpRequestLength.cdf"));
        assert!(fails(&["1 1 1", "x"]).starts_with("HttpReplyLength.cdf line 1"));
        for i in 0..FILES.len() {
            let mut texts = ["1 1 1"; 5];
            texts[i] = "# far too much\n1e300 1 1";
            let message = fails(&texts);
            assert!(message.starts_with(&format!("{} line 2", FILES[i])) && message.contains("at most 1"), "{message}");
        }
    }
}
