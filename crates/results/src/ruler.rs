//! Converts the labels of an axis into numbers with a common unit.

use aqmkit_base::units::{Kind, split};

/// The positions of an axis's labels on a numeric scale. `500kbit`, `2mbit` and `1gbit` are rates, at 500, 2000 and
/// 1,000,000 kbit. Text after a number that is not a unit of rates, times or sizes (`98%`, `4 flows`) must be the same
/// in all labels; otherwise there is no scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    /// The unit of the first label as written; empty for plain numbers.
    unit: String,
    kind: Option<Kind>,
}

impl Ruler {
    /// The scale of these labels; `None` if they do not have one.
    #[must_use]
    pub fn of(labels: &[String]) -> Option<Ruler> {
        let (_, unit) = split(labels.first()?)?;
        let ruler = |kind| Ruler { unit: unit.to_owned(), kind };
        let kinds = Kind::ALL.into_iter().filter(|kind| kind.scale(unit).is_some()).map(Some);
        kinds.chain([None]).map(ruler).find(|ruler| labels.iter().all(|label| ruler.at(label).is_some()))
    }

    /// The position of a label.
    #[must_use]
    pub fn at(&self, label: &str) -> Option<f64> {
        let (number, unit) = split(label)?;
        if unit == self.unit {
            return Some(number);
        }
        let scale = |name: &str| self.kind.and_then(|kind| kind.scale(name));
        Some(number * scale(unit)? / scale(&self.unit)?)
    }

    /// The title of an axis, with its unit.
    #[must_use]
    pub fn title(&self, axis: &str) -> String {
        if self.unit.is_empty() { axis.to_owned() } else { format!("{axis}, {}", self.unit) }
    }
}

#[cfg(test)]
mod tests {
    use super::Ruler;

    /// Positions of the labels, and the title of the axis `x`.
    fn read(labels: &[&str]) -> Option<(Vec<f64>, String)> {
        let labels: Vec<String> = labels.iter().map(ToString::to_string).collect();
        let ruler = Ruler::of(&labels)?;
        Some((labels.iter().filter_map(|label| ruler.at(label)).collect(), ruler.title("x")))
    }

    #[test]
    fn units_of_one_kind_are_converted_to_the_first() {
        let rates = read(&["500kbit", "2mbit", "20mbit", "1gbit"]);
        assert_eq!(rates, Some((vec![500.0, 2e3, 20e3, 1e6], "x, kbit".to_owned())));
        assert_eq!(read(&["5ms", "1s"]), Some((vec![5.0, 1000.0], "x, ms".to_owned())));
        assert_eq!(read(&["16kb", "1mb"]), Some((vec![16.0, 1024.0], "x, kb".to_owned())));
        assert_eq!(read(&["1mbit", "1mbps"]), Some((vec![1.0, 8.0], "x, mbit".to_owned())), "tc's bytes per second");
    }

    #[test]
    fn numbers_and_other_words_stay_as_they_are() {
        assert_eq!(read(&["0.5", "1e-3", "10"]), Some((vec![0.5, 1e-3, 10.0], "x".to_owned())));
        assert_eq!(read(&["80%", "105%"]), Some((vec![80.0, 105.0], "x, %".to_owned())));
        assert_eq!(read(&["208KB/s", "196KB/s"]), Some((vec![208.0, 196.0], "x, KB/s".to_owned())));
    }

    #[test]
    fn what_is_of_several_kinds_has_no_line() {
        for labels in [
            &["10mbit", "10ms"][..],
            &["98%", "98mbit"],
            &["10", "20ms"],
            &["5", "fifo"],
            &["5-40", "5-60"],
            &["1+2", "3+4"],
            &["10mbit", "10mbit-2"],
            &["1 flow", "20,000"],
            &[],
        ] {
            assert_eq!(read(labels), None, "{labels:?}");
        }
    }
}
