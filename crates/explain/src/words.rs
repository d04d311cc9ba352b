//! Numbers in sentences.

use aqmkit_base::{BitRate, Duration};

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or("")).collect();
    groups.join(",")
}

/// A share in percent with two significant digits; `less than 0.01 %` below that.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => "less than 0.01 %".to_owned(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// A rate in the largest unit of `tc` that leaves at least one, with three digits at most.
pub(crate) fn rate(rate: BitRate) -> String {
    let bps = rate.as_bps() as f64;
    let (value, unit) = match bps {
        b if b >= 1e9 => (b / 1e9, "gbit"),
        b if b >= 1e6 => (b / 1e6, "mbit"),
        b => (b / 1e3, "kbit"),
    };
    format!("{}{unit}", short(value))
}

/// A time in the unit that suits it.
pub(crate) fn time(time: Duration) -> String {
    let ms = time.as_millis_f64();
    match ms {
        ms if ms >= 1000.0 => format!("{} s", short(ms / 1000.0)),
        ms if ms >= 1.0 => format!("{} ms", short(ms)),
        ms => format!("{} us", short(ms * 1000.0)),
    }
}

/// The same in the notation of `tc`.
pub(crate) fn tc_time(span: Duration) -> String {
    time(span).replace(' ', "")
}

fn short(value: f64) -> String {
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `1 packet`, `2 packets`.
pub(crate) fn packets(number: u64) -> String {
    format!("{} packet{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_in_a_sentence() {
        assert_eq!([count(7), count(1234), count(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!(
            [percent(0.0), percent(0.000_01), percent(0.012), percent(0.5)],
            ["0 %", "less than 0.01 %", "1.2 %", "50 %"]
        );
        assert_eq!(rate(BitRate::from_bps(18_000_000)), "18mbit");
        assert_eq!(rate(BitRate::from_bps(1_125_000)), "1.12mbit");
        assert_eq!(rate(BitRate::from_bps(2_500_000_000)), "2.5gbit");
        assert_eq!([time(Duration::from_micros(250)), time(Duration::from_millis(12))], ["250 us", "12 ms"]);
        assert_eq!([packets(1), packets(2000)], ["1 packet", "2,000 packets"]);
    }
}
