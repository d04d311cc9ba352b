//! Checks, for each measurement window, whether the hosts of a live run were fast enough for their applications.

use std::path::{Path, PathBuf};

use aqmkit_base::{Duration, Instant};
use aqmkit_live::running::THREAD;
use aqmkit_live::timing::cpu_time;
use aqmkit_measure::output::Window;

/// A link counts as full from this utilisation on.
const FILLED: f64 = 0.95;

/// A thread counts as saturated when it needs a processor for this share of the time.
const EXHAUSTED: f64 = 0.9;

/// If the machine has no idle time, hosts and link count as the cause from this share of the total processor time on.
const LARGE_PART: f64 = 0.4;

/// Shares of the time below this are ignored, for senders that lack data or are limited by a window.
const NOTABLE: f64 = 0.1;

/// Times of endless senders, summed over connections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Endless {
    /// Time for which connections were open.
    pub(super) open: Duration,
    /// Time during which all written data was acknowledged: the application had more, but did not get to write it.
    pub(super) idle: Duration,
    /// Time during which the receive window or the send buffer was the limit.
    pub(super) held: Duration,
}

/// The load of the hosts during a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Effort {
    endless: Endless,
    /// The share of the window during which a thread ran or waited for a processor: the hosts' thread, and the busiest
    /// thread of the link, which also does the kernel's work for the packets that it delivers.
    busy: [f64; 2],
    /// The share of the total processor time that was idle; 1 if unknown.
    idle: f64,
    processors: f64,
}

/// The readings at the start of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    endless: Endless,
    at: Instant,
    spent: [Duration; 2],
    machine: Machine,
}

impl Begun {
    /// Takes the readings. Call it on the hosts' thread.
    pub(super) fn now(endless: Endless, at: Instant) -> Self {
        Begun { endless, at, spent: spent(), machine: Machine::now() }
    }

    /// Computes the load of the window that ends now.
    pub(super) fn end(&self, endless: Endless, at: Instant) -> Effort {
        let span = at.since(self.at).as_secs_f64();
        let spent = spent();
        let busy = [0, 1].map(|i| {
            let used = (spent[i] - self.spent[i]).as_secs_f64();
            if span > 0.0 { (used / span).min(1.0) } else { 0.0 }
        });
        let endless = Endless {
            open: endless.open - self.endless.open,
            idle: endless.idle - self.endless.idle,
            held: endless.held - self.endless.held,
        };
        let machine = Machine::now();
        let all = machine.all.saturating_sub(self.machine.all);
        let idle = if all > 0 { machine.idle.saturating_sub(self.machine.idle) as f64 / all as f64 } else { 1.0 };
        let processors = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
        Effort { endless, busy, idle, processors }
    }
}

/// Time of all processors in ticks, from `/proc/stat`.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    idle: u64,
    all: u64,
}

impl Machine {
    fn now() -> Self {
        let text = read(PathBuf::from("/proc/stat")).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        // user, nice, system, idle, iowait, irq, softirq, steal; guest times are included in the first two.
        let ticks: Vec<u64> = first.split_whitespace().skip(1).take(8).filter_map(|n| n.parse().ok()).collect();
        Machine { idle: ticks.iter().skip(3).take(2).sum(), all: ticks.iter().sum() }
    }
}

/// How long the calling thread and the busiest thread of the link have run or waited for a processor.
fn spent() -> [Duration; 2] {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_link = |thread: &PathBuf| read(thread.join("comm")).is_some_and(|name| name.trim() == THREAD);
    let link = threads.filter(is_link).filter_map(|thread| demand(&thread)).max().unwrap_or_default();
    [demand(Path::new("/proc/thread-self")).unwrap_or_else(cpu_time), link]
}

/// A thread's running time plus its time on the run queue (`schedstat`), if the kernel counts them
/// (`CONFIG_SCHED_INFO`).
fn demand(thread: &Path) -> Option<Duration> {
    let text = read(thread.join("schedstat"))?;
    let mut numbers = text.split_whitespace().map_while(|ns| ns.parse().ok());
    Some(Duration::from_nanos(numbers.next()?) + Duration::from_nanos(numbers.next()?))
}

fn read(path: PathBuf) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// If the hosts were too slow to fill the link in one of the windows: why the run says nothing about the link.
pub(crate) fn could_not_fill(link: &str, windows: &[Window], efforts: &[Effort]) -> Option<String> {
    windows.iter().zip(efforts).find_map(|(window, effort)| {
        let used = window.links.get(link)?.utilization;
        effort.doubt(used).map(|why| {
            format!(
                "the hosts could not fill the link: it was used to {:.0} % in {}, although senders had data without end and no window \
                 held them; {why}; run it at a lower rate or on a machine with more idle processors",
                100.0 * used,
                window.name
            )
        })
    })
}

impl Effort {
    /// Why the hosts are to blame for this utilisation, if they are.
    fn doubt(&self, used: f64) -> Option<String> {
        let Endless { open, idle, held } = self.endless;
        if used >= FILLED || open.is_zero() {
            return None;
        }
        let share = |part: Duration| part.as_secs_f64() / open.as_secs_f64();
        if share(held) >= NOTABLE {
            return None;
        }
        let threads = ["hosts'", "link's"].into_iter().zip(self.busy);
        if let Some((whose, busy)) = threads.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, busy)| *busy >= EXHAUSTED) {
            return Some(format!(
                "the {whose} thread used a processor, or waited for one, for {:.0} % of the time",
                100.0 * busy
            ));
        }
        let part = self.busy.iter().sum::<f64>() / self.processors;
        if self.idle < 1.0 - FILLED && part >= LARGE_PART {
            return Some(format!(
                "no processor was idle, and the threads of hosts and link needed {:.0} % of them",
                100.0 * part
            ));
        }
        let lacking = share(idle) >= NOTABLE;
        lacking.then(|| format!("the senders had written nothing to send for {:.0} % of the time", 100.0 * share(idle)))
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_measure::output::LinkStats;

    use super::*;

    fn effort(idle_ms: u64, held_ms: u64, busy: f64) -> Effort {
        let [open, idle, held] = [1000, idle_ms, held_ms].map(Duration::from_millis);
        Effort { endless: Endless { open, idle, held }, busy: [0.2, busy], idle: 0.5, processors: 4.0 }
    }

    #[test]
    fn a_link_that_is_not_filled_is_doubted_where_the_hosts_are_at_fault() {
        let doubts = |used, effort: Effort| effort.doubt(used).is_some();
        assert!(doubts(0.6, effort(0, 0, 0.97)), "no processor time left");
        assert!(doubts(0.6, effort(300, 0, 0.5)), "nothing written");
        assert!(
            doubts(0.6, Effort { idle: 0.01, processors: 2.0, ..effort(0, 0, 0.7) }),
            "the machine is full of them"
        );
        assert!(!doubts(0.6, Effort { idle: 0.01, ..effort(0, 0, 0.7) }), "other programs use it");
        assert!(!doubts(0.97, effort(300, 0, 0.97)), "it is filled");
        assert!(!doubts(0.6, effort(0, 500, 0.97)), "a window holds them, which a note says");
        assert!(!doubts(0.6, effort(50, 50, 0.5)), "the congestion window holds them");
        assert!(!doubts(0.1, Effort { busy: [1.0; 2], ..Effort::default() }), "nobody has data without end");
    }

    #[test]
    fn the_doubt_names_the_window_and_the_use() {
        let window = |name: &str, utilization| Window {
            name: name.to_owned(),
            links: [("down".to_owned(), LinkStats { utilization, ..LinkStats::default() })].into(),
            ..Window::default()
        };
        let told = could_not_fill("down", &[window("first", 0.99), window("all", 0.61)], &[effort(0, 0, 0.98); 2]);
        let told = told.unwrap();
        assert!(
            told.contains("used to 61 % in all")
                && told.contains("the link's thread used")
                && told.contains("for 98 % of the time"),
            "{told}"
        );
        assert_eq!(could_not_fill("up", &[window("all", 0.61)], &[effort(0, 0, 0.98)]), None);
    }

    #[test]
    fn a_thread_that_works_is_busy() {
        let clock = aqmkit_live::timing::Clock::start();
        let begun = Begun::now(Endless::default(), clock.now());
        while clock.now() < Instant::ZERO + Duration::from_millis(50) {}
        assert!(begun.end(Endless::default(), clock.now()).busy[0] > 0.9);
        let asleep = Begun::now(Endless::default(), clock.now());
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(asleep.end(Endless::default(), clock.now()).busy[0] < 0.9);
    }
}
