//! Opening, asking, closing.

use aqmkit_transport::rate::{Content, Endpoint};
use aqmkit_transport::{Event, Kind};

use super::*;

#[test]
fn a_request_is_sent_again_until_it_is_answered() {
    let mut net = Net::new(&profile(Kind::Tfrc), 1, 100);
    // The first two packets are lost: the opening, and the request that follows it at once.
    let mut n = 0;
    net.script = Box::new(move |_, _| {
        n += 1;
        if n <= 2 { Fate::Drop } else { Fate::Pass }
    });
    net.call(0, A, Endpoint::connect);
    net.call(0, A, |end, p, now, out| end.write(p, 64, now, out));
    net.run_until(ms(10_000));
    // The profile's first wait is 3 s; then 50 ms there, and 50 ms back.
    assert_eq!(net.events, [(ms(3_050), B, Event::Connected), (ms(3_100), A, Event::Connected)]);
    assert_eq!(net.flows[0][B].delivered(), 64);
}

/// The answer to a request is lost, so that it comes twice.
#[test]
fn what_comes_twice_is_news_once() {
    let mut net = Net::new(&profile(Kind::Tfrc), 1, 100);
    let mut heard = 0;
    net.script = Box::new(move |packet, _| match packet.content {
        Content::Heard { .. } => {
            heard += 1;
            // The first answers the opening.
            if heard == 2 { Fate::Drop } else { Fate::Pass }
        }
        _ => Fate::Pass,
    });
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(200));
    net.call(0, A, |end, p, now, out| end.write(p, 64, now, out));
    net.run_until(ms(10_000));
    let asked = net.sent.iter().filter(|s| matches!(s.packet.content, Content::Ask { .. }) && s.packet.len == 64);
    assert_eq!((asked.count(), net.flows[0][B].delivered(), net.news[B]), (2, 64, 1));
    // Data is news each time, a report or an answer is none.
    net.call(0, B, |end, p, now, out| end.write(p, 10_000, now, out));
    net.run_until(ms(20_000));
    assert_eq!((net.delivered(0), net.news), (10_000, [10, 1]));
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut net = Net::new(&profile(Kind::Tfrc), 1, 100);
    net.script = Box::new(|_, _| Fate::Drop);
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(1_000_000));
    // 3 + 6 + 12 + 24 + 48 s.
    assert_eq!(net.events, [(ms(93_000), A, Event::Failed)]);
}

#[test]
fn who_closes_is_not_sent_to_for_long() {
    let mut net = Net::sending(&profile(Kind::Tfrc), 1, 100);
    net.bottleneck = Some(Bottleneck { bytes_per_second: 100_000.0, limit: 10.0 });
    // The first word of the close is lost.
    let mut heard = false;
    net.script = Box::new(move |packet, _| {
        let first = packet.content == Content::Close && !std::mem::replace(&mut heard, true);
        if first { Fate::Drop } else { Fate::Pass }
    });
    net.run_until(ms(5_000));
    net.call(0, A, Endpoint::close);
    net.run_until(ms(6_000));
    assert!(net.flows[0].iter().all(Endpoint::is_closed));
    let closed: Vec<usize> = net.events.iter().filter(|e| e.2 == Event::Closed).map(|e| e.1).collect();
    assert_eq!(closed, [A, B]);
}

#[test]
fn data_with_an_end_ends() {
    let mut net = Net::new(&profile(Kind::Scp), 1, 100);
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(60));
    net.call(0, B, |end, p, now, out| end.write(p, 10_500, now, out));
    net.run_until(ms(60_000));
    assert_eq!(net.delivered(0), 10_500);
    assert_eq!(net.flows[0][B].stats().data_packets_sent, 11);
}

/// However little is left, it is sent; then nothing is to do at once.
#[test]
fn the_last_byte_is_sent() {
    for kind in [Kind::Tfrc, Kind::Scp, Kind::Lda] {
        for bytes in [1, 999, 1_000, 1_001, 5_001] {
            let mut net = Net::new(&profile(kind.clone()), 1, 100);
            net.call(0, A, Endpoint::connect);
            net.run_until(ms(60));
            net.call(0, B, |end, p, now, out| end.write(p, bytes, now, out));
            net.run_until(ms(60_000));
            let packets = net.flows[0][B].stats().data_packets_sent;
            assert_eq!((net.delivered(0), packets), (bytes, bytes.div_ceil(1_000)), "{kind:?}");
            let deadline = net.flows[0][B].deadline(&net.profile, net.now);
            assert!(deadline.is_none_or(|at| at > net.now), "{kind:?}, {bytes} bytes: {deadline:?}");
        }
    }
}

/// The last data is sent at the rate, which is a packet per second at first, and no later: also a single byte.
#[test]
fn the_rest_goes_when_the_rate_says_so() {
    for bytes in [1_001, 2_000] {
        let mut net = Net::new(&profile(Kind::Tfrc), 1, 100);
        net.script = Box::new(|packet, _| if packet.len > 0 { Fate::Drop } else { Fate::Pass });
        net.call(0, A, Endpoint::connect);
        net.run_until(ms(60));
        net.call(0, B, |end, p, now, out| end.write(p, bytes, now, out));
        net.run_until(ms(10_000));
        assert_eq!(net.data(), [ms(60), ms(1_060)], "{bytes} bytes");
    }
}

/// Who is answered has all its waits again: of a request of two pieces the first needs four tries, and the second gets five.
#[test]
fn an_answer_begins_the_waits_anew() {
    let mut net = Net::new(&profile(Kind::Tfrc), 1, 100);
    let mut tries = 0;
    net.script = Box::new(move |packet, _| match packet.content {
        Content::Ask { from: 0 } if packet.len > 0 && tries < 3 => {
            tries += 1;
            Fate::Drop
        }
        Content::Ask { from: 1_000 } => Fate::Drop,
        _ => Fate::Pass,
    });
    net.call(0, A, Endpoint::connect);
    net.run_until(ms(200));
    net.call(0, A, |end, p, now, out| end.write(p, 2_000, now, out));
    net.run_until(ms(1_000_000));
    // 3 + 6 + 12 s and a round trip; then 3 + 6 + 12 + 24 + 48 s.
    assert_eq!(net.events.last(), Some(&(ms(200 + 21_000 + 100 + 93_000), A, Event::Failed)));
    assert_eq!(net.flows[0][A].stats().timeouts, 3 + 4);
    assert_eq!(net.flows[0][B].delivered(), 1_000);
}

/// The packets of a request are sent one by one, each when the previous one is acknowledged, and none once all are, by answers or by data.
#[test]
fn a_long_request_goes_in_pieces() {
    for loses in [false, true] {
        let mut net = Net::new(&profile(Kind::Scp), 1, 100);
        let mut first = loses;
        net.script = Box::new(move |packet, _| {
            let lost = packet.len == 1000 && std::mem::take(&mut first);
            if lost { Fate::Drop } else { Fate::Pass }
        });
        net.call(0, A, Endpoint::connect);
        net.run_until(ms(200));
        net.call(0, A, |end, p, now, out| end.write(p, 2_500, now, out));
        // Data that comes meanwhile says again what was heard.
        net.call(0, B, |end, p, now, out| end.write(p, 20_000, now, out));
        net.run_until(ms(20_000));
        let asked = net.sent.iter().filter_map(|s| match s.packet.content {
            Content::Ask { from } => Some((from, s.packet.len)),
            _ => None,
        });
        let asked: Vec<(u64, u32)> = asked.collect();
        // The opening, and the three pieces; one that is lost goes again with the timer.
        let mut wanted = vec![(0, 0), (0, 1000), (1000, 1000), (2000, 500)];
        if loses {
            wanted.insert(1, (0, 1000));
        }
        assert_eq!(asked, wanted);
        assert_eq!((net.flows[0][B].delivered(), net.delivered(0)), (2_500, 20_000));
        assert_eq!(net.flows[0][A].stats().timeouts, u32::from(loses));
        assert_eq!(net.flows[0][A].stats().reports_sent, 20);
    }
}

/// Data may be marked where the profile uses ECN; nothing else ever may.
#[test]
fn data_is_ecn_capable_where_the_profile_says_so() {
    for kind in [Kind::Tfrc, Kind::Scp, Kind::Lda] {
        for (ecn, field) in [(false, Ecn::NotEct), (true, Ecn::Ect0)] {
            let mut net = Net::new(&Profile { ecn, ..profile(kind.clone()) }, 1, 100);
            net.call(0, A, Endpoint::connect);
            net.run_until(ms(60));
            net.call(0, B, |end, p, now, out| end.write(p, 10_000, now, out));
            net.run_until(ms(20_000));
            for sent in &net.sent {
                let data = matches!(sent.packet.content, Content::Data(_));
                assert_eq!(sent.packet.ecn, if data { field } else { Ecn::NotEct }, "{kind:?}: {:?}", sent.packet);
            }
            assert_eq!(net.delivered(0), 10_000);
        }
    }
}
