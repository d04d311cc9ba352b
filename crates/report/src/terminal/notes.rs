//! Notes below a table.

use aqmkit_results::Results;

use super::Screen;
use crate::notes::notes as all;

/// Notes on the results, each on lines of its own; empty without notes.
#[must_use]
pub fn notes(results: &Results, screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    all(results).iter().map(|note| format!("{}\n", textwrap::fill(note, screen.width))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_as_wide_as_the_screen() {
        let said = ["The first note has seven words.", "The second."].map(str::to_owned).to_vec();
        let results = Results { notes: said, ..Results::default() };
        assert_eq!(notes(&results, 20), "The first note has\nseven words.\nThe second.\n");
        assert_eq!(notes(&Results::default(), 20), "");
    }
}
