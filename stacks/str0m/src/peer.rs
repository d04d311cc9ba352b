//! A peer of str0m that knows the other without signalling: credentials, addresses and streams are agreed.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use str0m::bwe::Bitrate;
use str0m::channel::{ChannelConfig, ChannelId};
use str0m::format::{Codec, PayloadParams};
use str0m::media::{MediaKind, Mid, Pt};
use str0m::{Candidate, IceCreds, Rtc, RtcError};

use crate::Params;
use crate::crypto;

/// Client and server.
const PORT: u16 = 5000;
const MEDIA: [&str; 2] = ["up", "down"];

pub(crate) fn address(is_client: bool) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, if is_client { 1 } else { 2 }), PORT))
}

fn credentials(is_client: bool) -> IceCreds {
    let side = if is_client { "client" } else { "server" };
    IceCreds { ufrag: format!("{side}-16-letters"), pass: format!("{side}-password-of-32-letters") }
}

/// A peer with its parts.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) rtc: Rtc,
    pub(crate) channel: ChannelId,
    /// The video that this end sends, and its payload type.
    pub(crate) mid: Mid,
    pub(crate) pt: Pt,
}

/// A peer at `now`, which starts to connect if it is the client.
pub(crate) fn new(is_client: bool, params: &Params, now: Instant) -> Result<Peer, RtcError> {
    let mut rtc = Rtc::builder()
        .set_crypto_provider(crypto::provider())
        .set_local_ice_credentials(credentials(is_client))
        .set_fingerprint_verification(false)
        .set_rtp_mode(true)
        .enable_bwe(Some(Bitrate::bps(params.start_rate.as_bps())))
        .build(now);
    rtc.bwe().set_bitrate(Bitrate::ZERO, Bitrate::bps(params.max_rate.as_bps()));
    rtc.add_local_candidate(Candidate::host(address(is_client), "udp")?);
    rtc.add_remote_candidate(Candidate::host(address(!is_client), "udp")?);
    let pt = rtc.codec_config().find(|p| p.spec().codec == Codec::Vp8).map_or(Pt::from(96), PayloadParams::pt);
    let mut direct = rtc.direct_api();
    direct.set_remote_ice_credentials(credentials(!is_client));
    let fingerprint = direct.local_dtls_fingerprint().clone();
    direct.set_remote_fingerprint(fingerprint);
    direct.set_ice_controlling(is_client);
    let own = usize::from(!is_client);
    for (side, name) in MEDIA.into_iter().enumerate() {
        let (mid, ssrc) = (Mid::from(name), 1000 + 10 * side as u32);
        direct.declare_media(mid, MediaKind::Video);
        if side == own {
            direct.declare_stream_tx(ssrc.into(), Some((ssrc + 1).into()), mid, None);
        } else {
            direct.expect_stream_rx(ssrc.into(), Some((ssrc + 1).into()), mid, None);
        }
    }
    direct.enable_twcc_feedback();
    direct.start_dtls(is_client)?;
    direct.start_sctp(is_client);
    let negotiated = ChannelConfig { label: "data".to_owned(), negotiated: Some(0), ..ChannelConfig::default() };
    let channel = direct.create_data_channel(negotiated);
    Ok(Peer { rtc, channel, mid: Mid::from(MEDIA[own]), pt })
}
