//! The configuration of an endpoint, without any source of randomness or time but those of the simulator.

use std::sync::Arc;
use std::time::Duration;

use aqmkit_base::Instant;
use aqmkit_stack::{NewEnd, Settings, Trace};
use aqmkit_stack_common::clock;
use aqmkit_stack_quic::seed::{Counter, seed};
use aqmkit_stack_quic::{Params, TraceWriter};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, MtuDiscoveryConfig, QlogConfig,
    ServerConfig, TransportConfig, ValidationTokenConfig, VarInt,
};

use crate::crypto::Null;

struct Ids(Counter);

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.next_id())
    }

    fn cid_len(&self) -> usize {
        Counter::LEN
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

pub(crate) fn endpoint(new: &NewEnd) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(Null));
    config.rng_seed(Some(seed(new.seed))).cid_generator(|| Box::new(Ids(Counter::default())));
    config
}

pub(crate) fn client(params: &Params, settings: &Settings, trace: Option<Trace>) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::new(Null));
    config.transport_config(transport(params, settings, trace));
    config.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&Counter::FIRST)));
    config
}

pub(crate) fn server(params: &Params, settings: &Settings, trace: Option<Trace>) -> ServerConfig {
    let mut config = ServerConfig::new(Arc::new(Null), Arc::new(Null));
    let mut tokens = ValidationTokenConfig::default();
    tokens.sent(0);
    config.transport_config(transport(params, settings, trace)).validation_token_config(tokens);
    config
}

fn transport(params: &Params, settings: &Settings, trace: Option<Trace>) -> Arc<TransportConfig> {
    let control: Arc<dyn ControllerFactory + Send + Sync> = match settings.congestion {
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => Arc::new(CubicConfig::default()),
    };
    let number = |value: u64| VarInt::from_u64(value).unwrap_or(VarInt::MAX);
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(control)
        .initial_mtu(params.initial_mtu)
        .mtu_discovery_config(params.mtu_discovery.then(MtuDiscoveryConfig::default))
        .stream_receive_window(number(params.stream_window.0))
        .send_window(params.send_window.0)
        .max_idle_timeout(Some(IdleTimeout::from(number(params.idle_ms()))));
    if let Some(trace) = trace {
        let mut traced = QlogConfig::default();
        traced.writer(Box::new(TraceWriter::new(trace))).start_time(clock::real(Instant::ZERO));
        config.qlog_stream(traced.into_stream());
    }
    Arc::new(config)
}
