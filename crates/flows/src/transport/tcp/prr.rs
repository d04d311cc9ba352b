//! Proportional rate reduction: RFC 6937.

/// The state of one recovery. All in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// What was in flight when recovery began (`RecoverFS`); 0 when this is not used.
    flight: u64,
    /// Delivered since (`prr_delivered`).
    delivered: u64,
    /// Sent since (`prr_out`).
    out: u64,
    /// How far the last acknowledgement lets what is in the network grow.
    window: u64,
}

impl Prr {
    /// Recovery begins with so much in flight.
    pub(super) fn begin(flight: u64) -> Self {
        Prr { flight, ..Prr::default() }
    }

    /// What may be in the network, where this decides.
    pub(super) fn window(&self) -> Option<u64> {
        (self.flight > 0).then_some(self.window)
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// An acknowledgement has delivered so much, and left `pipe` in the network (RFC 6937 section 3, with the
    /// slow-start reduction bound).
    pub(super) fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64) {
        if self.flight == 0 {
            return;
        }
        self.delivered += delivered;
        let send = if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            (share.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + mss;
            limit.min(ssthresh - pipe)
        };
        self.window = pipe + send;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 appendix, figure 1: of twenty one is lost, and one of two acknowledgements lets one go, until
    /// ten are in flight.
    #[test]
    fn one_loss_is_answered_by_a_segment_for_every_second_acknowledgement() {
        let mut prr = Prr::begin(20);
        let (mut pipe, mut sent) = (19_u64, Vec::new());
        for ack in 1..=18 {
            pipe -= 1;
            prr.on_ack(1, pipe, 10, 1);
            let room = prr.window().unwrap() - pipe;
            if room > 0 {
                sent.push(ack);
            }
            prr.on_sent(room);
            pipe += room;
        }
        assert_eq!(sent, [1, 3, 5, 7, 9, 11, 13, 15, 18], "at the 17th ten are left, which is the threshold");
        assert_eq!(pipe, 10);
    }

    /// Appendix, figure 2: what is left is less than the threshold, and grows as in slow start.
    #[test]
    fn after_a_burst_of_losses_it_grows_by_two_for_each() {
        let mut prr = Prr::begin(20);
        prr.on_ack(1, 4, 10, 1);
        assert_eq!(prr.window(), Some(6));
        prr.on_sent(2);
        prr.on_ack(1, 5, 10, 1);
        assert_eq!(prr.window(), Some(7));
        prr.on_ack(9, 1, 10, 1);
        assert_eq!(prr.window(), Some(10), "not beyond the threshold");
    }
}
