//! `HyStart++` (RFC 9406): leaves slow start when round trips get longer, before anything is lost.
//!
//! If a round's minimum round trip exceeds the previous round's by an eighth (4 to 16 ms), conservative slow start
//! begins, which is a quarter as fast. After five rounds of it slow start ends; a shorter round trip meanwhile shows a
//! false alarm.

use aqmkit_base::Duration;

use super::Step;
use crate::congestion::Cx;

/// RFC 9406 section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Maximum segments that one acknowledgement adds, without pacing.
const L: u64 = 8;

/// The state of slow start.
#[derive(Clone, Copy, Debug)]
pub(in crate::congestion) struct PlusPlus {
    /// The round ends when this byte is acknowledged.
    left: u64,
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    /// Conservative slow start: the round trip at which it began, and the number of its rounds that have ended.
    conservative: Option<(Duration, u32)>,
}

impl PlusPlus {
    pub(super) const fn new() -> Self {
        PlusPlus { left: 0, last_round: None, this_round: None, samples: 0, conservative: None }
    }

    /// RFC 9406 section 4.2.
    pub(super) fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) -> Step {
        if self.left == 0 && self.end_round(acked, cx) {
            return Step::End;
        }
        self.left = self.left.saturating_sub(acked);
        if let Some(sample) = cx.sample {
            self.this_round = Some(self.this_round.map_or(sample, |least| least.min(sample)));
            self.samples += 1;
        }
        self.judge();
        let growth = acked.min(L * cx.mss());
        Step::Grow(if self.conservative.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth })
    }

    /// Begins a round with the data in flight; the previous one has ended. Returns whether slow start has.
    fn end_round(&mut self, acked: u64, cx: &Cx<'_>) -> bool {
        self.left = cx.flight.max(acked);
        self.last_round = self.this_round.take().or(self.last_round);
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1;
            return *rounds >= CSS_ROUNDS;
        }
        false
    }

    fn judge(&mut self) {
        let Some(now) = self.this_round.filter(|_| self.samples >= N_RTT_SAMPLE) else { return };
        match (self.conservative, self.last_round) {
            (Some((baseline, _)), _) if now < baseline => self.conservative = None,
            (None, Some(last)) => {
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if now >= last + threshold {
                    self.conservative = Some((now, 0));
                }
            }
            _ => {}
        }
    }
}
