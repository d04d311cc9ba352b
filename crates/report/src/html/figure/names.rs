//! Places the labels of points so that they cover neither each other nor another point.

/// Width of a character and height of a line, in pixels, with a font of 10 pixels.
const CHARACTER: f64 = 5.6;
const LINE: f64 = 12.0;
/// Radius of a point with some space around it, in pixels.
const RADIUS: f64 = 7.0;

/// Positions of a label in order of preference: Plotly's name, and the offset of the label's centre from the point, in
/// widths and heights.
const PLACES: [(&str, f64, f64); 8] = [
    ("top center", 0.0, -1.0),
    ("bottom center", 0.0, 1.0),
    ("middle right", 1.0, 0.0),
    ("middle left", -1.0, 0.0),
    ("top right", 1.0, -1.0),
    ("top left", -1.0, -1.0),
    ("bottom right", 1.0, 1.0),
    ("bottom left", -1.0, 1.0),
];
/// The first positions are above, below and beside the point, where error bars would be.
const ON_BARS: usize = 4;

/// Width of a plot on a phone, in pixels: 400 less its margins. Figures are as wide as the window, labels are not.
const NARROWEST: f64 = 310.0;

/// A rectangle in pixels: left, right, top, bottom.
type Area = (f64, f64, f64, f64);

/// Plotly's position for the label of each point; `None` if all positions are taken. Coordinates are fractions of the
/// plot's width and height (in pixels), from the upper left corner. Earlier points are placed first. `bars`: points
/// have error bars in both directions, so that labels are better diagonal to them.
pub(super) fn places(
    points: &[(f64, f64)],
    names: &[&str],
    (wide, high): (usize, usize),
    bars: bool,
) -> Vec<Option<&'static str>> {
    let (wide, high) = (wide as f64, high as f64);
    let mut order = PLACES;
    if bars {
        order.rotate_left(ON_BARS);
    }
    let pixels: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x * wide, y * high)).collect();
    let mut taken: Vec<Area> = pixels.iter().map(|(x, y)| (x - RADIUS, x + RADIUS, y - RADIUS, y + RADIUS)).collect();
    let mut found = Vec::new();
    for (own, (point, name)) in pixels.iter().zip(names).enumerate() {
        let within = |area: &Area, width: f64| {
            let x = point.0 / wide * width;
            x + area.0 - point.0 >= 0.0 && x + area.1 - point.0 <= width && area.2 >= -LINE
        };
        let free = |(_, area): &(&'static str, Area)| {
            within(area, wide) && taken.iter().enumerate().all(|(i, other)| i == own || !overlap(area, other))
        };
        let mut places: Vec<_> = order.iter().map(|(words, x, y)| (*words, area(*point, name, *x, *y))).collect();
        places.sort_by_key(|(_, area)| !within(area, NARROWEST));
        let place = places.into_iter().find(free);
        taken.extend(place.map(|(_, area)| area));
        found.push(place.map(|(words, _)| words));
    }
    found
}

/// The rectangle of a label at this offset from a point.
fn area(point: (f64, f64), name: &str, across: f64, down: f64) -> Area {
    let width = CHARACTER * name.chars().count() as f64;
    // A label beside a point starts after it.
    let x = point.0 + across * (width / 2.0 + RADIUS);
    let y = point.1 + down * (LINE / 2.0 + RADIUS);
    (x - width / 2.0, x + width / 2.0, y - LINE / 2.0, y + LINE / 2.0)
}

fn overlap(one: &Area, other: &Area) -> bool {
    one.0 < other.1 && other.0 < one.1 && one.2 < other.3 && other.2 < one.3
}

#[cfg(test)]
mod tests {
    use super::places;

    const WIDTH: f64 = 1150.0;
    const SIZE: (usize, usize) = (1150, 300);

    #[test]
    fn a_lonely_point_has_its_name_above() {
        assert_eq!(places(&[(0.5, 0.5)], &["red"], SIZE, false), [Some("top center")]);
    }

    #[test]
    fn a_name_stands_beside_the_bars_of_its_point() {
        assert_eq!(places(&[(0.5, 0.5)], &["red"], SIZE, true), [Some("top right")]);
    }

    #[test]
    fn a_name_gives_way_to_names_and_points() {
        let beside = 20.0 / WIDTH;
        assert_eq!(
            places(&[(0.5, 0.5), (0.5 + beside, 0.5)], &["fq-codel", "cake"], SIZE, false),
            [Some("top center"), Some("bottom center")]
        );
        let above = places(&[(0.5, 0.5), (0.5, 0.5 - 13.0 / 300.0)], &["red", "pie"], SIZE, false);
        assert_eq!(above, [Some("bottom center"), Some("top center")], "the second point is where the name would be");
    }

    #[test]
    fn where_all_places_are_taken_there_is_no_name() {
        let found = places(&[(0.5, 0.5); 20], &["red"; 20], SIZE, false);
        assert!(found[..4].iter().all(Option::is_some) && found[8..].iter().all(Option::is_none), "{found:?}");
        let close: Vec<(f64, f64)> = (0..30).map(|i| (0.5 + f64::from(i) * 1e-4, 0.5)).collect();
        let crowded = places(&close, &["a-long-name"; 30], SIZE, false);
        assert!(crowded.iter().any(Option::is_none), "{crowded:?}");
    }

    /// At 0.86 the name ends inside a plot of 1,150 pixels, but 8 pixels outside of one of 310.
    #[test]
    fn a_name_stays_inside_on_a_phone() {
        assert_eq!(places(&[(0.86, 0.5)], &["fq-codel"], SIZE, true), [Some("top left")]);
        assert_eq!(places(&[(0.8, 0.5)], &["fq-codel"], SIZE, true), [Some("top right")]);
    }

    #[test]
    fn a_name_stays_inside() {
        assert_eq!(places(&[(0.0, 0.5)], &["fq-codel"], SIZE, false), [Some("middle right")]);
        assert_eq!(places(&[(1.0, 0.5)], &["fq-codel"], SIZE, false), [Some("middle left")]);
    }
}
