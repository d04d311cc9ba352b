//! Colours of traffic: each kind has a colour of its own, the same in reports and on the page of `aqmkit play`.
//!
//! The palette of Okabe and Ito ("Color Universal Design", 2002), which people with any colour vision can distinguish,
//! with additional colours between its own.

/// A colour on a light and on a dark background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// On white, as `#rrggbb`.
    pub light: &'static str,
    /// On a dark background.
    pub dark: &'static str,
}

/// A colour, and the names of classes and kinds of traffic that use it.
struct Slot {
    colour: Colour,
    names: &'static [&'static str],
}

const fn slot(light: &'static str, dark: &'static str, names: &'static [&'static str]) -> Slot {
    Slot { colour: Colour { light, dark }, names }
}

/// In the order in which traffic with other names uses them.
const SLOTS: [Slot; 12] = [
    slot("#0072b2", "#4aa3df", &["bulk", "tcp", "download", "downloads", "classic", "cubic"]),
    slot("#e69f00", "#f0b429", &["voip", "l4s", "prague"]),
    slot("#009e73", "#2fc59a", &["web", "pages", "http-mah", "http-unc", "short-flows", "abt"]),
    slot("#cc79a7", "#e19ac4", &["video", "dash", "multimedia", "mpeg", "videoconf"]),
    slot("#56b4e9", "#8fd3fa", &["upload", "uploads"]),
    slot("#7a55c7", "#a98bf0", &["call", "calls", "realtime"]),
    slot("#8a6d00", "#cdb54a", &["game"]),
    slot("#a0355c", "#e06c93", &["incast"]),
    slot("#b9a5e6", "#d3c6fa", &["call-up"]),
    slot("#efc877", "#f9e0a8", &["voip-up"]),
    slot("#d55e00", "#ff7b2e", &["blast", "cbr", "udp", "on-off", "ramp", "cross", "other"]),
    slot("#8c8c8c", "#a6a6a6", &[]),
];

/// Assigns a colour to each traffic, given its name and kind (which may be empty). A known name or kind has its own
/// colour, unless earlier traffic took it; the rest get the remaining colours in turn, cyclically. The second number
/// counts earlier uses of the same colour.
#[must_use]
pub fn of_traffic(traffic: &[(&str, &str)]) -> Vec<(Colour, usize)> {
    let own = |(name, kind): &(&str, &str)| {
        let of = |word: &str| SLOTS.iter().position(|slot| slot.names.contains(&word));
        of(name).or_else(|| of(kind))
    };
    let mut uses = [0_usize; SLOTS.len()];
    let mut places: Vec<Option<usize>> = Vec::new();
    for each in traffic {
        let place = own(each).filter(|place| uses[*place] == 0);
        if let Some(place) = place {
            uses[place] += 1;
        }
        places.push(place);
    }
    let mut colours = Vec::new();
    for place in places {
        let (place, before) = place.map_or_else(
            || {
                let least = uses.iter().copied().min().unwrap_or(0);
                let free = uses.iter().position(|count| *count == least).unwrap_or(0);
                uses[free] += 1;
                (free, least)
            },
            |place| (place, 0),
        );
        colours.push((SLOTS[place].colour, before));
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    fn light(traffic: &[(&str, &str)]) -> Vec<&'static str> {
        of_traffic(traffic).into_iter().map(|(colour, _)| colour.light).collect()
    }

    /// The mixed traffic of a home link: eight distinguishable classes.
    #[test]
    fn every_kind_has_a_colour_of_its_own() {
        let names = ["bulk", "upload", "video", "call", "call-up", "voip", "voip-up", "web", "game", "blast", "other"];
        let mut colours = light(&names.map(|name| (name, "")));
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), names.len());
        assert_eq!(light(&[("downloads", "bulk"), ("blast", "cbr")]), ["#0072b2", "#d55e00"]);
    }

    #[test]
    fn a_kind_keeps_its_colour_whatever_is_beside_it() {
        assert_eq!(light(&[("call", ""), ("voip", "")])[1], light(&[("voip", "")])[0]);
        assert_eq!(light(&[("a", ""), ("bulk", "")]), ["#e69f00", "#0072b2"], "the unknown takes what is left");
        assert_eq!(light(&[("first", "bulk"), ("second", "bulk")]), ["#0072b2", "#e69f00"]);
    }

    #[test]
    fn when_all_are_used_they_begin_again() {
        let many = of_traffic(&[("x", ""); 14]);
        assert_eq!((many[12], many[13].1), ((many[0].0, 1), 1));
    }
}
