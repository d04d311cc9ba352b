use aqmkit_base::Duration;

use crate::harness::{Host, population};

/// A user with a mean reading time of 10 s and responses after 100 ms.
fn browse(json: &str, secs: u64) -> Host {
    let mut host = Host::new(&*population("pages", json), 0, 1);
    host.run(Duration::from_secs(secs));
    host
}

/// Durations in milliseconds and bytes of the exchanges of one kind.
fn exchanges(host: &Host, kind: u8) -> Vec<(f64, u64)> {
    let of = host.done.iter().filter(|(_, e)| e.kind == kind);
    of.map(|(at, e)| (at.since(e.started).as_millis_f64(), e.bytes)).collect()
}

#[test]
fn pages_have_the_published_weights_and_numbers_of_objects() {
    let host = browse(r#"{"think": "1s"}"#, 10_000);
    let pages = exchanges(&host, 2);
    assert!(pages.len() > 3000, "{}", pages.len());
    let mut weights: Vec<u64> = pages.iter().map(|page| page.1).collect();
    weights.sort_unstable();
    // The published median of 2652 KB, and headers for 71 objects.
    let median = weights[weights.len() / 2] as f64;
    assert!((median / (2_652_000.0 + 71.0 * 300.0) - 1.0).abs() < 0.06, "{median}");
    let objects = host.counter("objects") / host.counter("pages");
    assert!((objects - 90.0).abs() < 5.0, "a mean above the median of 71: {objects}");
    assert_eq!(host.counter("failures"), 0.0);
    let domains = host.opens.len() as f64 / pages.len() as f64;
    assert!((10.0..20.0).contains(&domains), "{domains}");
    let bytes: u64 = exchanges(&host, 0).iter().map(|object| object.1).sum();
    assert_eq!(bytes as f64, host.counter("bytes_received"));
}

/// A page has the bytes of its objects; its rendering includes only objects that had arrived by then.
#[test]
fn pages_hold_the_bytes_of_their_objects() {
    let host = browse(r#"{"think": "5s"}"#, 500);
    for (i, (_, page)) in host.done.iter().enumerate().filter(|(_, (_, e))| e.kind > 0) {
        let objects = host.done[..i].iter().filter(|(then, e)| e.kind == 0 && *then > page.started);
        assert_eq!(page.bytes, objects.map(|(_, e)| e.bytes).sum::<u64>(), "kind {}", page.kind);
    }
}

#[test]
fn a_page_is_the_document_then_two_waves() {
    // Over HTTP/2 the handshake is an exchange of its own: 200 ms for the document, and 200 ms for each new domain in a
    // wave.
    let host = browse(r#"{"think": "10s"}"#, 3000);
    let (renders, pages) = (exchanges(&host, 1), exchanges(&host, 2));
    assert!(renders.len() == pages.len() && pages.len() > 200);
    for ((render, drawn), (page, all)) in renders.iter().zip(&pages) {
        assert!(page > render && all > drawn, "{render} {page}");
        // Document, first wave, second wave; the second wave may need no new domain.
        assert!((300.0..2500.0).contains(render) && *page >= render + 100.0, "{render} {page}");
    }
    let parsing: f64 = pages.iter().map(|page| page.0).sum::<f64>() / pages.len() as f64;
    // Three times 100 to 200 ms, and twice 130 ms.
    assert!((650.0..880.0).contains(&parsing), "{parsing}");
}

#[test]
fn http3_saves_a_round_trip_for_each_wave_of_new_domains() {
    let load = |version: &str| {
        let host = browse(&format!(r#"{{"think": "10s", "version": "{version}"}}"#), 5000);
        let renders = exchanges(&host, 1);
        renders.iter().map(|render| render.0).sum::<f64>() / renders.len() as f64
    };
    // On the document's connection, and on those of the first wave.
    let saved = load("http2") - load("http3");
    assert!((160.0..240.0).contains(&saved), "{saved}");
}

#[test]
fn both_versions_fetch_the_same_page() {
    let page = |version: &str| {
        let json = format!(r#"{{"version": "{version}", "think": "300s"}}"#);
        let mut host = Host::new(&*population("pages", &json), 0, 1);
        host.run(Duration::from_secs(1200));
        (host.requests[0], exchanges(&host, 2)[0].1, host.requests[1])
    };
    let (two, three) = (page("http2"), page("http3"));
    assert_eq!([two.0, three.0], [(517, 4000), (1200, 4000)]);
    assert_eq!((two.1, two.2), (three.1, three.2));
    assert_eq!(two.2, (300, 18_300), "the document");
}

#[test]
fn a_domain_has_one_connection_at_a_time_and_none_after_its_page() {
    let host = browse(r#"{"think": "5s"}"#, 1000);
    let pages = host.counter("pages");
    assert!(host.opens.len() as f64 > 5.0 * pages, "{} for {pages} pages", host.opens.len());
    // All connections are closed except those of the last page.
    assert!(host.opens.len() - host.closes <= 60);
    assert!(host.most_awaited > 20, "requests of a wave leave at once");
}

#[test]
fn a_page_with_a_failed_connection_is_none() {
    let mut host = Host::new(&*population("pages", r#"{"think": "2s"}"#), 0, 1);
    host.fail_every = 7;
    host.run(Duration::from_secs(2000));
    assert!(host.counter("failures") > 100.0 && host.counter("pages") > 0.0);
    let begun = host.requests.iter().filter(|request| request.1 == 18_300).count() as f64;
    assert!(host.counter("pages") < 0.7 * begun, "{} of {begun}", host.counter("pages"));
    assert_eq!(exchanges(&host, 2).len() as f64, host.counter("pages"));
    let mut never = Host::new(&*population("pages", r#"{"think": "2s"}"#), 0, 1);
    never.fail_every = 1;
    never.run(Duration::from_secs(200));
    assert!(never.opens.len() > 50 && never.done.is_empty());
    assert_eq!(never.counter("failures"), never.opens.len() as f64, "without its document a page has no objects");
}

#[test]
fn light_pages_are_a_fraction() {
    let bytes = |json: &str| {
        let host = browse(json, 2000);
        host.counter("bytes_received") / host.counter("objects")
    };
    let ratio = (bytes(r#"{"think": "2s", "weight": 0.1}"#) - 300.0) / (bytes(r#"{"think": "2s"}"#) - 300.0);
    assert!((ratio - 0.1).abs() < 0.01, "{ratio}");
}
