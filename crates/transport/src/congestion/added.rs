//! Congestion controls and rate-based transports of other crates.
//!
//! The built-in controls are variants of an enum in the endpoint, whose calls the compiler can inline. An added control
//! is one more variant: a box, called through a table of functions.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use aqmkit_base::read::Value;
use aqmkit_base::{Ecn, ParamError};
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::{CongestionControl, Cx, Leaves, ModelView, Pacer, Window};
use crate::profile::{EcnFeedback, EcnPackets, Profile};
use crate::rate;

/// A congestion control with a name and parameters of its own, which a program can add to a
/// [`Catalogue`](crate::Catalogue). Its value is the state of one connection.
pub trait Scheme: CongestionControl + Clone + fmt::Debug + Send + 'static {
    /// The name in experiment files, as a value of `congestion`. The table of the same name holds the parameters.
    const NAME: &'static str;

    /// The parameters as a user writes them.
    type Params: Clone + fmt::Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first that cannot be used.
    fn check(_params: &Self::Params) -> Result<(), ParamError> {
        Ok(())
    }

    /// The state of a new connection.
    fn new(params: &Self::Params, profile: &Profile) -> Self;
}

/// A [`Scheme`] with its parameters, without their type.
trait Held: fmt::Debug + Send + Sync {
    fn name(&self) -> &'static str;
    fn as_any(&self) -> &dyn Any;
    fn is(&self, other: &dyn Any) -> bool;
    fn serialized(&self) -> &dyn erased_serde::Serialize;
    fn read(&self, table: &Value) -> Result<Arc<dyn Held>, ParamError>;
    fn check(&self) -> Result<(), ParamError>;
    fn ect(&self) -> Ecn;
    fn needs_ecn(&self) -> Option<(EcnFeedback, EcnPackets)>;
    /// The state of a new connection; nothing for a rate-based transport.
    fn begin(&self, profile: &Profile) -> Option<Running>;
    /// The transport, if it is not TCP.
    fn rate_based(self: Arc<Self>) -> Option<rate::Added>;
}

/// The methods of [`Held`] that depend only on the name and parameters of a scheme `S`, for a type that holds the
/// parameters.
macro_rules! name_and_params {
    ($($of:ident)::+) => {
        fn name(&self) -> &'static str {
            S::NAME
        }

        fn as_any(&self) -> &dyn Any {
            &self.0
        }

        fn is(&self, other: &dyn Any) -> bool {
            other.downcast_ref() == Some(&self.0)
        }

        fn serialized(&self) -> &dyn erased_serde::Serialize {
            &self.0
        }

        fn read(&self, table: &Value) -> Result<Arc<dyn Held>, ParamError> {
            table.read().map(|params| Arc::new($($of)::+::<S>(params)) as Arc<dyn Held>)
        }

        fn check(&self) -> Result<(), ParamError> {
            S::check(&self.0)
        }
    };
}

/// The parameters of a scheme.
struct Of<S: Scheme>(S::Params);

impl<S: Scheme> fmt::Debug for Of<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Scheme> Held for Of<S> {
    name_and_params!(Of);

    fn ect(&self) -> Ecn {
        S::ECT
    }

    fn needs_ecn(&self) -> Option<(EcnFeedback, EcnPackets)> {
        S::NEEDS_ECN
    }

    fn begin(&self, profile: &Profile) -> Option<Running> {
        Some(Running(Box::new(S::new(&self.0, profile))))
    }

    fn rate_based(self: Arc<Self>) -> Option<rate::Added> {
        None
    }
}

impl<S: rate::Scheme> Held for rate::Of<S> {
    name_and_params!(rate::Of);

    fn ect(&self) -> Ecn {
        Ecn::Ect0
    }

    fn needs_ecn(&self) -> Option<(EcnFeedback, EcnPackets)> {
        None
    }

    fn begin(&self, _profile: &Profile) -> Option<Running> {
        None
    }

    fn rate_based(self: Arc<Self>) -> Option<rate::Added> {
        Some(rate::Added::new(self))
    }
}

/// A congestion control or rate-based transport that a program has added to the catalogue, with its parameters.
#[derive(Clone, Debug)]
pub struct Added {
    scheme: Arc<dyn Held>,
    version: u32,
}

impl PartialEq for Added {
    fn eq(&self, other: &Self) -> bool {
        let same = (self.name(), self.version) == (other.name(), other.version);
        same && self.scheme.is(other.scheme.as_any())
    }
}

/// Everything that determines its behaviour: name, version, parameters.
impl Serialize for Added {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut table = s.serialize_struct("Added", 3)?;
        table.serialize_field("name", self.name())?;
        table.serialize_field("version", &self.version)?;
        table.serialize_field("params", self.scheme.serialized())?;
        table.end()
    }
}

impl Added {
    /// The scheme with its default parameters.
    pub(crate) fn new<S: Scheme>(version: u32) -> Self {
        Added { scheme: Arc::new(Of::<S>(S::Params::default())), version }
    }

    /// The rate-based transport with its default parameters.
    pub(crate) fn of_rate<S: rate::Scheme>(version: u32) -> Self {
        Added { scheme: Arc::new(rate::Of::<S>(S::Params::default())), version }
    }

    /// The name of the control.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.scheme.name()
    }

    /// The same control with parameters from a table.
    pub(crate) fn with(&self, table: &Value) -> Result<Self, ParamError> {
        Ok(Added { scheme: self.scheme.read(table)?, ..*self })
    }

    pub(crate) fn check(&self) -> Result<(), ParamError> {
        self.scheme.check().map_err(|e| e.within(self.name()))
    }

    pub(super) fn ect(&self) -> Ecn {
        self.scheme.ect()
    }

    pub(super) fn needs_ecn(&self) -> Option<(EcnFeedback, EcnPackets)> {
        self.scheme.needs_ecn()
    }

    pub(super) fn begin(&self, profile: &Profile) -> Option<Running> {
        self.scheme.begin(profile)
    }

    pub(super) fn rate_based(&self) -> Option<rate::Added> {
        Arc::clone(&self.scheme).rate_based()
    }
}

/// The state of an added control for one connection.
#[derive(Debug)]
pub(crate) struct Running(Box<dyn Callbacks>);

impl Clone for Running {
    fn clone(&self) -> Self {
        Running(self.0.boxed_clone())
    }
}

/// The constants of [`CongestionControl`], as values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub(super) samples_delivery: bool,
    pub(super) watches_losses: bool,
    pub(super) follows_recovery: bool,
    pub(super) held_after_marks: bool,
}

/// Declares [`Callbacks`], the part of [`CongestionControl`] that a trait object can have, from the list of callbacks.
macro_rules! declare {
    ($(fn $method:ident($($arg:ident: $type:ty),*);)+) => {
        trait Callbacks: fmt::Debug + Send {
            fn boxed_clone(&self) -> Box<dyn Callbacks>;
            fn constants(&self) -> Constants;
            fn window(&self) -> &Window;
            fn window_mut(&mut self) -> &mut Window;
            fn pacer(&self) -> Option<&Pacer>;
            fn pacer_mut(&mut self) -> Option<&mut Pacer>;
            fn leaves_recovery(&self) -> Leaves;
            fn model_view(&self, mss: u64) -> Option<ModelView>;
            $(fn $method(&mut self, $($arg: $type,)* cx: &Cx<'_>);)+
        }

        impl<S: Scheme> Callbacks for S {
            fn boxed_clone(&self) -> Box<dyn Callbacks> {
                Box::new(self.clone())
            }

            fn constants(&self) -> Constants {
                Constants {
                    samples_delivery: S::SAMPLES_DELIVERY,
                    watches_losses: S::WATCHES_LOSSES,
                    follows_recovery: S::FOLLOWS_RECOVERY,
                    held_after_marks: S::HELD_AFTER_MARKS,
                }
            }

            fn window(&self) -> &Window {
                CongestionControl::window(self)
            }

            fn window_mut(&mut self) -> &mut Window {
                CongestionControl::window_mut(self)
            }

            fn pacer(&self) -> Option<&Pacer> {
                if S::PACES { CongestionControl::pacer(self) } else { None }
            }

            fn pacer_mut(&mut self) -> Option<&mut Pacer> {
                if S::PACES { CongestionControl::pacer_mut(self) } else { None }
            }

            fn leaves_recovery(&self) -> Leaves {
                CongestionControl::leaves_recovery(self)
            }

            fn model_view(&self, mss: u64) -> Option<ModelView> {
                CongestionControl::model_view(self, mss)
            }

            $(fn $method(&mut self, $($arg: $type,)* cx: &Cx<'_>) {
                CongestionControl::$method(self, $($arg,)* cx);
            })+
        }

        // Cold, so that the calls of built-in controls are laid out as if there were no others.
        impl Running {
            #[cold]
            pub(super) fn constants(&self) -> Constants {
                self.0.constants()
            }

            #[cold]
            pub(super) fn window(&self) -> &Window {
                self.0.window()
            }

            #[cold]
            pub(super) fn window_mut(&mut self) -> &mut Window {
                self.0.window_mut()
            }

            #[cold]
            pub(super) fn pacer(&self) -> Option<&Pacer> {
                self.0.pacer()
            }

            #[cold]
            pub(super) fn pacer_mut(&mut self) -> Option<&mut Pacer> {
                self.0.pacer_mut()
            }

            #[cold]
            pub(super) fn leaves_recovery(&self) -> Leaves {
                self.0.leaves_recovery()
            }

            #[cold]
            pub(super) fn model_view(&self, mss: u64) -> Option<ModelView> {
                self.0.model_view(mss)
            }

            $(#[cold]
            pub(super) fn $method(&mut self, $($arg: $type,)* cx: &Cx<'_>) {
                self.0.$method($($arg,)* cx);
            })+
        }
    };
}

callbacks!(declare!());
