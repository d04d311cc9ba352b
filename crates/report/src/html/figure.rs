//! The plots of the page.

mod advice;
mod band;
mod card;
mod curves;
mod distribution;
mod laws;
mod names;
mod operating;
mod palette;
mod panels;
mod plot;
mod published;
mod ratio;
mod responses;
mod scale;
mod series;
mod sweep;

pub(super) use advice::{Against, factors, front};
pub(super) use card::card;
pub(super) use curves::curves;
pub(super) use laws::laws;
pub(super) use operating::operating;
pub(super) use palette::{Swatch, class_swatches, swatches};
pub(super) use plot::Figure;
pub(super) use published::over_windows;
pub(super) use ratio::ratios;
pub(super) use responses::{Shown, responses};
pub(super) use series::{Line, Lines, series};
pub(super) use sweep::sweeps;
