//! The built-in mix: connections of five protocols, with exchanges as in their specifications.

use aqmkit_base::{Duration, Rng, dist};

use super::super::empirical::Empirical;
use super::super::mah_tables::MahTables;
use super::replay::{Script, Source};
use super::sizes;
use super::vector::{After, Side, Step};

/// Shares of the protocols among connections, most common first. WWW has 75 % of the flows and FTP 1 % (parris01, table
/// 1.2 and A.3.4.2); the shares of the others are chosen.
const SHARES: [(f64, Protocol); 5] = [(0.75, http), (0.17, smtp), (0.05, peer_to_peer), (0.02, nntp), (0.01, ftp)];

/// Draws a connection of one protocol.
type Protocol = fn(&Tables, &mut Rng) -> Script;

/// Size in bytes of a peer-to-peer piece.
const PIECE: u64 = 16_384;

/// Size distributions that need tables; the other sizes are drawn from closed forms.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    request: Empirical,
    response: Empirical,
}

impl Tables {
    pub(super) fn new() -> Self {
        Tables { request: MahTables::default().request, response: sizes::responses() }
    }
}

/// Poisson arrivals of connections drawn from the mix.
pub(super) struct Mix {
    pub(super) tables: std::sync::Arc<Tables>,
    /// Mean interarrival time in seconds.
    pub(super) interval: f64,
    /// Start of the last connection, in seconds.
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

/// A geometric number of at least 1 with this mean.
fn several(rng: &mut Rng, mean: f64) -> u64 {
    let stay = 1.0 - 1.0 / mean;
    (1 + (libm::log(rng.uniform_open()) / libm::log(stay)) as u64).min(1000)
}

fn sequential(steps: Vec<Step>) -> Script {
    Script { concurrent: false, steps }
}

/// Requests and responses. 15 % of the connections are persistent and carry half of the objects (smith01), which makes
/// 5.7 objects for each.
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

/// The dialogue of RFC 5321: greeting, EHLO, MAIL, RCPT, DATA, message, QUIT. A message has 4 KB on average, with a
/// heavy tail.
fn smtp(_: &Tables, rng: &mut Rng) -> Script {
    let mut steps = vec![step(Side::Acceptor, After::Send, 0.0, 80)];
    let message = bytes(dist::lognormal(rng, 4096.0, 4.0)).max(300);
    for (command, answer) in [(25, 120), (40, 30), (40, 30), (6, 40), (message, 50), (6, 40)] {
        steps.push(step(Side::Initiator, After::Receipt, 0.0, command));
        steps.push(step(Side::Acceptor, After::Receipt, pause(rng), answer));
    }
    sequential(steps)
}

/// The data connection of a download: the server sends one object and closes.
fn ftp(_: &Tables, rng: &mut Rng) -> Script {
    let size = dist::pareto(rng, 20_000.0, 1.1).min(50e6);
    sequential(vec![step(Side::Acceptor, After::Send, 0.0, bytes(size)), step(Side::Acceptor, After::Send, 0.0, 0)])
}

/// A streaming feed (RFC 4644): one end sends offers and articles without waiting for the other end's answers.
fn nntp(_: &Tables, rng: &mut Rng) -> Script {
    let mut steps = Vec::new();
    for _ in 0..several(rng, 20.0) {
        let gap = dist::exponential(rng, 0.2);
        steps.push(step(Side::Initiator, After::Send, gap, bytes(dist::lognormal(rng, 3000.0, 1.5))));
        steps.push(step(Side::Acceptor, After::Send, gap, 60));
    }
    Script { concurrent: true, steps }
}

/// Each end sends pieces independently of the other; most come from the acceptor.
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
        // Not all connections with one object are non-persistent: a geometric number can be 1.
        let objects: usize = counts.iter().sum();
        assert!((objects as f64 / 40_000.0 / (0.85 + 0.15 * 5.7) - 1.0).abs() < 0.02, "{objects}");
    }

    /// Mean and median.
    fn middle(mut of: Vec<f64>) -> (f64, f64) {
        of.sort_by(f64::total_cmp);
        (of.iter().sum::<f64>() / of.len() as f64, of[of.len() / 2])
    }

    /// Checks an exponential distribution: the median is ln 2 times the mean.
    fn exponential(of: Vec<f64>, mean: f64) {
        let found = middle(of);
        assert!(
            (found.0 / mean - 1.0).abs() < 0.03 && (found.1 / mean / std::f64::consts::LN_2 - 1.0).abs() < 0.03,
            "{found:?}, {mean}"
        );
    }

    /// Checks a lognormal distribution with this coefficient of variation: the median is mean / sqrt(1 + cv^2).
    fn lognormal(of: Vec<f64>, mean: f64, cv: f64) {
        let found = middle(of).1 / mean * (1.0 + cv * cv).sqrt();
        assert!((found - 1.0).abs() < 0.05, "{found}");
    }

    /// Waits in seconds.
    fn waits<'a>(steps: impl Iterator<Item = &'a Step>) -> Vec<f64> {
        steps.map(|s| s.wait_us as f64 / 1e6).collect()
    }

    /// A web client sends at once, then one second on average after each response; a server answers after 50 ms on
    /// average.
    #[test]
    fn web_connections_alternate() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(4, "mix"));
        let all: Vec<Vec<Step>> = (0..30_000).map(|_| http(&tables, &mut rng).steps).collect();
        let (mut thinks, mut gaps) = (Vec::new(), Vec::new());
        for steps in &all {
            let first = steps[0];
            assert_eq!((first.from, first.after, first.wait_us), (Side::Initiator, After::Send, 0));
            for pair in steps.chunks(2) {
                assert_eq!([pair[0].from, pair[1].from], [Side::Initiator, Side::Acceptor]);
                assert!(pair[1].after == After::Receipt && pair.iter().all(|s| s.bytes > 0));
                thinks.push(pair[1]);
            }
            assert!(steps.iter().skip(1).all(|s| s.after == After::Receipt));
            gaps.extend(steps.iter().skip(2).step_by(2));
        }
        exponential(waits(thinks.iter()), 0.05);
        exponential(waits(gaps.into_iter()), 1.0);
        let sizes = |from| middle(all.iter().flatten().filter(|s| s.from == from).map(|s| s.bytes as f64).collect());
        assert!((sizes(Side::Initiator).0 / 337.0 - 1.0).abs() < 0.03, "{:?}", sizes(Side::Initiator));
        assert!((sizes(Side::Acceptor).1 / tables.response.quantile(0.5) - 1.0).abs() < 0.05);
    }

    /// The number of exchanges is geometric: 1 with probability 1 / 5.7, and never above 1000.
    #[test]
    fn numbers_of_exchanges_are_geometric() {
        let mut rng = Rng::stream(5, "mix");
        let drawn: Vec<u64> = (0..100_000).map(|_| several(&mut rng, 5.7)).collect();
        for n in 1..8 {
            let law = (4.7_f64 / 5.7).powi(n - 1) / 5.7;
            let found = drawn.iter().filter(|&&d| d == n as u64).count() as f64 / 1e5;
            assert!((found / law - 1.0).abs() < 0.06, "{n}: {found} for {law}");
        }
        assert_eq!((0..100).map(|_| several(&mut rng, 1e9)).max(), Some(1000));
    }

    /// RFC 5321: greeting, EHLO, MAIL, RCPT, DATA, message and QUIT, each answered before the next.
    #[test]
    fn mail_is_the_dialogue_of_smtp() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(6, "mix"));
        let all: Vec<Vec<Step>> = (0..20_000).map(|_| smtp(&tables, &mut rng).steps).collect();
        for steps in &all {
            let message = steps[9].bytes;
            let sizes: Vec<u64> = steps.iter().map(|s| s.bytes).collect();
            assert_eq!(sizes, [80, 25, 120, 40, 30, 40, 30, 6, 40, message, 50, 6, 40]);
            assert!(message >= 300);
            for (i, step) in steps.iter().enumerate() {
                let after = if i == 0 { After::Send } else { After::Receipt };
                let from = if i % 2 == 0 { Side::Acceptor } else { Side::Initiator };
                assert_eq!((step.from, step.after), (from, after));
                assert!(step.wait_us == 0 || i > 0 && i % 2 == 0, "only servers think");
            }
        }
        exponential(waits(all.iter().flat_map(|steps| steps.iter().skip(2).step_by(2))), 0.05);
        lognormal(all.iter().map(|steps| steps[9].bytes as f64).collect(), 4096.0, 4.0);
        let least = all.iter().filter(|steps| steps[9].bytes == 300).count() as f64 / 20_000.0;
        // The median is 4096 / 17^0.5 and sigma is (ln 17)^0.5: ln(301 / 993.4) / 1.683 = -0.71 standard deviations is
        // the 23.9 % quantile.
        assert!((least - 0.239).abs() < 0.01, "{least}");
    }

    /// Pareto with exponent 1.1 above 20 KB: 2^-1.1 of the sizes exceed twice the minimum, and 2500^-1.1 are cut at 50
    /// MB.
    #[test]
    fn transfers_are_cut_pareto() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(7, "mix"));
        let all: Vec<Vec<Step>> = (0..200_000).map(|_| ftp(&tables, &mut rng).steps).collect();
        let end = Step { from: Side::Acceptor, after: After::Send, wait_us: 0, bytes: 0 };
        assert!(all.iter().all(|steps| steps[..] == [Step { bytes: steps[0].bytes, ..end }, end]));
        let share = |above: u64| all.iter().filter(|steps| steps[0].bytes >= above).count() as f64 / 2e5;
        assert_eq!((share(20_000), share(50_000_001)), (1.0, 0.0));
        for times in [2.0_f64, 10.0, 100.0] {
            let (found, law) = (share((20_000.0 * times) as u64), times.powf(-1.1));
            assert!((found / law - 1.0).abs() < 0.06, "{times}: {found} for {law}");
        }
        assert!((share(50_000_000) / 2500_f64.powf(-1.1) - 1.0).abs() < 0.4, "{}", share(50_000_000));
    }

    /// Articles of a feed are sent 0.2 s apart on average, 20 per connection; peer-to-peer pieces one second apart in
    /// each direction.
    #[test]
    fn clocks_of_concurrent_dialogues() {
        let (tables, mut rng) = (Tables::new(), Rng::stream(8, "mix"));
        let (mut offers, mut feeds) = (Vec::new(), Vec::new());
        let (mut pieces, mut asked) = (Vec::new(), Vec::new());
        for _ in 0..5_000 {
            let feed = nntp(&tables, &mut rng);
            assert!(feed.concurrent && feed.steps.iter().all(|s| s.after == After::Send));
            assert!(feed.steps.chunks(2).all(|pair| pair[0].wait_us == pair[1].wait_us));
            feeds.push(feed.steps.len() as f64 / 2.0);
            offers.extend(feed.steps.into_iter().filter(|s| s.from == Side::Initiator));
            let peers = peer_to_peer(&tables, &mut rng);
            assert!(peers.concurrent && peers.steps.iter().all(|s| s.after == After::Send));
            assert!(peers.steps[..2].iter().all(|s| s.wait_us == 0));
            let of = |from| peers.steps.iter().skip(2).filter(move |s| s.from == from).copied();
            pieces.extend(of(Side::Acceptor));
            asked.extend(of(Side::Initiator));
        }
        assert!((middle(feeds).0 / 20.0 - 1.0).abs() < 0.05);
        exponential(waits(offers.iter()), 0.2);
        exponential(waits(pieces.iter()), 1.0);
        exponential(waits(asked.iter()), 1.0);
        lognormal(offers.iter().map(|s| s.bytes as f64).collect(), 3000.0, 1.5);
    }

    /// Interarrival times are exponential.
    #[test]
    fn connections_come_at_random() {
        let mut mix = Mix { tables: std::sync::Arc::new(Tables::new()), interval: 0.25, elapsed: 0.0 };
        let mut rng = Rng::stream(9, "mix");
        let starts: Vec<f64> = (0..20_000).filter_map(|_| mix.next(&mut rng)).map(|(at, _)| at.as_secs_f64()).collect();
        exponential(starts.windows(2).map(|w| w[1] - w[0]).collect(), 0.25);
        assert!(starts[0] < 3.0);
    }

    /// Each offer of a feed is answered. The acceptor of a peer-to-peer connection sends ten pieces for every three of
    /// the initiator.
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
