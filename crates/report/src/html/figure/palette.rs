//! Colours that colour-blind readers can distinguish, on light and on dark backgrounds.

use serde::Serialize;

/// The colours of Okabe and Ito, with grey instead of black.
const OKABE_ITO: [&str; 8] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#D3C62A"];

/// The bright scheme of Tol, for the classes, so that they are not taken for disciplines.
const TOL: [&str; 7] = ["#4477AA", "#EE6677", "#AA3377", "#228833", "#CCBB44", "#66CCEE", "#BBBBBB"];

/// One label and its colour.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Swatch {
    pub(crate) label: String,
    /// Its colour.
    pub(crate) color: &'static str,
    /// The place among labels of this colour: which dashes its lines have.
    pub(crate) round: usize,
}

impl Swatch {
    /// Solid as long as there are colours, then dashed.
    pub(super) fn dash(&self) -> &'static str {
        ["solid", "dash", "dot", "dashdot"][self.round % 4]
    }

    /// The sign of its points.
    pub(super) fn symbol(&self) -> &'static str {
        ["circle", "square", "diamond", "triangle-up", "cross"][self.round % 5]
    }
}

/// A colour for each label by its place.
pub(crate) fn swatches<'a>(labels: impl IntoIterator<Item = &'a String>) -> Vec<Swatch> {
    colored(&OKABE_ITO, labels)
}

/// A colour for each class by its place.
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
