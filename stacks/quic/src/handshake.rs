//! A handshake whose messages have the lengths of TLS 1.3 and carry nothing but the transport parameters.
//!
//! The simulator measures lengths and times only, and a run without cryptography takes a third less CPU time. A message is its length and
//! that of the transport parameters in it, in two bytes each, those parameters, and zeros.

/// Bytes of the messages with one Ed25519 certificate. Those with transport parameters are longer if these do not fit.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 90;
const SERVER_REST: usize = 900;
const CLIENT_FINISHED: usize = 36;

/// The next step of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    SendClientHello,
    AwaitClientHello,
    /// The server answers, in two packet number spaces.
    SendServerHello,
    SendServerRest,
    /// The client waits for both parts of the answer, and changes keys between them.
    AwaitServerHello,
    TakeHandshakeKeys,
    AwaitServerRest,
    SendClientFinished,
    AwaitClientFinished,
    Done,
}

/// The handshake of one end.
#[derive(Debug)]
pub struct Handshake {
    step: Step,
    params: Vec<u8>,
    incoming: Vec<u8>,
    /// The peer's transport parameters.
    peer: Option<Vec<u8>>,
}

impl Handshake {
    /// The handshake of a client or server with these encoded transport parameters.
    pub fn new(is_client: bool, params: Vec<u8>) -> Self {
        let step = if is_client { Step::SendClientHello } else { Step::AwaitClientHello };
        Handshake { step, params, incoming: Vec::new(), peer: None }
    }

    /// Whether all messages were sent and read.
    pub fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    /// The peer's transport parameters, encoded, once they have come.
    pub fn peer(&self) -> Option<&[u8]> {
        self.peer.as_deref()
    }

    /// Reads what the peer has sent; whether its transport parameters were in it.
    ///
    /// # Errors
    /// When a message is out of order.
    pub fn read(&mut self, bytes: &[u8]) -> Result<bool, &'static str> {
        self.incoming.extend(bytes);
        let mut ready = false;
        while let Some(params) = self.next_message() {
            let (next, has_params) = match self.step {
                Step::AwaitClientHello => (Step::SendServerHello, true),
                Step::AwaitServerHello => (Step::TakeHandshakeKeys, false),
                Step::AwaitServerRest => (Step::SendClientFinished, true),
                Step::AwaitClientFinished => (Step::Done, false),
                _ => return Err("a message out of order"),
            };
            self.step = next;
            if has_params {
                self.peer = Some(params);
                ready = true;
            }
        }
        Ok(ready)
    }

    /// Writes the next message, if it is this end's turn; whether new keys apply from here on.
    pub fn write(&mut self, out: &mut Vec<u8>) -> bool {
        let (next, with_keys) = match self.step {
            Step::SendClientHello => {
                message(out, &self.params, CLIENT_HELLO);
                (Step::AwaitServerHello, false)
            }
            Step::SendServerHello => {
                message(out, &[], SERVER_HELLO);
                (Step::SendServerRest, true)
            }
            Step::SendServerRest => {
                message(out, &self.params, SERVER_REST);
                (Step::AwaitClientFinished, true)
            }
            Step::TakeHandshakeKeys => (Step::AwaitServerRest, true),
            Step::SendClientFinished => {
                message(out, &[], CLIENT_FINISHED);
                (Step::Done, true)
            }
            Step::AwaitClientHello
            | Step::AwaitServerHello
            | Step::AwaitServerRest
            | Step::AwaitClientFinished
            | Step::Done => return false,
        };
        self.step = next;
        with_keys
    }

    /// The transport parameters in the next message, if all of it has come.
    fn next_message(&mut self) -> Option<Vec<u8>> {
        let number = |at: usize| {
            let bytes = [*self.incoming.get(at)?, *self.incoming.get(at + 1)?];
            Some(usize::from(u16::from_be_bytes(bytes)))
        };
        let (len, params) = (number(0)?.max(4), number(2)?);
        if self.incoming.len() < len {
            return None;
        }
        let message: Vec<u8> = self.incoming.drain(..len).collect();
        Some(message.get(4..4 + params).unwrap_or_default().to_vec())
    }
}

fn message(out: &mut Vec<u8>, params: &[u8], len: usize) {
    let len = len.max(4 + params.len());
    let from = out.len();
    out.extend((len as u16).to_be_bytes());
    out.extend((params.len() as u16).to_be_bytes());
    out.extend(params);
    out.resize(from + len, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In pieces of three bytes, as frames may divide them.
    fn carry(from: &mut Handshake, to: &mut Handshake) -> (usize, bool, bool) {
        let mut out = Vec::new();
        let keys = from.write(&mut out);
        let read: Vec<bool> = out.chunks(3).map(|part| to.read(part).unwrap()).collect();
        (out.len(), keys, read.contains(&true))
    }

    #[test]
    fn both_ends_learn_the_parameters_of_the_other_and_change_keys_twice() {
        let (mut client, mut server) = (Handshake::new(true, vec![1; 50]), Handshake::new(false, vec![2; 60]));
        assert_eq!(carry(&mut client, &mut server), (300, false, true));
        assert_eq!(carry(&mut server, &mut client), (90, true, false));
        assert_eq!(carry(&mut client, &mut server), (0, true, false), "the client has the handshake's keys");
        assert_eq!(carry(&mut server, &mut client), (900, true, true));
        assert!(!client.is_done() && !server.is_done());
        assert_eq!(carry(&mut client, &mut server), (36, true, false));
        assert!(client.is_done() && server.is_done());
        assert_eq!((client.peer(), server.peer()), (Some(&[2; 60][..]), Some(&[1; 50][..])));
    }

    #[test]
    fn a_message_out_of_order_is_refused() {
        let mut client = Handshake::new(true, Vec::new());
        assert!(client.read(&[0, 4, 0, 0]).is_err());
    }

    #[test]
    fn long_parameters_make_a_message_longer() {
        let mut out = Vec::new();
        Handshake::new(true, vec![0; 400]).write(&mut out);
        assert_eq!(out.len(), 404);
    }
}
