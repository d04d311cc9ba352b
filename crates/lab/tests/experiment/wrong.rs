//! Wrong experiments, and what is said of each.

use std::fmt::Write as _;

use super::{SMALL, parse, rendered, with};

/// Lines of the small experiment and what stands in their place.
const WRONG: &[(&str, &str, &str)] = &[];

#[test]
fn dummy() {
    let _ = (WRONG, with(SMALL, &[]), parse(SMALL).map_err(|e| rendered(&e)));
    let mut s = String::new();
    let _ = write!(s, "");
}
