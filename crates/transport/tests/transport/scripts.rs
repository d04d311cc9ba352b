//! The scripts of `scripts/` against endpoints; `script.rs` says what they may say.

use std::collections::BTreeSet;
use std::path::Path;

use crate::script::{play, play_in_single_bytes};

/// A test for each script, and the list of them.
macro_rules! scripts {
    ($($name:ident)+) => {
        $(
            #[test]
            fn $name() {
                let text = include_str!(concat!("scripts/", stringify!($name), ".script"));
                if let Err(why) = play(text) {
                    panic!("scripts/{}.script, {why}", stringify!($name));
                }
            }
        )+

        const SCRIPTS: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("scripts/", stringify!($name), ".script"))),)+];
    };
}

scripts! {
    backing_off
    bsd44_after_lost_syn
    bsd44_after_two_lost_syns
    bsd44_syn
    cubic
    cubic_fast_convergence
    cubic_reno_friendly
    dctcp
    delayed_acknowledgement
    duplicate_sack
    early_retransmit
    ecn_echo_until_cwr
    ecn_once_in_a_round_trip
    eifel
    eifel_with_ecn
    freebsd22_syn
    freebsd45_syn
    freebsd45_syn_ack
    frto
    frto_after_loss
    frto_waits
    giving_up_counts_anew
    giving_up_counts_anew_with_sack
    karn
    karn_in_recovery
    ledbat
    limited_transmit
    limited_transmit_again
    linux_client_with_ecn
    linux_duplicate_sack
    linux_fast_retransmit
    linux_four_lost_at_the_start
    linux_limited_transmit
    linux_limited_transmit_sack
    linux_mark
    linux_proportional_rate_reduction
    linux_rack_reordering_timer
    linux_restart_after_idle
    linux_slow_start
    linux_slow_start_with_all_that_it_may_send
    linux_slow_start_with_less
    linux_small_writes
    linux_small_writes_without_nagle
    linux_syn
    linux_syn_ack
    linux_ten_lost
    linux_timeout_and_cubic
    nagle
    newreno_full_acknowledgement
    newreno_impatient
    newreno_partial_acknowledgement
    no_early_retransmit
    no_probe_in_recovery
    probe_of_what_has_come
    probe_that_mends
    reno_after_timeout
    reno_recovery
    restart_after_idle
    sack_after_timeout
    sack_blocks_of_a_burst
    sack_blocks_of_holes
    sack_duplicates_in_a_row
    sack_flight
    sack_recovery
    sack_rescue
    silly_window
    slow_start_and_avoidance
    tail_loss_probe
    tail_loss_probe_of_one
    timeout_after_lost_syn
    timeout_estimate
    zero_window
}

#[test]
fn every_script_is_played_and_names_its_source() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transport/scripts");
    let mut there = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.extension().and_then(|e| e.to_str()), Some("script"), "{}", path.display());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().any(|line| line.starts_with("# Source: ")), "{} does not name its source", path.display());
        there.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(there, SCRIPTS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

/// Behaviour does not depend on the segment size, be it one byte. The exception is proportional rate reduction, which rounds up to whole bytes, and
/// so to a segment of one byte: `linux_mark` sends one earlier.
#[test]
fn a_byte_is_a_segment_like_another() {
    let mut played = 0;
    for (name, text) in SCRIPTS.iter().filter(|(name, _)| *name != "linux_mark") {
        match play_in_single_bytes(text) {
            Ok(whole) => played += u32::from(whole),
            Err(why) => panic!("scripts/{name}.script with segments of a byte, {why}"),
        }
    }
    assert!(played > 40, "{played}");
}

/// Two lines of settings, then these; the first error.
fn error(lines: &str) -> String {
    play(&format!("profile rfc\nset mss = \"1000b\"\n{lines}\n")).expect_err(&format!("{lines:?}"))
}

#[test]
fn what_is_written_wrongly_is_refused_with_its_line() {
    for (lines, why) in [
        ("0.1 < syn", "the last line must be `TIME end`"),
        ("0.1 end\n0.2 end", "line 4: nothing follows `end`"),
        ("0.2 < syn\n0.1 end", "line 4: time goes backwards"),
        ("0.1 end\nset nagle = true", "line 4: nothing follows `end`"),
        ("0.1 < syn\nset nagle = true", "line 4: settings come before what happens"),
        ("set nagle = yes", "line 3: the value is no JSON: expected value at line 1 column 1"),
        ("set nagle = true\nset nagle = true", "line 4: nagle is set twice"),
        ("profile rfc", "line 3: a second profile"),
        ("profile bsd43", "line 3: no profile \"bsd43\""),
        (".1 end", "line 3: \".1\" is no time in seconds"),
        ("0.1", "line 3: nothing happens at this time"),
        ("0.1 sends", "line 3: \"sends\" is none of <, >, connect, write, close, state, event, end"),
        ("0.1 write ten", "line 3: \"ten\" is not a number of bytes"),
        ("0.1 end now", "line 3: \"now\" is too much"),
        ("0.1 < fin", "line 3: \"fin\" is none of syn, syn-ack, ack, data, reset"),
        ("0.1 > data 5..5", "line 3: \"5..5\" is no range A..B of sequence numbers"),
        ("0.1 < ack 1 sack", "line 3: sack needs a block, A-B"),
        ("0.1 < ack 1 sack 5..7", "line 3: \"5..7\" is no range A-B of sequence numbers"),
        ("0.1 < ack 1 ece ece", "line 3: \"ece\" comes twice, or with its opposite"),
        ("0.1 < ack 1 ect0 ce", "line 3: \"ce\" comes twice, or with its opposite"),
        ("0.1 < ack 1 again", "line 3: \"again\" has no meaning in this direction"),
        ("0.1 > ack 1 win 5", "line 3: \"win\" has no meaning in this direction"),
        ("0.1 > ack 1 psh", "line 3: \"psh\" says nothing about a segment"),
        ("0.1 state", "line 3: state needs a name and a number"),
        ("0.1 state window 5", "line 3: \"window\" is nothing that an endpoint shows"),
        ("0.1 state rto 1000b", "line 3: \"1000b\" is not a number"),
        ("0.1 state cwnd initial", "line 3: \"initial\" is not a number"),
        ("0.1 event delivered", "line 3: \"delivered\" is no event"),
        ("set msss = 5\n0.1 end", "settings: unknown field `msss`"),
        ("set initial_window = 0\n0.1 end", "settings: initial_window = 0 is not valid: it must be above zero"),
    ] {
        let seen = error(lines);
        assert!(seen.starts_with(why), "{lines:?}: {seen}");
    }
    assert_eq!(play("0.1 end\n").unwrap_err(), "a script needs `profile NAME`");
}

/// A handshake, and data of one and a half segments in flight at 100 ms.
const OPEN: &str = "0.000 < syn\n0.000 > syn-ack\n0.100 < ack 1\n0.100 write 1500\n";

#[test]
fn what_is_not_met_is_told_with_its_line() {
    let met = "set timestamps = false\nset nagle = false\n";
    for (lines, why) in [
        (
            "0.100 > data 1..1501\n9 end",
            "line 10: before this, at 1.100000000, the endpoint sent data 1..1001 ack 1 again",
        ),
        (
            "0.100 > data 1..1001\n0.2 end",
            "line 10: before this, at 0.100000000, the endpoint sent data 1001..1501 ack 1 ",
        ),
        ("0.100 > data 1..2001\n0.2 end", "line 9: the endpoint sent data 1001..1501 ack 1 "),
        ("0.100 > data 1..1501 again\n0.2 end", "line 9: the endpoint sent data 1..1001 ack 1 "),
        ("0.100 > data 1..1501 cwr\n0.2 end", "line 9: the endpoint sent data 1..1001 ack 1 "),
        ("0.100 > data 1..1501 ect0\n0.2 end", "line 9: the endpoint sent data 1..1001 ack 1 "),
        ("0.100 > data 1..1501 ack 2\n0.2 end", "line 9: the endpoint sent data 1..1001 ack 1 "),
        ("0.100 > ack 1\n0.2 end", "line 9: the endpoint sent data 1..1001 ack 1 "),
        ("0.101 > data 1..1501\n0.2 end", "line 9: at 0.100000000, not 0.101000000, the endpoint sent data 1..1001 "),
        (
            "0.100 > data 1..1501\n0.2 > data 1..1001 again\n3 end",
            "line 10: the endpoint sends nothing more; its timer fires at 1.100000000",
        ),
        ("0.100 > data 1..1501\n0.1 state cwnd 11\n0.2 end", "line 10: Cwnd is 10, 10000 bytes"),
        ("0.100 > data 1..1501\n0.1 state cwnd 9999b\n0.2 end", "line 10: Cwnd is 10, 10000 bytes"),
        ("0.100 > data 1..1501\n0.1 state flight 1.6\n0.2 end", "line 10: Flight is 1.5, 1500 bytes"),
        ("0.100 > data 1..1501\n0.1 state cwnd 10 resent 1\n0.2 end", "line 10: Resent is 0"),
        ("0.100 > data 1..1501\n0.1 state ssthresh 10\n0.2 end", "line 10: Ssthresh is "),
        (
            "0.100 > data 1..1501\n0.2 < ack 1001 sack 1-1001\n0.2 end",
            "line 10: the block 1-1001 does not lie above 1001",
        ),
        (
            "0.100 > data 1..1501\n0.2 event failed\n0.2 end",
            "line 10: the endpoint did not tell this; it told [(Instant(",
        ),
        ("0.100 > data 1..1501\n0.2 < reset\n0.3 end", "line 11: the connection failed at 0.200000000"),
    ] {
        let seen = error(&format!("{met}{OPEN}{lines}"));
        assert!(seen.starts_with(why), "{lines:?}: {seen}");
    }
    let right =
        "0.100 > data 1..1501\n0.1 state cwnd 10 flight 1.5 ssthresh initial rto 1 srtt 0.1\n0.2 < ack 1501\n9 end\n";
    assert_eq!(play(&format!("profile rfc\nset mss = \"1000b\"\n{met}{OPEN}{right}")), Ok(()));
}
