//! What sends: transport endpoints and the applications that use them.
//!
//! Both halves are sans-I/O state machines. A [`transport::Tcp`] endpoint is handed arriving segments and
//! the time, and hands back segments to send and the deadline at which it wants to be called again. A
//! [`traffic::Application`] says what an application wants (open a connection, ask for so many bytes, send a frame now), never
//! how it is sent, so the same model drives simulated and real sockets.

#![forbid(unsafe_code)]

pub mod traffic;
pub mod transport;
