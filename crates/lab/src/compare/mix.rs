//! The traffic options of a comparison.

use aqmkit_base::BitRate;
#[cfg(feature = "clap")]
use aqmkit_base::units::parse_rate;

/// The traffic on a link. With the feature `clap`, the fields are command-line options, and their comments are the
/// help.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Mix {
    /// Endless TCP downloads
    #[cfg_attr(feature = "clap", arg(long, value_name = "FLOWS", allow_negative_numbers = true))]
    pub bulk: Option<u32>,
    /// Endless TCP uploads; they need a rate of the second direction
    #[cfg_attr(feature = "clap", arg(long, value_name = "FLOWS", allow_negative_numbers = true))]
    pub upload: Option<u32>,
    /// Web users with this offered load, as a fraction of the link's rate: HTTP/2 with today's page weights
    #[cfg_attr(feature = "clap", arg(long, value_name = "FRACTION", allow_negative_numbers = true))]
    pub web: Option<f64>,
    /// Viewers of adaptively streamed video
    #[cfg_attr(feature = "clap", arg(long, value_name = "VIEWERS", allow_negative_numbers = true))]
    pub video: Option<u32>,
    /// Video calls with congestion control; in both directions if both have a rate
    #[cfg_attr(feature = "clap", arg(long, value_name = "CALLS", allow_negative_numbers = true))]
    pub call: Option<u32>,
    /// Players of a game
    #[cfg_attr(feature = "clap", arg(long, value_name = "PLAYERS", allow_negative_numbers = true))]
    pub game: Option<u32>,
    /// Telephone calls; in both directions if both have a rate
    #[cfg_attr(feature = "clap", arg(long, value_name = "CALLS", allow_negative_numbers = true))]
    pub voip: Option<u32>,
    /// Web users with page weights of 1997 and this offered load, as a fraction of the link's rate
    #[cfg_attr(feature = "clap", arg(long, value_name = "FRACTION", allow_negative_numbers = true))]
    pub http: Option<f64>,
    /// An unresponsive UDP flow of this rate
    #[cfg_attr(feature = "clap", arg(long, value_name = "RATE", value_parser = parse_rate, allow_hyphen_values = true))]
    pub cbr: Option<BitRate>,
    /// MPEG video streams without congestion control
    #[cfg_attr(feature = "clap", arg(long, value_name = "FLOWS", allow_negative_numbers = true))]
    pub mpeg: Option<u32>,
    /// Videoconferences of 1997
    #[cfg_attr(feature = "clap", arg(long, value_name = "FLOWS", allow_negative_numbers = true))]
    pub videoconf: Option<u32>,
    /// Congestion control of TCP; several share the flows: cubic,prague [default: cubic, or that of --transport]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAMES"))]
    pub cc: Option<String>,
    /// Negotiate ECN in TCP, and mark in disciplines; without, there is none, as between Linux hosts with their defaults
    #[cfg_attr(feature = "clap", arg(long))]
    pub ecn: bool,
    /// Profile of the TCP endpoints [default: linux-6]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PROFILE"))]
    pub transport: Option<String>,
    /// Stacks from outside, which the program must have, and profiles; several share the flows, each with the --cc that it has:
    /// quinn,linux-6
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAMES"))]
    pub stack: Option<String>,
}

impl Mix {
    /// Whether no traffic is specified.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let numbers = [self.bulk, self.upload, self.video, self.call, self.game, self.voip, self.mpeg, self.videoconf];
        numbers.iter().all(Option::is_none) && self.web.is_none() && self.http.is_none() && self.cbr.is_none()
    }
}
