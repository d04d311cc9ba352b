//! `link`: runs a command behind a live bottleneck.

mod ask;
mod output;
mod summary;
mod watch;

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::Duration;

use aqmkit_aqm::Catalogue;
use aqmkit_live::capabilities::keep_only_kill;
use aqmkit_live::children::{Children, Pid};
use aqmkit_live::cleanup::{self, Cleaned, Held, Record};
use aqmkit_live::confinement::{Needs, confine};
use aqmkit_live::ctl;
use aqmkit_live::link::{BASE, BASE6, Link, LinkSetup};
use aqmkit_live::user::User;
use rustix::event::Timespec;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::args;
use super::ctl::page;
use super::fail::{Failure, wrong};
use super::progress::Talk;
use super::say;
use output::Output;
use summary::LinkSummary;
use watch::Watch;

/// The interval between checks of the link.
const PULSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How long servers have to start listening before the command starts.
const HEAD_START: Duration = Duration::from_millis(300);

/// `aqmkit link`.
///
/// # Errors
/// When an argument is invalid, the machine lacks something or could not keep up, or the command fails.
pub(super) fn link(args: &args::Link, disciplines: &Catalogue, talk: Talk) -> Result<(), Failure> {
    let directory = ctl::directory();
    let cleaned = cleanup::clean(&directory);
    if args.cleanup {
        let forwarding = cleanup::leftovers(&directory);
        return Ok(say::print(&[vec![cleaned.to_string()], forwarding].concat().join("\n"))?);
    }
    note(cleaned, talk);
    let setup = ask::setup(args, disciplines)?;
    unmarked(args, &setup, talk);
    if args.command.is_empty() {
        return wrong("no command given", "give it after --, for example aqmkit link --rate 10mbit -- bash");
    }
    let user = args.user.as_deref().map(user).transpose()?;
    let output = args.out.as_deref().map(Output::open).transpose()?;
    let signals = Signals::catch()?;
    let link = Link::open(&setup)?;
    let title = ask::title(&setup);
    let held = Held::new(&directory, &record(&link, &setup));
    if let Err(e) = &held {
        let why = format!("no record can be kept in {}: {e}; doctor will not see this link", directory.display());
        talk.note(&why);
    }
    let held = held.ok();
    // Without a socket, the link merely cannot be changed from outside.
    let socket = ctl::serve(&directory, std::sync::Arc::clone(&link.control)).ok();
    match (args.play, &socket) {
        (Some(access), Some(_)) => page::start(link.control.name(), access)?,
        (Some(_), None) => talk.note("there is no control socket, which --play needs"),
        (None, _) => {}
    }
    let mut children = Children::adopt()?;
    children.run_as(user);
    let run = run(args, &link, &mut children, &signals, held.as_ref(), talk);
    let finished = link.finish();
    children.end();
    let (measured, dropped_elsewhere) = link.close()?;
    let ended = run?;
    finished?;
    let summary = LinkSummary {
        title,
        setup: &setup,
        measured: &measured,
        dropped_elsewhere,
        exit_code: ended.code,
        classes: !args.class.is_empty(),
    };
    summary::print(&summary, args.json, output)?;
    match ended {
        CommandEnd { signal: Some(SIGINT), .. } => Err(Failure::Stopped("Stopped.".to_owned())),
        CommandEnd { signal: Some(_), code } => Err(Failure::Command(code)),
        CommandEnd { code: 0, .. } if summary.doubts().is_empty() => Ok(()),
        CommandEnd { code: 0, .. } => Err(Failure::Missed),
        CommandEnd { code, .. } => Err(Failure::Command(code)),
    }
}

/// Describes the settings.
///
/// # Errors
/// When an argument is invalid.
pub(super) fn describe(args: &args::Link, disciplines: &Catalogue) -> Result<String, Failure> {
    Ok(ask::title(&ask::setup(args, disciplines)?))
}

/// Warns if TCP negotiates ECN but a discipline does not mark; some never do, and several do not by default.
fn unmarked(args: &args::Link, setup: &LinkSetup, talk: Talk) {
    for direction in [&setup.down, &setup.up].into_iter().filter(|_| args.ecn) {
        let parameters = serde_json::to_value(&direction.aqm).unwrap_or_default();
        let (name, aqm) = (&direction.name, direction.aqm.name());
        if !direction.aqm.marks() {
            talk.note(&format!("{name}: {aqm} never marks: --ecn needs a discipline that does, as --aqm fq-codel"));
        } else if parameters.get("ecn").is_some_and(|ecn| ecn == false) {
            talk.note(&format!("{name}: {aqm} drops and does not mark: --ecn needs --aqm {aqm}:ecn=true"));
        }
    }
}

/// Looks up the user given by `--user`.
fn user(name: &str) -> Result<User, Failure> {
    let found = User::named(name).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            wrong(format!("there is no user {name}"), "give the name or the number of a user")
        }
        _ => Err(Failure::Environment(format!("cannot look up the user {name}: {error}"))),
    })?;
    match found.unreachable() {
        Some(why) => {
            wrong(why, "leave out --user: outside of the namespace, the command has the rights of the user who made it")
        }
        None => Ok(found),
    }
}

/// Prints what a cleanup at the start did.
pub(super) fn note(cleaned: Cleaned, talk: Talk) {
    if cleaned != Cleaned::default() {
        talk.note(&cleaned.to_string());
    }
}

/// How the command ended.
#[derive(Clone, Copy, Debug)]
struct CommandEnd {
    code: u8,
    /// The signal that ended it, if any.
    signal: Option<i32>,
}

/// Runs the commands and checks the link, until the command ends, a signal arrives or the link fails.
fn run(
    args: &args::Link,
    link: &Link,
    children: &mut Children,
    signals: &Signals,
    held: Option<&Held>,
    talk: Talk,
) -> Result<CommandEnd, Failure> {
    let [base, base6] = link.base();
    let own = link.addresses.server.map(|a| a.to_string());
    let mut servers = Servers { running: Vec::new(), talk };
    for server in &args.server {
        let command = ["sh", "-c", server].map(OsString::from);
        let [v4, v6] = own.clone();
        let env = [(BASE, v4), (BASE6, v6)];
        let output = if talk == Talk::Verbose { Stdio::inherit() } else { Stdio::null() };
        let pid = children.start(&command, &link.server.namespace, &env, output)?;
        servers.running.push((pid, server));
    }
    let env = if args.server.is_empty() { [(BASE, base), (BASE6, base6)] } else { own_base(own) };
    if !args.server.is_empty() {
        std::thread::sleep(HEAD_START);
        children.reap();
        servers.look(children);
    }
    // With --json, standard output contains only the summary.
    let output =
        if args.json { Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?) } else { Stdio::inherit() };
    // The measurement starts after the servers and ends with the command.
    link.begin()?;
    let pid = match children.start(&args.command, &link.client.namespace, &env, output) {
        Ok(pid) => pid,
        Err(error) => return not_started(&args.command[0].to_string_lossy(), &error),
    };
    keep_only_kill();
    // The commands are already running, so they are not confined. Older kernels ignore this.
    let _ = confine(Needs::Signals);
    let mut watch = Watch::new(link, held, args.watch);
    loop {
        children.reap();
        servers.look(children);
        if let Some(code) = children.ended(pid) {
            return Ok(CommandEnd { code, signal: None });
        }
        match signals.wait(PULSE) {
            Some(SIGINT) => {
                // The terminal has sent the signal to the command as well, which has some time to finish its output.
                let patience = Duration::from_secs(2);
                let code = (0..20).find_map(|_| {
                    std::thread::sleep(patience / 20);
                    children.reap();
                    children.ended(pid)
                });
                return Ok(CommandEnd { code: code.unwrap_or(130), signal: Some(SIGINT) });
            }
            // The convention of shells for a command killed by a signal.
            Some(signal) => {
                return Ok(CommandEnd { code: u8::try_from(128 + signal).unwrap_or(1), signal: Some(signal) });
            }
            None => {}
        }
        if !link.is_up() {
            return Ok(CommandEnd { code: 1, signal: None });
        }
        watch.beat();
    }
}

/// The commands given by `--server`.
struct Servers<'a> {
    running: Vec<(Pid, &'a String)>,
    talk: Talk,
}

impl Servers<'_> {
    /// Reports servers that failed; one that has exited with 0 has not.
    fn look(&mut self, children: &Children) {
        let talk = self.talk;
        self.running.retain(|(pid, command)| {
            let ended = children.ended(*pid);
            if let Some(code @ 1..) = ended {
                let hint = if talk == Talk::Verbose { "" } else { "; -v shows its output" };
                talk.note(&format!("the server {command:?} has ended with exit code {code}{hint}"));
            }
            ended.is_none()
        });
    }
}

fn not_started<T>(program: &str, error: &std::io::Error) -> Result<T, Failure> {
    let why = match error.kind() {
        std::io::ErrorKind::NotFound => "it is not found".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied: it may not be a program".to_owned(),
        _ => error.to_string(),
    };
    wrong(format!("{program:?} cannot be started: {why}"), "give an executable program after --")
}

fn own_base([v4, v6]: [String; 2]) -> [(&'static str, String); 2] {
    [(BASE, v4), (BASE6, v6)]
}

fn record(link: &Link, setup: &LinkSetup) -> Record {
    let made = if link.nested { vec![&link.client] } else { vec![&link.server, &link.client] };
    let sides = [&link.server, &link.client];
    Record {
        pid: std::process::id(),
        title: ask::title(setup),
        cookies: made.iter().map(|s| s.namespace.cookie()).collect(),
        paths: sides.iter().map(|s| s.namespace.path()).collect(),
        devices: sides.iter().map(|s| s.device.clone()).collect(),
        rates_bps: [&setup.down, &setup.up].map(|s| s.rate.as_bps()).to_vec(),
        bridge: None,
    }
}

/// Signals that stop the link, and SIGCHLD.
struct Signals {
    pipe: std::os::unix::net::UnixStream,
    /// The last signal that requested to stop; zero if there was none.
    ended: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl Signals {
    fn catch() -> Result<Self, Failure> {
        let (pipe, write) = std::os::unix::net::UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let ended = std::sync::Arc::default();
        let hangup = (!super::stop::ignores_hangup()).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            signal_hook::flag::register_usize(signal, std::sync::Arc::clone(&ended), signal as usize)?;
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, write)?;
        Ok(Signals { pipe, ended })
    }

    /// Waits for a signal for at most `time`; returns a signal that requests to stop.
    fn wait(&self, time: Timespec) -> Option<i32> {
        use rustix::event::{PollFd, PollFlags, poll};
        // Interrupted by a signal, whose handler sets the flag.
        let _ = poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&time));
        let mut pipe = &self.pipe;
        while std::io::Read::read(&mut pipe, &mut [0; 64]).is_ok_and(|n| n > 0) {}
        let last = self.ended.load(std::sync::atomic::Ordering::Relaxed);
        i32::try_from(last).ok().filter(|signal| *signal > 0)
    }
}
