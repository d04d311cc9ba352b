//! A Markdown page on a terminal: tables drawn, headings bold, the rest as written.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{ContentArrangement, Table};

use super::say;

/// Renders a page for this many columns.
#[must_use]
pub fn render(page: &str, width: u16) -> String {
    let mut text = String::new();
    let mut table: Vec<&str> = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
        if !in_code && line.starts_with('|') {
            table.push(line);
            continue;
        }
        flush(&mut text, &mut table, width);
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            text.push_str(&format!("    {line}\n"));
        } else {
            text.push_str(&prose(line));
            text.push('\n');
        }
    }
    flush(&mut text, &mut table, width);
    text
}

/// A line that is neither table nor code.
fn prose(line: &str) -> String {
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') { say::bold(&plain(heading.trim())) } else { plain(line) }
}

/// Without the marks that only a renderer needs.
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
}
