//! Filters in both forms of `tc`, and scripts.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_tc::{Condition, Listing, Parent, Script, read};

fn script(text: &str) -> Listing {
    let mut script = Script::default();
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        script.command(&words, index + 1, None).unwrap();
    }
    script.listing()
}

#[test]
fn a_listing_and_a_script_have_the_same_conditions() {
    let listed = read(
        "qdisc htb 1: dev eth0 root\nfilter parent 1: protocol ip pref 4 u32 chain 0 fh 800: ht divisor 1\n\
         filter parent 1: protocol ip pref 4 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw\n  \
         match 00b80000/00fc0000 at 0\n  match 00110000/00ff0000 at 8\n  match 000013c4/0000ffff at 20\n  match c6336400/ffffff00 at 16\n",
    )
    .unwrap();
    let typed = script(
        "qdisc add dev eth0 root handle 1: htb\nfilter add dev eth0 parent 1: protocol ip prio 4 u32 match ip tos 0xb8 0xfc \
         match ip protocol 17 0xff match ip dport 5060 0xffff match ip dst 198.51.100.0/24 flowid 1:10",
    );
    assert_eq!(listed.filters.len(), 1, "the table of u32 is no filter");
    assert_eq!(listed.filters[0].conditions, typed.filters[0].conditions);
    assert_eq!(
        typed.filters[0].conditions,
        [
            Condition::Dscp(46),
            Condition::Protocol(17),
            Condition::Port { destination: true, port: 5060 },
            Condition::Network { destination: true, network: "198.51.100.0/24".to_owned() },
        ]
    );
    assert_eq!((listed.filters[0].pref, listed.filters[0].target.as_deref()), (4, Some("1:10")));
}

#[test]
fn flower_fw_and_matchall_are_read_in_all_forms() {
    let json = r#"[{"parent":"1:","protocol":"ip","pref":3,"kind":"flower","chain":0},
        {"parent":"1:","protocol":"ip","pref":3,"kind":"flower","chain":0,"options":{"handle":1,"classid":"1:20","keys":{"eth_type":"ipv4","ip_proto":"udp","dst_port":53}}}]"#;
    let text = "qdisc x 1: root\nfilter parent 1: protocol ip pref 3 flower chain 0 handle 0x1 classid 1:20\n  eth_type ipv4\n  ip_proto udp\n  dst_port 53\n  not_in_hw\n";
    let wanted = [Condition::Protocol(17), Condition::Port { destination: true, port: 53 }];
    for listing in [read(&format!("[{{\"kind\":\"htb\",\"handle\":\"1:\"}}]{json}")).unwrap(), read(text).unwrap()] {
        let mut found = listing.filters[0].conditions.clone();
        found.sort_by_key(|condition| matches!(condition, Condition::Port { .. }));
        assert_eq!((listing.filters.len(), found.as_slice()), (1, wanted.as_slice()));
    }
    let typed = script(
        "filter add dev eth0 parent 1: protocol ip prio 1 handle 0x7 fw flowid 1:30\nfilter add dev eth0 ingress matchall action mirred egress redirect dev ifb0",
    );
    assert_eq!(typed.filters[0].conditions, [Condition::Mark(7)]);
    assert_eq!((typed.filters[1].parent.as_str(), typed.filters[1].redirect.as_deref()), ("ffff:", Some("ifb0")));
}

#[test]
fn later_commands_change_what_earlier_ones_made() {
    let listing = script(
        "qdisc add dev eth0 root handle 1: htb default 1\nclass add dev eth0 parent 1: classid 1:1 htb rate 5mbit\n\
         class change dev eth0 parent 1: classid 1:1 htb rate 6mbit\nqdisc add dev eth0 parent 1:1 fq_codel limit 100 ecn\n\
         qdisc replace dev eth0 parent 1:1 codel\nqdisc add dev eth1 root cake\nqdisc del dev eth1 root\n-s qdisc show",
    );
    assert_eq!(listing.classes[0].options["rate"], "6mbit");
    let kinds: Vec<(&str, &Parent)> = listing.qdiscs.iter().map(|qdisc| (qdisc.kind.as_str(), &qdisc.parent)).collect();
    assert_eq!(kinds, [("htb", &Parent::Root), ("codel", &Parent::Class("1:1".to_owned()))]);
    let mut wrong = Script::default();
    for (words, part) in [
        (&["qdisc"][..], "followed by an object and an action"),
        (&["qdisc", "add", "root", "cake"], "no device"),
        (&["qdisc", "add", "dev", "eth0", "root"], "no discipline"),
        (&["class", "add", "dev", "eth0", "htb"], "needs a classid"),
        (&["monitor", "add"], "neither qdisc nor class"),
    ] {
        let told = wrong.command(words, 1, None).unwrap_err();
        assert!(told.contains(part), "{told}");
    }
}
