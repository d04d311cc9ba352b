//! A script with segments of another size.

use aqmkit_base::Bytes;
use aqmkit_transport::Profile;

use super::{Act, Form, Quantity, Script, Step, Value, Words};

/// The script with segments of one byte. Nothing where a number of it is not of whole segments, or is a window in parts of them.
pub(crate) fn in_single_bytes(script: &Script) -> Option<Script> {
    let mss = script.profile.mss.0;
    let steps: Option<Vec<Step>> =
        script.steps.iter().map(|step| Some(Step { act: act(&step.act, mss)?, ..step.clone() })).collect();
    Some(Script { profile: profile(&script.profile), steps: steps? })
}

/// The same limits in segments; a window has room for one at least.
fn profile(p: &Profile) -> Profile {
    let segments = |bytes: Bytes| if bytes == Bytes::ZERO { bytes } else { Bytes((bytes.0 / p.mss.0).max(1)) };
    Profile {
        mss: Bytes(1),
        cwnd_limit: segments(p.cwnd_limit),
        initial_ssthresh: segments(p.initial_ssthresh),
        receive_window: segments(p.receive_window),
        gso_max_size: segments(p.gso_max_size),
        ..p.clone()
    }
}

fn whole(bytes: u64, mss: u64) -> Option<u64> {
    bytes.is_multiple_of(mss).then_some(bytes / mss)
}

/// Sequence numbers count from the SYN's 0, so that data begins with 1.
fn number(seq: u64, mss: u64) -> Option<u64> {
    seq.checked_sub(1).map_or(Some(0), |bytes| Some(whole(bytes, mss)? + 1))
}

fn act(act: &Act, mss: u64) -> Option<Act> {
    Some(match act {
        Act::Write(bytes) => Act::Write(whole(*bytes, mss)?),
        Act::Arrives(it) => Act::Arrives(words(it, mss)?),
        Act::Sends(it) => Act::Sends(words(it, mss)?),
        Act::State(wanted) => Act::State(wanted.iter().map(|one| state(*one, mss)).collect::<Option<_>>()?),
        Act::Connect | Act::Close | Act::Tells(_) | Act::End => act.clone(),
    })
}

fn words(words: &Words, mss: u64) -> Option<Words> {
    let range = |(start, end): (u64, u64)| Some((number(start, mss)?, number(end, mss)?));
    let form = match words.form {
        Form::Data { start, end } => range((start, end)).map(|(start, end)| Form::Data { start, end })?,
        form => form,
    };
    Some(Words {
        form,
        ack: words.ack.map_or(Some(None), |ack| number(ack, mss).map(Some))?,
        sack: words.sack.iter().map(|block| range(*block)).collect::<Option<_>>()?,
        dsack: words.dsack.map_or(Some(None), |block| range(block).map(Some))?,
        window: words.window.map_or(Some(None), |bytes| whole(bytes.into(), mss).map(|n| Some(n as u32)))?,
        ..words.clone()
    })
}

fn state((quantity, value): (Quantity, Value), mss: u64) -> Option<(Quantity, Value)> {
    let of_bytes = matches!(quantity, Quantity::Cwnd | Quantity::Ssthresh | Quantity::Flight | Quantity::Pipe);
    match value {
        Value::Bytes(bytes) => Some((quantity, Value::Bytes(whole(bytes, mss)?))),
        Value::Near(segments, _) if of_bytes && segments.fract() != 0.0 => None,
        _ => Some((quantity, value)),
    }
}
