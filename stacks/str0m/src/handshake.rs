//! A DTLS without cryptography: four flights with the lengths of DTLS 1.2, and records with those of AES-GCM.
//!
//! A flight is the type of its records, its number, and zeros. The client's have odd numbers. An end sends its last flight again when the
//! answer does not come in time, or when it gets the flight before it once more (RFC 6347, section 4.2.4).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use str0m::crypto::CryptoError;
use str0m::crypto::dtls::{
    DtlsCert, DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, KeyingMaterial, ProtocolVersion, SrtpProfile,
};

/// Types of records.
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

/// Bytes of each flight: both ends send an ECDSA certificate.
const FLIGHTS: [usize; 4] = [170, 700, 650, 90];

/// Bytes before and after data in a record: its header and an explicit nonce, and the tag.
const BEFORE: usize = 13 + 8;
const AFTER: usize = 16;

/// The first timeout; it doubles.
const TIMEOUT: Duration = Duration::from_secs(1);
/// The end of time, for an instance that waits for nothing.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// The certificate of everybody.
const CERTIFICATE: [u8; 380] = [0; 380];

#[derive(Debug)]
pub(crate) struct Dtls;

impl DtlsProvider for Dtls {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        Some(DtlsCert { certificate: CERTIFICATE.to_vec(), private_key: vec![0; 32] })
    }

    fn new_dtls(
        &self,
        _: &DtlsCert,
        now: Instant,
        _: str0m::config::DtlsVersion,
        _: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        Ok(Box::new(Instance {
            is_client: None,
            last: 0,
            is_done: false,
            now,
            due: None,
            timeout: TIMEOUT,
            out: VecDeque::new(),
        }))
    }
}

/// The next output.
#[derive(Debug)]
enum Out {
    Packet(Vec<u8>),
    Certificate,
    Keys,
    Connected,
    Data(Vec<u8>),
}

#[derive(Debug)]
struct Instance {
    is_client: Option<bool>,
    /// The number of the last flight that was sent, from 1.
    last: u8,
    is_done: bool,
    now: Instant,
    /// When the last flight is sent again.
    due: Option<Instant>,
    timeout: Duration,
    out: VecDeque<Out>,
}

impl Instance {
    fn send(&mut self, number: u8) {
        self.last = number;
        let mut flight = vec![0; FLIGHTS[usize::from(number - 1)]];
        (flight[0], flight[1]) = (HANDSHAKE, number);
        self.out.push_back(Out::Packet(flight));
        self.due = (number < 4).then(|| self.now + self.timeout);
    }

    fn on_flight(&mut self, number: u8) {
        if number + 1 == self.last {
            self.send(self.last);
        } else if number == self.last + 1 && !self.is_done {
            self.timeout = TIMEOUT;
            self.due = None;
            if number == 2 || number == 3 {
                self.out.push_back(Out::Certificate);
            }
            if number < 4 {
                self.send(number + 1);
            }
            if number >= 3 {
                self.is_done = true;
                self.out.extend([Out::Keys, Out::Connected]);
            }
        }
    }
}

impl DtlsInstance for Instance {
    fn set_active(&mut self, active: bool) {
        if self.is_client.replace(active).is_none() && active {
            self.send(1);
        }
    }

    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        match *packet {
            [HANDSHAKE, number, ..] => self.on_flight(number),
            [DATA, ..] if self.is_done && packet.len() > BEFORE + AFTER => {
                self.out.push_back(Out::Data(packet[BEFORE..packet.len() - AFTER].to_vec()));
            }
            _ => {}
        }
        Ok(())
    }

    fn poll_output<'a>(&mut self, buf: &'a mut [u8]) -> DtlsOutput<'a> {
        let mut copy = |bytes: &[u8]| buf[..bytes.len()].copy_from_slice(bytes);
        match self.out.pop_front() {
            Some(Out::Packet(packet)) => {
                copy(&packet);
                DtlsOutput::Packet(&buf[..packet.len()])
            }
            Some(Out::Data(data)) => {
                copy(&data);
                DtlsOutput::ApplicationData(&buf[..data.len()])
            }
            Some(Out::Certificate) => {
                copy(&CERTIFICATE);
                DtlsOutput::PeerCert(&buf[..CERTIFICATE.len()])
            }
            Some(Out::Keys) => {
                let profile = SrtpProfile::AEAD_AES_128_GCM;
                DtlsOutput::KeyingMaterial(KeyingMaterial::new(&vec![0; profile.keying_material_len()]), profile)
            }
            Some(Out::Connected) => DtlsOutput::Connected,
            None => DtlsOutput::Timeout(self.due.unwrap_or(self.now + NEVER)),
        }
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.now = now;
        if self.due.is_some_and(|due| due <= now) {
            self.timeout *= 2;
            self.send(self.last);
        }
        Ok(())
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<usize, DtlsImplError> {
        if !self.is_done {
            // Asked again later.
            return Ok(0);
        }
        let mut record = vec![0; BEFORE + data.len() + AFTER];
        record[0] = DATA;
        record[BEFORE..BEFORE + data.len()].copy_from_slice(data);
        self.out.push_back(Out::Packet(record));
        Ok(data.len())
    }

    fn is_active(&self) -> bool {
        self.is_client == Some(true)
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        self.is_done.then_some(ProtocolVersion::DTLS1_2)
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        Ok(())
    }
}
