use aqmkit_base::{Duration, Instant, Rng};
use aqmkit_traffic::Event;
use aqmkit_traffic::mpeg::loss_model::Group;
use aqmkit_traffic::mpeg::movie::{Kind, Movie};
use aqmkit_traffic::mpeg::{Params, packets_per_frame};

use crate::harness::{Host, population, spec};

const MTU_SHARE: u32 = 1452;

fn movie() -> Movie {
    Params::default().movie(None).unwrap()
}

fn stream(index: usize, secs: u64) -> Host {
    let p = population("mpeg", "{}");
    let mut host = Host::new(&*p, index, 1);
    host.run(Duration::from_secs(secs));
    host
}

/// KB/s (of 1024 bytes) on the wire of one stream, from `from` to `to` seconds.
fn load_of(movie: &Movie, stream: u64, from: f64, to: f64) -> f64 {
    let first = stream * 30_000;
    let frames = first + (from * 30.0) as u64..first + (to * 30.0) as u64;
    let wire = |n| movie.frame(n).size + 28 * movie.frame(n).size.div_ceil(MTU_SHARE);
    frames.map(|n| f64::from(wire(n))).sum::<f64>() / (to - from) / 1024.0
}

/// The same for four streams.
fn load(movie: &Movie, from: f64, to: f64) -> f64 {
    (0..4).map(|i| load_of(movie, i, from, to)).sum()
}

#[test]
fn sizes_and_packets_are_those_of_table_a5() {
    let movie = movie();
    assert_eq!(movie.len(), 97 * 60 * 30);
    // Type, mean bytes, packets per frame with tolerance, range of sizes.
    let rows = [
        (Kind::I, 6916.0, 5.26, 0.01, 2000, 14_000),
        (Kind::P, 1646.0, 1.69, 0.05, 100, 10_000),
        (Kind::B, 241.0, 1.0, 0.0, 40, 1000),
    ];
    for (kind, bytes, packets, tolerance, low, high) in rows {
        let sizes: Vec<u32> = movie.sizes(kind).collect();
        let mean = sizes.iter().map(|&s| f64::from(s)).sum::<f64>() / sizes.len() as f64;
        assert!((mean - bytes).abs() < 0.1, "{kind:?} {mean}");
        let per_frame = packets_per_frame(&movie, kind, MTU_SHARE);
        assert!((per_frame - packets).abs() <= tolerance, "{kind:?} {per_frame}");
        assert!(sizes.iter().all(|s| (low..=high).contains(s)), "{kind:?}");
    }
    let (least, most) = (movie.sizes(Kind::I).min().unwrap(), movie.sizes(Kind::I).max().unwrap());
    assert!(least < 2500 && most > 13_000, "I frames from {least} to {most}");
    assert!(movie.sizes(Kind::P).max().unwrap() > 9000);
}

#[test]
fn i_frames_of_a_minute_span_five_to_nine_kilobytes() {
    let frames: Vec<u32> = movie().sizes(Kind::I).collect();
    let median = |mut of: Vec<u32>| {
        of.sort_unstable();
        of[of.len() / 2]
    };
    let low = median(frames.chunks(300).map(|m| *m.iter().min().unwrap()).collect());
    let high = median(frames.chunks(300).map(|m| *m.iter().max().unwrap()).collect());
    assert!((4300..5500).contains(&low) && (8500..10_000).contains(&high), "{low} to {high}");
}

#[test]
fn loads_vary_as_in_table_a4() {
    let movie = movie();
    // Multimedia starts at 30 s; the periods are 37 to 88 s and 98 to 135 s.
    let (mm, blast) = (load(&movie, 7.0, 58.0), load(&movie, 68.0, 105.0));
    assert!((164.0..=186.0).contains(&mm) && (151.0..=160.0).contains(&blast), "{mm} and {blast}");
    for (from, to) in [(7, 57), (68, 104)] {
        for at in (from..to).step_by(2) {
            let short = load(&movie, f64::from(at), f64::from(at + 2));
            assert!((130.0..=192.0).contains(&short), "{short} at {at}");
        }
    }
    for i in 0..4 {
        let one = load_of(&movie, i, 0.0, 180.0);
        assert!((40.0..=50.0).contains(&one), "stream {i}: {one}");
    }
    // Over the whole movie: 130 to over 200 KB/s, averaged over tens of seconds.
    let windows: Vec<f64> = (0..190).map(|i| load(&movie, f64::from(i) * 30.0, f64::from(i + 1) * 30.0)).collect();
    let least = windows.iter().copied().fold(f64::MAX, f64::min);
    let above = windows.iter().filter(|&&w| w > 200.0).count();
    assert!((120.0..150.0).contains(&least) && above > 20, "{least}, {above} above 200");
}

#[test]
fn packets_per_frame_are_those_of_its_type() {
    let movie = Movie::new(&[(Kind::I, 1453), (Kind::B, 100), (Kind::I, 1452)], false).unwrap();
    let per_frame = [Kind::I, Kind::B, Kind::P].map(|kind| packets_per_frame(&movie, kind, MTU_SHARE));
    assert_eq!(per_frame, [1.5, 1.0, 0.0]);
}

/// Stream `i` begins `begin + i offset` into the movie, back to an I frame.
#[test]
fn streams_begin_where_they_should() {
    let p = population("mpeg", r#"{"begin": "100.1s", "offset": "10s"}"#);
    let movie = movie();
    for i in 0..4 {
        let mut host = Host::new(&*p, i, 1);
        host.run(Duration::from_secs(3));
        // 30 frames a second, in groups of 6: 3003 frames are rounded down to 3000.
        let first = 3000 + 300 * i as u64;
        let bytes = |tag: u64| host.sent.iter().filter(|s| s.tag == tag).map(|s| s.len).sum::<u32>();
        assert!((0..30).all(|n| bytes(n) == movie.frame(first + n).size), "stream {i}");
    }
}

#[test]
fn one_stream_has_the_published_rates() {
    let host = stream(0, 600);
    let frames = host.app.counter(0);
    assert!((frames / 600.0 - 30.0).abs() < 0.06, "{frames}");
    let per_sec = host.bytes_between(10.0, 590.0) / 580.0 / 1024.0;
    assert!((38.0..50.0).contains(&per_sec), "{per_sec} KB/s");
    let payload = host.bytes_between(0.0, 600.0) / host.sent.len() as f64;
    assert!((779.0..=889.0).contains(&payload), "{payload}");
    // In 66 ms of a period of 50 s: from nearly nothing to almost 8000 bytes.
    let two_frames: Vec<f64> =
        (100..858).map(|i| host.bytes_between(f64::from(i) * 0.066, f64::from(i + 1) * 0.066)).collect();
    let (least, most) = two_frames.iter().fold((f64::MAX, 0.0_f64), |(l, h), &b| (l.min(b), h.max(b)));
    assert!(least < 400.0 && (7000.0..9000.0).contains(&most), "{least} to {most}");
}

#[test]
fn frames_leave_at_once_on_a_clock_of_their_own() {
    let hosts: Vec<Host> = (0..4).map(|i| stream(i, 10)).collect();
    let mut phases: Vec<u64> = hosts.iter().map(|h| h.sent[0].at.as_nanos() % 33_333_333).collect();
    phases.sort_unstable();
    assert!(phases.windows(2).all(|w| w[1] > w[0]), "{phases:?}");
    for host in &hosts {
        for pair in host.sent.windows(2) {
            let gap = pair[1].at.since(pair[0].at);
            assert!(gap.is_zero() == (pair[0].tag == pair[1].tag));
            assert!(gap.is_zero() || (gap.as_millis_f64() - 33.333).abs() < 0.001, "{gap}");
            assert!(pair[0].len <= MTU_SHARE);
        }
    }
    let sizes = |h: &Host| h.sent.iter().map(|s| s.len).collect::<Vec<_>>();
    assert_ne!(sizes(&hosts[0]), sizes(&hosts[1]), "each is elsewhere in the movie");
}

#[test]
fn streams_in_step_and_out_of_step_in_a_tenth_of_a_second() {
    let [i, p, b] = [6916.0, 1646.0, 241.0];
    let near = |got: f64, published: f64| assert!((got / 1000.0 - published).abs() < 1.0, "{got}");
    near(4.0 * i + 8.0 * b, 29.0);
    near(4.0 * p + 8.0 * b, 8.0);
    near(2.0 * i + 2.0 * p + 8.0 * b, 19.0);
}

/// Plays a stream for `secs` seconds through a network with independent packet losses.
fn playable(loss: f64, secs: u64) -> (f64, f64, f64) {
    let mut host = stream(0, secs);
    let mut rng = Rng::stream(5, "loss");
    let sent = std::mem::take(&mut host.sent);
    for packet in sent.iter().filter(|_| !rng.chance(loss)) {
        host.app.on_datagram(packet.tag, packet.len, packet.at, packet.at + Duration::from_millis(40));
    }
    let count = |i| host.app.counter(i);
    assert!((count(6) / count(4) - 0.040).abs() < 1e-9, "mean delay");
    (count(0), count(1), count(2))
}

/// Expected share of playable frames among the first `frames`: each needs all packets of its own and of the frames that
/// it depends on, according to its position in `IBBPBB`.
fn expected(movie: &Movie, loss: f64, frames: u64) -> f64 {
    let packets = |n: u64| f64::from(movie.frame(n).size.div_ceil(MTU_SHARE));
    let chance = |n: u64| {
        let group = n - n % 6;
        let needs: &[u64] = match n % 6 {
            0 => &[0],
            3 => &[0, 3],
            1 | 2 => &[0, 3, n % 6],
            _ => &[0, 3, 6, n % 6],
        };
        (1.0 - loss).powf(needs.iter().map(|m| packets(group + m)).sum())
    };
    (0..frames).map(chance).sum::<f64>() / frames as f64
}

#[test]
fn frames_that_can_be_shown_follow_the_product_of_the_chances() {
    let (sent, received, shown) = playable(0.0, 60);
    assert_eq!(received, sent);
    assert!(sent - shown <= 2.0, "only the last frames wait for an I frame");
    let movie = movie();
    for loss in [0.01, 0.03, 1.0 / 12.0] {
        let (frames, complete, playable) = playable(loss, 1200);
        let product = expected(&movie, loss, frames as u64);
        assert!((playable / frames - product).abs() < 0.01, "{} is not {product}", playable / frames);
        assert!(playable < complete && complete < frames);
        // The mean sizes of table A.5 give the same, except for the effect of varying sizes.
        let group = Group { packets: [5.26, 1.69, 1.0], ..Group::PARRIS };
        assert!((group.playable(loss) - product).abs() < 0.06, "{} and {product}", group.playable(loss));
    }
}

#[test]
fn stop_stops() {
    let p = population("mpeg", r#"{"flows": 8}"#);
    assert_eq!(p.instances(), 8);
    assert!((p.mean_payload().unwrap() - 870.0).abs() < 8.0, "{:?}", p.mean_payload());
    let mut host = Host::new(&*p, 7, 1);
    host.run(Duration::from_secs(5));
    let last = host.sent.last().unwrap().at;
    assert!(last <= Instant::ZERO + Duration::from_secs(5));
    let mut actions = Vec::new();
    let mut rng = Rng::stream(1, "x");
    let mut cx = aqmkit_traffic::Cx { now: last, servers: 1, rng: &mut rng, actions: &mut actions };
    host.app.on_event(Event::Wake, &mut cx);
    assert!(actions.is_empty());
}

#[test]
fn a_trace_takes_the_place_of_the_movie() {
    let with = spec("mpeg", r#"{"frames": "film.txt", "flows": 1, "stagger": "0s", "offset": "0s"}"#);
    assert_eq!(with.files(), ["film.txt"]);
    let p = with.prepare(&["1 I 3000\n2 B 100\n3 P 1500\n4 B 90\n".into()]).unwrap();
    let mut host = Host::new(&*p, 0, 1);
    host.run(Duration::from_millis(130));
    let sizes: Vec<u32> = host.sent.iter().map(|s| s.len).collect();
    assert_eq!(sizes, [1452, 1452, 96, 100, 1452, 48, 90]);
    let e = with.prepare(&["1 I 3000\nwhat\n".into()]);
    assert!(e.is_err_and(|e| e.to_string().starts_with("film.txt line 2")));
}

/// Recounts the counters from the datagrams and the movie.
#[test]
fn counters_are_those_of_what_was_sent_and_came() {
    let mut host = stream(1, 100);
    let sent = std::mem::take(&mut host.sent);
    let arrived: Vec<_> = sent.iter().filter(|packet| packet.tag % 7 != 3).collect();
    for packet in &arrived {
        host.app.on_datagram(packet.tag, packet.len, packet.at, packet.at + Duration::from_millis(packet.tag % 50));
    }
    let bytes = |packets: &mut dyn Iterator<Item = u32>| packets.map(f64::from).sum::<f64>();
    let frames = sent.last().unwrap().tag + 1;
    let complete = (0..frames).filter(|n| n % 7 != 3).count() as f64;
    assert_eq!([host.counter("frames_sent"), host.counter("frames_received")], [frames as f64, complete]);
    assert_eq!(host.counter("packets_sent"), sent.len() as f64);
    assert_eq!(host.counter("packets_received"), arrived.len() as f64);
    assert_eq!(host.counter("bytes_received"), bytes(&mut arrived.iter().map(|p| p.len)));
    let delays = arrived.iter().map(|p| (p.tag % 50) as f64 / 1000.0).sum::<f64>();
    assert!((host.counter("delay_sum_s") - delays).abs() < 1e-6);
    let movie = movie();
    for (letter, kind) in [("i", Kind::I), ("p", Kind::P), ("b", Kind::B)] {
        let of = || sent.iter().filter(|packet| movie.frame(30_000 + packet.tag).kind == kind);
        let tags: std::collections::BTreeSet<u64> = of().map(|packet| packet.tag).collect();
        let counted = ["frames", "bytes", "packets"].map(|what| host.counter(&format!("{letter}_{what}")));
        assert_eq!(counted, [tags.len() as f64, bytes(&mut of().map(|p| p.len)), of().count() as f64], "{kind:?}");
    }
}

#[test]
fn values_that_cannot_be_are_refused() {
    let check = |json: &str| spec("mpeg", json).check().unwrap_err().to_string();
    assert!(check(r#"{"pattern": "BBI"}"#).starts_with("pattern = \"BBI\""));
    assert!(check(r#"{"fps": 0}"#).starts_with("fps = 0"));
    assert!(check(r#"{"fragment": "10b"}"#).contains("from 64b"));
    assert!(check(r#"{"mean_p": "0b"}"#).starts_with("mean_p = 0"));
    assert!(check(r#"{"flows": 0}"#).starts_with("flows = 0"));
}
