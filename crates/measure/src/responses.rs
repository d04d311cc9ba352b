//! Exchanges counted by size and duration, in logarithmic bins.
//!
//! A run of two hours has over ten million exchanges. These counts have a bounded size and serve plots of size against
//! response time, and shares of small exchanges.

use serde::{Deserialize, Serialize};

/// Bins per decade of durations: each is 4.7 % wide.
const TIMES: f64 = 50.0;
/// Bins per decade of sizes: each is 26 % wide.
const SIZES: f64 = 10.0;
/// Decades of the duration, from [`FIRST_MS`]: to 10 000 s.
const TIME_DECADES: f64 = 8.0;
/// Decades of the size, from a byte: to 100 GB.
const SIZE_DECADES: f64 = 11.0;
/// The start of the first bin of durations, in milliseconds.
const FIRST_MS: f64 = 0.1;

const TIME_BINS: usize = (TIMES * TIME_DECADES) as usize;
const SIZE_BINS: usize = (SIZES * SIZE_DECADES) as usize;

/// The exchanges of one kind in one window, by size and duration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Responses {
    /// Name of the window.
    pub window: String,
    /// Name of the traffic.
    pub traffic: String,
    /// Kind of exchange: `request`, `page`.
    pub kind: String,
    /// Duration bin of each cell; see [`Responses::from_ms`].
    pub times: Vec<u16>,
    /// Size bin of each cell; see [`Responses::from_bytes`].
    pub sizes: Vec<u16>,
    /// Number of exchanges in each cell; empty cells are omitted.
    pub counts: Vec<u64>,
}

impl Responses {
    /// The lower edge of duration bin `bin`, in milliseconds. The first bin also has shorter durations, the last one
    /// longer ones.
    #[must_use]
    pub fn from_ms(bin: u16) -> f64 {
        FIRST_MS * libm::exp10(f64::from(bin) / TIMES)
    }

    /// The lower edge of size bin `bin`, in bytes. The first bin also has exchanges without bytes.
    #[must_use]
    pub fn from_bytes(bin: u16) -> f64 {
        libm::exp10(f64::from(bin) / SIZES)
    }

    /// The cells: duration bin, size bin, count.
    pub fn cells(&self) -> impl Iterator<Item = (u16, u16, u64)> + '_ {
        self.times.iter().zip(&self.sizes).zip(&self.counts).map(|((&t, &s), &n)| (t, s, n))
    }

    /// The number of exchanges.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// A two-dimensional histogram of exchanges, by size and duration.
#[derive(Clone, Debug, Default)]
pub struct Grid(Vec<u64>);

impl Grid {
    /// Adds an exchange.
    pub fn record(&mut self, duration_ms: f64, bytes: u64) {
        if self.0.is_empty() {
            self.0 = vec![0; TIME_BINS * SIZE_BINS];
        }
        let time = bin(duration_ms / FIRST_MS, TIMES, TIME_BINS);
        let size = bin(bytes as f64, SIZES, SIZE_BINS);
        self.0[time * SIZE_BINS + size] += 1;
    }

    /// The non-empty cells.
    #[must_use]
    pub fn responses(&self, window: &str, traffic: &str, kind: &str) -> Responses {
        let mut found = Responses {
            window: window.to_owned(),
            traffic: traffic.to_owned(),
            kind: kind.to_owned(),
            ..Responses::default()
        };
        for (place, &count) in self.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            // Both are below 2^16: there are fewer bins.
            found.times.push((place / SIZE_BINS) as u16);
            found.sizes.push((place % SIZE_BINS) as u16);
            found.counts.push(count);
        }
        found
    }
}

/// The index of `x` among `bins` logarithmic bins that start at 1, with `per_decade` bins per decade.
fn bin(x: f64, per_decade: f64, bins: usize) -> usize {
    // Below 1 the logarithm is negative, and that of NaN is NaN; the cast turns both into zero.
    ((per_decade * libm::log10(x)) as usize).min(bins - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_holds_what_lies_between_its_edges() {
        let mut grid = Grid::default();
        let all = [(0.0, 0), (0.05, 1), (12.3, 900), (999.0, 1000), (1001.0, 1001), (6123.0, 50_000_000), (1e9, 7)];
        for (ms, bytes) in all {
            let mut one = Grid::default();
            one.record(ms, bytes);
            let found = one.responses("all", "web", "request");
            let (t, s, n) = found.cells().next().unwrap();
            assert_eq!((n, found.counts.len()), (1, 1));
            let (x, y) = (ms.clamp(0.1, 9.99e6), (bytes as f64).max(1.0));
            assert!(Responses::from_ms(t) <= x * 1.000_001 && x < Responses::from_ms(t + 1) * 1.000_001, "{ms}");
            assert!(
                Responses::from_bytes(s) <= y * 1.000_001 && y < Responses::from_bytes(s + 1) * 1.000_001,
                "{bytes}"
            );
            grid.record(ms, bytes);
        }
        assert_eq!(grid.responses("all", "web", "request").total(), all.len() as u64);
    }

    #[test]
    fn nothing_recorded_has_no_cells() {
        assert_eq!(Grid::default().responses("all", "web", "page").total(), 0);
    }
}
