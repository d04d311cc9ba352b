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
            text.push_str(&format!("    {line}\n"));
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

fn flush(text: &mut String, lines: &mut Vec<&str>, width: u16) {
    let mut rows = lines.drain(..).filter(|l| !is_rule(l)).map(cells);
    let Some(head) = rows.next() else { return };
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.force_no_tty().set_header(head).add_rows(rows);
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
    fn paragraphs_and_items_are_broken_anew() {
        let page = "Of one `line`\nand another.\n\n* an item that is longer than\n  that\n12. b, c, d, e, f and g\n\n    x = 1\n";
        let text = render(page, 20);
        let broken = "Of one line and\nanother.\n\n* an item that is\n  longer than that\n12. b, c, d, e, f\n    and g\n\n    x = 1\n";
        assert_eq!(text, broken);
    }
}
