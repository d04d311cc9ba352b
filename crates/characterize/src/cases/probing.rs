//! The cases of probing for bandwidth.

use aqmkit_base::Duration;
use aqmkit_sim::scenario::Loss;
use aqmkit_transport::congestion::Phase;

use super::scene::{Feed, Look, Path, Scene};
use super::startup::ROOMY;
use super::{Found, Hosts, Miss, ensure};

/// The same path with room for half of what it holds.
const SHORT: Path = Path { queue: 33, ..ROOMY };

/// Goes to the moment at which the next phase of this kind begins.
pub(super) fn to(scene: &mut Scene, phase: Phase) -> Result<Look, Miss> {
    scene.wait("another phase", 20.0, |look| Ok(look.state()?.phase != phase))?;
    scene.wait(phase.name(), 20.0, |look| Ok(look.state()?.phase == phase))
}

/// Shows the moments until this phase ends. Returns the last one in it and the first one after it.
fn through(scene: &mut Scene, first: Look, seconds: f64) -> Result<(Look, Look), Miss> {
    let phase = first.state()?.phase;
    let mut last = first;
    let after = scene.wait(&format!("the end of {}", phase.name()), seconds, |look| {
        let over = look.state()?.phase != phase;
        if !over {
            last = *look;
        }
        Ok(over)
    })?;
    Ok((last, after))
}

/// Case 5.
pub(super) fn up_plateau(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let first = to(&mut scene, Phase::Up)?;
    let (_, after) = through(&mut scene, first, 3.0)?;
    let (begun, model) = (first.state()?, after.state()?);
    ensure(after.drops == first.drops, || "packets were lost".to_owned())?;
    ensure(model.phase == Phase::Down, || format!("ProbeBW_UP went to {}", model.phase.name()))?;
    ensure(model.full_bw_now && model.full_bw_count == 3, || {
        format!("after {} rounds without growth", model.full_bw_count)
    })?;
    Ok(format!(
        "ProbeBW_DOWN after {} rounds, {} of them without growth",
        model.rounds - begun.rounds,
        model.full_bw_count
    ))
}

/// Case 6.
pub(super) fn up_loss_while_limited(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    to(&mut scene, Phase::Up)?;
    scene.feed(Feed::Rate(10_000_000));
    // A round trip later what is delivered was sent with nothing left to send.
    let before = scene.pass(0.06)?.state()?;
    ensure(before.phase == Phase::Up, || format!("app-limited it went to {}", before.phase.name()))?;
    scene.change(|link| link.wire.loss = Loss::Every { n: 10, burst: 1 })?;
    let after = scene.wait("the end of ProbeBW_UP", 2.0, |look| Ok(look.state()?.phase != Phase::Up))?.state()?;
    ensure(after.phase == Phase::Down, || format!("ProbeBW_UP went to {}", after.phase.name()))?;
    ensure(!after.full_bw_now, || "it was the plateau that ended it".to_owned())?;
    Ok(format!("ProbeBW_DOWN after {} rounds with losses", after.rounds - before.rounds))
}

/// Case 8. Two segments that leave with the acknowledgement count as in flight already.
pub(super) fn down_by_inflight(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(SHORT, hosts)?;
    to(&mut scene, Phase::Up)?;
    let first = to(&mut scene, Phase::Down)?;
    let gain = first.state()?.pacing_gain;
    ensure((gain - 0.9).abs() < 1e-9, || format!("the pacing gain is {gain}"))?;
    let (_, after) = through(&mut scene, first, 4.0)?;
    let model = after.state()?;
    ensure(model.phase == Phase::Cruise, || format!("ProbeBW_DOWN went to {}", model.phase.name()))?;
    let product = model.max_bw * model.min_rtt.map_or(0.0, Duration::as_secs_f64);
    let bound = model.inflight_with_headroom.map_or(product, |bound| product.min(bound as f64));
    let limit = bound + (4 * scene.mss()) as f64;
    let now = after.in_flight()?;
    ensure(now as f64 <= limit, || format!("{now} bytes are in flight, the bound is {bound:.0}"))?;
    Ok(format!(
        "CRUISE after {:.0} ms, with {:.2} of the bound in flight",
        1e3 * after.seconds_since(&first),
        now as f64 / bound
    ))
}

/// Case 9. A visit to `ProbeRTT` says nothing: then the next probe counts.
pub(super) fn down_by_time(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    for _ in 0..8 {
        scene.set_rate(ROOMY.rate)?;
        to(&mut scene, Phase::Up)?;
        let first = to(&mut scene, Phase::Down)?;
        scene.set_rate(ROOMY.rate * 9 / 10)?;
        let (last, after) = through(&mut scene, first, 6.0)?;
        let (waited, model) = (after.seconds_since(&first), after.state()?);
        if model.phase == Phase::ProbeRtt {
            continue;
        }
        ensure(model.phase == Phase::Refill, || {
            format!("ProbeBW_DOWN went to {} after {waited:.2} s", model.phase.name())
        })?;
        let wait = last.state()?.bw_probe_wait.as_secs_f64();
        let rounds = model.rounds - first.state()?.rounds;
        ensure(waited > wait || rounds >= 62, || {
            format!("the wait is {wait:.2} s, but it probed after {waited:.2} s and {rounds} rounds")
        })?;
        return Ok(format!("REFILL after {waited:.2} s and {rounds} rounds; the wait is {wait:.2} s"));
    }
    Err(Miss::Broken("ProbeRTT came each time".to_owned()))
}

/// Case 15. Without the state: nine tenths of the new rate within 15 s.
pub(super) fn faster(hosts: &Hosts) -> Found {
    let slow = Path { rate: 10_000_000, rtt_ms: 40, queue: 17 };
    let mut scene = Scene::on(slow, hosts)?;
    scene.pass(8.0)?;
    scene.change(|link| link.aqm = deep(400, link))?;
    scene.set_rate(100_000_000)?;
    let (new, before) = (scene.capacity(), scene.pass(0.0)?);
    let Some(first) = before.model else {
        scene.pass(14.0)?;
        let (from, to) = (scene.pass(0.0)?, scene.pass(2.0)?);
        let share = to.goodput_since(&from) / new;
        ensure(share >= 0.9, || format!("{:.0} % of the new rate after 15 s", 100.0 * share))?;
        return Ok(format!("from outside: {:.0} % of the new rate after 15 s", 100.0 * share));
    };
    let mut steps: Vec<u64> = Vec::new();
    let (mut rounds, mut bound, mut up) = (first.rounds, first.inflight_longterm, 0_u64);
    let found = scene.wait("nine tenths of the new rate", 15.0, |look| {
        let model = look.state()?;
        if model.rounds != rounds {
            up += u64::from(model.phase == Phase::Up);
            if let (Phase::Up, Some(now), Some(then)) = (model.phase, model.inflight_longterm, bound) {
                steps.push(now.saturating_sub(then));
            }
            (rounds, bound) = (model.rounds, model.inflight_longterm);
        }
        Ok(model.max_bw * 8.0 >= 0.9 * new)
    })?;
    ensure(!steps.is_empty(), || "inflight_longterm was never set".to_owned())?;
    let most = steps.iter().copied().max().unwrap_or(0) / scene.mss();
    ensure(most >= 16, || format!("the largest step of inflight_longterm in a round is {most} segments"))?;
    let product = new / 8.0 * 0.04 / scene.mss() as f64;
    let allowed = (4.0 * product.log2()).ceil() as u64;
    ensure(up <= allowed, || format!("{up} rounds of probing, and 4 log2(BDP) are {allowed}"))?;
    Ok(format!(
        "{up} rounds of probing in {:.1} s; the largest step in a round is {most} segments",
        found.seconds_since(&before)
    ))
}

/// The discipline of a link with another limit.
fn deep(limit: u64, link: &aqmkit_sim::scenario::Link) -> aqmkit_aqm::registry::Spec {
    let table = serde_json::json!({ "limit": limit });
    aqmkit_aqm::registry::Spec::read("fifo", table).unwrap_or_else(|_| link.aqm.clone())
}

/// Case 21.
pub(super) fn loss_above_bound(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(SHORT, hosts)?;
    scene.wait("inflight_longterm", 20.0, |look| {
        let model = look.state()?;
        Ok(model.phase.is_probe_bw() && model.inflight_longterm.is_some())
    })?;
    let before = to(&mut scene, Phase::Up)?;
    scene.change(|link| link.wire.loss = Loss::Every { n: 8, burst: 1 })?;
    let (last, after) = through(&mut scene, before, 2.0)?;
    let (then, model) = (last.state()?, after.state()?);
    ensure(model.phase == Phase::Down, || format!("ProbeBW_UP went to {}", model.phase.name()))?;
    let rounds = model.rounds - before.state()?.rounds;
    ensure(!model.full_bw_now && rounds <= 3, || format!("ProbeBW_UP ended after {rounds} rounds"))?;
    let (Some(was), Some(is)) = (then.inflight_longterm, model.inflight_longterm) else {
        return Err(Miss::Broken("inflight_longterm is infinite".to_owned()));
    };
    let target = then.bdp().unwrap_or(0.0).min(then.cwnd as f64);
    ensure(is <= was && is as f64 >= 0.69 * target, || {
        format!("inflight_longterm went from {was} to {is}; the target is {target:.0}")
    })?;
    ensure(is < was, || format!("inflight_longterm stays at {is}"))?;
    Ok(format!(
        "inflight_longterm from {was} to {is} bytes, Beta of the target is {:.0}; ProbeBW_DOWN after {rounds} rounds",
        0.7 * target
    ))
}

/// Case 22.
pub(super) fn limited_refill(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let before = to(&mut scene, Phase::Refill)?.state()?;
    scene.feed(Feed::Rate(2_000_000));
    scene.wait("ProbeBW_UP", 3.0, |look| {
        let model = look.state()?;
        ensure(model.max_bw >= 0.999 * before.max_bw, || {
            format!("max_bw fell to {:.0} % of what it was", 100.0 * model.max_bw / before.max_bw)
        })?;
        ensure(matches!(model.phase, Phase::Refill | Phase::Up), || {
            format!("ProbeBW_REFILL went to {}", model.phase.name())
        })?;
        Ok(model.phase == Phase::Up)
    })?;
    let limited = scene.pass(0.5)?.state()?;
    ensure(limited.max_bw >= 0.999 * before.max_bw, || {
        format!("max_bw fell to {:.0} % of what it was", 100.0 * limited.max_bw / before.max_bw)
    })?;
    scene.feed(Feed::Full);
    let (from, to) = (scene.pass(1.0)?, scene.pass(4.0)?);
    let share = to.goodput_since(&from) / scene.capacity();
    ensure(share >= 0.9, || format!("then {:.0} % of the link are used", 100.0 * share))?;
    Ok(format!("max_bw stays; then {:.0} % of the link are used", 100.0 * share))
}
