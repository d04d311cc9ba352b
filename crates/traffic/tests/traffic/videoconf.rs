use aqmkit_base::Duration;
use aqmkit_traffic::videoconf::{FRAME, Trace};

use crate::harness::{Host, population, spec};

fn flows(secs: u64) -> Vec<Host> {
    let p = population("videoconf", "{}");
    let run = |i| {
        let mut host = Host::new(&*p, i, 1);
        host.run(Duration::from_secs(secs));
        host
    };
    (0..p.instances()).map(run).collect()
}

#[test]
fn a_flow_has_the_published_rates_and_sizes() {
    let trace = Trace::proshare(FRAME, Duration::ZERO);
    assert_eq!(trace.length(), Duration::from_secs(294));
    let packets = trace.packets();
    let sound = packets.iter().filter(|p| p.len == 200 && p.at.as_nanos() % 100_000_000 == 0).count();
    let per_sec = |n: usize| n as f64 / 294.0;
    assert_eq!(per_sec(sound), 10.0);
    assert!((per_sec(packets.len()) - 36.0).abs() < 0.25, "{}", per_sec(packets.len()));
    let payload: f64 = packets.iter().map(|p| f64::from(p.len)).sum();
    let mean = payload / packets.len() as f64;
    assert!((738.0..=757.5).contains(&(mean + 28.0)), "{mean}");
    assert!((mean / 700.0 - 1.0).abs() < 0.05, "{mean}");
    let wire = (payload + 28.0 * packets.len() as f64) / 294.0;
    assert!((wire / 27_000.0 - 1.0).abs() < 0.02, "{wire}");
    let video = wire - 10.0 * 228.0;
    assert!((video * 8.0 / 200_000.0 - 1.0).abs() < 0.01, "{video}");
    assert!(packets.iter().all(|p| p.len <= 1472));
}

/// The second packet of a frame is uniform on 100 to 632 bytes, the only packet of a frame on 600 to 1440 bytes; all
/// are shifted by the same few bytes.
#[test]
fn frames_have_the_sizes_of_the_page() {
    let trace = Trace::proshare(FRAME, Duration::ZERO);
    let video: Vec<_> = trace.packets().iter().filter(|p| p.len != 200 || p.at.as_nanos() % 100_000_000 != 0).collect();
    // 15 frames per second, the first a third of a frame interval after the sound.
    assert!((video[0].at.as_secs_f64() - 1.0 / 45.0).abs() < 1e-9);
    assert!(video.iter().all(|p| ((p.at.as_secs_f64() * 15.0 - 1.0 / 3.0).fract() + 1e-6).fract() < 2e-6));
    let (mut seconds, mut ones) = (Vec::new(), Vec::new());
    for frame in video.chunk_by(|a, b| a.at == b.at) {
        match frame {
            [one] => ones.push(f64::from(one.len)),
            [full, second] => {
                assert_eq!(full.len, 1472);
                seconds.push(f64::from(second.len));
            }
            _ => panic!("a frame has at most two packets"),
        }
    }
    assert!((seconds.len() as f64 / (seconds.len() + ones.len()) as f64 - 11.0 / 15.0).abs() < 0.02);
    assert_eq!(seconds.len() + ones.len(), 294 * 15);
    // 26 packets with headers for 15 frames; sizes are rounded to the nearest byte.
    let payload = video.iter().map(|p| f64::from(p.len)).sum::<f64>() / (294.0 * 15.0);
    assert!((payload + 28.0 * 26.0 / 15.0 - FRAME).abs() < 0.05, "{payload}");
    let ends = |of: &[f64]| of.iter().fold((f64::MAX, 0.0_f64), |(low, high), x| (low.min(*x), high.max(*x)));
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (second, one) = (ends(&seconds), ends(&ones));
    let shift = second.0 - 100.0;
    assert!(shift.abs() < 12.0, "{shift}");
    for (found, wanted) in [(second.1, 632.0), (one.0, 600.0), (one.1, 1440.0)] {
        assert!((found - shift - wanted).abs() <= 3.0, "{found} for {wanted} and {shift}");
    }
    assert!((mean(&seconds) - shift - 366.0).abs() < 10.0 && (mean(&ones) - shift - 1020.0).abs() < 20.0);
}

/// Bytes per second, with headers, of a conference with this trace.
fn rate(trace: &Trace) -> f64 {
    trace.packets().iter().map(|p| f64::from(p.len + 28)).sum::<f64>() / 294.0
}

#[test]
fn another_frame_changes_the_rate_and_no_packet() {
    let smaller = Trace::proshare(1626.0, Duration::ZERO);
    assert!((6.0 * rate(&smaller) - 160_000.0).abs() < 100.0, "{}", 6.0 * rate(&smaller));
    let times = |trace: &Trace| trace.packets().iter().map(|p| p.at).collect::<Vec<_>>();
    for frame in [1590.0, 1626.0, 1690.0] {
        assert!(
            times(&Trace::proshare(frame, Duration::ZERO)) == times(&Trace::proshare(FRAME, Duration::ZERO)),
            "{frame}"
        );
    }
    let told =
        |frame: u32| spec("videoconf", &format!(r#"{{"frame": "{frame}b"}}"#)).check().map_err(|e| e.to_string());
    assert_eq!((told(1590), told(1690)), (Ok(()), Ok(())));
    assert!(told(1589).unwrap_err().contains("from 1590 to 1690 bytes") && told(1691).is_err());
}

#[test]
fn six_flows_are_level_and_not_in_step() {
    let hosts = flows(600);
    assert_eq!(hosts.len(), 6);
    let wire = |from: f64, to: f64| {
        let packets: usize =
            hosts.iter().map(|h| h.sent.iter().filter(|s| (from..to).contains(&s.at.as_secs_f64())).count()).sum();
        let payload: f64 = hosts.iter().map(|h| h.bytes_between(from, to)).sum();
        (payload + 28.0 * packets as f64) / (to - from) / 1000.0
    };
    let all = wire(0.0, 600.0);
    assert!((155.0..=166.0).contains(&all), "{all} KB/s");
    for i in 0..100 {
        let two = wire(f64::from(i) * 2.0, f64::from(i + 1) * 2.0);
        assert!((140.0..=180.0).contains(&two), "{two} KB/s");
    }
    let mut firsts: Vec<_> = hosts.iter().map(|h| h.sent[0].at.as_nanos() % 33_333_333).collect();
    firsts.dedup();
    assert_eq!(firsts.len(), 6);
}

#[test]
fn the_trace_goes_round() {
    let hosts = flows(600);
    let sent = &hosts[0].sent;
    let n = Trace::proshare(FRAME, Duration::ZERO).packets().len();
    for i in 0..n {
        assert_eq!(sent[i].len, sent[i + n].len);
        assert_eq!(sent[i + n].at.since(sent[i].at), Duration::from_secs(294));
    }
}

#[test]
fn a_trace_file_takes_its_place() {
    let with = spec("videoconf", r#"{"trace": "call.txt", "flows": 1}"#);
    assert_eq!(with.files(), ["call.txt"]);
    let p = with.prepare(&["0 100\n0.1 300\n".into()]).unwrap();
    let mut host = Host::new(&*p, 0, 1);
    host.run(Duration::from_secs(10));
    assert_eq!(host.sent.len(), 100);
    assert_eq!(p.mean_payload(), Some(200.0));
    assert!(with.prepare(&["0 100\nx\n".into()]).is_err_and(|e| e.to_string().contains("call.txt line 2")));
}

/// A trace file with the packets of the synthetic trace gives the same packets; only the end of the loop differs.
#[test]
fn a_file_of_the_synthetic_trace_is_the_same_stream() {
    let builtin = Trace::proshare(1626.0, Duration::ZERO);
    let lines = builtin.packets().iter().map(|p| format!("{:.9} {}\n", p.at.as_secs_f64(), p.len));
    let read = Trace::parse("call.txt", &lines.collect::<String>()).unwrap();
    assert_eq!(read.packets(), builtin.packets());
    // The file's loop ends one mean gap (28 ms) after its last packet, the synthetic one 44 ms after it.
    let shorter = builtin.length() - read.length();
    assert!((10.0..20.0).contains(&shorter.as_millis_f64()), "{shorter}");
}

#[test]
fn a_gap_moves_the_second_packet_of_each_frame_and_nothing_else() {
    let gap = Duration::from_micros(1230);
    let (together, apart) = (Trace::proshare(FRAME, Duration::ZERO), Trace::proshare(FRAME, gap));
    assert_eq!((together.packets().len(), together.length()), (apart.packets().len(), apart.length()));
    let mut seconds = 0;
    for (was, is) in together.packets().iter().zip(apart.packets()) {
        assert_eq!(was.len, is.len);
        seconds += usize::from(is.at == was.at + gap);
        assert!(is.at == was.at || is.at == was.at + gap);
    }
    // 11 of 15 frames have two packets.
    assert!((seconds as f64 / (294.0 * 15.0) - 11.0 / 15.0).abs() < 0.02, "{seconds}");
    let told = |given: &str| spec("videoconf", &format!(r#"{{"gap": "{given}"}}"#)).check().map_err(|e| e.to_string());
    assert_eq!(told("40ms"), Ok(()));
    assert!(told("41ms").unwrap_err().contains("at most 40ms"));
}
