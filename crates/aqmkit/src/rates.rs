//! Warns about rates with doubtful units on the command line.

use aqmkit_base::rates::doubtful_rates;
use aqmkit_base::{BitRate, Rates};
use clap::ArgMatches;

/// Warnings about the units of all rates among the options of the given command: `--rate 10mbps` means 80 Mbit/s in
/// `tc`.
pub(super) fn doubts(matches: &ArgMatches) -> Vec<String> {
    let (mut matches, mut found) = (matches, Vec::new());
    loop {
        for id in matches.ids().map(clap::Id::as_str) {
            let is_rate = matches.try_get_one::<BitRate>(id).is_ok() || matches.try_get_one::<Rates>(id).is_ok();
            let texts = matches.try_get_raw(id).ok().flatten().filter(|_| is_rate);
            found.extend(texts.into_iter().flatten().filter_map(|text| text.to_str()).flat_map(doubtful_rates));
        }
        let Some((_, below)) = matches.subcommand() else { return found };
        matches = below;
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    fn doubts_of(line: &str) -> Vec<String> {
        doubts(&Cli::command().try_get_matches_from(line.split(' ')).unwrap())
    }

    /// Options are found by the type of their value, not by name.
    #[test]
    fn rates_in_bytes_are_warned_of_at_every_option() {
        for line in [
            "compare fifo --rate 10mbps",
            "compare fifo --rate=9mbit/10mbps",
            "compare fifo --down 10mbps",
            "compare fifo --up 10mbps",
            "compare fifo --cbr=10mbps",
            "describe red --rate 10mbps",
            "advise --want p99<20ms --rate 10mbps/1mbit",
            "replay in.pcap --rate 10mbps",
            "link --down-rate 10mbps --up-rate 1mbit -- true",
            "link --rate 10mbit/10mbps -- true",
            "bridge a b --rate 10mbit --back-rate 10mbps",
            "shape lo --rate 1mbit --ingress-rate 10mbps",
            "shape lo --rate 1mbit/10mbps",
            "ctl set --rate 10mbps",
        ] {
            let found = doubts_of(&format!("aqmkit {line}"));
            assert!(found.len() == 1 && found[0].contains("write 10mbit if bits were meant"), "{line}: {found:?}");
        }
        assert_eq!(doubts_of("aqmkit compare fifo --rate 10mbps/1mbps --cbr 2Mbps").len(), 3);
    }

    #[test]
    fn other_words_are_not_rates() {
        assert_eq!(doubts_of("aqmkit link --rate 10mbit -- iperf3 --rate 10mbps"), [""; 0]);
        assert_eq!(doubts_of("aqmkit compare fifo --save 10mbps"), [""; 0]);
        assert_eq!(doubts_of("aqmkit describe red"), [""; 0]);
    }
}
