//! Reference pages: the doc comment at the head of a source file.
//!
//! A program contains only the parts that it asks for: a list of entries has names and titles, and the whole pages, which
//! are much longer, are part of the program only if it calls a function that returns them.

/// Something with a name and a reference page.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in experiment files and on the command line.
    pub name: &'static str,
    /// The title of its page: `RED: random early detection`.
    pub title: &'static str,
}

impl Entry {
    /// An entry with this name and title: see [`page_title!`](crate::page_title!).
    #[must_use]
    pub const fn new(name: &'static str, title: &'static str) -> Self {
        Entry { name, title }
    }

    /// A one-line description: the title of its page after the name.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        self.title.split_once(": ").map_or(self.title, |(_, rest)| rest)
    }
}

/// The text of lines of a doc comment, in Markdown: see [`page!`](crate::page!) and
/// [`parameter_table!`](crate::parameter_table!).
#[must_use]
pub fn markdown(comment: &str) -> String {
    let lines = comment.lines().map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or(""));
    let mut text: String = lines.map(|line| line.to_owned() + "\n").collect();
    text.truncate(text.trim_end().len());
    text
}

/// The doc comment at the head of a source file: `page!(include_str!("red.rs"))`. The rest of the file does not become
/// part of the program.
#[macro_export]
macro_rules! page {
    ($source:expr) => {
        $crate::part_of_source!($source, $crate::page::comment)
    };
}

/// The title of a page, the first line of the doc comment at the head of a source file: `RED: random early detection`.
#[macro_export]
macro_rules! page_title {
    ($source:expr) => {
        $crate::part_of_source!($source, $crate::page::title)
    };
}

/// The lines of the first table in the section "Parameters" of the doc comment at the head of a source file.
#[macro_export]
macro_rules! parameter_table {
    ($source:expr) => {
        $crate::part_of_source!($source, $crate::page::parameters)
    };
}

/// Declares, for modules whose files have reference pages, the list `ALL` and the functions `page` and `find`; the folder is relative to the file:
/// `pages! { "congestion control" in "congestion/": reno, "reno"; cubic, "cubic"; }`.
#[macro_export]
macro_rules! pages {
    ($what:literal in $folder:literal: $($module:ident, $name:literal;)+) => {
        #[doc = concat!("Every ", $what, ", in the order of the catalogue.")]
        pub const ALL: &[$crate::page::Entry] = &[
            $($crate::page::Entry::new($name, $crate::page_title!(include_str!(concat!($folder, stringify!($module), ".rs")))),)+
        ];

        /// The reference page of this name, in Markdown.
        #[must_use]
        pub fn page(name: &str) -> Option<String> {
            let comment = match name {
                $($name => $crate::page!(include_str!(concat!($folder, stringify!($module), ".rs"))),)+
                _ => return None,
            };
            Some($crate::page::markdown(comment))
        }

        #[doc = concat!("Looks up a ", $what, " by name.")]
        #[must_use]
        pub fn find(name: &str) -> Option<&'static $crate::page::Entry> {
            ALL.iter().find(|entry| entry.name == name)
        }
    };
}

/// A part of a source file: the bytes in the range that a function finds.
#[doc(hidden)]
#[macro_export]
macro_rules! part_of_source {
    ($source:expr, $find:path) => {{
        const SOURCE: &str = $source;
        const FROM: usize = $find(SOURCE.as_bytes()).0;
        const TO: usize = $find(SOURCE.as_bytes()).1;
        const PART: &[u8; TO - FROM] = &$crate::page::bytes(SOURCE, FROM);
        match ::core::str::from_utf8(PART) {
            Ok(text) => text,
            Err(_) => panic!("the part begins and ends between two lines"),
        }
    }};
}

/// The range of the `//!` lines at the head of a source file.
#[must_use]
pub const fn comment(source: &[u8]) -> (usize, usize) {
    let mut at = 0;
    while begins(source, at, b"//!") {
        at = next_line(source, at);
    }
    (0, at)
}

/// Byte range of the title in a source file that starts with `//! # `; empty without one.
#[must_use]
pub const fn title(source: &[u8]) -> (usize, usize) {
    const MARK: &[u8] = b"//! # ";
    if !begins(source, 0, MARK) {
        return (0, 0);
    }
    let mut end = MARK.len();
    while end < source.len() && source[end] != b'\n' {
        end += 1;
    }
    (MARK.len(), end)
}

/// The range of the first table in the section "Parameters" of a source file's doc comment; empty without one.
#[must_use]
pub const fn parameters(source: &[u8]) -> (usize, usize) {
    let (mut at, end) = comment(source);
    while at < end && !begins(source, at, b"//! ## Parameters\n") {
        at = next_line(source, at);
    }
    while at < end && !begins(source, at, b"//! |") {
        at = next_line(source, at);
        if begins(source, at, b"//! ## ") {
            return (0, 0);
        }
    }
    let from = at;
    while at < end && begins(source, at, b"//! |") {
        at = next_line(source, at);
    }
    (from, at)
}

const fn begins(text: &[u8], at: usize, with: &[u8]) -> bool {
    let mut i = 0;
    while i < with.len() {
        if at + i >= text.len() || text[at + i] != with[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Start of the line after the one at `at`.
const fn next_line(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && text[at] != b'\n' {
        at += 1;
    }
    if at < text.len() { at + 1 } else { at }
}

/// `N` bytes of a text.
#[must_use]
pub const fn bytes<const N: usize>(text: &str, from: usize) -> [u8; N] {
    let mut part = [0; N];
    let mut at = 0;
    while at < N {
        part[at] = text.as_bytes()[from + at];
        at += 1;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::markdown;

    const RED: &str = "//! # RED: random\n//!\n//! Text.\n//!\n//! ## Parameters\n//!\n//! Two.\n//!\n//! | field |\n//! |---|\n//! | `max` |\n//!\n//! | other |\n//! ## Limits\nuse x;";

    #[test]
    fn the_page_is_the_comment_at_the_head_of_the_file() {
        let own = crate::page!(include_str!("page.rs"));
        assert!(
            markdown(own).starts_with("Reference pages: the doc comment at the head of a source file.\n\nA program")
        );
        assert_eq!(markdown(crate::page!("//! # RED: random\n//!\n//! Text.\nuse x;")), "# RED: random\n\nText.");
        assert_eq!(markdown(crate::page!("use x;")), "");
    }

    #[test]
    fn the_title_is_the_first_line() {
        assert_eq!(crate::page_title!(RED), "RED: random");
        assert_eq!(crate::page_title!("use x;"), "");
        assert_eq!(crate::page_title!("//! # RED"), "RED");
    }

    #[test]
    fn the_table_of_parameters_is_the_first_of_its_section() {
        assert_eq!(markdown(crate::parameter_table!(RED)), "| field |\n|---|\n| `max` |");
        assert_eq!(crate::parameter_table!("//! # RED\n//! | field |\nuse x;"), "");
        assert_eq!(crate::parameter_table!("//! ## Parameters\n//!\n//! None.\n//! ## Limits\n//! | 1 |\n"), "");
    }
}
