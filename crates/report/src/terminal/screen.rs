//! Properties of the terminal.

use std::io::IsTerminal;

use aqmkit_results::Verdict;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table};

/// Width of tables, and whether to colour them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// In characters.
    pub width: usize,
    /// Whether to use colours and bold type.
    pub color: bool,
}

impl From<usize> for Screen {
    /// Plain text of this width.
    fn from(width: usize) -> Self {
        Screen { width, color: false }
    }
}

impl Screen {
    /// The terminal that standard output goes to. If it goes elsewhere: plain and 100 columns wide; plain also if
    /// `NO_COLOR` is set.
    #[must_use]
    pub fn of_stdout() -> Self {
        if !std::io::stdout().is_terminal() {
            return Screen::from(100);
        }
        let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Screen { width: width.clamp(60, 200), color: !refused }
    }

    /// An empty table of this width.
    #[must_use]
    pub fn table(self) -> Table {
        let mut table = Table::new();
        table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        if self.color {
            table.enforce_styling()
        } else {
            table.force_no_tty()
        };
        table
    }

    /// Text in bold type.
    pub(super) fn bold(self, text: &str) -> String {
        if self.color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The table as text, with additional space between columns.
#[must_use]
pub fn drawn(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table.trim_fmt()
}

/// A cell of the heading.
pub fn head(text: impl ToString, alignment: CellAlignment) -> Cell {
    Cell::new(text).set_alignment(alignment).add_attribute(Attribute::Bold)
}

/// A cell with a number.
pub fn number(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The symbol of a verdict: met, missed or not measured.
pub(super) fn mark(verdict: Option<Verdict>) -> Cell {
    match verdict {
        Some(Verdict::Met) => Cell::new("✓").fg(Color::Green),
        Some(Verdict::Missed) => Cell::new("✗").fg(Color::Red),
        Some(Verdict::Undecided) => Cell::new("?").fg(Color::Yellow),
        None => Cell::new("–"),
    }
}
