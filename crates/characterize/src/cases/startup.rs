//! The cases of Startup and Drain.

use aqmkit_base::{Bytes, Duration};
use aqmkit_sim::scenario::Loss;
use aqmkit_transport::congestion::Phase;

use super::scene::{Feed, Look, Path, Scene};
use super::{Found, Hosts, Miss, ensure};

/// A path of 67 packets with so much room that a queue never overflows.
pub(super) const ROOMY: Path = Path { rate: 20_000_000, rtt_ms: 40, queue: 1000 };

/// Case 1. Without the state: the link is full, and the queue of Startup has gone a second after it was longest.
pub(super) fn plateau(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let first = scene.wait("the first data", 2.0, |look| Ok(look.delivered > 0))?;
    if first.model.is_none() {
        return plateau_from_outside(&mut scene);
    }
    let full = scene.wait("a full pipe", 5.0, |look| Ok(look.state()?.full_bw_reached))?;
    let model = full.state()?;
    ensure(model.full_bw_now && model.full_bw_count == 3, || {
        format!("full after {} rounds without growth", model.full_bw_count)
    })?;
    let off = model.max_bw * 8.0 / scene.capacity() - 1.0;
    ensure(off.abs() <= 0.02, || format!("max_bw is {:+.1} % off the link", 100.0 * off))?;
    ensure(model.phase == Phase::Drain, || format!("Startup went to {}", model.phase.name()))?;
    Ok(format!(
        "max_bw is {:+.1} % off the link when Drain begins, {:.2} s after the first data",
        100.0 * off,
        full.seconds_since(&first)
    ))
}

fn plateau_from_outside(scene: &mut Scene) -> Found {
    let mut longest = 0;
    let peak = scene.watch(1.5, |look| {
        longest = longest.max(look.queue);
        Ok(false)
    })?;
    let later = scene.pass(3.0)?;
    let used = later.goodput_since(&peak.0) / scene.capacity();
    ensure(used >= 0.95, || format!("only {:.0} % of the link are used after Startup", 100.0 * used))?;
    ensure(later.queue * 4 <= longest.max(4), || {
        format!("{} of {longest} packets of Startup's queue are still there", later.queue)
    })?;
    Ok(format!("from outside: {:.0} % of the link used, and the queue of {longest} packets has gone", 100.0 * used))
}

/// Case 2. Where little is in flight, Drain is over with the acknowledgement that begins it.
pub(super) fn loss_while_limited(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(Path { rate: 100_000_000, ..ROOMY }, hosts)?;
    scene.feed(Feed::Rate(15_000_000));
    let before = scene.pass(1.0)?.state()?;
    ensure(before.phase == Phase::Startup, || format!("app-limited it is in {}", before.phase.name()))?;
    scene.change(|link| link.wire.loss = Loss::Every { n: 4, burst: 1 })?;
    let left = scene.wait("the end of Startup", 2.0, |look| Ok(look.state()?.phase != Phase::Startup))?.state()?;
    ensure(left.phase == Phase::Drain || left.phase.is_probe_bw(), || {
        format!("Startup went to {}", left.phase.name())
    })?;
    ensure(left.full_bw_now && left.full_bw_reached, || "full_bw is not set".to_owned())?;
    ensure(left.full_bw_count < 3, || "it was the plateau that ended Startup".to_owned())?;
    Ok(format!("{} after {} rounds with losses", left.phase.name(), left.rounds - before.rounds))
}

/// Goes to the moment at which Drain begins.
fn to_drain(scene: &mut Scene) -> Result<Look, Miss> {
    scene.wait("Drain", 5.0, |look| Ok(look.state()?.phase == Phase::Drain))
}

/// The last moment of Drain and the first one after it.
fn through_drain(scene: &mut Scene, first: Look) -> Result<(Look, Look), Miss> {
    let mut last = first;
    let after = scene.wait("the end of Drain", 10.0, |look| {
        let over = look.state()?.phase != Phase::Drain;
        if !over {
            last = *look;
        }
        Ok(over)
    })?;
    Ok((last, after))
}

/// Case 3. Two segments that leave with the acknowledgement count as in flight already.
pub(super) fn drain_by_inflight(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let first = to_drain(&mut scene)?;
    let gain = first.state()?.pacing_gain;
    ensure((gain - 0.5).abs() < 1e-9, || format!("the pacing gain is {gain}"))?;
    let (last, after) = through_drain(&mut scene, first)?;
    let (model, next) = (after.state()?, after.state()?.phase);
    ensure(next.is_probe_bw(), || format!("Drain went to {}", next.name()))?;
    let product = model.bdp().unwrap_or(0.0);
    let more = 2 * scene.mss();
    let limit = product + 2.0 * more as f64;
    let (now, then) = (after.in_flight()?, last.in_flight()?);
    ensure(now as f64 <= limit, || format!("{now} bytes are in flight, the product is {product:.0}"))?;
    ensure((then + more) as f64 >= product, || format!("{then} bytes are in flight, the product is {product:.0}"))?;
    Ok(format!(
        "{} after {:.0} ms, with {:.2} products in flight",
        next.name(),
        1e3 * after.seconds_since(&first),
        now as f64 / product
    ))
}

/// Case 4. At half of the rate a queue empties on a link that is slower by 10 %, the draft's example; so the link becomes slower by 60 %.
pub(super) fn drain_by_time(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    let first = to_drain(&mut scene)?;
    scene.set_rate(ROOMY.rate * 4 / 10)?;
    let (last, after) = through_drain(&mut scene, first)?;
    let (begun, model) = (first.state()?, after.state()?);
    let product = model.bdp().unwrap_or(0.0);
    ensure(model.phase.is_probe_bw(), || format!("Drain went to {}", model.phase.name()))?;
    ensure(last.in_flight()? as f64 > product, || "inflight had come down before".to_owned())?;
    let rounds = model.rounds - begun.rounds;
    ensure((3..=4).contains(&rounds), || format!("Drain lasted {rounds} rounds"))?;
    Ok(format!(
        "{} after {rounds} rounds, with {:.2} products in flight",
        model.phase.name(),
        last.in_flight()? as f64 / product
    ))
}

/// Case 7.
pub(super) fn stays_while_limited(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    scene.feed(Feed::Rate(5_000_000));
    scene.watch(20.0, |look| {
        let model = look.state()?;
        let stays = matches!(model.phase, Phase::Startup | Phase::ProbeRtt) && !model.full_bw_reached;
        ensure(stays, || format!("app-limited, Startup went to {}", model.phase.name()))?;
        Ok(false)
    })?;
    let mut probing = Scene::on(ROOMY, hosts)?;
    probing.wait("ProbeBW_UP", 20.0, |look| Ok(look.state()?.phase == Phase::Up))?;
    probing.feed(Feed::Rate(5_000_000));
    // Bytes written earlier are still in the send buffer.
    let limited = probing.pass(0.2)?;
    if limited.state()?.phase != Phase::Up {
        return Err(Miss::Broken("ProbeBW_UP was over before the application was limited".to_owned()));
    }
    let (end, _) = probing.watch(20.0, |look| {
        let phase = look.state()?.phase;
        ensure(matches!(phase, Phase::Up | Phase::ProbeRtt), || {
            format!("app-limited, ProbeBW_UP went to {}", phase.name())
        })?;
        Ok(phase == Phase::ProbeRtt)
    })?;
    Ok(format!("20 s in Startup; in ProbeBW_UP for {:.1} s, until ProbeRTT", end.seconds_since(&limited)))
}

/// Acknowledgements come in lumps of half a round trip.
pub(super) fn in_slots(link: &mut aqmkit_sim::scenario::Link) {
    let every = Duration::from_millis(20);
    link.wire.slot = Some(aqmkit_base::wire::Slot { min: every, max: every, packets: 0, bytes: Bytes(0) });
}

/// Case 12. A sample over one round trip may hold a lump too many, half of what a round trip brings.
pub(super) fn aggregation(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    scene.change(in_slots)?;
    let full = scene.wait("a full pipe", 10.0, |look| Ok(look.state()?.full_bw_reached))?.state()?;
    let settled = scene.pass(2.0)?;
    let model = settled.state()?;
    let off = full.max_bw * 8.0 / scene.capacity() - 1.0;
    ensure((-0.05..=0.5).contains(&off), || format!("max_bw is {:+.0} % off the link when Startup ends", 100.0 * off))?;
    ensure(full.extra_acked > 0, || "extra_acked is 0".to_owned())?;
    let products = full.cwnd as f64 / full.bdp().unwrap_or(f64::INFINITY);
    ensure(products > 2.0, || format!("cwnd is {products:.2} products"))?;
    ensure(model.phase != Phase::Startup, || "it is in Startup again".to_owned())?;
    Ok(format!(
        "extra_acked {} bytes, cwnd {products:.2} products, max_bw {:+.0} % off the link",
        full.extra_acked,
        100.0 * off
    ))
}

/// Case 20.
pub(super) fn probe_rtt(hosts: &Hosts) -> Found {
    let mut scene = Scene::on(ROOMY, hosts)?;
    scene.feed(Feed::Rate(2_000_000));
    let begun = scene.wait("ProbeRTT", 12.0, |look| Ok(look.state()?.phase == Phase::ProbeRtt))?;
    ensure(!begun.state()?.full_bw_reached, || "the pipe was full before".to_owned())?;
    let after = scene.wait("the end of ProbeRTT", 3.0, |look| Ok(look.state()?.phase != Phase::ProbeRtt))?;
    let phase = after.state()?.phase;
    ensure(phase == Phase::Startup, || format!("ProbeRTT went to {}", phase.name()))?;
    scene.feed(Feed::Full);
    let full = scene.wait("a full pipe", 5.0, |look| Ok(look.state()?.full_bw_reached))?.state()?;
    let share = full.max_bw * 8.0 / scene.capacity();
    ensure(share >= 0.9, || format!("then max_bw is {:.0} % of the link", 100.0 * share))?;
    Ok(format!(
        "back in Startup after {:.0} ms; it then finds {:.0} % of the link",
        1e3 * after.seconds_since(&begun),
        100.0 * share
    ))
}
