//! The network device of an end: packets that have come, and packets to send.

use std::collections::VecDeque;

use smoltcp::phy::{self, Checksum, ChecksumCapabilities, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

#[derive(Debug)]
pub(crate) struct Device {
    mtu: usize,
    pub(crate) received: Option<Vec<u8>>,
    pub(crate) sent: VecDeque<Vec<u8>>,
}

impl Device {
    pub(crate) fn new(mtu: u16) -> Self {
        Device { mtu: usize::from(mtu), received: None, sent: VecDeque::new() }
    }
}

impl phy::Device for Device {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sending<'_>)> {
        let packet = self.received.take()?;
        Some((Received(packet), Sending(&mut self.sent)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.sent))
    }

    /// Checksums are computed, for captures; nothing damages packets on their way, and they are not verified.
    fn capabilities(&self) -> DeviceCapabilities {
        let mut checksum = ChecksumCapabilities::ignored();
        checksum.ipv4 = Checksum::Tx;
        checksum.tcp = Checksum::Tx;
        let mut all = DeviceCapabilities::default();
        all.medium = Medium::Ip;
        all.max_transmission_unit = self.mtu;
        all.checksum = checksum;
        all
    }
}

pub(crate) struct Received(Vec<u8>);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

pub(crate) struct Sending<'a>(&'a mut VecDeque<Vec<u8>>);

impl phy::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
