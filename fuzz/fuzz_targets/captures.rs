//! Any bytes are a file that may be a capture: replaying it ends, and every packet has one fate.

#![no_main]

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Duration};
use aqmkit_packets::Setup;
use aqmkit_packets::replay::{CaptureError, Fate, Follow, Sent, replay};
use aqmkit_packets::wire::Classes;
use libfuzzer_sys::fuzz_target;

#[derive(Default)]
struct Count {
    fates: u64,
    sent: u64,
}

impl Follow for Count {
    type Error = CaptureError;

    fn wants_bytes(&self) -> bool {
        true
    }

    fn fate(&mut self, _fate: &Fate<'_>) -> Result<(), CaptureError> {
        self.fates += 1;
        Ok(())
    }

    fn sent(&mut self, _sent: &Sent<'_>) -> Result<(), CaptureError> {
        self.sent += 1;
        Ok(())
    }
}

fuzz_target!(|data: &[u8]| {
    let Some(spec) = Spec::named("codel") else { return };
    let setup = Setup::new("fuzz", BitRate::from_mbps(100), Duration::ZERO, spec);
    let mut count = Count::default();
    if let Ok(replayed) = replay(data, &setup, &Classes::default(), &mut count) {
        let total = replayed.window.total;
        assert_eq!((count.fates, count.sent), (total.offered_packets, total.sent_packets));
        assert_eq!(total.offered_packets, total.sent_packets + total.drops());
        assert!(replayed.damage.is_none_or(|d| d.offset <= data.len() as u64));
    }
});
