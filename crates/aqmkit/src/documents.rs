//! Updates numbers in documents: the text between `<!-- numbers: WHAT -->` and `<!-- end -->` is generated from the
//! stored verdicts.

/// Marks the start of a generated number, and begins its name.
const BEGIN: &str = "<!-- numbers: ";
/// Ends the name.
const NAMED: &str = " -->";
/// Marks the end of a generated number.
const END: &str = "<!-- end -->";

/// Replaces every generated number in `text`. `number` computes it from the text after `numbers:`. Numbers of several
/// lines are put on separate lines.
///
/// # Errors
/// When a mark is not closed or `number` fails; the error gives the line.
pub(super) fn regenerate(text: &str, number: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        new.push_str(before);
        let line = new.lines().count();
        let at = |what: String| format!("line {line}: {what}");
        let (name, after) = after.split_once(NAMED).ok_or_else(|| at(format!("{BEGIN:?} is not closed")))?;
        let (old, after) = after.split_once(END).ok_or_else(|| at(format!("numbers: {name} has no {END}")))?;
        if old.contains(BEGIN) {
            return Err(at(format!("numbers: {name} has no {END} before the next one")));
        }
        let value = number(name.trim()).map_err(at)?;
        let value = if value.contains('\n') { format!("\n{}\n", value.trim_end()) } else { value };
        new.push_str(&format!("{BEGIN}{name}{NAMED}{value}{END}"));
        rest = after;
    }
    new.push_str(rest);
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_the_marks_is_written_anew() {
        let text = "Of <!-- numbers: met a -->0<!-- end --> rows:\n\n<!-- numbers: table -->old<!-- end -->\nEnd.\n";
        let number = |name: &str| Ok(if name == "table" { "| 1 |\n| 2 |\n".to_owned() } else { "7 of 9".to_owned() });
        let new = regenerate(text, number).unwrap();
        let wanted = "Of <!-- numbers: met a -->7 of 9<!-- end --> rows:\n\n<!-- numbers: table -->\n| 1 |\n| 2 |\n<!-- end -->\nEnd.\n";
        assert_eq!(new, wanted);
        assert_eq!(regenerate(&new, number).unwrap(), wanted, "a second time changes nothing");
    }

    #[test]
    fn an_open_mark_is_told_with_its_line() {
        let told = |text: &str| regenerate(text, |_| Err("no such number".to_owned())).unwrap_err();
        assert_eq!(told("a\nb <!-- numbers: x -->"), "line 2: numbers: x has no <!-- end -->");
        assert!(told("<!-- numbers: x --> 1 <!-- numbers: y --> 2 <!-- end -->").contains("before the next one"));
        assert_eq!(told("a\n<!-- numbers: x --><!-- end -->"), "line 1: no such number");
    }
}
