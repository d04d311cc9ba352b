//! Rates of TCP, and couplings of congestion controls.

use aqmkit_aqm::disciplines::{dcn, dualq};
use aqmkit_base::{BitRate, Bytes, Duration};

use super::{count, formula, per_second, probability, rate, share, table, time};

table![
    FriendlyBound,
    Rate,
    RateTimeouts,
    RateFull,
    CubicRate,
    RelentlessRate,
    DctcpStepShare,
    Epoch,
    AimdConstant,
    CubicConstant,
    CubicSwitch,
    CubicSwitchRate,
    DctcpRate,
    CouplingConstant,
    CoupledProbability,
    CouplingFactor,
    CouplingShift,
    CoupledRateRatio,
    BottleneckPenalty,
    DcnDropProbability,
    DcnDecrement,
    DcnReference,
];

formula! {
    /// The rate of a TCP-friendly flow, in bytes per second: `1.5 sqrt(2/3) B / (R sqrt(p))`.
    "tcp-friendly-bound", "Parris 2001, section III 2.3.2, eq 3.1 (first)",
    FriendlyBound { packet: Bytes, rtt: Duration, loss: f64 },
    |a| {
        let p = probability("loss", a.loss)?;
        rate(8.0 * 1.5 * (2.0_f64 / 3.0).sqrt() * a.packet.as_f64() / (a.rtt.as_secs_f64() * p.sqrt()))
    }
}

/// Equation 1 of RED-PD: packets per second.
pub(super) fn reno(rtt: Duration, loss: f64) -> f64 {
    1.5_f64.sqrt() / (rtt.as_secs_f64() * loss.sqrt())
}

formula! {
    /// The packets per second of TCP without timeouts: `sqrt(1.5) / (r sqrt(p))`.
    "tcp-rate", "Mahajan and Floyd 2001, eq 1",
    Rate { rtt: Duration, loss: f64 },
    |a| per_second(reno(a.rtt, probability("loss", a.loss)?))
}

formula! {
    /// The packets per second of TCP Reno with timeouts.
    "tcp-rate-timeouts", "Mahajan and Floyd 2001, eq 2",
    RateTimeouts { rtt: Duration, loss: f64, rto: Option<Duration> = None },
    |a| {
        let (r, p) = (a.rtt.as_secs_f64(), probability("loss", a.loss)?);
        let rto = a.rto.map_or(4.0 * r, Duration::as_secs_f64);
        let timeouts = rto * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
        per_second(1.0 / (r * (2.0 * p / 3.0).sqrt() + timeouts))
    }
}

formula! {
    /// The packets per second of TCP Reno, with `b` segments for each acknowledgement and a first timeout `rto`: `1 / (r sqrt(2bp/3) + rto min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2))`.
    "tcp-rate-full", "Padhye, Firoiu, Towsley and Kurose 1998, eq 30",
    RateFull { rtt: Duration, loss: f64, b: Option<f64> = None, rto: Duration },
    |a| {
        let (r, p, b) = (a.rtt.as_secs_f64(), probability("loss", a.loss)?, a.b.unwrap_or(1.0));
        let timeouts = a.rto.as_secs_f64() * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
        per_second(1.0 / (r * (2.0 * b * p / 3.0).sqrt() + timeouts))
    }
}

formula! {
    /// Packet rate of CUBIC, or of Reno if that is higher: `(C (3 + b) / (4 (1 - b)))^(1/4) (r / p)^(3/4) / r`.
    "cubic-rate", "RFC 9438, section 5.1, eq 5; section 4.3",
    CubicRate { rtt: Duration, loss: f64, c: Option<f64> = None, decrease: Option<f64> = None },
    |a| {
        let (r, p) = (a.rtt.as_secs_f64(), probability("loss", a.loss)?);
        let (c, b) = (a.c.unwrap_or(0.4), a.decrease.unwrap_or(0.7));
        let cubic = (c * (3.0 + b) / (4.0 * (1.0 - b))).powf(0.25) * (r / p).powf(0.75) / r;
        per_second(cubic.max(reno(a.rtt, p)))
    }
}

formula! {
    /// Packet rate of a control that reduces its window by one segment per signal: `1 / (p r)`.
    "relentless-rate", "Mathis 2009: one segment more in a round trip, p times the window less",
    RelentlessRate { rtt: Duration, signal: f64 },
    |a| per_second(1.0 / (probability("signal", a.signal)? * a.rtt.as_secs_f64()))
}

formula! {
    /// The marking probability of a DCTCP flow with a step at `threshold` packets: `alpha^2 (1 - alpha / 4) = (2 W + 1)
    /// / (W + 1)^2` with `W = C r / P + K`, about `sqrt(2 / W)`.
    "dctcp-step-share", "Alizadeh et al. 2010, section 3.3, eqs 5 and 6",
    DctcpStepShare { rate: BitRate, rtt: Duration, packet: Bytes, threshold: f64 },
    |a| {
        let w = a.rate.as_bps() as f64 * a.rtt.as_secs_f64() / (8.0 * a.packet.as_f64()) + a.threshold;
        let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        // The left side increases on 0 to 1: bisection.
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if middle * middle * (1.0 - middle / 4.0) < right { low = middle } else { high = middle }
        }
        share(low)
    }
}

formula! {
    /// The time between two drops of a TCP flow: `1 / (f p) = r / sqrt(1.5 p)`.
    "tcp-epoch", "Mahajan and Floyd 2001, section 4.1",
    Epoch { rtt: Duration, loss: f64 },
    |a| time(1.0 / (reno(a.rtt, probability("loss", a.loss)?) * a.loss))
}

formula! {
    /// The constant of `rate = K / (T sqrt(p))` when the window grows by `a` per round trip and shrinks to `b` of itself: `sqrt(a (1 + b) / (2 (1 - b)))`.
    "aimd-constant", "De Schepper et al., eqs 1 and 3",
    AimdConstant { increase: f64, decrease: f64 },
    |a| share((a.increase * (1.0 + a.decrease) / (2.0 * (1.0 - a.decrease))).sqrt())
}

formula! {
    /// The constant of Cubic's `rate = K / (p^(3/4) T^(1/4))`: `(C (3 + b) / (4 (1 - b)))^(1/4)`.
    "cubic-constant", "De Schepper et al., eq 2; Ha, Rhee, Xu 2008",
    CubicConstant { c: f64, decrease: f64 },
    |a| share((a.c * (3.0 + a.decrease) / (4.0 * (1.0 - a.decrease))).powf(0.25))
}

formula! {
    /// Where Cubic leaves Reno mode, as a bound on `r T^(5/2)`: both laws give the same rate at `K_r (K_r / K_c)^2`.
    "cubic-switch", "De Schepper et al., eq 4",
    CubicSwitch { reno: f64, cubic: f64 },
    |a| share(a.reno * (a.reno / a.cubic).powi(2))
}

formula! {
    /// The rate at which Cubic leaves its Reno mode at this round trip: `bound P / T^(5/2)`.
    "cubic-switch-rate", "De Schepper et al., section 3, eq 4",
    CubicSwitchRate { rtt: Duration, packet: Bytes, bound: f64 },
    |a| rate(8.0 * a.bound * a.packet.as_f64() / a.rtt.as_secs_f64().powf(2.5))
}

formula! {
    /// The packets per second of DCTCP: `2 / (p T)` with random marks, `2 / (p^2 T)` with a step.
    "dctcp-rate", "De Schepper et al., eqs 7 to 9",
    DctcpRate { rtt: Duration, marking: f64, step: bool = false },
    |a| {
        let p = probability("marking", a.marking)?;
        per_second(2.0 / (a.rtt.as_secs_f64() * if a.step { p * p } else { p }))
    }
}

formula! {
    /// The ratio of a scalable rate's constant to a classic rate's.
    "coupling-constant", "De Schepper et al., eq 11",
    CouplingConstant { scalable: f64, classic: f64 },
    |a| share(a.scalable / a.classic)
}

formula! {
    /// The probability of a Classic drop in `dualq` where L packets are marked with `p`, with the coupling `k` (the discipline's own where it is left out): `(p_L / 2^k)^2`.
    "coupled-probability", "De Schepper et al., eq 12",
    CoupledProbability { p: f64, k: Option<f64> = None },
    |a| {
        let dualq = dualq::Params::default();
        let s_l = a.k.map_or(dualq.s_l, |k| dualq.s_c + k);
        let drop = dualq::Params { s_l, ..dualq }.coupled_drop(probability("p", a.p)?);
        share(drop.map_err(|e| e.to_string())?)
    }
}

/// Scales `constant` by the RTT that the queue adds to Classic traffic only.
fn coupling(constant: f64, base: Option<Duration>, queue: Option<Duration>) -> Result<f64, String> {
    let queue = queue.map_or(0.0, Duration::as_secs_f64);
    match base.map(Duration::as_secs_f64) {
        Some(base) => Ok(constant * (base + queue) / base),
        None if queue > 0.0 => Err("queue needs base, the round trip without queueing".to_owned()),
        None => Ok(constant),
    }
}

formula! {
    /// The coupling `2^k` for equal rates: the constant, times `(T_0 + q) / T_0` if only Classic traffic waits.
    "coupling-factor", "De Schepper et al., section 5",
    CouplingFactor { constant: f64, base: Option<Duration> = None, queue: Option<Duration> = None },
    |a| share(coupling(a.constant, a.base, a.queue)?)
}

formula! {
    /// The integer `k` closest to the coupling for equal rates.
    "coupling-shift", "De Schepper et al., section 5",
    CouplingShift { constant: f64, base: Option<Duration> = None, queue: Option<Duration> = None },
    |a| count(coupling(a.constant, a.base, a.queue)?.log2().round().abs())
}

formula! {
    /// Rate of a Reno flow relative to a DCTCP flow: `K_reno p_dc T_dc / (K_dc sqrt(p_reno) T_reno)`.
    "coupled-rate-ratio", "De Schepper et al., eq 17",
    CoupledRateRatio { reno: f64, dctcp: f64, drop: f64, mark: f64, rtt_reno: Duration, rtt_dctcp: Duration },
    |a| {
        let (p_reno, p_dc) = (probability("drop", a.drop)?, probability("mark", a.mark)?);
        let stretch = a.rtt_dctcp.as_secs_f64() / a.rtt_reno.as_secs_f64();
        share(a.reno * p_dc * stretch / (a.dctcp * p_reno.sqrt()))
    }
}

formula! {
    /// Factor by which DCTCP's rate is below Reno's over this many bottlenecks that signal alike: marks add up in
    /// `1/p`, drops in `1/sqrt(p)`.
    "bottleneck-penalty", "De Schepper et al., section 4",
    BottleneckPenalty { bottlenecks: f64 },
    |a| share(a.bottlenecks.sqrt())
}

formula! {
    /// The drop probability of a flow's packet: `1 - p_ref / pktcount`.
    "dcn-drop-probability", "Le et al. 2004, section 3.2",
    DcnDropProbability { reference: f64, count: f64 },
    |a| share(dcn::drop_probability(a.reference, a.count))
}

formula! {
    /// A flow's count after the decrement at `T_dec`, `pktcount - p_ref`; below zero the flow is removed from the
    /// table.
    "dcn-decrement", "Le et al. 2004, section 3.2",
    DcnDecrement { reference: f64, count: f64 },
    |a| count(dcn::after_t_dec(a.count, a.reference))
}

formula! {
    /// The fair share after a sample of the queue length, as in the discipline: `p_ref + a (q_before - q_ref) - b (q -
    /// q_ref)`; with `as_printed`, `a` applies to the new sample and `b` to the old one.
    "dcn-reference", "Le et al. 2004, section 3.2",
    DcnReference {
        reference: f64,
        a: f64,
        b: f64,
        queue: f64,
        queue_before: f64,
        target: f64,
        as_printed: bool = false,
    },
    |x| {
        let controller = dcn::Controller { a: x.a, b: x.b, as_printed: x.as_printed };
        count(controller.next_share(x.reference, x.queue - x.target, x.queue_before - x.target))
    }
}
