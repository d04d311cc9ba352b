//! Samples what limits the TCP senders, once per interval of the series.

use aqmkit_measure::SenderSample;

use super::World;

/// Maximum applications of a group per sample; in a larger group, each sample has others. With a million flows,
/// sampling all would cost more than the events of an interval.
const MOST: usize = 512;

impl World<'_> {
    /// Takes a sample of every group.
    pub(super) fn sample_limits(&mut self) {
        let turn = self.limit_turns;
        self.limit_turns += 1;
        for group in 0..self.groups.len() {
            let info = &self.meter.plan().groups[group];
            let step = info.population().div_ceil(MOST).max(1);
            let apps = info.members().skip(turn % step).step_by(step);
            let open = apps.flat_map(|app| self.apps[app as u32].connections());
            let samples: Vec<SenderSample> = open.filter_map(|conn| self.sender_sample(conn)).collect();
            for sample in &samples {
                self.meter.sampled(group, sample);
            }
        }
    }

    /// Connections of each group that are in their first slow start.
    pub(super) fn in_slow_start(&self) -> Vec<u64> {
        let of_group = |info: &aqmkit_measure::GroupInfo| {
            let conns = info.members().flat_map(|app| self.apps[app as u32].connections());
            conns.filter(|&conn| self.is_in_first_slow_start(conn)).count() as u64
        };
        self.meter.plan().groups.iter().map(of_group).collect()
    }
}
