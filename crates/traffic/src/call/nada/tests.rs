//! The equations of RFC 8698 worked by hand, and the controller against a literal transcription of its pseudo-code.

use aqmkit_base::Rng;

use super::*;

const BOUNDS: Bounds = Bounds { least: 150e3, most: 1.5e6 };

fn controller(rate: f64) -> Nada {
    Nada::new(rate, BOUNDS, 1.0, 30.0)
}

fn ms(ms: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(ms / 1000.0)
}

fn near(is: f64, wanted: f64) {
    assert!((is - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{is} in place of {wanted}");
}

#[test]
fn the_ramp_is_bounded_by_the_queue_that_it_may_cause() {
    // 50 / (100 + 100 + 120); with an RTT of zero 50 / 220, still below the bound of 0.5.
    near(gamma(100.0), 0.15625);
    near(gamma(0.0), 50.0 / 220.0);
    let mut nada = controller(200e3);
    // 500 bytes every 10 ms, 400 kbit/s, and no queue.
    (1..=60).for_each(|i| nada.packet(ms(10.0 * f64::from(i)), ms(10.0 * f64::from(i) + 50.0), 500, false));
    nada.report(ms(700.0), ms(650.0), Duration::from_millis(100));
    // 51 packets in the half second up to 650 ms, both ends included.
    near(nada.rate(), 1.15625 * 51.0 * 4000.0 / 0.5);
    // The rate never falls while ramping up.
    nada.rate = 1.2e6;
    nada.report(ms(700.0), ms(650.0), Duration::from_millis(100));
    near(nada.rate(), 1.2e6);
}

#[test]
fn the_gradual_update_follows_offset_and_change() {
    let mut nada = controller(1e6);
    nada.before = 15.0;
    // Offset 20 - 10 * 1.5 = 5: 0.5 * (100 / 500) * (5 / 500) * 1 Mbit/s = 1000; the change of the signal by 5 takes 5
    // / 500 of the rate, 10000.
    near(nada.gradual(20.0, 100.0), 989_000.0);
    // At the equilibrium signal PRIO XREF RMAX / r the rate is constant.
    nada.before = 15.0;
    near(nada.gradual(15.0, 100.0), 1e6);
    // With double weight the rate grows at the same signal: offset 15 - 30.
    nada.priority = 2.0;
    near(nada.gradual(15.0, 100.0), 1e6 * (1.0 + 0.5 * 0.2 * 15.0 / 500.0));
}

#[test]
fn warping_begins_at_50_ms_and_lowers_longer_delays() {
    near(warped(49.0), 49.0);
    near(warped(50.0), 50.0);
    near(warped(100.0), 50.0 * 0.606_530_659_712_633_4);
    near(warped(300.0), 50.0 * 0.082_084_998_623_898_8);
}

#[test]
fn the_signal_adds_squares_of_the_ratios() {
    let mut nada = controller(1e6);
    for i in 0..50 {
        if i == 25 {
            nada.lost(Duration::from_millis(100));
        } else {
            nada.packet(ms(10.0 * f64::from(i)), ms(10.0 * f64::from(i) + 50.0), 500, i == 40);
        }
    }
    // One packet of 50 lost, one marked: ratios of 2 %, after smoothing 0.2 %.
    near(nada.signal(), 2.0 * 0.04 + 10.0 * 0.04);
    near(nada.signal(), (2.0 + 10.0) * (0.38_f64).powi(2));
    nada.loss_ratio = 0.5;
    near(nada.signal(), LARGEST);
}

#[test]
fn the_last_loss_expires_over_an_interval() {
    let mut nada = controller(1e6);
    let mut n = 0.0;
    let mut come = |to: &mut Nada, count: usize, delay: f64| {
        for _ in 0..count {
            n += 1.0;
            to.packet(ms(10.0 * n), ms(10.0 * n + delay), 500, false);
        }
    };
    come(&mut nada, 1, 20.0);
    come(&mut nada, 98, 120.0);
    nada.lost(Duration::from_millis(100));
    come(&mut nada, 700, 120.0);
    // The average interval is 100 packets: the loss expires from 700 packets after it, completely at 800.
    near(nada.delay(), warped(100.0));
    come(&mut nada, 25, 120.0);
    near(nada.delay(), 0.75 * warped(100.0) + 0.25 * 100.0);
    come(&mut nada, 75, 120.0);
    near(nada.delay(), 100.0);
    come(&mut nada, 500, 120.0);
    near(nada.delay(), 100.0);
}

#[test]
fn the_smallest_of_fifteen_delays_counts() {
    let mut nada = controller(1e6);
    for i in 0..30 {
        let delay = if i == 14 {
            3.0
        } else if i == 0 {
            0.0
        } else {
            30.0
        };
        nada.packet(ms(10.0 * f64::from(i)), ms(10.0 * f64::from(i) + 50.0 + delay), 500, false);
        let wanted = match i {
            0..=14 => 0.0,
            15..=28 => 3.0,
            _ => 30.0,
        };
        near(nada.delay(), wanted);
    }
}

#[test]
fn a_mark_a_loss_or_a_queue_ends_the_ramp_for_half_a_second() {
    let with = |marked: bool, lost: bool, delay: f64| {
        let mut nada = controller(1e6);
        for i in 0..100 {
            let now = 10.0 * f64::from(i);
            if i == 20 && lost {
                nada.lost(Duration::from_millis(100));
            } else {
                let queue = if i == 20 { delay } else { 0.0 };
                nada.packet(ms(now), ms(now + 50.0 + queue), 500, marked && i == 20);
            }
        }
        let ramps = |made: f64| {
            let mut then = nada.clone();
            then.window.retain(|seen| seen.at <= ms(made));
            then.report(ms(made), ms(made), Duration::from_millis(100));
            then.ramps_up()
        };
        (ramps(400.0), ramps(800.0))
    };
    assert_eq!(with(false, false, 9.0), (true, true));
    assert_eq!(with(false, false, 10.0), (false, true), "from QEPS on");
    assert_eq!(with(false, false, 11.0), (false, true));
    assert_eq!(with(true, false, 0.0), (false, true));
    assert_eq!(with(false, true, 0.0), (false, true));
}

#[test]
fn a_buffer_of_2000_bytes_changes_the_rates_by_48_kbit() {
    // The example at the end of section 5.2.2.
    let nada = controller(1e6);
    near(nada.video(2000.0), 952e3);
    near(nada.sending(2000.0), 1048e3);
    // At most by 5 %, and within the bounds.
    near(nada.video(1e6), 950e3);
    near(controller(1.5e6).sending(1e6), 1.5e6);
    near(controller(150e3).video(1e6), 150e3);
}

#[test]
fn silence_halves_the_rate_down_to_the_least() {
    let mut nada = controller(1e6);
    nada.silence();
    near(nada.rate(), 0.5e6);
    (0..5).for_each(|_| nada.silence());
    near(nada.rate(), 150e3);
}

#[test]
fn the_first_update_counts_from_the_start_of_the_call() {
    let mut nada = controller(1e6);
    nada.start(ms(5000.0));
    // A mark without a queue: the signal is 2 (0.1 * 0.5 / 0.01)^2 = 50 ms, the offset 50 - 15, the change 50.
    nada.packet(ms(5000.0), ms(5050.0), 500, true);
    nada.packet(ms(5010.0), ms(5060.0), 500, false);
    nada.report(ms(5200.0), ms(5100.0), Duration::from_millis(100));
    near(nada.rate(), 1e6 * (1.0 - 0.5 * 0.4 * 35.0 / 500.0 - 0.5 * 2.0 * 50.0 / 500.0));
    // The next update counts from this one; half a second later the mark has left the window.
    let before = nada.rate();
    nada.packet(ms(5290.0), ms(5340.0), 500, false);
    nada.report(ms(5400.0), ms(5350.0), Duration::from_millis(100));
    let signal = 2.0 * ((0.1 / 3.0 + 0.9 * 0.05) / 0.01_f64).powi(2);
    let offset = signal - 15.0 * 1e6 / before;
    near(nada.rate(), before * (1.0 - 0.5 * 0.4 * offset / 500.0 - (signal - 50.0) / 500.0));
}

#[test]
fn one_marked_packet_is_a_ratio_of_one() {
    let mut nada = controller(1e6);
    near(nada.signal(), 0.0);
    nada.packet(ms(0.0), ms(50.0), 500, true);
    near(nada.signal(), 2.0 * (0.1 / 0.01_f64).powi(2));
}

#[test]
fn what_arrived_half_a_second_ago_still_counts() {
    let mut nada = controller(1e6);
    nada.packet(ms(0.0), ms(50.0), 500, false);
    nada.packet(ms(100.0), ms(150.0), 700, false);
    nada.report(ms(650.0), ms(550.0), Duration::from_millis(100));
    near(nada.received(), 1200.0 * 8.0 / 0.5);
    nada.report(ms(650.0), ms(551.0), Duration::from_millis(100));
    near(nada.received(), 700.0 * 8.0 / 0.5);
}

/// The pseudo-code of sections 4.2 and 4.3. It keeps all packets and searches them again for each report.
mod literal {
    /// Times in milliseconds; `arrived` is `None` for a lost packet.
    #[derive(Clone, Copy)]
    pub(super) struct Packet {
        pub(super) sent: f64,
        pub(super) arrived: Option<f64>,
        pub(super) bits: f64,
        pub(super) marked: bool,
    }

    pub(super) struct Flow {
        pub(super) packets: Vec<Packet>,
        pub(super) p_loss: f64,
        pub(super) p_mark: f64,
        pub(super) r_ref: f64,
        pub(super) x_prev: f64,
        pub(super) t_last: f64,
    }

    impl Flow {
        pub(super) fn on_report(&mut self, t_curr: f64, made: f64, rtt: f64) {
            // Arrival of each packet; for a lost one, of the next received packet.
            let at = |i: usize| self.packets[i..].iter().find_map(|p| p.arrived).unwrap();
            let recent: Vec<usize> = (0..self.packets.len()).filter(|&i| made - at(i) <= 500.0 + 1e-9).collect();
            let arrived: Vec<&Packet> = self.packets.iter().filter(|p| p.arrived.is_some()).collect();
            let d_queue: Vec<f64> = (0..arrived.len())
                .map(|i| {
                    let d_fwd = |p: &Packet| p.arrived.unwrap() - p.sent;
                    let d_base = arrived[..=i].iter().map(|p| d_fwd(p)).fold(f64::INFINITY, f64::min);
                    d_fwd(arrived[i]) - d_base
                })
                .collect();
            let filtered = d_queue[d_queue.len().saturating_sub(15)..].iter().copied().fold(f64::INFINITY, f64::min);
            let share = |which: &dyn Fn(&Packet) -> bool| {
                recent.iter().filter(|&&i| which(&self.packets[i])).count() as f64 / recent.len() as f64
            };
            self.p_loss = 0.1 * share(&|p| p.arrived.is_none()) + 0.9 * self.p_loss;
            self.p_mark = 0.1 * share(&|p| p.marked) + 0.9 * self.p_mark;
            let d_tilde = self.warp(filtered, rtt);
            let x_curr = d_tilde + 2.0 * (self.p_mark / 0.01).powi(2) + 10.0 * (self.p_loss / 0.01).powi(2);
            let x_curr = x_curr.min(3276.7);
            let sign = |i: &usize| {
                let p = &self.packets[*i];
                let before = self.packets[..*i].iter().filter(|earlier| earlier.arrived.is_some()).count();
                p.arrived.is_none() || p.marked || d_queue[before] >= 10.0
            };
            let delta = t_curr - self.t_last;
            if recent.iter().any(sign) {
                let x_offset = x_curr - 10.0 * 1.5e6 / self.r_ref;
                let x_diff = x_curr - self.x_prev;
                self.r_ref = self.r_ref
                    - 0.5 * (delta / 500.0) * (x_offset / 500.0) * self.r_ref
                    - 0.5 * 2.0 * (x_diff / 500.0) * self.r_ref;
            } else {
                let r_recv = recent.iter().map(|&i| self.packets[i].bits).sum::<f64>() / 0.5;
                let gamma = (50.0 / (rtt + 100.0 + 120.0)).min(0.5);
                self.r_ref = self.r_ref.max((1.0 + gamma) * r_recv);
            }
            self.r_ref = self.r_ref.clamp(150e3, 1.5e6);
            (self.x_prev, self.t_last) = (x_curr, t_curr);
        }

        /// Recomputes the loss events from all packets.
        fn warp(&self, d_queue: f64, rtt: f64) -> f64 {
            let at = |i: usize| self.packets[i..].iter().find_map(|p| p.arrived).unwrap();
            let lost: Vec<usize> = (0..self.packets.len()).filter(|&i| self.packets[i].arrived.is_none()).collect();
            let Some(last) = lost.last() else { return d_queue };
            let mut events: Vec<usize> = Vec::new();
            for &i in &lost {
                if events.last().is_none_or(|&event| at(i) - at(event) >= rtt - 1e-9) {
                    events.push(i);
                }
            }
            let mut intervals: Vec<f64> = vec![events[0] as f64 + 1.0];
            intervals.extend(events.windows(2).map(|pair| (pair[1] - pair[0]) as f64));
            intervals.reverse();
            let weights = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
            let n = intervals.len().min(8);
            let (mut sum, mut total) = (0.0, 0.0);
            for i in 0..n {
                sum += intervals[i] * weights[i];
                total += weights[i];
            }
            let loss_int = sum / total;
            let since = (self.packets.len() - 1 - last) as f64;
            let d_tilde = if d_queue < 50.0 { d_queue } else { 50.0 * (-0.5 * (d_queue - 50.0) / 50.0).exp() };
            if since < 7.0 * loss_int {
                d_tilde
            } else if since < 8.0 * loss_int {
                let part = (since - 7.0 * loss_int) / loss_int;
                part * d_queue + (1.0 - part) * d_tilde
            } else {
                d_queue
            }
        }
    }
}

#[test]
fn it_computes_what_the_pseudo_code_computes() {
    let (mut ramps, mut falls) = (0, 0);
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "nada");
        // Idle, congested, lossy and marking paths; the queueing delay oscillates slowly.
        let (loss, mark) = ([0.0, 0.0, 0.01, 0.1][(seed % 4) as usize], [0.0, 0.02][(seed / 4 % 2) as usize]);
        let height = [5.0, 40.0, 200.0][(seed % 3) as usize];
        let mut nada = controller(300e3);
        let packets = Vec::new();
        let mut flow = literal::Flow { packets, p_loss: 0.0, p_mark: 0.0, r_ref: 300e3, x_prev: 0.0, t_last: 0.0 };
        nada.start(ms(0.0));
        let (mut now, mut last) = (0.0, 0.0_f64);
        for report in 1..80 {
            let made = f64::from(report) * 100.0;
            let mut reported = false;
            while now < made - 60.0 {
                now += 4.0 + 10.0 * rng.uniform();
                let queue = height * (1.0 + libm::sin(now / 900.0)) / 2.0 * rng.uniform();
                // No reordering; times in whole microseconds.
                let arrived = libm::round(1000.0 * (now + 20.0 + queue).max(last + 0.01)) / 1000.0;
                let (sent, bytes) = (libm::round(now * 1000.0) / 1000.0, 100 + (1100.0 * rng.uniform()) as u32);
                let lost = now < made - 100.0 && rng.chance(loss);
                let marked = !lost && rng.chance(mark);
                if lost {
                    nada.lost(Duration::from_millis(120));
                } else {
                    nada.packet(ms(sent), ms(arrived), bytes, marked);
                    last = arrived;
                }
                let arrived = (!lost).then_some(arrived);
                flow.packets.push(literal::Packet {
                    sent,
                    arrived,
                    bits: if lost { 0.0 } else { 8.0 * f64::from(bytes) },
                    marked,
                });
                reported = !lost;
            }
            if !reported {
                // A report must end with a received packet.
                continue;
            }
            let before = nada.rate();
            nada.report(ms(made + 30.0), ms(made), Duration::from_millis(120));
            flow.on_report(made + 30.0, made, 120.0);
            assert!(
                (nada.rate() - flow.r_ref).abs() < 1.0,
                "seed {seed}, report {report}: {} {}",
                nada.rate(),
                flow.r_ref
            );
            ramps += usize::from(nada.rate() > before);
            falls += usize::from(nada.rate() < before);
        }
    }
    assert!(ramps > 200 && falls > 200, "both modes were seen: {ramps} {falls}");
}
