//! Colours that colour-blind readers can distinguish on light and dark backgrounds.

use aqmkit_measure::colour::of_traffic;
use serde::Serialize;

/// The colours of Okabe and Ito, with grey instead of black.
const OKABE_ITO: [&str; 8] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#D3C62A"];

/// A label and its colour.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Swatch {
    pub(crate) label: String,
    /// CSS colour.
    pub(crate) color: &'static str,
    /// Number of earlier labels with the same colour, which determines the dashes of lines.
    pub(crate) round: usize,
}

impl Swatch {
    /// Solid lines until the colours are used up, then dashed ones.
    pub(super) fn dash(&self) -> &'static str {
        ["solid", "dash", "dot", "dashdot"][self.round % 4]
    }

    /// The symbol of points.
    pub(super) fn symbol(&self) -> &'static str {
        ["circle", "square", "diamond", "triangle-up", "cross"][self.round % 5]
    }
}

/// A colour for each label, in order.
pub(crate) fn swatches<'a>(labels: impl IntoIterator<Item = &'a String>) -> Vec<Swatch> {
    let count = OKABE_ITO.len();
    let swatch = |(place, label): (usize, &String)| Swatch {
        label: label.clone(),
        color: OKABE_ITO[place % count],
        round: place / count,
    };
    labels.into_iter().enumerate().map(swatch).collect()
}

/// A colour for each class by name, the same as on the page of `aqmkit play`.
pub(crate) fn class_swatches<'a>(classes: impl IntoIterator<Item = &'a String>) -> Vec<Swatch> {
    let labels: Vec<&String> = classes.into_iter().collect();
    let named: Vec<(&str, &str)> = labels.iter().map(|label| (label.as_str(), "")).collect();
    let colours = of_traffic(&named).into_iter().zip(labels);
    colours.map(|((colour, round), label)| Swatch { label: label.clone(), color: colour.light, round }).collect()
}
