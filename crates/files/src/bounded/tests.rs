use std::io::{self, Read, Write};

use super::*;

const SMALL: Bound = Bound { name: "a note", bytes: 40, line: 8, lines: 4, form: "a note is short" };

fn refused(text: &[u8]) -> (String, String) {
    let error = text_of("a.txt", text, &SMALL).unwrap_err();
    (error.to_string(), error.right().unwrap_or_default().to_owned())
}

#[test]
fn what_is_within_the_bounds_is_read() {
    for text in ["", "a", "12345678\n12345678\r\n\n\n", "a\nb\nc\nd", "é\u{1f600}\n"] {
        let text = text.replace('\r', "");
        assert_eq!(text_of("a.txt", text.as_bytes(), &SMALL).unwrap(), text);
    }
}

#[test]
fn what_is_above_a_bound_is_told_with_its_line() {
    assert_eq!(
        refused(b"one\n123456789\n"),
        ("a.txt line 2: a line of a note has 8 bytes at most".to_owned(), "a note is short".to_owned())
    );
    let (what, right) = refused(b"1\n2\n3\n4\n5");
    assert_eq!(
        (what.as_str(), right.as_str()),
        ("a.txt line 5: a note has 4 lines at most", "cut it into several; a note is short")
    );
    let (large, help) = refused("1234567\n".repeat(6).as_bytes());
    assert_eq!(large, "a.txt: it has 48 bytes, and a note has 40 bytes at most");
    assert!(help.starts_with("name another file"), "{help}");
}

#[test]
fn what_is_no_text_is_told_with_its_line() {
    assert_eq!(refused(b"one\ntw\0o").0, "a.txt line 2: it contains a zero byte, so it is not text");
    assert_eq!(refused(b"one\ntwo\n\xff\n").0, "a.txt line 3: byte 8 of the file is not UTF-8");
    assert_eq!(refused("one\né".as_bytes().split_last().unwrap().1).0, "a.txt line 2: byte 4 of the file is not UTF-8");
}

/// Bytes above 127 are characters of ISO 8859-1, and the bounds count bytes.
#[test]
fn latin1_is_read_within_the_same_bounds() {
    assert_eq!(latin1_of("a.txt", &b"\xa9 UNC\n1 \xff\n"[..], &SMALL).unwrap(), "\u{a9} UNC\n1 \u{ff}\n");
    let refused = |text: &[u8]| latin1_of("a.txt", text, &SMALL).unwrap_err().to_string();
    assert_eq!(refused(b"one\n123456789\n"), "a.txt line 2: a line of a note has 8 bytes at most");
    assert_eq!(refused(b"one\ntw\0o"), "a.txt line 2: it contains a zero byte, so it is not text");
    let mut file = Endless(b'1', 0);
    assert!(latin1_of("x", &mut file, &SMALL).is_err() && file.1 <= 4 * CHUNK);
}

/// An endless repetition of a byte, which counts how many are read.
struct Endless(u8, usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(self.0);
        self.1 += buffer.len();
        Ok(buffer.len())
    }
}

#[test]
fn an_endless_file_is_given_up_at_once() {
    for byte in [0, b'1', b'\n', 0xff] {
        for bound in ALL.into_iter().filter(|b| b.line < MIB || byte == 0) {
            let mut file = Endless(byte, 0);
            if byte == b'\n' && bound.lines > MIB {
                continue;
            }
            assert!(text_of("x", &mut file, bound).is_err());
            assert!(file.1 <= 4 * CHUNK, "{} bytes of {byte} were read for {}", file.1, bound.name);
        }
    }
}

/// An endless line is read only up to the maximum line length.
#[test]
fn an_endless_line_is_given_up_where_it_is_too_long() {
    for bound in ALL.into_iter().filter(|b| b.line <= 16 * MIB) {
        let mut file = Endless(b'1', 0);
        assert!(text_of("x", &mut file, bound).is_err());
        assert!(file.1 as u64 <= bound.line + 4 * CHUNK as u64, "{} bytes were read for {}", file.1, bound.name);
    }
}

#[test]
fn a_character_may_lie_on_the_end_of_what_is_read_at_a_time() {
    let bound = Bound { bytes: GIB, line: GIB, lines: 10, ..SMALL };
    let text = format!("{}é", "x".repeat(CHUNK - 1));
    assert_eq!(text_of("x", text.as_bytes(), &bound).unwrap(), text);
}

#[test]
fn a_large_file_is_refused_by_its_length() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"title = 1\n").unwrap();
    file.as_file().set_len(EXPERIMENT.bytes + 1).unwrap();
    let told = text(file.path(), &EXPERIMENT).unwrap_err().to_string();
    assert!(told.ends_with("it has 16.1 MiB, and an experiment has 16 MiB at most"), "{told}");
    assert!(text(&file.path().join("x"), &EXPERIMENT).is_err_and(|e| e.right().is_none()));
    assert!(text(Path::new("missing"), &EXPERIMENT).unwrap_err().is_missing());
}

#[test]
fn json_that_is_wrong_is_told_with_its_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[1,\n x]").unwrap();
    let told = json::<Vec<u8>>(file.path(), &NOTES).unwrap_err().to_string();
    assert!(told.contains(" line 2: expected value"), "{told}");
}

/// The page in docs lists every bound with its value.
#[test]
fn the_bounds_are_those_of_the_page() {
    let page = include_str!("../../../../docs/experiment-format.md");
    for bound in ALL {
        let lines = bound.lines;
        let line = if bound.line == bound.bytes { "any".to_owned() } else { size(bound.line) };
        let row = format!("| {} | {} | {line} | {lines} |", bound.name, size(bound.bytes));
        assert!(page.contains(&row), "docs/experiment-format.md lacks\n{row}");
    }
}
