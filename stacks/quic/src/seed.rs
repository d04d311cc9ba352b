//! Seeds of 32 bytes, and connection IDs that are counted.

use aqmkit_base::rng::derive_seed;

/// A seed for a stack's random generator.
pub fn seed(of: u64) -> [u8; 32] {
    let mut seed = [0; 32];
    for (i, part) in seed.chunks_mut(8).enumerate() {
        part.copy_from_slice(&derive_seed(of, &format!("quic.{i}")).to_be_bytes());
    }
    seed
}

/// Connection IDs of eight bytes in order; the stacks draw theirs from the system.
#[derive(Debug, Default)]
pub struct Counter(u64);

impl Counter {
    /// Bytes of an ID.
    pub const LEN: usize = 8;

    /// The destination of a client's first packets.
    pub const FIRST: [u8; Self::LEN] = [0xd5; Self::LEN];

    /// The next ID.
    pub fn next_id(&mut self) -> [u8; Self::LEN] {
        self.0 += 1;
        self.0.to_be_bytes()
    }
}
