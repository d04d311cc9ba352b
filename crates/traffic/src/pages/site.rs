//! The contents of a page.

use aqmkit_base::{Rng, dist};

use crate::empirical::Empirical;

/// Ranks of the published percentiles, and of both ends.
const RANKS: [f64; 7] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0];
/// Objects of a page and KB of three kinds of objects (almanac24); domains (almanac20).
const OBJECTS: [f64; 7] = [8.0, 24.0, 42.0, 71.0, 115.0, 176.0, 400.0];
const STYLES: [f64; 7] = [2.0, 10.0, 36.0, 80.0, 152.0, 269.0, 600.0];
const SCRIPTS: [f64; 7] = [20.0, 101.0, 270.0, 620.0, 1172.0, 1834.0, 4000.0];
const IMAGES: [f64; 7] = [15.0, 84.0, 322.0, 1054.0, 2822.0, 6526.0, 15_000.0];
const DOMAINS: [f64; 7] = [1.0, 4.0, 8.0, 13.0, 20.0, 33.0, 60.0];
/// Bytes of the document, of a font, and of an object of another kind.
const DOCUMENT: f64 = 18e3;
const FONT: f64 = 33e3;
const OTHER: f64 = 47e3;
/// Objects of the median page without its document.
const MEDIAN: f64 = 70.0;
/// Coefficient of variation of the sizes of one kind within a page.
const VARIATION: f64 = 1.5;
/// Bytes of a response's headers.
const HEADERS: f64 = 300.0;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The main document.
    Document,
    /// A style sheet, which blocks rendering.
    Style,
    /// A script, which blocks rendering.
    Script,
    /// An image, requested in the first wave.
    Image,
    /// A font, discovered in style sheets and so requested in the second wave.
    Font,
    /// Anything else, such as data that scripts load; requested in the second wave.
    Other,
}

impl Kind {
    /// Whether it blocks rendering.
    #[must_use]
    pub fn blocks(self) -> bool {
        matches!(self, Kind::Document | Kind::Style | Kind::Script)
    }

    /// Whether the browser discovers it only after style sheets and scripts have arrived.
    #[must_use]
    pub fn comes_late(self) -> bool {
        matches!(self, Kind::Font | Kind::Other)
    }

    /// The number of objects of this kind in the median page.
    fn in_the_median_page(self) -> f64 {
        match self {
            Kind::Document => 0.0,
            Kind::Style => 8.0,
            Kind::Script => 24.0,
            Kind::Image => 18.0,
            Kind::Font => 4.0,
            Kind::Other => 16.0,
        }
    }
}

/// All kinds but the document, in the order of requests.
const KINDS: [Kind; 5] = [Kind::Style, Kind::Script, Kind::Image, Kind::Font, Kind::Other];

/// An object of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Determines when it is requested and whether it blocks rendering.
    pub kind: Kind,
    /// Bytes including headers.
    pub bytes: u64,
    /// Index of its domain; the document is on domain 0.
    pub domain: usize,
}

/// A page: its objects, the document first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order of requests.
    pub objects: Vec<Object>,
    /// The number of domains.
    pub domains: usize,
}

/// The published distributions.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    objects: Empirical,
    styles: Empirical,
    scripts: Empirical,
    images: Empirical,
    domains: Empirical,
}

impl Default for Tables {
    fn default() -> Self {
        let of = |values: [f64; 7]| {
            let points: Vec<(f64, f64)> = RANKS.into_iter().zip(values).collect();
            Empirical::from_quantiles(&points)
        };
        let (objects, domains) = (of(OBJECTS), of(DOMAINS));
        Tables { objects, styles: of(STYLES), scripts: of(SCRIPTS), images: of(IMAGES), domains }
    }
}

impl Tables {
    /// Draws a page of this rank. `weight` is the factor for the sizes.
    pub(super) fn page(&self, rank: f64, weight: f64, rng: &mut Rng) -> Page {
        let domains = (self.domains.quantile(rank) + 0.5) as usize;
        let document = Object { kind: Kind::Document, bytes: (DOCUMENT * weight + HEADERS) as u64, domain: 0 };
        let mut objects = vec![document];
        let others = self.objects.quantile(rank) - 1.0;
        for kind in KINDS {
            let count = (others * kind.in_the_median_page() / MEDIAN + 0.5) as usize;
            for size in self.sizes(kind, count, rank, rng) {
                let bytes = (size * weight + HEADERS) as u64;
                let elsewhere =
                    matches!(kind, Kind::Script | Kind::Image | Kind::Other) && rng.chance(self.elsewhere());
                let domain = if elsewhere && domains > 1 { 1 + rng.below(domains as u64 - 1) as usize } else { 0 };
                objects.push(Object { kind, bytes, domain });
            }
        }
        Page { objects, domains }
    }

    /// Probability that an object which may be on another domain is: chosen so that half of all objects are.
    fn elsewhere(&self) -> f64 {
        let may: f64 = [Kind::Script, Kind::Image, Kind::Other].iter().map(|kind| kind.in_the_median_page()).sum();
        0.5 * MEDIAN / may
    }

    /// Draws the sizes of all objects of a kind.
    fn sizes(&self, kind: Kind, count: usize, rank: f64, rng: &mut Rng) -> Vec<f64> {
        let total = match kind {
            Kind::Style => &self.styles,
            Kind::Script => &self.scripts,
            Kind::Image => &self.images,
            Kind::Font | Kind::Document => return vec![FONT; count],
            Kind::Other => return vec![OTHER; count],
        };
        let bytes = 1000.0 * total.quantile(rank);
        let draws: Vec<f64> = (0..count).map(|_| dist::lognormal(rng, 1.0, VARIATION)).collect();
        let sum: f64 = draws.iter().sum();
        draws.iter().map(|draw| bytes * draw / sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rank: f64) -> Page {
        Tables::default().page(rank, 1.0, &mut Rng::stream(1, "page"))
    }

    /// KB of the objects of one kind, without headers.
    fn kb(page: &Page, kind: Kind) -> f64 {
        let of = page.objects.iter().filter(|o| o.kind == kind);
        of.map(|o| o.bytes as f64 - HEADERS).sum::<f64>() / 1000.0
    }

    #[test]
    fn the_median_page_is_the_published_one() {
        let median = page(0.5);
        assert_eq!((median.objects.len(), median.domains), (71, 13));
        assert_eq!(median.objects[0], Object { kind: Kind::Document, bytes: 18_300, domain: 0 });
        let count = |kind| median.objects.iter().filter(|o| o.kind == kind).count();
        assert_eq!(KINDS.map(count), [8, 24, 18, 4, 16]);
        let weight: f64 = median.objects.iter().map(|o| o.bytes as f64 - HEADERS).sum();
        assert!((weight / 2_652_000.0 - 1.0).abs() < 0.005, "{weight}");
    }

    /// The kinds have the proportions of the median page, rounded.
    #[test]
    fn small_and_large_pages_have_the_kinds_of_the_median_one() {
        let counts = |rank: f64| {
            let found = page(rank);
            KINDS.map(|kind| found.objects.iter().filter(|o| o.kind == kind).count())
        };
        // 7 objects times 8, 24, 18, 4 and 16 seventieths are 0.8, 2.4, 1.8, 0.4 and 1.6; 399 objects: 45.6, 136.8,
        // 102.6, 22.8 and 91.2.
        assert_eq!((counts(0.0), counts(1.0)), ([1, 2, 2, 0, 2], [46, 137, 103, 23, 91]));
        assert!(page(0.9).objects.iter().all(|o| match o.kind {
            Kind::Document => o.bytes == 18_300,
            Kind::Font => o.bytes == 33_300,
            Kind::Other => o.bytes == 47_300,
            _ => o.bytes >= 300,
        }));
    }

    #[test]
    fn percentiles_are_the_published_ones() {
        for (i, rank) in RANKS.into_iter().enumerate() {
            let found = page(rank);
            assert!((found.objects.len() as f64 - OBJECTS[i]).abs() <= 2.0, "{}", found.objects.len());
            for (kind, table) in [(Kind::Style, STYLES), (Kind::Script, SCRIPTS), (Kind::Image, IMAGES)] {
                // Sizes are whole bytes; the smallest page has one style sheet.
                assert!((kb(&found, kind) / table[i] - 1.0).abs() < 0.01, "{kind:?} at {rank}: {}", kb(&found, kind));
            }
            assert_eq!(found.domains as f64, DOMAINS[i]);
        }
    }

    #[test]
    fn half_of_the_objects_are_elsewhere_and_style_sheets_are_not() {
        let mut rng = Rng::stream(2, "page");
        let tables = Tables::default();
        let pages: Vec<Page> = (0..200).map(|_| tables.page(0.5, 1.0, &mut rng)).collect();
        let objects: Vec<Object> = pages.iter().flat_map(|p| p.objects.iter().skip(1).copied()).collect();
        let elsewhere = objects.iter().filter(|o| o.domain > 0).count() as f64 / objects.len() as f64;
        assert!((elsewhere - 0.5).abs() < 0.02, "{elsewhere}");
        assert!(objects.iter().all(|o| o.domain < 13 && (o.domain == 0 || o.kind != Kind::Style)));
    }

    #[test]
    fn the_weight_is_a_factor_of_the_sizes() {
        let bytes = |weight: f64| -> f64 {
            let page = Tables::default().page(0.7, weight, &mut Rng::stream(3, "page"));
            page.objects.iter().map(|o| o.bytes as f64 - HEADERS).sum()
        };
        assert!((bytes(0.5) / bytes(1.0) - 0.5).abs() < 1e-3);
    }
}
