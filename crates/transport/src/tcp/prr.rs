//! Proportional rate reduction: RFC 6937, and its successor RFC 9937.

use crate::profile::RateReduction;

/// The state of one recovery, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// Bytes in flight at the start of recovery (`RecoverFS`); 0 when PRR is not used.
    flight: u64,
    /// Delivered since (`prr_delivered`).
    delivered: u64,
    /// Sent since (`prr_out`).
    out: u64,
    /// How much the last acknowledgement lets the data in the network grow.
    window: u64,
    /// Bytes in the network, if nothing more was lost since the last acknowledgement.
    pipe: u64,
    how: RateReduction,
}

/// The input of PRR from one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Bytes delivered.
    pub(super) delivered: u64,
    /// Whether some of them are in order.
    pub(super) advances: bool,
    /// Bytes left in the network.
    pub(super) pipe: u64,
}

impl Prr {
    /// Begins recovery with this many bytes in flight.
    pub(super) fn begin(flight: u64, how: RateReduction) -> Self {
        let flight = if how == RateReduction::No { 0 } else { flight };
        Prr { flight, how, ..Prr::default() }
    }

    /// The window while PRR is active.
    pub(super) fn window(&self) -> Option<u64> {
        (self.flight > 0).then_some(self.window)
    }

    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.pipe += bytes;
    }

    /// RFC 6937 section 3, with the slow-start reduction bound; RFC 9937 section 6.2. `begun_with` bytes have already
    /// been sent and are not in `pipe`: the retransmission that begins recovery.
    pub(super) fn on_ack(&mut self, news: Delivery, begun_with: u64, ssthresh: u64, mss: u64) {
        if self.flight == 0 {
            return;
        }
        let Delivery { delivered, advances, pipe } = news;
        self.out -= begun_with;
        let safe = advances && pipe + delivered >= self.pipe;
        self.delivered += delivered;
        let send = if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            (share.div_ceil(u128::from(self.flight)) as u64).saturating_sub(self.out)
        } else {
            let more = if safe || self.how == RateReduction::Rfc6937 { mss } else { 0 };
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + more;
            limit.min(ssthresh - pipe)
        };
        self.out += begun_with;
        (self.window, self.pipe) = (pipe + send, pipe + begun_with);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(prr: &mut Prr, delivered: u64, pipe: u64) {
        prr.on_ack(Delivery { delivered, advances: false, pipe }, 0, 10, 1);
    }

    /// RFC 6937 appendix, figure 1: of twenty one is lost, and one of two acknowledgements lets one go, until
    /// ten are in flight.
    #[test]
    fn one_loss_is_answered_by_a_segment_for_every_second_acknowledgement() {
        let mut prr = Prr::begin(20, RateReduction::Rfc6937);
        let (mut pipe, mut sent) = (19_u64, Vec::new());
        for ack in 1..=18 {
            pipe -= 1;
            news(&mut prr, 1, pipe);
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
        let mut prr = Prr::begin(20, RateReduction::Rfc6937);
        news(&mut prr, 1, 4);
        assert_eq!(prr.window(), Some(6));
        prr.on_sent(2);
        news(&mut prr, 1, 5);
        assert_eq!(prr.window(), Some(7));
        news(&mut prr, 9, 1);
        assert_eq!(prr.window(), Some(10), "not beyond the threshold");
    }

    /// RFC 9937: the delivered amount, plus one segment only if in-order data arrives and nothing else is lost.
    #[test]
    fn while_losses_go_on_it_sends_what_was_delivered() {
        let mut prr = Prr::begin(20, RateReduction::Rfc9937);
        news(&mut prr, 1, 4);
        assert_eq!(prr.window(), Some(5), "nothing new in order");
        prr.on_sent(1);
        prr.on_ack(Delivery { delivered: 1, advances: true, pipe: 3 }, 0, 10, 1);
        assert_eq!(prr.window(), Some(4), "five less one are four, so one more was lost");
        prr.on_sent(1);
        prr.on_ack(Delivery { delivered: 1, advances: true, pipe: 3 }, 0, 10, 1);
        assert_eq!(prr.window(), Some(5), "all is well");
    }
}
