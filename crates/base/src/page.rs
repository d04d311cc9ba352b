//! Reference pages: the doc comment that opens a file.

/// Something with a name and a reference page.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in experiment files and on the command line.
    pub name: &'static str,
    /// The source of its file, whose opening doc comment is its reference page.
    source: &'static str,
}

impl Entry {
    /// An entry with this name, whose page opens `source`.
    #[must_use]
    pub const fn new(name: &'static str, source: &'static str) -> Self {
        Entry { name, source }
    }

    /// The reference page in Markdown: the doc comment that opens the file.
    #[must_use]
    pub fn page(&self) -> String {
        let doc = self.source.lines().take_while(|l| l.starts_with("//!"));
        let mut page: String =
            doc.map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_owned() + "\n").collect();
        page.truncate(page.trim_end().len());
        page
    }

    /// What it is in one line: the title of its page after the name.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        let title = self.source.lines().next().unwrap_or("");
        title.split_once(": ").map_or(title, |(_, rest)| rest)
    }
}
