//! Users whose distributions have a single value each: the exact actions after each event.

use super::*;
use crate::empirical::Empirical;

fn always(value: f64) -> Empirical {
    Empirical::from_counts(&[(value, 1.0)])
}

/// A user, its clock, and the actions since the last query.
struct Desk {
    user: User,
    rng: Rng,
    now: Instant,
}

impl Desk {
    /// Pages of `files` files of 1000 bytes, requests of 300 bytes, think times of 10 s, stays of two pages.
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

    fn handle(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut cx = Cx { now: self.now, servers: 4, rng: &mut self.rng, actions: &mut actions };
        self.user.on_event(event, &mut cx);
        actions
    }

    /// Delivers the response on this connection, one second later.
    fn respond(&mut self, conn: u16) -> Vec<Action> {
        self.now += Duration::from_secs(1);
        self.handle(Event::Response(Conn(conn)))
    }

    fn counters(&self) -> [f64; 4] {
        [0, 1, 2, 3].map(|i| self.user.counter(i))
    }
}

/// Connections with a new request, and those that were opened.
fn requested(actions: &[Action]) -> (Vec<u16>, Vec<u16>) {
    let (mut requested, mut opened) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            Action::Request { conn, request: 300, response: 1000, .. } => requested.push(conn.0),
            Action::Open { conn, .. } => opened.push(conn.0),
            _ => {}
        }
    }
    (requested, opened)
}

/// Completed exchanges: kind, start, bytes.
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
    let first = wakes(&desk.handle(Event::Start)).unwrap();
    assert!((0.0..10.0).contains(&first), "the rest of a think time: {first}");
    assert_eq!(requested(&desk.handle(Event::Wake)), (vec![0], vec![0]), "the document alone");
    // Its connection closes; the other files are requested on three parallel connections.
    let main = desk.respond(0);
    assert_eq!((requested(&main), done(&main)), ((vec![1, 2, 3], vec![1, 2, 3]), vec![(REQUEST, 0.0, 1000)]));
    assert_eq!(requested(&desk.handle(Event::Closed(Conn(0)))), (vec![], vec![]));
    // The number of a closed connection is reused.
    assert_eq!(requested(&desk.respond(2)), (vec![0], vec![0]));
    assert_eq!((requested(&desk.respond(1)), requested(&desk.respond(3))), ((vec![], vec![]), (vec![], vec![])));
    let last = desk.respond(0);
    assert_eq!(done(&last), [(REQUEST, 2.0, 1000), (PAGE, 0.0, 5000)]);
    assert_eq!(wakes(&last), Some(15.0), "a think time of 10 s after 5 s");
    assert_eq!(desk.counters(), [1.0, 5.0, 5000.0, 0.0]);
}

#[test]
fn a_file_that_fails_is_counted_and_the_others_are_asked_for() {
    let mut desk = Desk::new(6.0, 0.0);
    desk.handle(Event::Wake);
    desk.respond(0);
    // When connection 2 fails, the next request opens a connection with the same number.
    assert_eq!(requested(&desk.handle(Event::Failed(Conn(2)))), (vec![2], vec![2]));
    assert_eq!(requested(&desk.respond(1)).0, [4], "the last file");
    for conn in [2, 3] {
        assert_eq!((requested(&desk.respond(conn)).0.len(), desk.user.page.is_some()), (0, true));
    }
    let last = desk.respond(4);
    assert_eq!(done(&last), [(REQUEST, 1.0 + 1.0, 1000)], "a page with a failure is not complete");
    assert_eq!(wakes(&last), Some(15.0));
    assert_eq!(desk.counters(), [0.0, 5.0, 5000.0, 1.0]);
}

#[test]
fn without_its_document_a_page_is_over() {
    let mut desk = Desk::new(6.0, 0.0);
    desk.handle(Event::Wake);
    desk.now += Duration::from_secs(3);
    let failed = desk.handle(Event::Failed(Conn(0)));
    assert_eq!((requested(&failed).0.len(), done(&failed).len(), wakes(&failed)), (0, 0, Some(13.0)));
    assert_eq!(desk.counters(), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn a_persistent_stay_keeps_its_connections_and_leaves_them() {
    let mut desk = Desk::new(3.0, 1.0);
    let first = desk.handle(Event::Wake);
    assert!(first.iter().all(|a| !matches!(a, Action::Request { close: true, .. })));
    // The document, then two files in parallel, one of them on the document's connection.
    assert_eq!(requested(&first), (vec![0], vec![0]));
    assert_eq!(requested(&desk.respond(0)), (vec![0, 1], vec![1]));
    desk.respond(1);
    assert_eq!(wakes(&desk.respond(0)), Some(13.0));
    let second = desk.handle(Event::Wake);
    assert_eq!(requested(&second), (vec![0], vec![]), "the second page of the stay");
    [0, 0, 1].into_iter().for_each(|conn| _ = desk.respond(conn));
    // The stay is over: both connections close, and the next page is from another server.
    let before = desk.user.server;
    let third = desk.handle(Event::Wake);
    let closed = third.iter().filter(|a| matches!(a, Action::Close { .. })).count();
    assert_eq!((closed, requested(&third).1), (2, vec![2]));
    assert_ne!(desk.user.server, before);
    assert_eq!(desk.counters(), [2.0, 6.0, 6000.0, 0.0]);
}

#[test]
fn no_more_than_256_connections_are_there_closing_ones_included() {
    let mut desk = Desk::new(300.0, 0.0);
    desk.handle(Event::Wake);
    // No connection finishes closing, so that only 256 files can be requested.
    (0..256).for_each(|conn| _ = desk.respond(conn));
    assert_eq!((desk.counters()[1], desk.user.conns.len()), (256.0, 256));
    assert_eq!(requested(&desk.handle(Event::Closed(Conn(77)))).0, [77]);
    assert_eq!((requested(&desk.respond(77)).0.len(), desk.user.conns.len()), (0, 256));
}

#[test]
fn a_user_met_at_random_is_within_a_think_time_in_proportion_to_its_length() {
    let mut desk = Desk::new(1.0, 0.0);
    let mut habits = (*desk.user.habits).clone();
    habits.tables.think = Empirical::from_counts(&[(1.0, 1.0), (9.0, 1.0)]);
    desk.user.habits = Arc::new(habits);
    let drawn: Vec<f64> = (0..40_000).map(|_| desk.user.residual_think(&mut desk.rng)).collect();
    // The mean residual time is E x^2 / (2 E x) = 41 / 10. Long think times have 9/10 of the total time, and 8/9 of
    // their residuals exceed one second.
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
