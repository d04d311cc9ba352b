//! Judged test cases as terminal output.

use aqmkit_results::cases::{Case, Cases, Verdict};

use super::Screen;

/// The answer in a sentence, then each case with what was found.
#[must_use]
pub fn cases(cases: &Cases, screen: Screen) -> String {
    let mut text = format!("{}\n\n", answer(cases));
    for case in &cases.cases {
        text.push_str(&lines(case, screen));
    }
    text
}

fn answer(cases: &Cases) -> String {
    let [passes, fails, open] =
        [Verdict::Passes, Verdict::Fails, Verdict::NotJudged].map(|verdict| cases.count(verdict));
    let mut text = format!("{} passes {passes} of {} cases of {}", cases.subject, passes + fails, cases.source);
    if fails > 0 {
        let failed = cases.cases.iter().filter(|case| case.verdict == Verdict::Fails);
        let numbers: Vec<String> = failed.map(|case| case.number.to_string()).collect();
        text.push_str(&format!("; it fails {}", numbers.join(", ")));
    }
    if open > 0 {
        text.push_str(&format!("; {open} are not judged, because it does not show its state"));
    }
    text + "."
}

fn lines(case: &Case, screen: Screen) -> String {
    let sign = match case.verdict {
        Verdict::Passes => "✓",
        Verdict::Fails => "✗",
        Verdict::NotJudged => "–",
    };
    let options = || textwrap::Options::new(screen.width).initial_indent("      ").subsequent_indent("      ");
    let found = match case.verdict {
        Verdict::Fails => format!("{} (wanted: {})", case.found, case.wants),
        Verdict::Passes => case.found.clone(),
        Verdict::NotJudged => return format!("{sign} {:2}  {}\n", case.number, case.title),
    };
    format!("{sign} {:2}  {}\n{}\n", case.number, case.title, textwrap::fill(&found, options()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_comes_first_and_a_failure_says_what_was_wanted() {
        let case = |number, verdict| Case {
            number,
            title: format!("Case {number}"),
            wants: "a short queue".into(),
            verdict,
            found: "a long one".into(),
        };
        let all = Cases {
            subject: "mine".into(),
            source: "a draft".into(),
            cases: vec![case(1, Verdict::Passes), case(2, Verdict::Fails), case(3, Verdict::NotJudged)],
        };
        let text = cases(&all, 80.into());
        assert!(text.starts_with("mine passes 1 of 2 cases of a draft; it fails 2; 1 are not judged"), "{text}");
        assert!(text.contains("✗  2  Case 2\n      a long one (wanted: a short queue)\n"), "{text}");
        assert!(text.contains("✓  1  Case 1\n      a long one\n") && text.ends_with("–  3  Case 3\n"), "{text}");
    }
}
