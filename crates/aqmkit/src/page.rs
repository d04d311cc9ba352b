//! Renders a Markdown page for a terminal: tables drawn, headings bold, paragraphs wrapped, code as written.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};

use super::say;

/// Renders a page for this many columns.
#[must_use]
pub(super) fn render(page: &str, width: u16) -> String {
    let mut text = String::new();
    let mut table: Vec<&str> = Vec::new();
    let mut paragraph = Paragraph::default();
    let mut in_code = false;
    for line in page.lines() {
        let is_row = !in_code && line.starts_with('|');
        if is_row {
            paragraph.flush(&mut text, width);
            table.push(line);
            continue;
        }
        flush(&mut text, &mut table, width);
        if line.starts_with("```") {
            paragraph.flush(&mut text, width);
            in_code = !in_code;
        } else if in_code {
            text.push_str(&code(line, width));
        } else if let Some(heading) = heading(line) {
            paragraph.flush(&mut text, width);
            text.push_str(&format!("{}\n", say::bold(&plain(heading))));
        } else if line.trim().is_empty() {
            paragraph.flush(&mut text, width);
            text.push('\n');
        } else {
            if mark(line).is_some() {
                paragraph.flush(&mut text, width);
            }
            paragraph.add(line);
        }
    }
    flush(&mut text, &mut table, width);
    paragraph.flush(&mut text, width);
    text
}

/// The text of a heading, if the line is one.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    (rest.len() < line.len() && rest.starts_with(' ')).then(|| rest.trim())
}

/// The width of a list mark (`* `, `- ` or `12. `), if the line begins with one.
fn mark(line: &str) -> Option<usize> {
    let (mark, _) = line.trim_start().split_once(' ')?;
    let number = mark.strip_suffix('.').is_some_and(|n| n.parse::<u8>().is_ok());
    (mark == "*" || mark == "-" || number).then_some(mark.len() + 1)
}

/// Lines of one paragraph.
#[derive(Default)]
struct Paragraph {
    indent: usize,
    words: String,
}

impl Paragraph {
    fn add(&mut self, line: &str) {
        if self.words.is_empty() {
            self.indent = line.len() - line.trim_start().len();
        } else {
            self.words.push(' ');
        }
        self.words.push_str(line.trim());
    }

    /// Wraps the paragraph; the lines of a list item are indented.
    fn flush(&mut self, text: &mut String, width: u16) {
        if self.words.is_empty() {
            return;
        }
        let first = " ".repeat(self.indent);
        let others = " ".repeat(self.indent + mark(&self.words).unwrap_or(0));
        let options = textwrap::Options::new(width.into())
            .initial_indent(&first)
            .subsequent_indent(&others)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        text.push_str(&textwrap::fill(&plain(&self.words), options));
        text.push('\n');
        self.words.clear();
    }
}

/// Text without Markdown marks.
fn plain(text: &str) -> String {
    text.replace("**", "").replace('`', "").replace("\\|", "|").replace("\\[", "[").replace("\\]", "]")
}

/// A line of code or of a law. If it is too long, its reference in brackets moves to the left, and then it is broken.
fn code(line: &str, width: u16) -> String {
    let width = usize::from(width);
    let mut line = format!("    {line}");
    if line.chars().count() > width
        && let Some((law, reference)) = line.rsplit_once("  [")
    {
        line = format!("{}  [{reference}", law.trim_end());
    }
    let indent = " ".repeat(line.chars().take_while(|c| *c == ' ').count() + 4);
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace);
    textwrap::fill(&line, options) + "\n"
}

/// The narrowest last column of a table: below this, rows become entries.
const NARROWEST: usize = 28;

/// The characters between two columns.
const GAP: usize = 2;

/// The width that the other columns of a table leave for the last one, whose text is the longest.
fn left_for_last(rows: &[Vec<String>], width: u16) -> usize {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
    let others: usize = (0..columns.saturating_sub(1)).map(|column| widest(column).unwrap_or(0) + GAP).sum();
    usize::from(width).saturating_sub(others + GAP)
}

/// A row as an entry: its first cell, the others with their headings, and the last one below them.
fn entry(head: &[String], row: &[String], width: u16) -> String {
    let (Some((first, rest)), names) = (row.split_first(), head.get(1..).unwrap_or_default()) else {
        return String::new();
    };
    let (last, between) = rest.split_last().map_or(("", rest), |(last, between)| (last.as_str(), between));
    let named = names.iter().zip(between).filter(|(_, cell)| !cell.is_empty());
    let facts = named.map(|(name, cell)| format!("{name} {cell}")).collect::<Vec<_>>().join(", ");
    let first = format!("{first}{}{facts}", if facts.is_empty() { "" } else { ": " });
    let wrapped = |text: &str, indent: &str| {
        let options = textwrap::Options::new(width.into()).initial_indent(indent).subsequent_indent("    ");
        textwrap::fill(text, options.word_splitter(textwrap::WordSplitter::NoHyphenation)) + "\n"
    };
    format!("{}{}", wrapped(&first, ""), wrapped(last, "    "))
}

fn flush(text: &mut String, lines: &mut Vec<&str>, width: u16) {
    let all: Vec<Vec<String>> = lines.drain(..).filter(|l| !is_rule(l)).map(cells).collect();
    let Some((head, rows)) = all.split_first() else { return };
    let longest = rows.iter().filter_map(|row| row.last()).map(|cell| cell.chars().count()).max().unwrap_or(0);
    if left_for_last(&all, width) < NARROWEST.min(longest) {
        text.extend(rows.iter().map(|row| entry(head, row, width)));
        return;
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.force_no_tty().set_header(head.clone()).add_rows(rows.to_vec());
    let drawn = table.to_string();
    text.push_str(&drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
    text.push('\n');
}

/// The line between a table's head and body.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| "|-: ".contains(c))
}

fn cells(line: &str) -> Vec<String> {
    let marked = line.trim().trim_matches('|').replace("\\|", "\u{0}");
    marked.split('|').map(|c| plain(&c.replace('\u{0}', "|")).trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_without_markdown() {
        let page =
            "# red: **early**\n\n```text\na | b\n```\n\n| field | meaning |\n|---|---:|\n| `drop` | `a \\| b` |\n";
        let text = render(page, 60);
        assert!(text.starts_with("red: early\n\n    a | b\n"), "{text}");
        assert!(
            text.contains("drop") && text.contains("a | b") && !text.contains("---") && !text.contains('`'),
            "{text}"
        );
    }
    #[test]
    fn rows_become_entries_where_the_last_column_is_too_narrow() {
        let page = "| field | unit | default | meaning |\n|---|---|---|---|\n| `max` | queue length | 3 min, or 15 | average above which all packets are dropped |\n| `ecn` | | | marks packets in place of drops, if senders can take it |\n";
        assert_eq!(
            render(page, 50),
            "max: unit queue length, default 3 min, or 15\n    average above which all packets are dropped\n\
             ecn\n    marks packets in place of drops, if senders\n    can take it\n"
        );
        assert!(render(page, 90).contains("══"), "{}", render(page, 90));
    }

    #[test]
    fn long_lines_of_a_law_are_broken() {
        let page = "```text\np_a  = p_b / (1 - count p_b)             drop with p_a            [parris01 eq 3.2]\nx = y\n```\n";
        let law = "    p_a  = p_b / (1 - count p_b)             drop with p_a  [parris01 eq 3.2]\n    x = y\n";
        assert_eq!(render(page, 80), law);
        assert!(render(page, 40).lines().all(|line| line.chars().count() <= 40), "{}", render(page, 40));
    }

    #[test]
    fn paragraphs_and_items_are_broken_anew() {
        let page = "Of one `line`\nand another.\n\n* an item that is longer than\n  that\n12. b, c, d, e, f and g\n\n    x = 1\n";
        let text = render(page, 20);
        let broken = "Of one line and\nanother.\n\n* an item that is\n  longer than that\n12. b, c, d, e, f\n    and g\n\n    x = 1\n";
        assert_eq!(text, broken);
    }
}
