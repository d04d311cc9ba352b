//! Compact SVG paths for lines and dots.

use std::collections::BTreeSet;
use std::fmt::Write;

/// A rectangle of the drawing; coordinates inside are from 0 to 1, upwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Frame {
    /// The position in integer units; points outside are moved to the edge.
    fn place(&self, (x, y): (f64, f64)) -> Option<(i64, i64)> {
        let inside = |share: f64| share.clamp(0.0, 1.0);
        (x.is_finite() && y.is_finite()).then(|| {
            let right = self.x + self.width * inside(x);
            let down = self.y + self.height * (1.0 - inside(y));
            (right.round() as i64, down.round() as i64)
        })
    }

    /// A polyline with gaps where a coordinate is NaN.
    pub(super) fn line(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        let mut at: Option<(i64, i64)> = None;
        for point in points {
            let next = self.place(point);
            match (at, next) {
                (_, None) => {}
                (None, Some((x, y))) => {
                    let _ = write!(path, "M{x}");
                    number(&mut path, y);
                    path.push('l');
                }
                (Some(before), Some(here)) if before == here => {}
                (Some((x0, y0)), Some((x, y))) => {
                    number(&mut path, x - x0);
                    number(&mut path, y - y0);
                }
            }
            at = next;
        }
        path
    }

    /// One dot per position that has a point.
    pub(super) fn dots(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let places: BTreeSet<(i64, i64)> = points.into_iter().filter_map(|point| self.place(point)).collect();
        let mut path = String::new();
        let mut at = (0, 0);
        for (x, y) in places {
            path.push('m');
            number(&mut path, x - at.0);
            number(&mut path, y - at.1);
            path.push_str("h0");
            at = (x, y);
        }
        path
    }
}

/// Appends a number, separated from the previous one by its sign or a space.
fn number(path: &mut String, n: i64) {
    if n >= 0 && path.ends_with(|last: char| last.is_ascii_digit()) {
        path.push(' ');
    }
    let _ = write!(path, "{n}");
}

#[cfg(test)]
mod tests {
    use super::Frame;

    const FRAME: Frame = Frame { x: 10.0, y: 20.0, width: 100.0, height: 50.0 };

    #[test]
    fn a_line_is_relative_and_breaks_at_gaps() {
        let points = [(0.0, 0.0), (0.01, 0.1), (0.01, 0.1), (0.02, f64::NAN), (0.03, 2.0), (0.04, 0.9)];
        assert_eq!(FRAME.line(points), "M10 70l1-5M13 20l1 5");
        assert_eq!(FRAME.line([]), "");
    }

    #[test]
    fn dots_that_fall_together_are_one() {
        assert_eq!(FRAME.dots([(0.5, 0.5), (0.0, 0.0), (0.501, 0.5), (f64::NAN, 0.0)]), "m10 70h0m50-25h0");
    }
}
