//! One test in a process of its own, with a limit of time and of memory.
//!
//! The limit is of the processor's time, which a busy machine does not lengthen; a test that sleeps for ever is ended by
//! the clock, much later.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

/// The memory that a test may address: a change can make it ask for more and more.
const MEMORY: u64 = 6 << 30;

/// How many times longer than its limit a test may take by the clock.
const PATIENCE: u32 = 5;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Passed,
    /// With a failure, or by a signal.
    Failed,
    /// Not within its time.
    Late,
}

/// Runs a command to its end, or until it used `limit` of a processor; with how long it took.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<(End, Duration)> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // It may be over already.
    let _ = prlimit(group, Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) });
    let seconds = limit.as_secs_f64().ceil() as u64;
    let _ = prlimit(group, Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds + 1) });
    let end = wait(&mut child, start, PATIENCE * limit)?;
    // What it started goes with it.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    if end == End::Late {
        child.kill()?;
        child.wait()?;
    }
    Ok((end, start.elapsed()))
}

/// Waits with short naps at first, as most tests are over in milliseconds.
fn wait(child: &mut Child, start: Instant, limit: Duration) -> io::Result<End> {
    let mut nap = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            let late = [Signal::XCPU, Signal::KILL].map(|signal| Some(signal.as_raw()));
            return Ok(match status.success() {
                true => End::Passed,
                false if late.contains(&status.signal()) => End::Late,
                false => End::Failed,
            });
        }
        if start.elapsed() >= limit {
            return Ok(End::Late);
        }
        std::thread::sleep(nap);
        nap = (nap * 3 / 2).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> End {
        run(Command::new("sh").args(["-c", script]), limit).unwrap().0
    }

    #[test]
    fn ends_in_one_of_three_ways() {
        assert_eq!(shell("exit 0", Duration::from_secs(10)), End::Passed);
        assert_eq!(shell("exit 101", Duration::from_secs(10)), End::Failed);
        assert_eq!(shell("kill -SEGV $$", Duration::from_secs(10)), End::Failed);
        assert_eq!(shell("sleep 60", Duration::from_millis(50)), End::Late);
        assert_eq!(shell("while true; do true; done", Duration::from_secs(1)), End::Late);
    }

    #[test]
    fn what_a_late_test_started_ends_with_it() {
        let start = Instant::now();
        assert_eq!(shell("sleep 60 & wait", Duration::from_millis(50)), End::Late);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
