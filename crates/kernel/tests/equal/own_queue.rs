//! Adapts CSFQ, which owns its queue, to deciding on arrival.

use aqmkit_aqm::disciplines::csfq::{Csfq, Params};
use aqmkit_aqm::registry::Link;
use aqmkit_aqm::{Aqm, Cx, Discard, Env, Packet, PacketView, ParamError, Qdisc, QueueView, Verdict, Why};
use aqmkit_base::{Amount, ClassId, Ecn, FlowKey, Instant};

/// A packet in CSFQ's own queue.
#[derive(Debug)]
struct Queued(PacketView);

impl Packet for Queued {
    fn len(&self) -> u32 {
        self.0.len
    }
    fn flow(&self) -> FlowKey {
        self.0.flow
    }
    fn class(&self) -> ClassId {
        self.0.class
    }
    fn ecn(&self) -> Ecn {
        self.0.ecn
    }
    fn set_ce(&mut self) {}
}

/// CSFQ with its own queue, kept in step with the trace's queue.
pub(crate) struct OwnQueue(Csfq<Queued>);

impl Aqm for OwnQueue {
    type Params = Params;
    type Config = (Params, Link);

    fn config(params: &Params, link: &Link) -> Result<Self::Config, ParamError> {
        Ok((params.clone(), link.clone()))
    }

    fn limit((params, _): &Self::Config) -> Amount {
        params.limit
    }

    fn new((params, link): &Self::Config, now: Instant) -> Self {
        OwnQueue(Csfq::new(params, link, now).unwrap())
    }

    fn on_arrival(&mut self, _config: &Self::Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        assert_eq!(self.0.backlog().bytes, queue.bytes);
        let before = *self.0.stats();
        self.0.enqueue(Queued(pkt), &mut Cx { now: env.now, rng: env.rng, sink: &mut Discard });
        let after = self.0.stats();
        let more = |old: &[u64], new: &[u64]| {
            Why::ALL.into_iter().zip(old.iter().zip(new)).find(|(_, (a, b))| a != b).map(|(why, _)| why)
        };
        match (more(&before.dropped, &after.dropped), more(&before.marked, &after.marked)) {
            (Some(why), _) => Verdict::Drop(why),
            (None, Some(why)) => Verdict::Mark(why),
            (None, None) => Verdict::Pass,
        }
    }

    fn on_departure(
        &mut self,
        _config: &Self::Config,
        _pkt: PacketView,
        _queue: QueueView,
        env: &mut Env<'_>,
    ) -> Verdict {
        let _ = self.0.dequeue(&mut Cx { now: env.now, rng: env.rng, sink: &mut Discard });
        Verdict::Pass
    }
}
