//! The QUIC implementation quinn-proto behind the queues of aqmkit.
//!
//! `docs/stacks/quinn.md` is the reference page: what an experiment can set, and what was measured.

mod config;
mod connection;
mod crypto;

use std::sync::Arc;

use aqmkit_base::ParamError;
use aqmkit_stack::{Factory, Kind, NewEnd, Settings, Stack, Trace};
use aqmkit_stack_common::{End, UDP_HEADERS};
use aqmkit_stack_quic::Params;

/// The stack as an entry of a catalogue.
#[derive(Debug)]
pub struct Quinn;

impl Kind for Quinn {
    const NAME: &'static str = "quinn";
    const VERSION: &'static str = "0.11.19/1";
    const PAGE: &'static str = include_str!("../../../docs/stacks/quinn.md");
    const CONTROLS: &'static [&'static str] = &["cubic", "newreno", "bbr"];

    type Params = Params;

    fn check(params: &Params, _: &Settings) -> Result<(), ParamError> {
        params.check()
    }

    fn factory(params: &Params, settings: &Settings) -> Arc<dyn Factory> {
        Arc::new(Ends { params: params.clone(), settings: settings.clone() })
    }
}

/// Makes the ends.
#[derive(Debug)]
struct Ends {
    params: Params,
    settings: Settings,
}

impl Factory for Ends {
    fn name(&self) -> String {
        format!("quinn/{}", self.settings.congestion)
    }

    fn headers(&self) -> u32 {
        UDP_HEADERS
    }

    fn end(&self, new: &NewEnd) -> Box<dyn Stack> {
        self.make(new, None)
    }

    fn writes_traces(&self) -> bool {
        true
    }

    fn traced_end(&self, new: &NewEnd, trace: Trace) -> Box<dyn Stack> {
        self.make(new, Some(trace))
    }
}

impl Ends {
    fn make(&self, new: &NewEnd, trace: Option<Trace>) -> Box<dyn Stack> {
        let connection = connection::Quinn::new(&self.params, &self.settings, new, trace);
        Box::new(End::new(connection, self.params.burst, self.settings.ecn))
    }
}
