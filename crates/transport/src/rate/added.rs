//! Rate-based transports of other crates.

use std::fmt;
use std::sync::Arc;

use aqmkit_base::ParamError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Cx, Receiving, Sending};
use crate::profile::Profile;

/// A rate-based transport with a name and parameters of its own, which a program can add to a
/// [`Catalogue`](crate::Catalogue).
pub trait Scheme: 'static {
    /// The name in experiment files, as a value of `congestion`. The table of the same name holds the parameters.
    const NAME: &'static str;

    /// The parameters as a user writes them.
    type Params: Clone + fmt::Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The sending half of one connection.
    type Sender: Sending + Clone + fmt::Debug + Send + 'static;

    /// The receiving half of one connection.
    type Receiver: Receiving + Clone + fmt::Debug + Send + 'static;

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the first invalid parameter.
    fn check(_params: &Self::Params) -> Result<(), ParamError> {
        Ok(())
    }

    /// The sending half of a new connection.
    fn sender(params: &Self::Params, cx: &Cx<'_>) -> Self::Sender;

    /// The receiving half of a new connection.
    fn receiver(params: &Self::Params, profile: &Profile) -> Self::Receiver;
}

/// Creates the halves of connections, whatever the type of the parameters.
pub(crate) trait Halves: fmt::Debug + Send + Sync {
    fn sender(&self, cx: &Cx<'_>) -> Sender;
    fn receiver(&self, profile: &Profile) -> Receiver;
}

/// The parameters of a scheme.
pub(crate) struct Of<S: Scheme>(pub(crate) S::Params);

impl<S: Scheme> fmt::Debug for Of<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Scheme> Halves for Of<S> {
    fn sender(&self, cx: &Cx<'_>) -> Sender {
        Sender(Box::new(S::sender(&self.0, cx)))
    }

    fn receiver(&self, profile: &Profile) -> Receiver {
        Receiver(Box::new(S::receiver(&self.0, profile)))
    }
}

/// A rate-based transport that a program has added to the catalogue, with its parameters.
#[derive(Clone, Debug)]
pub struct Added(Arc<dyn Halves>);

impl Added {
    pub(crate) fn new(halves: Arc<dyn Halves>) -> Self {
        Added(halves)
    }

    pub(super) fn sender(&self, cx: &Cx<'_>) -> Sender {
        self.0.sender(cx)
    }

    pub(super) fn receiver(&self, profile: &Profile) -> Receiver {
        self.0.receiver(profile)
    }
}

/// Declares the box that holds an added half, and the part of its trait that a trait object can have.
macro_rules! boxed {
    ($(#[$attr:meta])* $holder:ident, $object:ident: $half:ident) => {
        trait $object: $half + fmt::Debug + Send {
            fn boxed_clone(&self) -> Box<dyn $object>;
        }

        impl<T: $half + Clone + fmt::Debug + Send + 'static> $object for T {
            fn boxed_clone(&self) -> Box<dyn $object> {
                Box::new(self.clone())
            }
        }

        $(#[$attr])*
        #[derive(Debug)]
        pub(crate) struct $holder(Box<dyn $object>);

        impl Clone for $holder {
            fn clone(&self) -> Self {
                $holder(self.0.boxed_clone())
            }
        }

        impl $holder {
            pub(super) fn half(&self) -> &dyn $half {
                &*self.0
            }

            pub(super) fn half_mut(&mut self) -> &mut dyn $half {
                &mut *self.0
            }
        }
    };
}

boxed! {
    /// The sending half of a connection with an added transport.
    Sender, SendingObject: Sending
}

boxed! {
    /// The receiving half of a connection with an added transport.
    Receiver, ReceivingObject: Receiving
}
