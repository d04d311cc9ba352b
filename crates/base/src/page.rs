//! Reference pages: the doc comment at the head of a source file.

/// Something with a name and a reference page.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in experiment files and on the command line.
    pub name: &'static str,
    /// The doc comment at the head of its file, as written there.
    comment: &'static str,
}

impl Entry {
    /// An entry with this name and the doc comment at the head of its file: see [`page!`](crate::page!).
    #[must_use]
    pub const fn new(name: &'static str, comment: &'static str) -> Self {
        Entry { name, comment }
    }

    /// The reference page in Markdown: the doc comment at the head of the file.
    #[must_use]
    pub fn page(&self) -> String {
        let doc = self.comment.lines().take_while(|l| l.starts_with("//!"));
        let mut page: String =
            doc.map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_owned() + "\n").collect();
        page.truncate(page.trim_end().len());
        page
    }

    /// A one-line description: the title of its page after the name.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        let title = self.comment.lines().next().unwrap_or("");
        title.split_once(": ").map_or(title, |(_, rest)| rest)
    }
}

/// The doc comment at the head of a source file: `page!(include_str!("red.rs"))`. The rest of the file does not become
/// part of the program.
#[macro_export]
macro_rules! page {
    ($source:expr) => {{
        const SOURCE: &str = $source;
        const COMMENT: &[u8; $crate::page::comment_len(SOURCE)] = &$crate::page::first_bytes(SOURCE);
        match ::core::str::from_utf8(COMMENT) {
            Ok(text) => text,
            Err(_) => panic!("the comment ends between two lines"),
        }
    }};
}

/// The length in bytes of the `//!` lines at the head of a source file.
#[must_use]
pub const fn comment_len(source: &str) -> usize {
    let bytes = source.as_bytes();
    let mut at = 0;
    while at + 3 <= bytes.len() && bytes[at] == b'/' && bytes[at + 1] == b'/' && bytes[at + 2] == b'!' {
        while at < bytes.len() && bytes[at] != b'\n' {
            at += 1;
        }
        if at < bytes.len() {
            at += 1;
        }
    }
    at
}

/// The first bytes of a text.
#[must_use]
pub const fn first_bytes<const N: usize>(text: &str) -> [u8; N] {
    let mut first = [0; N];
    let mut at = 0;
    while at < N {
        first[at] = text.as_bytes()[at];
        at += 1;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_the_comment_at_the_head_of_the_file() {
        let entry = Entry::new("page", crate::page!(include_str!("page.rs")));
        assert_eq!(
            (entry.comment.lines().count(), entry.page().as_str()),
            (1, "Reference pages: the doc comment at the head of a source file.")
        );
        assert_eq!(
            Entry::new("red", crate::page!("//! # RED: random\n//!\n//! Text.\nuse x;")).page(),
            "# RED: random\n\nText."
        );
        assert_eq!(Entry::new("none", crate::page!("use x;")).page(), "");
    }
}
