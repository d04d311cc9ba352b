//! Common parts of all traffic models: parameters are checked once, and then create applications.

use std::sync::Arc;

pub use aqmkit_base::param::{ParamError, in_range};
use aqmkit_base::{Duration, Rng};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Application;
use super::recording::Recording;

/// Upper limit for the applications of one model.
pub const MAX_INSTANCES: usize = 1_000_000;

/// Checks that a number of applications is from 1 to [`MAX_INSTANCES`].
///
/// # Errors
/// When it is zero or too large.
pub fn count(field: &str, n: usize) -> Result<(), ParamError> {
    if (1..=MAX_INSTANCES).contains(&n) {
        return Ok(());
    }
    Err(ParamError::new(field, n, format!("it must be from 1 to {MAX_INSTANCES}")))
}

/// Checks that a number of applications is at most [`MAX_INSTANCES`]. Zero is allowed: sweeps over traffic mixes need a
/// model that sends nothing.
///
/// # Errors
/// When there are more.
pub fn count_or_none(field: &str, n: usize) -> Result<(), ParamError> {
    if n == 0 { Ok(()) } else { count(field, n) }
}

/// The parameter of a model that sets its load.
#[derive(Debug)]
pub enum Knob<'a> {
    /// The number of users, sessions or sources.
    Count(&'static str, &'a mut usize),
    /// A factor of the times between starts; a larger one lowers the load.
    Stretch(&'static str, &'a mut f64),
    /// The speed at which recorded packets are sent.
    Speed(&'static str, &'a mut f64),
}

impl Knob<'_> {
    /// The name of the parameter.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Knob::Count(field, _) | Knob::Stretch(field, _) | Knob::Speed(field, _) => field,
        }
    }

    /// The value of the parameter.
    #[must_use]
    pub fn value(&self) -> f64 {
        match self {
            Knob::Count(_, n) => **n as f64,
            Knob::Stretch(_, factor) | Knob::Speed(_, factor) => **factor,
        }
    }

    /// A quantity to which the load is proportional.
    #[must_use]
    pub fn amount(&self) -> f64 {
        match self {
            Knob::Count(_, n) => **n as f64,
            Knob::Stretch(_, factor) => 1.0 / **factor,
            Knob::Speed(_, factor) => **factor,
        }
    }

    /// Sets the parameter so that [`Knob::amount`] is as close to `amount` as possible. A count is at least 1; returns
    /// false if it would exceed [`MAX_INSTANCES`].
    #[must_use]
    pub fn set_amount(&mut self, amount: f64) -> bool {
        match self {
            Knob::Count(_, n) => {
                **n = libm::round(amount).max(1.0) as usize;
                **n <= MAX_INSTANCES
            }
            Knob::Stretch(_, factor) => {
                **factor = 1.0 / amount;
                factor.is_finite() && **factor > 0.0
            }
            Knob::Speed(_, factor) => {
                **factor = amount;
                factor.is_finite() && **factor > 0.0
            }
        }
    }
}

/// The parameters of a traffic model as a user writes them.
pub trait Model:
    Clone + std::fmt::Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The name in experiment files and on the command line.
    const NAME: &'static str;

    /// Checks the parameters, as far as that is possible without the data files.
    ///
    /// # Errors
    /// When a parameter is out of range or contradicts another.
    fn check(&self) -> Result<(), ParamError>;

    /// The format of its data files.
    const FORMAT: Format = Format::Text;

    /// The data files that the parameters name. The caller reads them; nothing here opens a file.
    fn files(&self) -> Vec<String> {
        Vec::new()
    }

    /// The parameter to which the load is proportional on an uncongested network; `None` if there is none, as for flows
    /// that take all available bandwidth. Calibration sets it.
    fn knob(&mut self) -> Option<Knob<'_>> {
        None
    }

    /// Name and value of the parameter for the number of applications. Raising it adds applications and leaves the
    /// others unchanged.
    fn count(&mut self) -> Option<(&'static str, &mut usize)> {
        match self.knob() {
            Some(Knob::Count(field, count)) => Some((field, count)),
            _ => None,
        }
    }

    /// Creates the population from the parameters and the contents of [`Model::files`], in that order.
    ///
    /// # Errors
    /// When a parameter is invalid, or a file is missing or cannot be parsed.
    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError>;
}

/// A checked model that creates the applications of a run. They share its tables and traces.
pub trait Population: Send + Sync {
    /// The number of applications.
    fn instances(&self) -> usize;

    /// Creates the application at `index`, which is below [`Population::instances`]. `rng` is the application's own
    /// stream; [`super::Cx`] passes the same stream later.
    fn make(&self, index: usize, rng: &mut Rng) -> Box<dyn Application>;

    /// Whether it tolerates lost data, so that it can use a rate-based transport that does not retransmit; it must then
    /// request endless data on each connection. Traffic of datagrams needs no transport.
    fn bears_loss(&self) -> bool {
        self.mean_payload().is_some()
    }

    /// The parameter that spreads the starts, and its value: start times are uniform on it. `None` if all applications
    /// start together or at times that the model draws.
    fn start_spread(&self) -> Option<(&'static str, Duration)> {
        None
    }

    /// Mean payload of its datagrams in bytes; `None` if the transport or a congestion control determines the size.
    fn mean_payload(&self) -> Option<f64> {
        None
    }
}

/// The format of a model's data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text in UTF-8.
    Text,
    /// Text in ISO 8859-1, in which every byte is valid.
    Latin1,
    /// A packet capture.
    Capture,
}

/// The contents of a data file.
#[derive(Clone, Debug)]
pub enum Data {
    /// Shared by all readers.
    Text(Arc<String>),
    /// The packets of a capture.
    Capture(Arc<Recording>),
}

impl Data {
    fn text(&self) -> Option<&str> {
        match self {
            Data::Text(text) => Some(text),
            Data::Capture(_) => None,
        }
    }
}

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        Data::Text(Arc::new(text.to_owned()))
    }
}

/// The texts of the data files; their number must be `wanted`.
///
/// # Errors
/// When there are more or fewer, or one is not text.
pub fn texts(data: &[Data], wanted: usize) -> Result<Vec<&str>, ParamError> {
    let texts: Vec<&str> = data.iter().filter_map(Data::text).collect();
    if texts.len() == wanted && data.len() == wanted {
        return Ok(texts);
    }
    Err(ParamError::new("data files", data.len(), format!("{wanted} must be loaded first")))
}

/// Bytes of the IPv4 and UDP headers that the host adds to a datagram.
pub const UDP_HEADERS: u32 = 28;
