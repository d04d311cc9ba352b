//! A user whose distributions have one value each: what it wants after each event, one by one.

use super::*;
use crate::empirical::Empirical;

fn always(value: f64) -> Empirical {
    Empirical::from_counts(&[(value, 1.0)])
}

/// A user and what it has wanted since it was last asked.
struct Desk {
    user: User,
    rng: Rng,
    now: Instant,
}

impl Desk {
    /// Pages of so many files of 1000 bytes, asked for with 300; think times of 10 s; stays of two pages.
    fn new(files: f64, persistent: f64) -> Desk {
        let tables = MahTables {
            request: always(300.0),
            reply: always(1000.0),
            files: always(files),
            stay: always(2.0),
            think: always(10.0),
        };
        let habits = Habits { tables: tables.into(), parallel: 3, persistent, persistent_parallel: 2 };
        Desk { user: User::new(Arc::new(habits)), rng: Rng::stream(1, "desk"), now: Instant::ZERO }
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut cx = Cx { now: self.now, servers: 4, rng: &mut self.rng, actions: &mut actions };
        self.user.on_event(event, &mut cx);
        actions
    }

    /// After a second, the file on this connection has come.
    fn came(&mut self, conn: u16) -> Vec<Action> {
        self.now += Duration::from_secs(1);
        self.tell(Event::Response(Conn(conn)))
    }

    fn counters(&self) -> [f64; 4] {
        [0, 1, 2, 3].map(|i| self.user.counter(i))
    }
}

/// The connections on which something is asked for, and those that are opened.
fn asked(actions: &[Action]) -> (Vec<u16>, Vec<u16>) {
    let (mut asked, mut opened) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            Action::Request { conn, request: 300, response: 1000, .. } => asked.push(conn.0),
            Action::Open { conn, .. } => opened.push(conn.0),
            _ => {}
        }
    }
    (asked, opened)
}

/// The exchanges that are done: kind, when it began, and bytes.
fn done(actions: &[Action]) -> Vec<(u8, f64, u64)> {
    let done = actions.iter().filter_map(|action| match action {
        Action::Done(e) => Some((e.kind, e.started.as_secs_f64(), e.bytes)),
        _ => None,
    });
    done.collect()
}

fn wakes(actions: &[Action]) -> Option<f64> {
    actions.iter().find_map(|action| match action {
        Action::WakeAt(at) => Some(at.as_secs_f64()),
        _ => None,
    })
}

#[test]
fn a_page_is_its_document_and_then_files_side_by_side() {
    let mut desk = Desk::new(5.0, 0.0);
    let first = wakes(&desk.tell(Event::Start)).unwrap();
    assert!((0.0..10.0).contains(&first), "the rest of a think time: {first}");
    assert_eq!(asked(&desk.tell(Event::Wake)), (vec![0], vec![0]), "the document alone");
    // Its connection closes; the other files are asked for on three at a time.
    let main = desk.came(0);
    assert_eq!((asked(&main), done(&main)), ((vec![1, 2, 3], vec![1, 2, 3]), vec![(REQUEST, 0.0, 1000)]));
    assert_eq!(asked(&desk.tell(Event::Closed(Conn(0)))), (vec![], vec![]));
    // The number of a closed connection is used again.
    assert_eq!(asked(&desk.came(2)), (vec![0], vec![0]));
    assert_eq!((asked(&desk.came(1)), asked(&desk.came(3))), ((vec![], vec![]), (vec![], vec![])));
    let last = desk.came(0);
    assert_eq!(done(&last), [(REQUEST, 2.0, 1000), (PAGE, 0.0, 5000)]);
    assert_eq!(wakes(&last), Some(15.0), "a think time of 10 s after 5 s");
    assert_eq!(desk.counters(), [1.0, 5.0, 5000.0, 0.0]);
}

#[test]
fn a_file_that_fails_is_counted_and_the_others_are_asked_for() {
    let mut desk = Desk::new(6.0, 0.0);
    desk.tell(Event::Wake);
    desk.came(0);
    // Of connections 1 to 3 one fails: its place is taken, on its number.
    assert_eq!(asked(&desk.tell(Event::Failed(Conn(2)))), (vec![2], vec![2]));
    assert_eq!(asked(&desk.came(1)).0, [4], "the last file");
    for conn in [2, 3] {
        assert_eq!((asked(&desk.came(conn)).0.len(), desk.user.page.is_some()), (0, true));
    }
    let last = desk.came(4);
    assert_eq!(done(&last), [(REQUEST, 1.0 + 1.0, 1000)], "a page with a failure is not complete");
    assert_eq!(wakes(&last), Some(15.0));
    assert_eq!(desk.counters(), [0.0, 5.0, 5000.0, 1.0]);
}

#[test]
fn without_its_document_a_page_is_over() {
    let mut desk = Desk::new(6.0, 0.0);
    desk.tell(Event::Wake);
    desk.now += Duration::from_secs(3);
    let failed = desk.tell(Event::Failed(Conn(0)));
    assert_eq!((asked(&failed).0.len(), done(&failed).len(), wakes(&failed)), (0, 0, Some(13.0)));
    assert_eq!(desk.counters(), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_persistent_stay_keeps_its_connections_and_leaves_them() {
    let mut desk = Desk::new(3.0, 1.0);
    let first = desk.tell(Event::Wake);
    assert!(first.iter().all(|a| !matches!(a, Action::Request { close: true, .. })));
    // The document, then two at a time, of which one is on the connection of the document.
    assert_eq!(asked(&first), (vec![0], vec![0]));
    assert_eq!(asked(&desk.came(0)), (vec![0, 1], vec![1]));
    desk.came(1);
    assert_eq!(wakes(&desk.came(0)), Some(13.0));
    let second = desk.tell(Event::Wake);
    assert_eq!(asked(&second), (vec![0], vec![]), "the second page of the stay");
    [0, 0, 1].into_iter().for_each(|conn| _ = desk.came(conn));
    // The stay is over: both connections are closed, and the next server is another one.
    let before = desk.user.server;
    let third = desk.tell(Event::Wake);
    let closed = third.iter().filter(|a| matches!(a, Action::Close { .. })).count();
    assert_eq!((closed, asked(&third).1), (2, vec![2]));
    assert_ne!(desk.user.server, before);
    assert_eq!(desk.counters(), [2.0, 6.0, 6000.0, 0.0]);
}

#[test]
fn no_more_than_256_connections_are_there_closing_ones_included() {
    let mut desk = Desk::new(300.0, 0.0);
    desk.tell(Event::Wake);
    // None of them closes: 256 files can be asked for.
    (0..256).for_each(|conn| _ = desk.came(conn));
    assert_eq!((desk.counters()[1], desk.user.conns.len()), (256.0, 256));
    assert_eq!(asked(&desk.tell(Event::Closed(Conn(77)))).0, [77]);
    assert_eq!((asked(&desk.came(77)).0.len(), desk.user.conns.len()), (0, 256));
}

#[test]
fn a_user_met_at_random_is_within_a_think_time_in_proportion_to_its_length() {
    let mut desk = Desk::new(1.0, 0.0);
    let mut habits = (*desk.user.habits).clone();
    habits.tables.think = Empirical::from_counts(&[(1.0, 1.0), (9.0, 1.0)]);
    desk.user.habits = Arc::new(habits);
    let drawn: Vec<f64> = (0..40_000).map(|_| desk.user.residual_think(&mut desk.rng)).collect();
    // The mean residual time is E x^2 / 2 E x = 41 / 10; those above one second are 8/9 of the 9/10 that are met in long ones.
    let mean = drawn.iter().sum::<f64>() / 40_000.0;
    assert!((mean / 4.1 - 1.0).abs() < 0.02, "{mean}");
    let above = drawn.iter().filter(|t| **t > 1.0).count() as f64 / 40_000.0;
    assert!((above - 0.8).abs() < 0.01, "{above}");
}

#[test]
fn the_next_server_is_any_other() {
    let mut rng = Rng::stream(3, "servers");
    let mut count = |now, servers: u32| {
        let mut found = vec![0; servers as usize];
        (0..3000).for_each(|_| found[another(now, servers, &mut rng) as usize] += 1);
        found
    };
    assert!(count(None, 3).iter().all(|n| (900..1100).contains(n)));
    let others = count(Some(2), 4);
    assert!(others[2] == 0 && [0, 1, 3].iter().all(|&i| (900..1100).contains(&others[i])), "{others:?}");
    assert_eq!((count(Some(0), 1), count(None, 1)), (vec![3000], vec![3000]));
}

#[test]
fn drawn_numbers_are_rounded_from_one_on() {
    assert_eq!([0.0, 0.4, 1.49, 1.5, 2.49, 1e6].map(whole), [1, 1, 1, 2, 2, 1_000_000]);
}
