//! Makes the ends of connections.

use std::fmt;

use crate::stack::Stack;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that opens.
    Client,
    /// The end that accepts.
    Server,
}

/// The end to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEnd {
    /// Which end of its connection.
    pub role: Role,
    /// The seed of all random numbers that it draws. It differs between connections and between their ends.
    pub seed: u64,
    /// The number of the connection in its run, from 1: the same for both ends, as for addresses and connection IDs.
    pub number: u64,
}

/// Makes the ends of connections of one stack with one configuration.
pub trait Factory: fmt::Debug + Send + Sync {
    /// The name in results and messages, such as `quinn/cubic`.
    fn name(&self) -> String;

    /// Bytes of headers below each datagram, which the stack does not make: 28 for UDP over IPv4, 0 where datagrams are whole IP
    /// packets.
    fn headers(&self) -> u32;

    /// One end of a new connection. An end accepts its peer's connection without another call.
    fn end(&self, new: &NewEnd) -> Box<dyn Stack>;

    /// Whether the ends can write a qlog trace of themselves.
    fn writes_traces(&self) -> bool {
        false
    }

    /// As [`Factory::end`], with a trace in JSON text sequences, whose times are milliseconds since [`Instant::ZERO`](aqmkit_base::Instant::ZERO).
    /// The end must do what it does without a trace. Called only if [`Factory::writes_traces`].
    fn traced_end(&self, new: &NewEnd, _trace: Trace) -> Box<dyn Stack> {
        self.end(new)
    }
}

/// Takes the next bytes of a trace. The stack does no I/O: what becomes of them is the caller's concern.
pub type Trace = Box<dyn FnMut(&[u8]) + Send + Sync>;
