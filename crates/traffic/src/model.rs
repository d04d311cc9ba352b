//! Common parts of all traffic models: parameters that are checked once and then create applications.

use std::sync::Arc;

pub use aqmkit_base::param::{ParamError, in_range};
use aqmkit_base::{Duration, Rng};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Application;
use super::recording::Recording;

/// The most applications that one model makes.
pub const MAX_INSTANCES: usize = 1_000_000;

/// Checks that a number of applications is from 1 to [`MAX_INSTANCES`].
///
/// # Errors
/// When it is either.
pub fn count(field: &str, n: usize) -> Result<(), ParamError> {
    if (1..=MAX_INSTANCES).contains(&n) {
        return Ok(());
    }
    Err(ParamError::new(field, n, format!("it must be from 1 to {MAX_INSTANCES}")))
}

/// Checks that a number of applications is at most [`MAX_INSTANCES`]; with none, the traffic is silent, as sweeps over
/// traffic mixes need it.
///
/// # Errors
/// When there are more.
pub fn count_or_none(field: &str, n: usize) -> Result<(), ParamError> {
    if n == 0 { Ok(()) } else { count(field, n) }
}

/// The parameter of a model that sets its load.
#[derive(Debug)]
pub enum Knob<'a> {
    /// How many users, sessions or sources there are.
    Count(&'static str, &'a mut usize),
    /// The factor of the times between starts: the load falls as it rises.
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

    /// The amount to which the load is proportional.
    #[must_use]
    pub fn amount(&self) -> f64 {
        match self {
            Knob::Count(_, n) => **n as f64,
            Knob::Stretch(_, factor) => 1.0 / **factor,
            Knob::Speed(_, factor) => **factor,
        }
    }

    /// Sets the parameter so that [`Knob::amount`] is as close to `amount` as possible. A count is at least 1; false if
    /// it would exceed [`MAX_INSTANCES`].
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

    /// Checks the parameters, as far as possible without the data files.
    ///
    /// # Errors
    /// When one cannot.
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

    /// The parameter with the number of applications, and its value. A higher number adds applications and keeps the
    /// others.
    fn count(&mut self) -> Option<(&'static str, &mut usize)> {
        match self.knob() {
            Some(Knob::Count(field, count)) => Some((field, count)),
            _ => None,
        }
    }

    /// The checked parameters with what the files of [`Model::files`] hold, in that order.
    ///
    /// # Errors
    /// When a parameter cannot be used, or a file is missing or is not what it should be.
    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError>;
}

/// A model that is ready to create its applications. They share its tables and traces.
pub trait Population: Send + Sync {
    /// The number of applications.
    fn instances(&self) -> usize;

    /// The application at `index`, which is below [`Population::instances`]; `rng` is its own stream, which it also has
    /// later, in [`super::Cx`].
    fn make(&self, index: usize, rng: &mut Rng) -> Box<dyn Application>;

    /// Whether it tolerates unrepaired losses, so that it can use a rate-based transport: it requests endless data on
    /// each connection. Traffic that sends datagrams needs no transport.
    fn bears_loss(&self) -> bool {
        self.mean_payload().is_some()
    }

    /// The key that spreads its starts, and the span: applications start at times uniform on it. `None` if they all start at once, or start when their
    /// users come.
    fn start_spread(&self) -> Option<(&'static str, Duration)> {
        None
    }

    /// The mean payload of its datagrams in bytes; `None` if the transport determines the size.
    fn mean_payload(&self) -> Option<f64> {
        None
    }
}

/// The format of a model's data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text in UTF-8.
    Text,
    /// Text in ISO 8859-1, in which every byte is a character.
    Latin1,
    /// A capture of packets.
    Capture,
}

/// A data file that was read for a model.
#[derive(Clone, Debug)]
pub enum Data {
    /// Its text, shared by all readers.
    Text(Arc<String>),
    /// Its packets.
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

/// The texts of the data files, as many as were asked for.
///
/// # Errors
/// When there are more or fewer, or one is no text.
pub fn texts(data: &[Data], wanted: usize) -> Result<Vec<&str>, ParamError> {
    let texts: Vec<&str> = data.iter().filter_map(Data::text).collect();
    if texts.len() == wanted && data.len() == wanted {
        return Ok(texts);
    }
    Err(ParamError::new("data files", data.len(), format!("{wanted} must be loaded first")))
}

/// Bytes of IPv4 and UDP header that the host adds to a datagram.
pub const UDP_HEADERS: u32 = 28;
