//! The shaper of `aqmkit-path`, measured by a [`Meter`].

pub use aqmkit_path::shaper::{Released, Setup};

use crate::meter::Meter;

/// One direction of a bottleneck: see [`aqmkit_path::shaper::Shaper`].
pub type Shaper<P, W = Meter> = aqmkit_path::shaper::Shaper<P, W>;

#[cfg(test)]
mod sound;
#[cfg(test)]
mod tests;
