//! The built-in mix: connections of five protocols, with exchanges as in their specifications.

use aqmkit_base::{Duration, Rng, dist};

use super::super::empirical::Empirical;
use super::super::http_unc;
use super::super::mah_tables::MahTables;
use super::replay::{Script, Source};
use super::vector::{After, Side, Step};

/// The shares of the protocols among connections, from the most common on. WWW has 75 % of the flows and FTP 1 %
/// (parris01, table 1.2 and A.3.4.2); the shares of the others are chosen.
const SHARES: [(f64, Protocol); 5] = [(0.75, http), (0.17, smtp), (0.05, peer_to_peer), (0.02, nntp), (0.01, ftp)];

/// Draws a connection of a protocol.
type Protocol = fn(&Tables, &mut Rng) -> Script;

/// Bytes of a piece in peer-to-peer transfers.
const PIECE: u64 = 16_384;

/// The distributions of the protocols.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    request: Empirical,
    response: Empirical,
}

impl Tables {
    pub(super) fn new() -> Self {
        Tables { request: MahTables::default().request, response: http_unc::responses() }
    }
}

/// Connections of the mix, as a Poisson process.
pub(super) struct Mix {
    pub(super) tables: std::sync::Arc<Tables>,
    /// Mean seconds from connection to connection.
    pub(super) interval: f64,
    /// Seconds from the start to the last connection.
    pub(super) elapsed: f64,
}

impl Source for Mix {
    fn next(&mut self, rng: &mut Rng) -> Option<(Duration, Script)> {
        self.elapsed += dist::exponential(rng, self.interval);
        Some((Duration::from_secs_f64(self.elapsed), draw(&self.tables, rng)))
    }
}

fn draw(tables: &Tables, rng: &mut Rng) -> Script {
    let mut u = rng.uniform();
    for (share, make) in SHARES {
        if u < share {
            return make(tables, rng);
        }
        u -= share;
    }
    http(tables, rng)
}

fn bytes(drawn: f64) -> u64 {
    (drawn as u64).clamp(1, 1 << 40)
}

fn step(from: Side, after: After, wait: f64, size: u64) -> Step {
    Step { from, after, wait_us: (wait * 1e6) as u64, bytes: size }
}

/// A random delay of an answer, in seconds.
fn pause(rng: &mut Rng) -> f64 {
    dist::exponential(rng, 0.05)
}

/// A geometric number from 1 on, with this mean.
fn several(rng: &mut Rng, mean: f64) -> u64 {
    let stay = 1.0 - 1.0 / mean;
    (1 + (libm::log(rng.uniform_open()) / libm::log(stay)) as u64).min(1000)
}

fn sequential(steps: Vec<Step>) -> Script {
    Script { concurrent: false, steps }
}

/// Requests and responses: 15 % of the connections persist, with as many objects on them as on all others
/// (smith01), which makes 5.7 for each.
fn http(tables: &Tables, rng: &mut Rng) -> Script {
    let exchanges = if rng.chance(0.15) { several(rng, 5.7) } else { 1 };
    let mut steps = Vec::new();
    for i in 0..exchanges {
        let gap = if i == 0 { 0.0 } else { dist::exponential(rng, 1.0) };
        let after = if i == 0 { After::Send } else { After::Receipt };
        steps.push(step(Side::Initiator, after, gap, bytes(tables.request.draw(rng))));
        steps.push(step(Side::Acceptor, After::Receipt, pause(rng), bytes(tables.response.draw(rng))));
    }
    sequential(steps)
}

/// The dialogue of rfc5321: greeting, EHLO, MAIL, RCPT, DATA, the message, QUIT. A message has 4 KB on average, with a heavy tail.
fn smtp(_: &Tables, rng: &mut Rng) -> Script {
    let mut steps = vec![step(Side::Acceptor, After::Send, 0.0, 80)];
    let message = bytes(dist::lognormal(rng, 4096.0, 4.0)).max(300);
    for (command, answer) in [(25, 120), (40, 30), (40, 30), (6, 40), (message, 50), (6, 40)] {
        steps.push(step(Side::Initiator, After::Receipt, 0.0, command));
        steps.push(step(Side::Acceptor, After::Receipt, pause(rng), answer));
    }
    sequential(steps)
}

/// The data connection of a download: the server sends, and closes.
fn ftp(_: &Tables, rng: &mut Rng) -> Script {
    let size = dist::pareto(rng, 20_000.0, 1.1).min(50e6);
    sequential(vec![step(Side::Acceptor, After::Send, 0.0, bytes(size)), step(Side::Acceptor, After::Send, 0.0, 0)])
}

/// Streaming feeds (rfc4644): offers and articles from one end, the answers from the other as they come.
fn nntp(_: &Tables, rng: &mut Rng) -> Script {
    let mut steps = Vec::new();
    for _ in 0..several(rng, 20.0) {
        let gap = dist::exponential(rng, 0.2);
        steps.push(step(Side::Initiator, After::Send, gap, bytes(dist::lognormal(rng, 3000.0, 1.5))));
        steps.push(step(Side::Acceptor, After::Send, gap, 60));
    }
    Script { concurrent: true, steps }
}

/// Pieces in both directions, sent independently by each end, most of them from the acceptor.
fn peer_to_peer(_: &Tables, rng: &mut Rng) -> Script {
    let mut steps = vec![step(Side::Initiator, After::Send, 0.0, 68), step(Side::Acceptor, After::Send, 0.0, 68)];
    for _ in 0..several(rng, 8.0) {
        steps.push(step(Side::Acceptor, After::Send, dist::exponential(rng, 1.0), PIECE));
        if rng.chance(0.3) {
            steps.push(step(Side::Initiator, After::Send, dist::exponential(rng, 1.0), PIECE));
        }
    }
    Script { concurrent: true, steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_web_has_three_quarters_of_the_connections() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(1, "mix"));
        let n = 20_000;
        let scripts: Vec<Script> = (0..n).map(|_| draw(&tables, &mut rng)).collect();
        let share = |is: fn(&Script) -> bool| scripts.iter().filter(|s| is(s)).count() as f64 / f64::from(n);
        let web = share(|s| !s.concurrent && s.steps[0].from == Side::Initiator);
        assert!((web - 0.75).abs() < 0.01, "{web}");
        assert!((share(|s| s.concurrent) - 0.07).abs() < 0.006);
        assert!((share(|s| s.steps.last().is_some_and(|s| s.bytes == 0)) - 0.01).abs() < 0.003);
    }

    #[test]
    fn half_of_the_objects_are_on_persistent_connections() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(2, "mix"));
        let counts: Vec<usize> = (0..40_000).map(|_| http(&tables, &mut rng).steps.len() / 2).collect();
        // Those of one object alone are not all: a persistent connection may have one, too.
        let objects: usize = counts.iter().sum();
        assert!((objects as f64 / 40_000.0 / (0.85 + 0.15 * 5.7) - 1.0).abs() < 0.02, "{objects}");
    }

    /// Feeds are answered offer by offer; of pieces among peers three go to the end that was asked for ten that come from it.
    #[test]
    fn who_speaks_in_concurrent_dialogues() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(3, "mix"));
        let of = |steps: &[Step], from| steps.iter().filter(|s| s.from == from).map(|s| s.bytes).collect::<Vec<_>>();
        let (mut asked, mut came) = (0.0, 0.0);
        for _ in 0..5_000 {
            let feed = nntp(&tables, &mut rng).steps;
            let (offers, answers) = (of(&feed, Side::Initiator), of(&feed, Side::Acceptor));
            assert!(offers.len() == answers.len() && answers.iter().all(|bytes| *bytes == 60));
            let pieces = peer_to_peer(&tables, &mut rng).steps;
            let (mut to, mut from) = (of(&pieces, Side::Initiator), of(&pieces, Side::Acceptor));
            assert_eq!((to.remove(0), from.remove(0)), (68, 68), "handshakes");
            assert!(to.iter().chain(&from).all(|bytes| *bytes == PIECE));
            (asked, came) = (asked + to.len() as f64, came + from.len() as f64);
        }
        assert!((came / 5_000.0 / 8.0 - 1.0).abs() < 0.05 && (asked / came - 0.3).abs() < 0.01, "{asked} {came}");
    }
}
