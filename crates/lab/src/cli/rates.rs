//! `--rate` of commands with two directions, and the doubts about rates on the command line.

use aqmkit_base::rates::doubtful_rates;
use aqmkit_base::{BitRate, Rates};
use clap::ArgMatches;

use super::fail::{Failure, wrong};

/// The rate of the second direction: of `--rate`, or of the `option` that gives it apart. `None` where neither does.
///
/// # Errors
/// When both do.
pub(super) fn second(rate: Option<Rates>, option: &str, apart: Option<BitRate>) -> Result<Option<BitRate>, Failure> {
    match (rate.and_then(|rates| rates.second), apart) {
        (Some(second), Some(apart)) => wrong(
            format!("the rate of the second direction is {second} by --rate, and {apart} by {option}"),
            "give one of them",
        ),
        (second, apart) => Ok(second.or(apart)),
    }
}

/// The doubts about the units of all options whose value is a rate or two, of the command that is given: `--rate 10mbps` is 80 Mbit/s.
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
    use crate::cli::args::Cli;

    fn doubts_of(line: &str) -> Vec<String> {
        doubts(&Cli::command().try_get_matches_from(line.split(' ')).unwrap())
    }

    /// Every option that takes a rate, by its type and not by a list of names.
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

    #[test]
    fn a_direction_has_one_rate() {
        let rates = |text: &str| Some(text.parse().unwrap());
        let apart = Some(BitRate::from_mbps(5));
        assert_eq!(second(rates("9mbit/1mbit"), "--up", None).unwrap(), Some(BitRate::from_mbps(1)));
        assert_eq!(second(rates("9mbit"), "--up", apart).unwrap(), apart);
        assert_eq!(second(None, "--up", apart).unwrap(), apart);
        let both = second(rates("9mbit/1mbit"), "--up", apart).unwrap_err().text().unwrap_or_default();
        assert!(both.contains("1mbit by --rate, and 5mbit by --up"), "{both}");
    }
}
