//! Runs one test in its own process, with limits on time and memory.
//!
//! The time limit is in CPU time, which does not grow on a busy machine; a test that sleeps forever is ended by
//! a limit in wall time, much later.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

/// The address space of a test: a change can make it allocate without end.
const MEMORY: u64 = 6 << 30;

/// The limit in wall time, as a multiple of that in CPU time.
const PATIENCE: u32 = 5;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Passed.
    Passed,
    /// Failed, or ended by a signal.
    Failed,
    /// Exceeded its time limit.
    Late,
}

/// Runs a command until it ends or has used `limit` of CPU time; also returns the time that it took.
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

/// Polls at short intervals first, because most tests end within milliseconds.
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
