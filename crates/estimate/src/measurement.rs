//! What a file of measurements holds, in one form for all formats. Times are in seconds since the start of the file.

/// The contents of one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The name of the file.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// Time zero of the file in seconds since 1970; `None` if the file does not say.
    pub epoch: Option<Epoch>,
    /// Sparse packets whose round trip was measured.
    pub probes: Vec<Probe>,
    /// Flows that load the path.
    pub flows: Vec<Flow>,
    /// Facts that this file does not have, as sentences without a full stop.
    pub unseen: Vec<String>,
}

/// A time of day, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Seconds since 1970.
    pub at: f64,
    /// The largest error in seconds.
    pub error: f64,
}

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Data of flent.
    Flent,
    /// JSON of irtt.
    Irtt,
    /// JSON of iperf3.
    Iperf3,
    /// The output of ping.
    Ping,
    /// A capture: pcap or pcapng.
    Capture,
    /// A test between two hosts that this program made itself.
    Active,
}

/// Sparse packets of one source, such as a ping.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Its name in the file.
    pub name: String,
    /// The size of the reply as an IP packet, in bytes.
    pub packet: Option<f64>,
    /// The packets, in the order of their sending.
    pub samples: Vec<Sample>,
    /// Whether lost packets are among the samples.
    pub knows_losses: bool,
}

/// A packet whose round trip was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When it was sent, in seconds.
    pub at: f64,
    /// Its round-trip time in seconds; `None` if it was lost.
    pub rtt: Option<f64>,
}

/// The direction in which a flow carries data, as seen from the machine that measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// To the machine that measured.
    Down,
    /// From it.
    Up,
    /// The file does not say.
    Unknown,
}

/// A flow that loads the path.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in the file.
    pub name: String,
    /// Where its data go.
    pub direction: Direction,
    /// What its bytes count.
    pub counted: Counted,
    /// How many bytes it carried, in the order of time.
    pub bins: Vec<Bin>,
    /// Its own round-trip times: when, and how long in seconds.
    pub rtts: Vec<(f64, f64)>,
    /// Whether [`Flow::rtts`] are smoothed by the sender, as those of the kernel are.
    pub smoothed: bool,
    /// Whether [`Bin::lost`] is known.
    pub knows_losses: bool,
}

/// What the bytes of a flow are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Counted {
    /// IP packets.
    Packets,
    /// Payload of TCP; a full packet has `payload` of `packet` bytes.
    Payload {
        /// Bytes of payload.
        payload: f64,
        /// Bytes of the IP packet.
        packet: f64,
        /// Whether the file says so; otherwise these are the usual values.
        known: bool,
    },
}

impl Counted {
    /// Payload of TCP over IPv4 with time stamps in Ethernet frames, where the file does not say otherwise.
    pub const USUAL: Counted = Counted::Payload { payload: 1448.0, packet: 1500.0, known: false };

    /// IP bytes for each counted byte.
    #[must_use]
    pub fn factor(self) -> f64 {
        match self {
            Counted::Packets => 1.0,
            Counted::Payload { payload, packet, .. } => packet / payload,
        }
    }
}

/// What a flow carried in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// Its start, in seconds.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Bytes.
    pub bytes: f64,
    /// Packets lost or sent again.
    pub lost: f64,
}

impl Probe {
    /// The round trips that were measured: when, and how long.
    pub fn rtts(&self) -> impl Iterator<Item = (f64, f64)> {
        self.samples.iter().filter_map(|sample| Some((sample.at, sample.rtt?)))
    }
}

impl Flow {
    /// When it carried data first and last; `None` if never.
    #[must_use]
    pub fn span(&self) -> Option<(f64, f64)> {
        let busy = |bin: &&Bin| bin.bytes > 0.0;
        Some((self.bins.iter().find(busy)?.from, self.bins.iter().rfind(busy)?.to))
    }
}
