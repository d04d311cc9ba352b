//! DCN's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::dcn::{Params, Pktcount};
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_base::size::Counting;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::dcn::{HB_LIMIT, SB_SLOTS};

use crate::number::{factor, fixed, inverse, limit, nanos};

/// DCN's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When a table or a number exceeds what the program supports.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::dcn::Config, ParamError> {
    in_range("sb_slots", f64::from(params.sb_slots), 1.0, SB_SLOTS as f64)?;
    in_range("hb_limit", f64::from(params.hb_limit), 1.0, HB_LIMIT as f64)?;
    let avpkt = params.avpkt.unwrap_or(link.mean_packet).as_f64();
    let unit = if params.limit.unit() == Counting::Bytes { avpkt } else { 1.0 };
    let count = |field, value: Option<f64>| fixed(field, value.unwrap_or(params.p_min));
    Ok(disciplines::dcn::Config {
        limit: limit(params.limit)?,
        q_ref: fixed("q_ref", params.q_ref.value())?,
        a: factor("a", params.a.unwrap_or_default() / unit)?,
        b: factor("b", params.b.unwrap_or_default() / unit)?,
        as_printed: u64::from(params.as_printed),
        t_update: nanos(params.t_update),
        t_dec: nanos(params.t_dec),
        clearing: nanos(params.clearing),
        threshold: fixed("threshold", params.threshold)?,
        p_init: count("p_init", params.p_init)?,
        p_min: count("p_min", Some(params.p_min))?,
        p_max: count("p_max", params.p_max)?,
        sb_slots: u64::from(params.sb_slots),
        hb_limit: u64::from(params.hb_limit),
        per_byte: inverse("avpkt", avpkt)?,
        count_bytes: u64::from(params.counting == Counting::Bytes),
        count_dropped: u64::from(params.pktcount == Pktcount::Arrived),
        ecn: u64::from(params.ecn),
    })
}
