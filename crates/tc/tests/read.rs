//! Both forms of `tc` give the same listing, and no text makes the reader panic.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_base::{BitRate, Bytes, Duration};
use aqmkit_tc::{Parent, TcError, read};

const FQ_CODEL: &str = "\
qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64
 Sent 8130567192 bytes 6183221 pkt (dropped 12, overlimits 3 requeues 412)
 backlog 3028b 2p requeues 412
  maxpacket 1514 drop_overlimit 7 new_flow_count 3119 ecn_mark 5
  new_flows_len 1 old_flows_len 0
";

const FQ_CODEL_JSON: &str = r#"[{"kind":"fq_codel","handle":"8001:","dev":"eth0","root":true,"refcnt":2,"options":{"limit":10240,"flows":1024,"quantum":1514,
"target":5000,"interval":100000,"memory_limit":33554432,"ecn":true,"drop_batch":64},"bytes":8130567192,"packets":6183221,"drops":12,"overlimits":3,"requeues":412,
"backlog":3028,"qlen":2,"maxpacket":1514,"drop_overlimit":7,"new_flow_count":3119,"ecn_mark":5,"new_flows_len":1,"old_flows_len":0}]"#;

const CAKE: &str = "\
qdisc cake 8003: root refcnt 2 bandwidth 18Mbit diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms noatm overhead 18
 Sent 1214156203 bytes 1504121 pkt (dropped 2132, overlimits 3120871 requeues 0)
 backlog 0b 0p requeues 0
 memory used: 1221Kb of 4Mb
 capacity estimate: 18Mbit
 min/max network layer size:           28 /    1500
 min/max overhead-adjusted size:       46 /    1518
 average network hdr offset:           14

                   Bulk  Best Effort        Voice
  thresh       1125Kbit       18Mbit     4500Kbit
  target         16.2ms          5ms          5ms
  interval        111ms        100ms        100ms
  pk_delay          0us       2.11ms        142us
  av_delay          0us        318us         12us
  sp_delay          0us          4us          3us
  backlog            0b           0b           0b
  pkts                0      1501023         5230
  bytes               0   1213201291      1203712
  way_inds            0        31203            0
  way_miss            0         9123          112
  way_cols            0            0            0
  drops               0         2132            0
  marks               0          412            0
  ack_drop            0            9            0
  sp_flows            0            3            1
  bk_flows            0            1            0
  un_flows            0            0            0
  max_len             0        28766         1514
  quantum           300          549          300
";

const CAKE_JSON: &str = r#"[{"kind":"cake","handle":"8003:","root":true,"refcnt":2,"options":{"bandwidth":2250000,"diffserv":"diffserv3","flowmode":"triple-isolate",
"nat":false,"wash":false,"ingress":false,"ack-filter":"disabled","split_gso":true,"rtt":100000,"raw":false,"atm":"noatm","overhead":18},
"bytes":1214156203,"packets":1504121,"drops":2132,"overlimits":3120871,"requeues":0,"backlog":0,"qlen":0,"memory_used":1250304,"memory_limit":4194304,
"tins":[{"threshold_rate":140625,"sent_bytes":0,"target_us":16200,"interval_us":111000,"peak_delay_us":0,"avg_delay_us":0,"base_delay_us":0,"sent_packets":0,"drops":0,
"ecn_mark":0,"ack_drops":0,"sparse_flows":0,"bulk_flows":0,"unresponsive_flows":0,"max_pkt_len":0},
{"threshold_rate":2250000,"sent_bytes":1213201291,"target_us":5000,"interval_us":100000,"peak_delay_us":2110,"avg_delay_us":318,"base_delay_us":4,"sent_packets":1501023,
"drops":2132,"ecn_mark":412,"ack_drops":9,"sparse_flows":3,"bulk_flows":1,"unresponsive_flows":0,"max_pkt_len":28766},
{"threshold_rate":562500,"sent_bytes":1203712,"target_us":5000,"interval_us":100000,"peak_delay_us":142,"avg_delay_us":12,"base_delay_us":3,"sent_packets":5230,"drops":0,
"ecn_mark":0,"ack_drops":0,"sparse_flows":1,"bulk_flows":0,"unresponsive_flows":0,"max_pkt_len":1514}]}]"#;

#[test]
fn text_and_json_of_fq_codel_agree() {
    let (text, json) = (read(FQ_CODEL).unwrap(), read(FQ_CODEL_JSON).unwrap());
    for listing in [&text, &json] {
        let qdisc = &listing.qdiscs[0];
        assert_eq!(
            (qdisc.kind.as_str(), qdisc.handle.as_str(), qdisc.device.as_deref()),
            ("fq_codel", "8001:", Some("eth0"))
        );
        assert_eq!(qdisc.parent, Parent::Root);
        assert_eq!(
            (qdisc.time("target"), qdisc.time("interval")),
            (Some(Duration::from_millis(5)), Some(Duration::from_millis(100)))
        );
        assert_eq!((qdisc.size("memory_limit"), qdisc.size("quantum")), (Some(Bytes(33_554_432)), Some(Bytes(1514))));
        assert_eq!((qdisc.count("limit"), qdisc.has("ecn")), (Some(10_240), true));
        assert!(
            ["maxpacket", "drop_overlimit", "new_flow_count", "ecn_mark", "new_flows_len"]
                .iter()
                .map(|name| qdisc.detail(name))
                .eq([1514.0, 7.0, 3119.0, 5.0, 1.0])
        );
    }
    assert_eq!(text.qdiscs[0].counters, json.qdiscs[0].counters);
    let counters = text.qdiscs[0].counters.unwrap();
    assert_eq!(
        (counters.bytes, counters.dropped, counters.overlimits, counters.backlog_bytes, counters.backlog_packets),
        (8_130_567_192, 12, 3, 3028, 2)
    );
}

#[test]
fn text_and_json_of_cake_agree() {
    let (text, json) = (read(CAKE).unwrap(), read(CAKE_JSON).unwrap());
    let (text, json) = (&text.qdiscs[0], &json.qdiscs[0]);
    assert_eq!(text.tins, json.tins);
    assert_eq!(text.tins[1].name, "Best Effort");
    assert_eq!(text.tins[1].peak_delay, Duration::from_micros(2110));
    assert_eq!(text.tins[0].threshold, BitRate::from_bps(1_125_000));
    for qdisc in [text, json] {
        assert_eq!(qdisc.rate("bandwidth"), Some(BitRate::from_bps(18_000_000)));
        assert!(qdisc.has("diffserv3") && qdisc.has("triple-isolate") && qdisc.has("noatm") && !qdisc.has("raw"));
        assert_eq!((qdisc.detail("memory_used"), qdisc.detail("memory_limit")), (1_250_304.0, 4_194_304.0));
    }
}

#[test]
fn classes_name_their_leaf() {
    let text = "class htb 1:10 parent 1:1 leaf 8005: prio 0 rate 18Mbit ceil 20Mbit burst 1600b cburst 1600b\n \
                 Sent 5 bytes 1 pkt (dropped 3, overlimits 9 requeues 0)\n lended: 7 borrowed: 2 giants: 0\n";
    let class = &read(text).unwrap().classes[0];
    assert_eq!((class.id.as_str(), &class.parent), ("1:10", &Parent::Class("1:1".to_owned())));
    assert_eq!((class.rate("ceil"), class.options["leaf"].as_str()), (Some(BitRate::from_mbps(20)), "8005:"));
    assert_eq!((class.details["lended"], class.details["borrowed"], class.counters.unwrap().overlimits), (7.0, 2.0, 9));
}

#[test]
fn prompts_around_the_output_are_skipped() {
    let pasted =
        format!("Hello, this is what I have:\n\nroot@OpenWrt:~# tc -s qdisc show\n{FQ_CODEL}root@OpenWrt:~# exit\n");
    let mut found = read(&pasted).unwrap().qdiscs;
    assert_eq!(found[0].line, Some(4));
    found[0].line = Some(1);
    assert_eq!(found, read(FQ_CODEL).unwrap().qdiscs);
}

#[test]
fn other_texts_are_refused_with_what_would_be_right() {
    for text in ["", "hello", "[]", "[{}]"] {
        assert!(matches!(read(text), Err(TcError::Nothing)), "{text}");
    }
    assert!(
        read("qdisc fq_codel")
            .unwrap_err()
            .to_string()
            .starts_with("line 1: `qdisc` is followed by a kind and a handle")
    );
    assert!(matches!(read("[1]"), Err(TcError::Json(_))));
    assert!(matches!(read("[{\"handle\":\"1:\"}]"), Err(TcError::Json(_))));
    assert!(matches!(read("[{"), Err(TcError::Json(_))));
}

/// Cut anywhere, with any word left out or doubled, the reader gives a listing or an error.
#[test]
fn damaged_outputs_never_panic() {
    for whole in [FQ_CODEL, FQ_CODEL_JSON, CAKE, CAKE_JSON] {
        for at in (0..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
            drop(read(&whole[..at]));
            drop(read(&whole[at..]));
        }
        let words: Vec<&str> = whole.split_inclusive([' ', '\n', ',']).collect();
        for at in 0..words.len() {
            drop(read(&[&words[..at], &words[at + 1..]].concat().concat()));
            drop(read(&[&words[..=at], &words[at..]].concat().concat()));
        }
    }
}
