//! quinn's cryptography without cryptography: packets have the lengths that they have with TLS, and nothing is encrypted.

use std::any::Any;
use std::sync::Arc;

use aqmkit_stack_quic::TAG;
use aqmkit_stack_quic::handshake::Handshake;
use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

/// Every key.
#[derive(Debug)]
pub(crate) struct Null;

impl PacketKey for Null {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

/// Signs tokens of stateless resets, which never occur: no end forgets its connection.
impl HmacKey for Null {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.iter_mut().zip(data.iter().chain(std::iter::repeat(&0))).for_each(|(to, from)| *to = *from);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Null {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Null)
    }
}

impl AeadKey for Null {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let len = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..len])
    }
}

fn pair() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Null), remote: Box::new(Null) }
}

fn keys() -> Keys {
    Keys { header: KeyPair { local: Box::new(Null), remote: Box::new(Null) }, packet: pair() }
}

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, params)))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, params))
    }
}

struct NullSession {
    side: Side,
    handshake: Handshake,
    peer: Option<TransportParameters>,
}

impl NullSession {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        NullSession { side, handshake: Handshake::new(side.is_client(), encoded), peer: None }
    }
}

fn error(reason: &str) -> TransportError {
    TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason: reason.to_owned() }
}

impl Session for NullSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.handshake.is_done()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        let ready = self.handshake.read(buf).map_err(error)?;
        if ready {
            let mut encoded = self.handshake.peer().unwrap_or_default();
            let read = TransportParameters::read(self.side, &mut encoded);
            self.peer = Some(read.map_err(|_| error("transport parameters that cannot be read"))?);
        }
        Ok(ready)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.handshake.write(buf).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(pair())
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
