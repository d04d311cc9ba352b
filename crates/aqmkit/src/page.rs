//! Renders a Markdown page for a terminal: tables drawn, headings bold, paragraphs wrapped, code as written.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::say;

/// Renders a page for this many columns.
#[must_use]
pub(super) fn render(page: &str, width: u16) -> String {
    let mut renderer = Renderer { width, ..Renderer::default() };
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        renderer.event(event);
    }
    renderer.text
}

/// State of the rendering between two events of the parser.
#[derive(Default)]
struct Renderer {
    width: u16,
    /// Finished lines.
    text: String,
    /// Words of the current block or table cell.
    words: String,
    /// For each open list, the number of its next item, if they are numbered.
    lists: Vec<Option<u64>>,
    /// The indent of each open list item and its marker, such as `* `; the marker is empty once printed.
    marks: Vec<(usize, String)>,
    /// The rows of the current table, the head first.
    rows: Vec<Vec<String>>,
    in_code: bool,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => {
                let width = self.width;
                self.text.extend(text.lines().map(|line| code(line, width)));
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                self.words.push_str(&text);
            }
            Event::SoftBreak | Event::HardBreak => self.words.push(' '),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(_) => {
                self.flush();
                self.blank_line();
                self.in_code = true;
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.blank_line();
                }
                self.lists.push(*first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "* ".to_owned(),
                };
                self.marks.push((mark.len(), mark));
            }
            Tag::TableRow | Tag::TableHead => self.rows.push(Vec::new()),
            Tag::Heading { .. } | Tag::Table(_) => self.blank_line(),
            Tag::Paragraph if self.marks.is_empty() => self.blank_line(),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Item => {
                self.flush();
                self.marks.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Heading(_) => {
                let title = say::bold(&std::mem::take(&mut self.words));
                self.text.push_str(&format!("{title}\n"));
            }
            TagEnd::CodeBlock => self.in_code = false,
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                self.rows.last_mut().into_iter().for_each(|row| row.push(cell.trim().to_owned()));
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.rows);
                self.text.push_str(&table(&rows, self.width));
            }
            _ => {}
        }
    }

    /// Adds a blank line between blocks.
    fn blank_line(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Wraps the current paragraph; continuation lines of a list item are indented.
    fn flush(&mut self) {
        if self.words.trim().is_empty() {
            return;
        }
        let words = std::mem::take(&mut self.words);
        let others = " ".repeat(self.marks.iter().map(|(width, _)| width).sum());
        let mark = self.marks.last_mut().map(|(_, mark)| std::mem::take(mark)).unwrap_or_default();
        let first = format!("{}{mark}", &others[mark.len()..]);
        let options = textwrap::Options::new(self.width.into())
            .initial_indent(&first)
            .subsequent_indent(&others)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        self.text.push_str(&textwrap::fill(words.trim(), options));
        self.text.push('\n');
    }
}

/// Formats a line of code or of a law. If it is too long, the reference in brackets moves left; if it still is, the
/// line is broken.
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

/// Minimum width of the last column of a table. A table with a narrower one is shown as entries.
const NARROWEST: usize = 28;

/// Number of characters between two columns.
const GAP: usize = 2;

/// The width that the other columns leave for the last one, which has the longest text.
fn left_for_last(rows: &[Vec<String>], width: u16) -> usize {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max();
    let others: usize = (0..columns.saturating_sub(1)).map(|column| widest(column).unwrap_or(0) + GAP).sum();
    usize::from(width).saturating_sub(others + GAP)
}

/// Formats a row as an entry: the first cell, the others with their headings, and the last one below.
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

/// Formats a table, or entries if its last column would be too narrow. The first row is the head.
fn table(all: &[Vec<String>], width: u16) -> String {
    let Some((head, rows)) = all.split_first() else { return String::new() };
    let longest = rows.iter().filter_map(|row| row.last()).map(|cell| cell.chars().count()).max().unwrap_or(0);
    if left_for_last(all, width) < NARROWEST.min(longest) {
        return rows.iter().map(|row| entry(head, row, width)).collect();
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table.force_no_tty().set_header(head.clone()).add_rows(rows.to_vec());
    let drawn = table.to_string();
    drawn.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
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
        let page = "Of one `line`\nand another.\n\n* an item that is longer than\n  that\n* b\n\nc:\n\n12. d, e, f, [g](h.md) and i\n\n<!-- end -->\n\n    x = 1\n";
        let text = render(page, 20);
        let broken = "Of one line and\nanother.\n\n* an item that is\n  longer than that\n* b\n\nc:\n\n12. d, e, f, g and i\n\n    x = 1\n";
        assert_eq!(text, broken);
    }
}
