//! Rewrites a file so that it contains all its changes, each behind a switch.

use std::ops::Range;

use crate::places::{Place, Shape};

/// The position of a change in the rewritten file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The number of the change.
    pub id: u32,
    /// The range of bytes of the switched expression, with both the new and the original text.
    pub whole: Range<usize>,
    /// The range of bytes of the new text.
    pub instead: Range<usize>,
}

/// Rewrites `text` so that change `id` is active while `switch(id)` is true, and returns the position of each change.
pub fn rewrite(text: &str, switch: &str, changes: &[(u32, &Place)]) -> (String, Vec<Placed>) {
    let mut sorted: Vec<(u32, &Place)> = changes.to_vec();
    sorted.sort_by_key(|(id, place)| {
        let outer_first = usize::MAX - place.bytes.end;
        (place.bytes.start, !place.bytes.is_empty(), outer_first, *id)
    });
    let mut writer = Writer { text, switch, out: String::with_capacity(2 * text.len()), placed: Vec::new() };
    writer.write(0..text.len(), &sorted);
    writer.placed.sort_by_key(|placed| placed.id);
    (writer.out, writer.placed)
}

struct Writer<'a> {
    text: &'a str,
    switch: &'a str,
    out: String,
    placed: Vec<Placed>,
}

impl Writer<'_> {
    /// Writes a range of the original, with the changes inside it.
    fn write(&mut self, stretch: Range<usize>, mut changes: &[(u32, &Place)]) {
        let mut at = stretch.start;
        while let Some((_, first)) = changes.first() {
            let bytes = first.bytes.clone();
            let here = changes.iter().take_while(|(_, place)| place.bytes == bytes).count();
            let (these, rest) = changes.split_at(here);
            let within = rest.iter().take_while(|(_, place)| place.bytes.start < bytes.end).count();
            let (inner, after) = rest.split_at(within);
            self.out.push_str(&self.text[at..bytes.start]);
            self.change(bytes.clone(), these, inner);
            at = bytes.end;
            changes = after;
        }
        self.out.push_str(&self.text[at..stretch.end]);
    }

    /// Writes the changes of one place, and the original text with the changes inside it.
    fn change(&mut self, bytes: Range<usize>, these: &[(u32, &Place)], inner: &[(u32, &Place)]) {
        let shape = these.first().map_or(Shape::Expression, |(_, place)| place.shape);
        let start = self.out.len();
        let mut instead = Vec::new();
        if shape == Shape::Expression {
            self.out.push('(');
        }
        for (i, (id, place)) in these.iter().enumerate() {
            let or = if i > 0 && shape != Shape::Entry { " else " } else { "" };
            self.out.push_str(&format!("{or}if {}({id}) {{ ", self.switch));
            let from = self.out.len();
            self.out.push_str(&place.instead);
            instead.push(from..self.out.len());
            self.out.push_str(" }");
        }
        if shape != Shape::Entry {
            self.out.push_str(" else { ");
            self.write(bytes, inner);
            self.out.push_str(" }");
        }
        if shape == Shape::Expression {
            self.out.push(')');
        }
        let whole = start..self.out.len();
        self.placed.extend(these.iter().zip(instead).map(|((id, _), instead)| Placed {
            id: *id,
            whole: whole.clone(),
            instead,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::places;

    fn all(text: &str) -> (String, Vec<Placed>) {
        let found = places(text).unwrap();
        let numbered: Vec<(u32, &Place)> = (1..).zip(&found).collect();
        rewrite(text, "is", &numbered)
    }

    #[test]
    fn switches_between_the_change_and_the_original() {
        assert_eq!(all("fn f() { a + b }").0, "fn f() { (if is(1) { a - b } else { a + b }) }");
    }

    #[test]
    fn changes_lie_in_one_another() {
        assert_eq!(
            all("fn f() { a - b * c }").0,
            "fn f() { (if is(1) { a + b * c } else { a - (if is(2) { b / c } else { b * c }) }) }"
        );
    }

    #[test]
    fn several_changes_of_one_place_take_turns() {
        assert_eq!(all("fn f() { 1 }").0, "fn f() { (if is(1) { 2 } else if is(2) { 0 } else { 1 }) }");
    }

    #[test]
    fn statements_and_answers_need_no_value() {
        assert_eq!(all("fn f() { a = b; }").0, "fn f() { if is(1) {  } else { a = b; } }");
        assert_eq!(
            all("fn f() -> bool {a}").0,
            "fn f() -> bool {if is(1) { return true; }if is(2) { return false; }a}"
        );
    }

    #[test]
    fn what_is_rewritten_parses() {
        let text = "fn f(a: u8) -> bool {\n    if a < 1 && !g(a) { // why\n        h.min(2);\n        x += 3\n            * a;\n    }\n    \
                    match a { b if b > 2 => true, _ => false }\n}\n";
        let (out, placed) = all(text);
        syn::parse_file(&out).unwrap();
        let found = places(text).unwrap();
        assert_eq!(placed.len(), found.len());
        for (at, place) in placed.iter().zip(&found) {
            assert_eq!(out[at.instead.clone()], place.instead);
            assert!(out[at.whole.clone()].contains(&format!("is({})", at.id)));
        }
    }

    #[test]
    fn nothing_to_change_changes_nothing() {
        let text = "fn f() { a + b }\n";
        assert_eq!(rewrite(text, "is", &[]).0, text);
    }
}
