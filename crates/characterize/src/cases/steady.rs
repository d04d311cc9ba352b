//! The cases of the steady state: `ProbeRTT`, idleness, aggregation, small products, slower links, policers, recovery.

use aqmkit_base::{BitRate, Duration};
use aqmkit_sim::scenario::Reorder;
use aqmkit_transport::congestion::{ModelView, Phase};

use super::probing::to;
use super::scene::{Feed, Look, Path, Scene};
use super::startup::{ROOMY, in_slots};
use super::{Found, Hosts, Miss, ensure};

/// Case 10. Without the state: every 11 s, the longest interval of a version of BBR, at most 0.6 of the product is in flight for 200 ms.
pub(super) fn probe_rtt(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    if scene.pass(3.0)?.model.is_none() {
        return probe_rtt_from_outside(&mut scene);
    }
    let begun = to(&mut scene, Phase::ProbeRtt)?;
    let model = begun.state()?;
    ensure((model.cwnd_gain - 0.5).abs() < 1e-9, || format!("the gain of the window is {}", model.cwnd_gain))?;
    let half = 0.5 * model.bdp().unwrap_or(0.0);
    let mut least = u64::MAX;
    let after = scene.wait("the end of ProbeRTT", 3.0, |look| {
        least = least.min(look.in_flight()?);
        Ok(look.state()?.phase != Phase::ProbeRtt)
    })?;
    let (lasted, next) = (after.seconds_since(&begun), after.state()?.phase);
    ensure(next.is_probe_bw(), || format!("ProbeRTT went to {}", next.name()))?;
    ensure((0.2..0.5).contains(&lasted), || format!("it lasted {:.0} ms", 1e3 * lasted))?;
    ensure(least as f64 <= half + 1.0, || {
        format!("{least} bytes were in flight at least, half of the product is {half:.0}")
    })?;
    let again = to(&mut scene, Phase::ProbeRtt)?;
    let apart = again.seconds_since(&after);
    ensure((4.9..5.6).contains(&apart), || format!("the next came after {apart:.2} s"))?;
    let used = again.goodput_since(&after) / scene.capacity();
    ensure(used >= 0.9, || format!("in between {:.0} % of the link are used", 100.0 * used))?;
    Ok(format!(
        "{:.0} ms with half of the product, the next after {apart:.2} s; in between {:.0} % of the link are used",
        1e3 * lasted,
        100.0 * used
    ))
}

fn probe_rtt_from_outside(scene: &mut Scene) -> Found {
    let product = scene.capacity() / 8.0 * scene.path.rtt_ms as f64 * 1e-3;
    let low = |look: &Look| Ok(look.in_flight()? as f64 <= 0.6 * product);
    let mut since: Option<Look> = None;
    let begun = scene.wait("200 ms with little in flight", 11.0, |look| {
        since = if low(look)? { since.or(Some(*look)) } else { None };
        Ok(since.is_some_and(|first| look.seconds_since(&first) >= 0.15))
    })?;
    let after = scene.wait("more in flight", 2.0, |look| Ok(look.in_flight()? as f64 >= 0.9 * product))?;
    Ok(format!(
        "from outside: little in flight for some {:.0} ms, then a full product again",
        150.0 + 1e3 * after.seconds_since(&begun)
    ))
}

/// Case 11.
pub(super) fn idle(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    scene.wait("ProbeBW", 10.0, |look| Ok(look.state()?.phase == Phase::Cruise))?;
    scene.feed(Feed::Nothing);
    let silent = scene.pass(6.5)?;
    ensure(silent.in_flight()? == 0, || "data is still in flight".to_owned())?;
    scene.feed(Feed::Full);
    let mut seen = false;
    scene.watch(1.0, |look| {
        let model = look.state()?;
        seen |= model.idle_restart;
        ensure(model.phase != Phase::ProbeRtt, || "it entered ProbeRTT".to_owned())?;
        Ok(false)
    })?;
    ensure(seen, || "idle_restart was not set".to_owned())?;
    Ok("idle_restart was set, and no ProbeRTT followed within 1 s".to_owned())
}

/// Case 13.
pub(super) fn aggregation(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    scene.wait("CRUISE", 10.0, |look| Ok(look.state()?.phase == Phase::Cruise))?;
    scene.change(in_slots)?;
    let before = scene.pass(2.0)?;
    let (mut least, mut most) = (u64::MAX, 0);
    let (after, _) = scene.watch(2.0, |look| {
        let extra = look.state()?.extra_acked;
        (least, most) = (least.min(extra), most.max(extra));
        Ok(false)
    })?;
    // A lump of 20 ms is half of a product.
    let lump = (scene.capacity() / 8.0 * 0.02) as u64;
    ensure(most >= lump / 2, || format!("extra_acked is at most {most} bytes, a lump has {lump}"))?;
    let used = after.goodput_since(&before) / scene.capacity();
    ensure(used >= 0.95, || format!("{:.0} % of the link are used", 100.0 * used))?;
    Ok(format!("extra_acked from {least} to {most} bytes, lumps of {lump}; {:.0} % of the link are used", 100.0 * used))
}

/// Case 14. Without the state: the link is used, by no more than 12 packets.
pub(super) fn sub_packet(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(Path { rate: 200_000, rtt_ms: 20, queue: 100 }, hosts)?;
    let before = scene.pass(20.0)?;
    let (floor, mut paced) = (4 * scene.mss(), Vec::new());
    let mut least = u64::MAX;
    let mut most = 0;
    let (after, _) = scene.watch(20.0, |look| {
        least = least.min(look.cwnd()?);
        most = most.max(look.in_flight()?);
        if let Some(model) = look.model.filter(|model| model.phase == Phase::Cruise) {
            paced.extend(model.pacing_rate.map(BitRate::as_bps));
        }
        Ok(false)
    })?;
    let used = after.goodput_since(&before) / scene.capacity();
    ensure(used >= 0.95, || format!("{:.0} % of the link are used", 100.0 * used))?;
    ensure(least >= floor, || format!("cwnd is {least} bytes, four packets are {floor}"))?;
    ensure(most <= 3 * floor, || format!("{most} bytes are in flight"))?;
    if before.model.is_some() {
        let mean = paced.iter().sum::<u64>() as f64 / paced.len().max(1) as f64 / scene.path.rate as f64;
        ensure((0.9..=1.1).contains(&mean), || format!("it is paced at {mean:.2} times the rate of the link"))?;
    }
    Ok(format!("cwnd at least {least} bytes, {:.0} % of the link are used", 100.0 * used))
}

/// Case 16, with the losses that it is about: the queue has room for the product of the faster link. Without the state: 30 s later the new
/// link is used, and at most 2 % are lost.
pub(super) fn slower(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(Path { rate: 100_000_000, rtt_ms: 40, queue: 333 }, hosts)?;
    let before = scene.pass(8.0)?;
    scene.set_rate(10_000_000)?;
    if before.model.is_none() {
        let (from, to) = (scene.pass(30.0)?, scene.pass(10.0)?);
        let used = to.goodput_since(&from) / scene.capacity();
        let lost =
            f64::from(to.drops - from.drops) * scene.mss() as f64 / (to.delivered - from.delivered).max(1) as f64;
        ensure(used >= 0.9, || format!("{:.0} % of the new link are used", 100.0 * used))?;
        ensure(lost <= 0.02, || format!("{:.1} % of the packets are lost", 100.0 * lost))?;
        return Ok(format!("from outside: {:.0} % of the new link used, {:.1} % lost", 100.0 * used, 100.0 * lost));
    }
    let then = before.state()?;
    let short = scene.wait("a short-term bound of half of the old rate", 5.0, |look| {
        Ok(look.state()?.bw_shortterm.is_some_and(|bw| bw <= 0.5 * then.max_bw))
    })?;
    let sure = scene.capacity() / 8.0;
    let down = scene.wait("a max_bw of the new rate", 60.0, |look| Ok(look.state()?.max_bw <= 1.1 * sure))?;
    let cycles = down.state()?.cycles - then.cycles;
    ensure(cycles <= 3, || format!("max_bw is the new rate after {cycles} cycles"))?;
    Ok(format!(
        "bw_shortterm after {:.2} s, max_bw after {:.1} s and {cycles} cycles",
        short.seconds_since(&before),
        down.seconds_since(&before)
    ))
}

/// Case 17: a bucket of five packets.
pub(super) fn policer(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(Path { rate: 10_000_000, rtt_ms: 40, queue: 5 }, hosts)?;
    let mut bounded = false;
    scene.watch(20.0, |look| {
        let model = look.state()?;
        bounded |= model.bw_shortterm.is_some() && model.inflight_shortterm.is_some();
        Ok(false)
    })?;
    let (from, to) = (scene.pass(0.0)?, scene.pass(20.0)?);
    let used = to.goodput_since(&from) / scene.capacity();
    let lost = f64::from(to.drops - from.drops) * scene.mss() as f64 / (to.delivered - from.delivered).max(1) as f64;
    ensure(bounded, || "the short-term bounds were never set".to_owned())?;
    ensure(lost <= 0.02, || format!("{:.1} % of the packets are lost", 100.0 * lost))?;
    ensure(used >= 0.7, || format!("{:.0} % of the rate are used", 100.0 * used))?;
    Ok(format!("{:.0} % of the rate used, {:.2} % of the packets lost", 100.0 * used, 100.0 * lost))
}

/// Checks that nothing of the model is left lowered by a loss that was none.
fn restored(before: &ModelView, look: &Look) -> Result<(), Miss> {
    let after = look.state()?;
    let lower = |was: Option<u64>, is: Option<u64>| is.is_some_and(|is| was.is_none_or(|was| is < was));
    ensure(!lower(before.inflight_longterm, after.inflight_longterm), || {
        "inflight_longterm is lower than before".to_owned()
    })?;
    ensure(!lower(before.inflight_shortterm, after.inflight_shortterm), || {
        "inflight_shortterm is lower than before".to_owned()
    })?;
    ensure(after.bw_shortterm.is_none() || before.bw_shortterm.is_some(), || {
        "bw_shortterm is lower than before".to_owned()
    })?;
    ensure(after.phase.is_probe_bw(), || format!("it is in {}", after.phase.name()))
}

/// Case 18.
pub(super) fn spurious_recovery(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let before = to(&mut scene, Phase::Up)?.state()?;
    scene.change(|link| link.wire.reorder = Some(Reorder { chance: 0.03, delay: Duration::from_millis(20) }))?;
    let lost = scene.wait("a recovery", 1.0, |look| Ok(look.tcp == "recovery"))?;
    scene.change(|link| link.wire.reorder = None)?;
    let over = scene.wait("the end of recovery", 1.0, |look| Ok(look.tcp != "recovery"))?;
    restored(&before, &over)?;
    let phase = over.state()?.phase;
    ensure(matches!(phase, Phase::Refill | Phase::Up), || format!("the probe is over: it is in {}", phase.name()))?;
    Ok(format!(
        "recovery taken back after {:.0} ms, and the probe goes on in {}",
        1e3 * over.seconds_since(&lost),
        phase.name()
    ))
}

/// Case 19: the path holds everything back for longer than the timer waits.
pub(super) fn spurious_timeout(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let up = to(&mut scene, Phase::Up)?;
    let before = up.state()?;
    scene.change(|link| link.delay = Duration::from_millis(800))?;
    scene.wait("a timeout", 3.0, |look| Ok(look.tcp == "timeout"))?;
    scene.change(|link| link.delay = Duration::from_millis(20))?;
    let over = scene.wait("the end of the timeout", 3.0, |look| Ok(look.tcp != "timeout"))?;
    restored(&before, &over)?;
    let cwnd = over.cwnd()?;
    ensure(cwnd >= before.cwnd / 2, || format!("cwnd is {cwnd} bytes, and was {}", before.cwnd))?;
    Ok(format!("taken back after {:.1} s; cwnd is {cwnd} bytes, and was {}", over.seconds_since(&up), before.cwnd))
}
