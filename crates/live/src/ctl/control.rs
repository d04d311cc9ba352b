//! A handle to a bottleneck that runs on other threads.

use std::sync::mpsc::{Receiver, Sender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::read::Value;
use aqmkit_base::{BitRate, Instant};
use serde::Deserialize as _;

use super::report::Report;
use super::{Answer, Change, Question};
use crate::bottleneck::{Direction, Request};
use crate::bounds;
use crate::measured::Snapshot;
use crate::port::Port;
use aqmkit_packets::shaper::Setup;

/// Timeout of requests; forwarding threads check for them ten times a second.
const PATIENCE: Duration = Duration::from_secs(2);

/// How to reach a forwarding thread.
pub(crate) struct ThreadHandle<D: Port> {
    /// Its request channel.
    pub(crate) requests: Sender<Request<D>>,
    /// Its published snapshots.
    pub(crate) snapshot: Arc<Mutex<Snapshot>>,
    /// The number of directions it serves.
    pub(crate) directions: usize,
}

/// Facts about a bottleneck in reports, besides its state.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// `bridge`, `link` or `shape`.
    pub(crate) kind: &'static str,
    /// Its name for `aqmkit ctl`.
    pub(crate) name: String,
    /// The interfaces it uses.
    pub(crate) interfaces: Vec<String>,
    /// For each direction, its source and destination in words.
    pub(crate) ways: Vec<String>,
}

/// Reports on and changes a bottleneck, from any thread.
pub struct Control<D: Port> {
    shown: Shown,
    setups: Mutex<Vec<Setup>>,
    threads: Vec<ThreadHandle<D>>,
}

impl<D: Port> std::fmt::Debug for Control<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("shown", &self.shown).finish_non_exhaustive()
    }
}

impl<D: Port + 'static> Control<D> {
    /// A handle to a bottleneck with these settings, run by these threads.
    pub(crate) fn new(shown: Shown, setups: Vec<Setup>, threads: Vec<ThreadHandle<D>>) -> Self {
        Control { shown, setups: Mutex::new(setups), threads }
    }

    /// Its name for `aqmkit ctl`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shown.name
    }

    /// The latest snapshot, at most 100 ms old.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let of = |thread: &ThreadHandle<D>| thread.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.threads.iter().map(of).reduce(Snapshot::and).unwrap_or_default()
    }

    /// The bottleneck's state, at most 100 ms old.
    #[must_use]
    pub fn report(&self) -> Report {
        let setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        Report::of(&self.shown, &setups, &self.snapshot())
    }

    /// Runs a closure on the direction with index `place`, on the thread that serves it. `None` if that thread does not
    /// answer.
    pub fn ask<T: Send + 'static>(
        &self,
        direction: usize,
        act: impl FnOnce(&mut Direction<D>, Instant) -> T + Send + 'static,
    ) -> Option<T> {
        let mut place = direction;
        let thread = self.threads.iter().find(|thread| {
            let here = place < thread.directions;
            place -= if here { 0 } else { thread.directions };
            here
        })?;
        let act = move |directions: &mut [Direction<D>], now| directions.get_mut(place).map(|d| act(d, now));
        thread.request(act)?.recv_timeout(PATIENCE).ok()?
    }

    /// Runs a closure on every direction; results in the order of the directions. `None` if a thread does not answer.
    pub fn ask_all<T: Send + 'static>(
        &self,
        act: impl Fn(&mut Direction<D>, Instant) -> T + Clone + Send + 'static,
    ) -> Option<Vec<T>> {
        let ask = |thread: &ThreadHandle<D>| {
            let act = act.clone();
            thread.request(move |directions: &mut [Direction<D>], now| {
                directions.iter_mut().map(|d| act(d, now)).collect::<Vec<T>>()
            })
        };
        // All requests are sent before the first answer is awaited.
        let asked: Vec<_> = self.threads.iter().map(ask).collect::<Option<_>>()?;
        let mut answers = Vec::new();
        for answer in asked {
            answers.extend(answer.recv_timeout(PATIENCE).ok()?);
        }
        Some(answers)
    }

    /// Changes parameters, rate or discipline. All directions are checked before the first is changed.
    ///
    /// # Errors
    /// Why not; nothing has changed then, unless a discipline refused the change because of what is queued.
    pub fn change(&self, change: &Change) -> Result<(), String> {
        let mut setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |s: &Setup| change.direction.as_ref().is_none_or(|name| *name == s.name);
        if !setups.iter().any(wanted) {
            let known = setups.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(" and ");
            let asked = change.direction.as_deref().unwrap_or_default();
            return Err(format!("there is no direction {asked:?}: the directions are {known}"));
        }
        for place in 0..setups.len() {
            if wanted(&setups[place]) {
                changed(&setups[place], change)?;
            }
        }
        for place in 0..setups.len() {
            if !wanted(&setups[place]) {
                continue;
            }
            let setup = changed(&setups[place], change)?;
            let new = setup.clone();
            let done = self.ask(place, move |d, now| d.shaper.reconfigure(&new, now).map_err(|e| e.to_string()));
            done.ok_or("no reply")?.map_err(|e| format!("{}: {e}", setup.name))?;
            setups[place] = setup;
        }
        Ok(())
    }

    /// Serves a request.
    #[must_use]
    pub fn answer(&self, question: &Question) -> Answer {
        if let Question::Change(change) = question
            && let Err(why) = self.change(change)
        {
            return Answer::Refused(why);
        }
        Answer::Report(Box::new(self.report()))
    }
}

impl<D: Port> ThreadHandle<D> {
    /// Sends a request without waiting. `None` if the thread has ended.
    fn request<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut [Direction<D>], Instant) -> T + Send + 'static,
    ) -> Option<Receiver<T>> {
        let (answer, answered) = sync_channel(1);
        let request: Request<D> = Box::new(move |directions, now| {
            // The caller may have given up.
            let _ = answer.try_send(act(directions, now));
        });
        self.requests.send(request).ok()?;
        Some(answered)
    }
}

/// The settings with the change applied.
fn changed(setup: &Setup, change: &Change) -> Result<Setup, String> {
    let present = setup.aqm.name();
    let name = change.aqm.as_deref().unwrap_or(present);
    let stays = name == present || Spec::named(name).is_some_and(|spec| spec.name() == present);
    let mut parameters = match stays {
        true => serde_json::to_value(&setup.aqm).map_err(|e| e.to_string())?,
        false => serde_json::Value::Object(serde_json::Map::new()),
    };
    if let Some(table) = parameters.as_object_mut() {
        // Derived parameters stay unset, so that they follow the rate.
        table.retain(|_, value| !value.is_null());
        table.extend(change.parameters.clone());
    }
    let wrong = |e: String| format!("{}: {e}", setup.name);
    let written = Value::deserialize(&parameters).map_err(|e| wrong(e.to_string()))?;
    // Errors of `Spec::read` name the discipline.
    let aqm = Spec::read(name, parameters).map_err(|e| wrong(e.to_string()))?;
    let rate = change.rate_bps.map_or(setup.rate, BitRate::from_bps);
    if rate == BitRate::default() {
        return Err(wrong("the rate must be above zero".to_owned()));
    }
    if setup.trace.is_some() && change.rate_bps.is_some() {
        return Err(wrong("the rate follows a trace".to_owned()));
    }
    let link = Link { rate, mean_packet: setup.mean_packet, classes: setup.classes.clone() };
    aqm.effective(&link).map_err(|e| wrong(e.as_written(&written).of(name).to_string()))?;
    let new = Setup { rate, aqm, ..setup.clone() };
    bounds::check(&new).map_err(|e| wrong(e.of(name).to_string()))?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Duration as Time;
    use serde_json::json;

    use super::*;

    /// The same messages as in experiment files and on the command line.
    #[test]
    fn a_wrong_parameter_is_told_by_its_name() {
        let spec = Spec::named("red").unwrap();
        let setup = Setup::new("down", BitRate::from_mbps(10), Time::ZERO, spec);
        let told = |key: &str, value: serde_json::Value| {
            let parameters = [(key.to_owned(), value)].into_iter().collect();
            changed(&setup, &Change { parameters, ..Change::default() }).unwrap_err()
        };
        assert!(told("mxa", json!(4)).starts_with("down: mxa is not a parameter of red: did you mean max?"));
        assert!(told("quantum", json!(4)).starts_with("down: quantum is not a parameter of red: known are limit, min"));
        assert_eq!(told("gentle", json!(4)), "down: gentle of red is integer 4: it must be true or false");
        assert_eq!(told("max_p", json!(1.5)), "down: max_p of red cannot be 1.5: it must be from 0 to 1");
        assert!(told("max", json!("5ms")).starts_with("down: max of red: \"5ms\" is not a queue length: "));
        assert_eq!(
            told("max", json!("5kb")),
            "down: max of red cannot be 5kb: it must be a number of packets such as 60, as limit is"
        );
    }
}
