//! The effect of packet loss on an MPEG stream: Parris 2001, appendix A 3.3.2.

use std::collections::BTreeMap;
use std::str::FromStr;

use aqmkit_base::Bytes;
use serde::Deserialize;

use super::{count, formula, share, size, table, time};

table![
    FramePackets,
    GopFrames,
    GopPackets,
    GopTime,
    EffectiveLoss,
    LossProbability,
    ExpectedLoss,
    LossRate,
    LossAmplification,
    LossRatio,
    StreamBytes,
];

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Frame {
    I,
    P,
    B,
}

/// A group of pictures in display order, beginning with its only I-frame.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Gop(Vec<Frame>);

impl FromStr for Gop {
    type Err = String;
    fn from_str(text: &str) -> Result<Gop, String> {
        let frame = |c| match c {
            'I' => Ok(Frame::I),
            'P' => Ok(Frame::P),
            'B' => Ok(Frame::B),
            other => Err(format!("gop = {text:?}: {other:?} is not one of I, P, B")),
        };
        let frames = text.chars().map(frame).collect::<Result<Vec<_>, _>>()?;
        let is_i = |f: &&Frame| **f == Frame::I;
        if frames.first() != Some(&Frame::I) || frames.iter().filter(is_i).count() != 1 {
            return Err(format!("gop = {text:?} must begin with its only I, such as \"IBBPBB\""));
        }
        Ok(Gop(frames))
    }
}

impl TryFrom<String> for Gop {
    type Error = String;
    fn try_from(text: String) -> Result<Gop, String> {
        text.parse()
    }
}

impl Gop {
    fn frames(&self, frame: Frame) -> f64 {
        self.0.iter().filter(|f| **f == frame).count() as f64
    }

    /// Frames that cannot be shown when the first frame of this type is lost. No frame needs a B-frame. A P- or I-frame
    /// is needed by all frames from the previous reference (the B-frames in between) to the end of its group.
    fn effective_loss(&self, frame: Frame) -> Result<f64, String> {
        let at = self.0.iter().position(|f| *f == frame).ok_or_else(|| format!("the gop has no {frame:?}-frame"))?;
        if frame == Frame::B {
            return Ok(1.0);
        }
        let before = self.0[..at].iter().rev().chain(self.0.iter().rev()).take_while(|f| **f == Frame::B);
        Ok((before.count() + self.0.len() - at) as f64)
    }
}

type PerFrame<T> = BTreeMap<Frame, T>;

fn of<T: Copy>(table: &PerFrame<T>, frame: Frame, what: &str) -> Result<T, String> {
    table.get(&frame).copied().ok_or_else(|| format!("{what} has no entry for {frame:?}"))
}

/// Packets of a group, for one type of frame or for all.
fn packets(gop: &Gop, per_frame: &PerFrame<f64>, frame: Option<Frame>) -> Result<f64, String> {
    let of_type =
        |f: Frame| if gop.frames(f) == 0.0 { Ok(0.0) } else { Ok(gop.frames(f) * of(per_frame, f, "packets")?) };
    match frame {
        Some(f) => of_type(f),
        None => Ok(of_type(Frame::I)? + of_type(Frame::P)? + of_type(Frame::B)?),
    }
}

/// Expected number of frames lost from a group of pictures with one lost packet: due to one frame type, or to all.
fn expected(gop: &Gop, per_frame: &PerFrame<f64>, frame: Option<Frame>) -> Result<f64, String> {
    let all = packets(gop, per_frame, None)?;
    let of_type = |f: Frame| match packets(gop, per_frame, Some(f))? {
        0.0 => Ok(0.0),
        n => gop.effective_loss(f).map(|lost| n / all * lost),
    };
    match frame {
        Some(f) => of_type(f),
        None => Ok(of_type(Frame::I)? + of_type(Frame::P)? + of_type(Frame::B)?),
    }
}

formula! {
    /// The mean number of packets per frame, rounded up to whole packets.
    "mpeg-frame-packets", "Parris 2001, Table A.6",
    FramePackets { packets: f64 },
    |a| count(a.packets.ceil())
}

formula! {
    /// The frames of a group, for one type or for all.
    "mpeg-gop-frames", "Parris 2001, Table A.6",
    GopFrames { gop: Gop, frame: Option<Frame> = None },
    |a| count(a.frame.map_or(a.gop.0.len() as f64, |f| a.gop.frames(f)))
}

formula! {
    /// The packets of a group, for one type of frame or for all.
    "mpeg-gop-packets", "Parris 2001, Table A.7",
    GopPackets { gop: Gop, packets: PerFrame<f64>, frame: Option<Frame> = None },
    |a| count(packets(&a.gop, &a.packets, a.frame)?)
}

formula! {
    /// The duration of a number of groups.
    "mpeg-gop-time", "Parris 2001, appendix A 3.3.2",
    GopTime { gop: Gop, frames_per_s: f64, gops: f64 = 1.0 },
    |a| time(a.gops * a.gop.0.len() as f64 / a.frames_per_s)
}

formula! {
    /// The frames that cannot be shown when one of this type is lost.
    "mpeg-effective-loss", "Parris 2001, Table A.6",
    EffectiveLoss { gop: Gop, frame: Frame },
    |a| count(a.gop.effective_loss(a.frame)?)
}

formula! {
    /// The probability that a lost packet belongs to this type of frame.
    "mpeg-loss-probability", "Parris 2001, Table A.7",
    LossProbability { gop: Gop, packets: PerFrame<f64>, frame: Frame },
    |a| share(packets(&a.gop, &a.packets, Some(a.frame))? / packets(&a.gop, &a.packets, None)?)
}

formula! {
    /// The expected number of frames lost from a group with one lost packet, for one type of frame or for all.
    "mpeg-expected-loss", "Parris 2001, Table A.7",
    ExpectedLoss { gop: Gop, packets: PerFrame<f64>, frame: Option<Frame> = None },
    |a| count(expected(&a.gop, &a.packets, a.frame)?)
}

/// The denominator of a loss rate.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Per {
    #[default]
    Packets,
    Frames,
}

formula! {
    /// The frames lost from a group with one lost packet, divided by the group's packets (as printed) or frames.
    "mpeg-loss-rate", "Parris 2001, Table A.7",
    LossRate { gop: Gop, packets: PerFrame<f64>, frame: Option<Frame> = None, per: Per = Per::default() },
    |a| {
        let lost = expected(&a.gop, &a.packets, a.frame)?;
        share(match a.per {
            Per::Packets => lost / packets(&a.gop, &a.packets, None)?,
            Per::Frames => lost / a.gop.0.len() as f64,
        })
    }
}

formula! {
    /// Frame loss over packet loss: of one type's own frames, or of all frames (over the group's packets, as printed).
    "mpeg-loss-amplification", "Parris 2001, appendix A 3.3.2",
    LossAmplification { gop: Gop, packets: PerFrame<f64>, frame: Option<Frame> = None },
    |a| match a.frame {
        Some(f) => share(packets(&a.gop, &a.packets, Some(f))? / a.gop.frames(f)),
        None => share(expected(&a.gop, &a.packets, None)?),
    }
}

formula! {
    /// The lost frames of one type divided by the lost frames of another.
    "mpeg-loss-ratio", "Parris 2001, appendix A 3.3.2",
    LossRatio { gop: Gop, packets: PerFrame<f64>, frame: Frame, other: Frame },
    |a| share(packets(&a.gop, &a.packets, Some(a.frame))? / packets(&a.gop, &a.packets, Some(a.other))?)
}

formula! {
    /// The bytes of given numbers of frames of each type.
    "mpeg-bytes", "Parris 2001, appendix A 3.3.2",
    StreamBytes { sizes: PerFrame<Bytes>, frames: PerFrame<f64> },
    |a| {
        let mut bytes = 0.0;
        for (frame, n) in &a.frames {
            bytes += n * of(&a.sizes, *frame, "sizes")?.as_f64();
        }
        size(bytes)
    }
}
