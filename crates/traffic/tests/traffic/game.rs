use aqmkit_base::Duration;

use crate::harness::{Host, Sent, population};

fn played(json: &str, secs: u64) -> Host {
    let mut host = Host::new(&*population("game", json), 0, 1);
    host.run(Duration::from_secs(secs));
    host
}

fn gaps(packets: &[Sent]) -> Vec<f64> {
    let mut gaps: Vec<f64> = packets.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_millis_f64()).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

fn sizes(packets: &[Sent]) -> Vec<f64> {
    let mut sizes: Vec<f64> = packets.iter().map(|packet| f64::from(packet.len)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Quantile function of the largest extreme value distribution.
fn quantile(location: f64, scale: f64, share: f64) -> f64 {
    location - scale * (-share.ln()).ln()
}

#[test]
fn times_and_sizes_have_the_published_distributions() {
    let host = played("{}", 5000);
    for (values, location, scale) in [
        (gaps(&host.sent), 55.0, 6.0),
        // Sizes are rounded down to whole bytes: half a byte less on average.
        (sizes(&host.sent), 119.5, 36.0),
        (sizes(&host.replies), 44.5, 5.7),
    ] {
        let expected = location + 0.5772 * scale;
        assert!((mean(&values) / expected - 1.0).abs() < 0.005, "{} for {expected}", mean(&values));
        for share in [0.01, 0.1, 0.5, 0.9, 0.99] {
            let (found, law) = (values[(values.len() as f64 * share) as usize], quantile(location, scale, share));
            assert!((found - law).abs() < 0.08 * scale + 0.6, "{share}: {found} for {law}");
        }
    }
    assert!(gaps(&host.replies).iter().all(|gap| (gap - 40.0).abs() < 1e-6), "commands leave evenly");
}

/// Each direction starts within 40 ms, independently of the other.
#[test]
fn directions_begin_on_their_own() {
    let p = population("game", r#"{"players": 1000}"#);
    let firsts: Vec<[f64; 2]> = (0..1000)
        .map(|i| {
            let mut host = Host::new(&*p, i, 1);
            host.run(Duration::from_millis(200));
            [&host.sent, &host.replies].map(|packets| 1000.0 * packets[0].at.as_secs_f64())
        })
        .collect();
    let share = |which: &dyn Fn(&[f64; 2]) -> bool| firsts.iter().filter(|f| which(f)).count() as f64 / 1000.0;
    assert!(firsts.iter().flatten().all(|at| (0.0..40.0).contains(at)));
    for quarter in 1..4 {
        let until = 10.0 * f64::from(quarter);
        assert!([0, 1].iter().all(|&way| (share(&|f| f[way] < until) - until / 40.0).abs() < 0.06));
    }
    assert!((share(&|f| f[0] < f[1]) - 0.5).abs() < 0.06);
}

#[test]
fn no_payload_is_below_a_byte() {
    let host = played(r#"{"update_size": "1b", "command_size": "1b"}"#, 100);
    assert_eq!((sizes(&host.sent)[0], sizes(&host.replies)[0]), (1.0, 1.0));
}

#[test]
fn other_times_and_sizes_scale() {
    let host = played(r#"{"update": "14.8ms", "command": "10ms", "update_size": "300b", "command_size": "90b"}"#, 1000);
    assert!((mean(&gaps(&host.sent)) - 14.8 * (1.0 + 0.5772 * 6.0 / 55.0)).abs() < 0.05);
    assert!((mean(&sizes(&host.sent)) - 299.5 - 0.5772 * 90.0).abs() < 2.0);
    assert!((mean(&sizes(&host.replies)) - 89.5 - 0.5772 * 11.4).abs() < 0.5);
    assert!((mean(&gaps(&host.replies)) - 10.0).abs() < 1e-6);
}

#[test]
fn every_arrival_is_an_exchange_with_its_delay() {
    let mut host = Host::new(&*population("game", "{}"), 0, 1);
    host.network = Some(|n| Some(Duration::from_millis(20 + n as u64 % 5)));
    host.network_back = Some(|_| Some(Duration::from_millis(70)));
    host.run(Duration::from_secs(100));
    let of = |kind: u8| -> Vec<f64> {
        host.done.iter().filter(|(_, e)| e.kind == kind).map(|(at, e)| at.since(e.started).as_millis_f64()).collect()
    };
    let (updates, commands) = (of(0), of(1));
    assert!(updates.iter().enumerate().all(|(n, ms)| (ms - 20.0 - (n % 5) as f64).abs() < 1e-6));
    assert!(commands.iter().all(|ms| (ms - 70.0).abs() < 1e-6));
    // Packets that arrive after the end are counted, but are not exchanges of the run.
    assert_eq!(host.counter("updates_received"), host.sent.len() as f64);
    assert_eq!(host.counter("commands_received"), host.replies.len() as f64);
    assert!(host.replies.len() - commands.len() <= 2 && host.sent.len() - updates.len() <= 1);
    let bytes: f64 = host.sent.iter().map(|packet| f64::from(packet.len)).sum();
    assert_eq!(host.counter("bytes_received"), bytes);
    assert_eq!(host.counter("packets_missed"), 0.0);
}

#[test]
fn what_is_lost_or_a_second_late_has_missed() {
    let mut host = Host::new(&*population("game", "{}"), 0, 1);
    // Of ten updates one is lost and one takes more than a second; of four commands one is lost.
    host.network = Some(|n| (n % 10 != 3).then(|| Duration::from_millis(if n % 10 == 5 { 1100 } else { 900 })));
    host.network_back = Some(|n| (n % 4 != 0).then(|| Duration::from_millis(10)));
    host.run(Duration::from_secs(200));
    let old = |packets: &[Sent]| packets.iter().filter(|p| p.at.as_secs_f64() <= 199.0).count() as f64;
    let (updates, commands) = (old(&host.sent), old(&host.replies));
    assert!((host.counter("packets_due") - updates - commands).abs() <= 2.0);
    assert!((host.counter("packets_missed") - updates / 5.0 - commands / 4.0).abs() <= 3.0);
    assert_eq!(host.counter("packets_sent"), (host.sent.len() + host.replies.len()) as f64);
}
