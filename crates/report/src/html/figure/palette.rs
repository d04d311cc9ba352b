//! Colours that colour-blind readers can distinguish on light and dark backgrounds.

use serde::Serialize;

/// The colours of Okabe and Ito, with grey instead of black.
const OKABE_ITO: [&str; 8] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#D3C62A"];

/// Tol's bright scheme, for classes, to distinguish them from disciplines.
const TOL: [&str; 7] = ["#4477AA", "#EE6677", "#AA3377", "#228833", "#CCBB44", "#66CCEE", "#BBBBBB"];

/// One label and its colour.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Swatch {
    pub(crate) label: String,
    /// Its colour.
    pub(crate) color: &'static str,
    /// The number of earlier labels with the same colour, which determines the dashes of its lines.
    pub(crate) round: usize,
}

impl Swatch {
    /// Solid lines until the colours are used up, then dashed ones.
    pub(super) fn dash(&self) -> &'static str {
        ["solid", "dash", "dot", "dashdot"][self.round % 4]
    }

    /// The symbol of its points.
    pub(super) fn symbol(&self) -> &'static str {
        ["circle", "square", "diamond", "triangle-up", "cross"][self.round % 5]
    }
}

/// A colour for each label, in order.
pub(crate) fn swatches<'a>(labels: impl IntoIterator<Item = &'a String>) -> Vec<Swatch> {
    colored(&OKABE_ITO, labels)
}

/// A colour for each class, in order.
pub(crate) fn class_swatches<'a>(classes: impl IntoIterator<Item = &'a String>) -> Vec<Swatch> {
    colored(&TOL, classes)
}

fn colored<'a>(colors: &[&'static str], labels: impl IntoIterator<Item = &'a String>) -> Vec<Swatch> {
    let count = colors.len();
    let swatch = |(place, label): (usize, &String)| Swatch {
        label: label.clone(),
        color: colors[place % count],
        round: place / count,
    };
    labels.into_iter().enumerate().map(swatch).collect()
}
