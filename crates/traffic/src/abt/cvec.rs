//! Reading tmix connection vectors, in the original and in the alternative form.

use super::super::empirical::skipped;
use super::super::model::ParamError;
use super::vector::{After, Side, Step, Vectors};

/// The largest data unit: a tebibyte.
const MAX_BYTES: u64 = 1 << 40;
/// The longest wait and the latest start: a hundred years, in microseconds.
const MAX_WAIT: u64 = 100 * 366 * 86_400 * 1_000_000;

/// Parses a file of connection vectors; `file` is its name in error messages.
///
/// # Errors
/// The first line that cannot be parsed, with its number.
pub(super) fn parse(file: &str, text: &str) -> Result<Vectors, ParamError> {
    let mut reader = Reader { file, vectors: Vectors::default(), open: None };
    for (i, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or("");
        if !skipped(content) {
            reader.line(i + 1, line, content)?;
        }
    }
    reader.close()?;
    if reader.vectors.all.is_empty() {
        return Err(ParamError::new(file, "no connection", "it needs at least one, beginning with SEQ, CONC, S or C"));
    }
    reader.vectors.sort();
    Ok(reader.vectors)
}

/// A connection that is being read.
struct Open {
    /// Line number and text of its header.
    line: usize,
    text: String,
    start_us: u64,
    concurrent: bool,
    /// Whether it is in the alternative form.
    alternative: bool,
    /// Announced numbers of data units: one of exchanges for sequential connections, one per side for concurrent ones.
    announced: [u64; 2],
    steps: Vec<Step>,
    /// Sides that have sent their end marker (alternative form).
    over: [bool; 2],
    /// Per side, a waiting time that was read before its data unit (original form).
    pending: [Option<u64>; 2],
}

struct Reader<'a> {
    file: &'a str,
    vectors: Vectors,
    open: Option<Open>,
}

/// A description of valid input, for the error message.
type Wanted = String;

impl Reader<'_> {
    fn line(&mut self, number: usize, line: &str, content: &str) -> Result<(), ParamError> {
        let file = self.file;
        let error = |want| ParamError::line(file, number, line, want);
        let mut words = content.split_whitespace();
        let word = words.next().unwrap_or("");
        let rest: Vec<&str> = words.collect();
        if let Some((concurrent, alternative)) = header(word) {
            self.close()?;
            self.open = Some(Open::new(number, line, concurrent, alternative, &rest).map_err(error)?);
            return Ok(());
        }
        let Some(open) = self.open.as_mut() else {
            return Err(error("a connection must begin with SEQ, CONC, S or C".to_owned()));
        };
        open.entry(word, &rest).map_err(error)
    }

    /// Checks the open connection against its header, and adds it to the list.
    fn close(&mut self) -> Result<(), ParamError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let error = |want: String| ParamError::line(self.file, open.line, &open.text, want);
        let mut steps = open.steps.clone();
        open.finish(&mut steps);
        let units = |side| steps.iter().filter(|s| s.from == side && s.bytes > 0).count() as u64;
        let found = [units(Side::Initiator), units(Side::Acceptor)];
        if open.concurrent && found != open.announced {
            let [i, a] = open.announced;
            return Err(error(format!(
                "it announces {i} and {a} data units, but {} and {} follow",
                found[0], found[1]
            )));
        }
        if !open.concurrent && found[0].max(found[1]) != open.announced[0] {
            let want = format!("it announces {} exchanges, but {} follow", open.announced[0], found[0].max(found[1]));
            return Err(error(want));
        }
        if !self.vectors.push(open.start_us, open.concurrent, &steps) {
            return Err(error("a file holds 4294967295 data units at most".to_owned()));
        }
        Ok(())
    }
}

/// Parses the first word of a header: (concurrent, alternative form).
fn header(word: &str) -> Option<(bool, bool)> {
    match word {
        "SEQ" => Some((false, false)),
        "CONC" => Some((true, false)),
        "S" => Some((false, true)),
        "C" => Some((true, true)),
        _ => None,
    }
}

impl Open {
    fn new(line: usize, text: &str, concurrent: bool, alternative: bool, words: &[&str]) -> Result<Open, Wanted> {
        let counts = if concurrent { 2 } else { 1 };
        if words.len() != 1 + counts + 2 {
            let named = if concurrent { "two numbers of data units" } else { "a number of exchanges" };
            return Err(format!(
                "the keyword must be followed by a start in microseconds, {named}, two identifiers, and nothing else on the line"
            ));
        }
        let first = number(words[0], MAX_WAIT)?;
        let mut announced = [0; 2];
        for (slot, word) in announced.iter_mut().zip(&words[1..]).take(counts) {
            *slot = number(word, u64::from(u32::MAX))?;
        }
        // The identifiers are not used; a word that is not a number belongs to a truncated line.
        for identifier in &words[1 + counts..] {
            number(identifier, u64::MAX).map_err(|want| format!("of the identifiers, {want}"))?;
        }
        let text = text.to_owned();
        let (steps, over, pending) = (Vec::new(), [false; 2], [None; 2]);
        Ok(Open { line, text, start_us: first, concurrent, alternative, announced, steps, over, pending })
    }

    fn entry(&mut self, word: &str, rest: &[&str]) -> Result<(), Wanted> {
        match (word, self.alternative, self.concurrent) {
            ("w" | "m", ..) => numbers(rest, 1..=2).map(|_| ()),
            ("r", ..) => numbers(rest, 1..=1).map(|_| ()),
            ("l", ..) => shares(rest),
            ("I", true, _) => self.alternative(Side::Initiator, rest),
            ("A", true, _) => self.alternative(Side::Acceptor, rest),
            (">", false, false) | ("c>", false, true) => self.unit(Side::Initiator, rest),
            ("<", false, false) | ("c<", false, true) => self.unit(Side::Acceptor, rest),
            ("t", false, false) => self.wait(0, rest),
            ("t>", false, true) => self.wait(0, rest),
            ("t<", false, true) => self.wait(1, rest),
            (_, true, _) => Err("it must be a line of w, m, r, l, I or A".to_owned()),
            (_, false, false) => Err("it must be a line of w, m, r, l, >, < or t".to_owned()),
            (_, false, true) => Err("it must be a line of w, m, r, l, c>, c<, t> or t<".to_owned()),
        }
    }

    /// A line `I send_wait receive_wait bytes`.
    fn alternative(&mut self, from: Side, rest: &[&str]) -> Result<(), Wanted> {
        let [send, receive, bytes] = rest else {
            return Err("it must be two waits in microseconds and a number of bytes".to_owned());
        };
        let (send, receive) = (number(send, MAX_WAIT)?, number(receive, MAX_WAIT)?);
        let bytes = number(bytes, MAX_BYTES)?;
        if receive > 0 && (send > 0 || self.concurrent) {
            return Err("one of the waits must be 0; of a concurrent connection the second".to_owned());
        }
        self.not_over(from)?;
        let after = if send > 0 || self.concurrent { After::Send } else { self.after(from) };
        self.steps.push(Step { from, after, wait_us: send.max(receive), bytes });
        self.over[from as usize] |= bytes == 0;
        Ok(())
    }

    /// Rejects a send after the end marker: of the same side in a concurrent connection, of either side in a sequential
    /// one.
    fn not_over(&self, from: Side) -> Result<(), Wanted> {
        let over = if self.concurrent { self.over[from as usize] } else { self.over.contains(&true) };
        if over { Err("nothing can follow the end (0 bytes)".to_owned()) } else { Ok(()) }
    }

    /// The event from which this side's wait counts where the file does not say: receipt, if the other side sent last.
    fn after(&self, from: Side) -> After {
        match self.steps.last() {
            Some(last) if last.from != from => After::Receipt,
            _ => After::Send,
        }
    }

    /// A line `> bytes` of the original form.
    fn unit(&mut self, from: Side, rest: &[&str]) -> Result<(), Wanted> {
        let bytes = numbers(rest, 1..=1)?[0];
        if bytes == 0 || bytes > MAX_BYTES {
            return Err(format!("a data unit must have from 1 to {MAX_BYTES} bytes"));
        }
        let slot = if self.concurrent && from == Side::Acceptor { 1 } else { 0 };
        let wait_us = self.pending[slot].take().unwrap_or(0);
        let after = if self.concurrent { After::Send } else { self.after(from) };
        self.steps.push(Step { from, after, wait_us, bytes });
        Ok(())
    }

    /// A line `t wait` of the original form.
    fn wait(&mut self, slot: usize, rest: &[&str]) -> Result<(), Wanted> {
        let wait = numbers(rest, 1..=1)?[0];
        if wait > MAX_WAIT {
            return Err(format!("a wait must be at most {MAX_WAIT} microseconds"));
        }
        if self.pending[slot].replace(wait).is_some() {
            return Err("there must not be two consecutive waits".to_owned());
        }
        Ok(())
    }

    /// Appends the end marker of each side, with the wait that precedes it.
    fn finish(&self, steps: &mut Vec<Step>) {
        let end = |from, wait_us| Step { from, after: After::Send, wait_us, bytes: 0 };
        if self.concurrent {
            let sides = [Side::Initiator, Side::Acceptor].into_iter().zip(self.pending);
            steps.extend(sides.filter_map(|(side, wait)| wait.map(|w| end(side, w))));
        } else if let (Some(wait), Some(last)) = (self.pending[0], self.steps.last()) {
            steps.push(end(last.from, wait));
        }
    }
}

fn number(word: &str, most: u64) -> Result<u64, Wanted> {
    let digits = word.bytes().all(|b| b.is_ascii_digit());
    let value = word.parse().ok().filter(|&n| digits && n <= most);
    value.ok_or_else(|| format!("{word:?} must be a whole number up to {most}"))
}

fn numbers(words: &[&str], count: std::ops::RangeInclusive<usize>) -> Result<Vec<u64>, Wanted> {
    if !count.contains(&words.len()) {
        return Err(format!("the keyword must be followed by 1 to {} numbers", count.end()));
    }
    words.iter().map(|w| number(w, u64::MAX)).collect()
}

/// A line of loss rates: parsed for validity only.
fn shares(words: &[&str]) -> Result<(), Wanted> {
    let share = |w: &&str| w.parse::<f64>().is_ok_and(|p| (0.0..=1.0).contains(&p));
    if (1..=2).contains(&words.len()) && words.iter().all(share) {
        return Ok(());
    }
    Err("loss rates are one or two numbers from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    const ORIGINAL: &str = "\
# two connections
CONC 1500000 2 1 11 12
w 65535 5840
r 40000
l 0.0 0.01
c> 200
t> 60000000
c< 700
t< 5000
c> 20   # the last
t> 300

SEQ 7000 2 1 2
w 64800 6432
> 250
t 50000
< 500
t 900
> 30
t 10
< 40
t 6000000
";
    const ALTERNATIVE: &str = "\
C 1500000 2 1 11 12
I 0 0 200
A 0 0 700
I 60000000 0 20
I 300 0 0
A 5000 0 0
S 7000 2 1 2
r 40000
I 0 0 250
A 0 50000 500
I 0 900 30
A 0 10 40
A 6000000 0 0
";

    fn by_side(vectors: &Vectors, i: usize) -> [Vec<Step>; 2] {
        let steps = vectors.steps(&vectors.all[i]);
        [Side::Initiator, Side::Acceptor].map(|side| steps.iter().copied().filter(|s| s.from == side).collect())
    }

    #[test]
    fn both_forms_say_the_same() {
        let (a, b) = (parse("a", ORIGINAL).unwrap(), parse("b", ALTERNATIVE).unwrap());
        assert_eq!(
            a.all.iter().map(|v| (v.start_us, v.concurrent)).collect::<Vec<_>>(),
            [(7000, false), (1_500_000, true)]
        );
        for i in 0..2 {
            assert_eq!(by_side(&a, i), by_side(&b, i));
        }
        let seq = a.steps(&a.all[0]);
        let step = |from, after, wait_us, bytes| Step { from, after, wait_us, bytes };
        let (i, r) = (Side::Initiator, Side::Acceptor);
        assert_eq!(
            seq,
            [
                step(i, After::Send, 0, 250),
                step(r, After::Receipt, 50_000, 500),
                step(i, After::Receipt, 900, 30),
                step(r, After::Receipt, 10, 40),
                step(r, After::Send, 6_000_000, 0),
            ]
        );
    }

    #[test]
    fn wrong_lines_are_named() {
        let fails = |text: &str| parse("x.cvec", text).unwrap_err().to_string();
        assert!(fails("").contains("at least one"));
        assert!(fails("> 3\n").starts_with("x.cvec line 1"));
        assert!(fails("SEQ x 1 1 1\n").contains("\"x\" must be a whole number"));
        assert!(fails("SEQ 1 2 3 4 5 6\n").contains("a number of exchanges"));
        for header in ["SEQ 0 1", "SEQ 0 1 1", "CONC 0 1 1", "CONC 0 1 1 1", "S 0 1 1", "C 0 1 1 1", "SEQ 0 1 1 1 > 5"]
        {
            let message = fails(&format!("# ids\n{header}\n> 5\n"));
            assert!(
                message.starts_with("x.cvec line 2") && message.contains("two identifiers, and nothing else"),
                "{message}"
            );
            let concurrent = header.starts_with('C');
            let named = if concurrent {
                "microseconds, two numbers of data units,"
            } else {
                "microseconds, a number of exchanges,"
            };
            assert!(message.contains(named), "{message}");
        }
        for header in ["SEQ 0 1 > 5", "SEQ 0 1 1! 1", "SEQ 0 1 1 1!", "CONC 0 1 1 1 c>"] {
            let message = fails(&format!("{header}\n"));
            assert!(message.starts_with("x.cvec line 1") && message.contains("must be a whole number"), "{message}");
        }
        let message = fails("SEQ 1 3 1 1\n> 5\n\nSEQ 2 1 1 1\n> 5\n");
        assert!(message.starts_with("x.cvec line 1 = \"SEQ 1 3 1 1\" is not valid: it announces 3"), "{message}");
        assert!(fails("SEQ 1 1 1 1\n> 5\nc> 5\n").starts_with("x.cvec line 3"));
        assert!(fails("SEQ 1 1 1 1\n> 0\n").contains("from 1 to"));
        assert!(fails("SEQ 1 1 1 1\n> 5\nt 1\nt 2\n").contains("two consecutive waits"));
        assert!(fails("SEQ 1 3 1 1\n> 5\n< 5\n").contains("announces 3 exchanges, but 1 follow"));
        assert!(fails("CONC 1 1 1 1 1\nc> 5\n").contains("announces 1 and 1"));
        for two in ["S 1 1 1 1\nI 5 5 5\n", "S 1 1 1 1\nI 1 1 5\n", "C 1 1 0 1 1\nI 0 1 5\n"] {
            assert!(fails(two).contains("must be 0"), "{two}");
        }
        assert!(fails("S 1 1 1 1\nI 0 0 5\nI 0 0 0\nI 0 0 5\n").starts_with("x.cvec line 4"));
        assert!(fails("SEQ 1 1 1 1\nl 2 0\n").contains("from 0 to 1"));
        assert!(fails("SEQ 1 1 1 1\nw\n").contains("numbers"));
        assert!(fails("SEQ 1 1 1 1\n> 5 6\n").contains("numbers"));
        assert!(fails("SEQ 1 1 1 1\n> -5\n").contains("whole number"));
    }

    #[test]
    fn many_connections_load() {
        let text: String = (0..200_000).map(|i| format!("S {i} 1 0 0\nI 0 0 300\nA 0 10 5000\n")).collect();
        let vectors = parse("x", &text).unwrap();
        assert_eq!((vectors.all.len(), vectors.steps(&vectors.all[199_999]).len()), (200_000, 2));
    }

    #[test]
    fn many_units_load() {
        for kind in ["S 0 500000 0 0", "C 0 500000 500000 0 0"] {
            let text = format!("{kind}\n{}", "I 0 0 300\nA 0 0 5000\n".repeat(500_000));
            let vectors = parse("x", &text).unwrap();
            assert_eq!(vectors.steps(&vectors.all[0]).len(), 1_000_000);
        }
    }

    /// In a concurrent connection one side may end before the other.
    #[test]
    fn nothing_follows_the_end_of_a_side() {
        let error = |text: &str| parse("x", text).err().map(|e| e.to_string());
        assert_eq!(error("C 1 1 1 1 1\nI 0 0 5\nI 0 0 0\nA 0 0 5\nA 0 0 0\n"), None);
        for text in ["C 1 1 1 1 1\nA 0 0 5\nI 0 0 0\nI 0 0 5\n", "S 1 1 1 1\nI 0 0 5\nI 0 0 0\nA 0 0 5\n"] {
            assert!(error(text).is_some_and(|e| e.starts_with("x line 4") && e.contains("follow the end")), "{text}");
        }
    }

    const HEADERS: [(&str, &[&str]); 4] = [
        ("SEQ 0 1 1 1", &[">", "<", "t"]),
        ("CONC 0 1 1 1 1", &["c>", "c<", "t>", "t<"]),
        ("S 0 1 1 1", &["I", "A"]),
        ("C 0 1 1 1 1", &["I", "A"]),
    ];

    /// Each form has its own kinds of lines, with a fixed number of values; lines of windows, round trips and losses
    /// are valid in both.
    #[test]
    fn every_line_has_its_numbers() {
        for (header, own) in HEADERS {
            for keyword in [">", "<", "t", "c>", "c<", "t>", "t<", "I", "A", "w", "m", "r", "l", "x"] {
                let allowed = match keyword {
                    "w" | "m" | "l" => 1..=2,
                    "r" => 1..=1,
                    _ if !own.contains(&keyword) => 9..=9,
                    "I" | "A" => 3..=3,
                    _ => 1..=1,
                };
                for n in 0..=4 {
                    let numbers = if n == 0 { String::new() } else { " 0".repeat(n - 1) + " 1" };
                    let refused = parse("x", &format!("{header}\n{keyword}{numbers}\n")).err();
                    let of_line = refused.is_some_and(|e| e.to_string().starts_with("x line 2"));
                    assert_eq!(of_line, !allowed.contains(&n), "{header}: {keyword}{numbers}");
                }
            }
        }
    }

    /// Waits up to a hundred years and units up to a tebibyte are accepted.
    #[test]
    fn numbers_end_where_they_should() {
        let (years, tebi) = (100 * 366 * 86_400 * 1_000_000_u64, 1_u64 << 40);
        type Case = (&'static str, u64, u64);
        let cases: [Case; 9] = [
            ("SEQ $ 1 1 1\n> 1\n", 0, years),
            ("SEQ 0 1 1 1\n> $\n", 1, tebi),
            ("SEQ 0 1 1 1\n> 1\nt $\n", 0, years),
            ("CONC 0 1 1 1 1\nc> 1\nt< $\nc< 1\n", 0, years),
            ("CONC 0 1 1 1 1\nc> 1\nc< $\n", 1, tebi),
            ("S 0 1 1 1\nI $ 0 1\n", 0, years),
            ("S 0 1 1 1\nI 0 $ 1\n", 0, years),
            ("S 0 1 1 1\nI 0 0 1\nA 0 0 $\n", 0, tebi),
            ("SEQ 0 1 $ $\n> 1\n", 0, u64::MAX),
        ];
        for (text, least, most) in cases {
            let read = |value: u128| parse("x", &text.replace('$', &value.to_string())).is_ok();
            assert!(read(least.into()) && read(most.into()), "{text}");
            assert!(!read(u128::from(most) + 1) && (least == 0 || !read(u128::from(least) - 1)), "{text}");
        }
        let counted = |n: u64| parse("x", &format!("SEQ 0 {n} 1 1\n> 1\n")).unwrap_err().to_string();
        assert!(counted(u64::from(u32::MAX)).contains("but 1 follow") && counted(1 << 32).contains("whole number"));
        for wrong in ["+1", "1.0", "0x1", "１"] {
            assert!(parse("x", &format!("SEQ 0 1 1 1\n> {wrong}\n")).is_err(), "{wrong}");
        }
        for (share, read) in
            [("0", true), ("1", true), ("0.5 1", true), ("1.01", false), ("0 -0.1", false), ("NaN", false)]
        {
            assert_eq!(parse("x", &format!("S 0 1 1 1\nl {share}\nI 0 0 1\n")).is_ok(), read, "{share}");
        }
    }

    /// In the original form of a sequential connection, the side that sent last waits from its send, the other side
    /// from receipt.
    #[test]
    fn waits_begin_where_the_form_says() {
        let steps = |text: &str| {
            let vectors = parse("x", text).unwrap();
            vectors.steps(&vectors.all[0]).to_vec()
        };
        let step = |from, after, wait_us, bytes| Step { from, after, wait_us, bytes };
        let (i, a, send, receipt) = (Side::Initiator, Side::Acceptor, After::Send, After::Receipt);
        let twice = [
            step(a, send, 0, 9),
            step(i, receipt, 5, 10),
            step(i, send, 6, 11),
            step(a, receipt, 7, 12),
            step(a, send, 8, 13),
            step(a, send, 20, 0),
        ];
        assert_eq!(steps("SEQ 0 3 1 1\n< 9\nt 5\n> 10\nt 6\n> 11\nt 7\n< 12\nt 8\n< 13\nt 20\n"), twice);
        // The file says that this wait counts from the send, although the other side has sent since.
        let said = steps("S 0 2 1 1\nI 0 0 10\nA 0 7 12\nI 9 0 11\nI 0 0 0\n");
        assert_eq!(said[2..], [step(i, send, 9, 11), step(i, send, 0, 0)]);
        // In a concurrent connection each side has its own waits, and ends after the last of them.
        let both = steps("CONC 0 2 1 1 1\nt< 4\nc> 10\nt> 5\nc< 11\nc> 12\nt< 6\n");
        assert_eq!(both, [step(i, send, 0, 10), step(a, send, 4, 11), step(i, send, 5, 12), step(a, send, 6, 0)]);
        let ends = steps("CONC 0 1 1 1 1\nc> 10\nc< 11\nt< 6\nt> 7\n");
        assert_eq!(ends[2..], [step(i, send, 7, 0), step(a, send, 6, 0)]);
    }

    /// A header announces the data units of the side that has more of them; end markers do not count.
    #[test]
    fn announced_numbers_are_those_that_follow() {
        for (text, right) in [
            ("SEQ 0 $ 1 1\n> 1\n< 1\n> 1\n", 2),
            ("SEQ 0 $ 1 1\n< 1\n> 1\n< 1\n< 1\nt 9\n", 3),
            ("S 0 $ 1 1\nI 0 0 1\nI 0 0 0\n", 1),
            ("CONC 0 $ 1 1 1\nc> 1\nc> 1\nc< 1\nt< 5\n", 2),
            ("CONC 0 1 $ 1 1\nc> 1\nt> 5\nc< 1\n", 1),
        ] {
            for n in 0..5 {
                let read = parse("x", &text.replace('$', &n.to_string()));
                assert_eq!(read.is_ok(), n == right, "{n}: {text}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(SEQ|CONC|S|C|[wmrlIA><t#]|c>|c<|t>|t<|[0-9]{1,3}|-1|[0-9]{20}|0\\.5| |\n){0,60}") {
            let _ = parse("x", &text);
        }

        #[test]
        fn no_bytes_panic(text in ".{0,200}") {
            let _ = parse("x", &text);
        }

        /// Files with deleted or replaced characters are parsed or rejected with a line number; no panic.
        #[test]
        fn damaged_files_are_refused_or_read(at in 0..300_usize, with in "[0-9a-zA-Z<> \n]{0,4}") {
            let mut text = ORIGINAL.to_owned();
            let at = at % text.len();
            text.replace_range(at..at + 1, &with);
            match parse("x", &text) {
                Ok(vectors) => prop_assert!(vectors.all.len() <= 4),
                Err(e) => prop_assert!(e.field.starts_with("x line"), "{e}"),
            }
        }

        #[test]
        fn what_is_written_is_read(units in proptest::collection::vec((1..1_000_000_u64, 0..9_u64, 1..9_000_u64), 1..9)) {
            let mut text = format!("SEQ 5 {} 1 2\n", units.len());
            for (i, (a, t, b)) in units.iter().enumerate() {
                let before = if i > 0 { format!("t {}\n", i * 7) } else { String::new() };
                text += &format!("{before}> {a}\nt {t}\n< {b}\n");
            }
            let vectors = parse("x", &text).unwrap();
            let bytes: Vec<u64> = vectors.steps(&vectors.all[0]).iter().map(|s| s.bytes).collect();
            prop_assert_eq!(bytes, units.iter().flat_map(|u| [u.0, u.2]).collect::<Vec<_>>());
        }
    }
}
