//! The parameters in experiment files.

use aqmkit_base::param::require;
use aqmkit_base::{Bytes, Duration, ParamError};
use serde::{Deserialize, Serialize};

/// Parameters of a QUIC stack. Their defaults are those of quinn, which noq shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Bytes of UDP payload before path MTU discovery has found more.
    pub initial_mtu: u16,
    /// Whether larger packets are probed for, up to 1452 bytes.
    pub mtu_discovery: bool,
    /// Datagrams that leave back to back at most (segmentation offload).
    pub burst: u16,
    /// Flow control: bytes of a stream that the receiver accepts ahead of its application.
    pub stream_window: Bytes,
    /// Bytes that the sender keeps until they are acknowledged.
    pub send_window: Bytes,
    /// How long a connection without packets stays open.
    pub idle_timeout: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            initial_mtu: 1200,
            mtu_discovery: true,
            burst: 10,
            stream_window: Bytes(1_250_000),
            send_window: Bytes(10_000_000),
            idle_timeout: Duration::from_secs(30),
        }
    }
}

impl Params {
    /// Checks that a stack can use them.
    ///
    /// # Errors
    /// Names the first that it cannot use.
    pub fn check(&self) -> Result<(), ParamError> {
        let mtu = self.initial_mtu;
        require((1200..=1452).contains(&mtu), "initial_mtu", mtu, "it must be from 1200 to 1452 bytes")?;
        require((1..=64).contains(&self.burst), "burst", self.burst, "it must be from 1 to 64 datagrams")?;
        let window = |field: &str, value: Bytes| {
            require((10_000..1 << 32).contains(&value.0), field, value, "it must be from 10 kB to 4 GB")
        };
        window("stream_window", self.stream_window)?;
        window("send_window", self.send_window)?;
        require(!self.idle_timeout.is_zero(), "idle_timeout", self.idle_timeout, "it must be above 0")
    }

    /// The idle timeout in milliseconds, at least one.
    pub fn idle_ms(&self) -> u64 {
        (self.idle_timeout.as_nanos() / 1_000_000).max(1)
    }
}
