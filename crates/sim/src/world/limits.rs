//! What limits the senders: a sample of their connections at each interval of the series.

use aqmkit_measure::SenderSample;

use super::World;

/// The most applications of a group that are looked at at one time: of more, others each time. With a million flows a look at all of them would
/// cost more than the events of an interval.
const MOST: usize = 512;

impl World<'_> {
    /// Takes a sample of every group.
    pub(super) fn sample_limits(&mut self) {
        let turn = self.limit_turns;
        self.limit_turns += 1;
        for group in 0..self.groups.len() {
            let members = self.meter.plan().groups[group].population();
            let step = members.div_ceil(MOST).max(1);
            for member in (turn % step..members).step_by(step) {
                for sample in self.samples_of(group, member) {
                    self.meter.sampled(group, &sample);
                }
            }
        }
    }

    /// The senders of an application's open connections.
    fn samples_of(&self, group: usize, member: usize) -> Vec<SenderSample> {
        let Some(app) = self.meter.plan().groups[group].members().nth(member) else { return Vec::new() };
        self.apps[app].conns.iter().filter_map(|(_, conn)| self.sender_sample(conn)).collect()
    }

    /// Connections of each group that are in their first slow start.
    pub(super) fn in_slow_start(&self) -> Vec<u64> {
        let of_group = |info: &aqmkit_measure::GroupInfo| {
            let conns = info.members().flat_map(|app| self.apps[app].conns.iter());
            conns.filter(|&(_, conn)| self.is_in_first_slow_start(conn)).count() as u64
        };
        self.meter.plan().groups.iter().map(of_group).collect()
    }
}
