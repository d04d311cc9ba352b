//! No text makes the parser panic.

use proptest::prelude::*;

use super::{SMALL, parse, with};

/// Words that are significant for the parser.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "=",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "\"",
        ".",
        "[[",
        "]]",
        "topology",
        "rate",
        "aqm",
        "sweep",
        "traffic",
        "kind",
        "expect",
        "where",
        "windows",
        "quick",
        "params",
        "red",
        "\"10mbit\"",
        "\"1s\"",
        "-1",
        "1e308",
        "nan",
        "[]",
        "label",
        "99999999999999999999",
        "use",
        "servers",
        "delays",
        "matrix",
        "repeat",
        "true",
        "1979-05-27",
        "é",
        "order",
        "\"a > b\"",
        "links",
    ];
    prop_oneof![4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

/// A valid file with some of its text replaced.
fn mutated() -> impl Strategy<Value = String> {
    let cuts = prop::collection::vec((0..SMALL.len(), 0..12_usize, word()), 1..4);
    cuts.prop_map(|cuts| {
        let mut text = SMALL.to_owned();
        for (from, len, word) in cuts {
            let from = from.min(text.len());
            let to = (from + len).min(text.len());
            if text.is_char_boundary(from) && text.is_char_boundary(to) {
                text.replace_range(from..to, &word);
            }
        }
        text
    })
}

fn survives(text: &str) {
    match parse(text) {
        Ok(experiment) => {
            assert!(!experiment.hash().is_empty());
        }
        Err(problem) => assert!(!super::rendered(&problem).is_empty()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_text(text in "\\PC{0,80}") {
        survives(&text);
    }

    #[test]
    fn words_of_the_format(words in prop::collection::vec(word(), 0..30)) {
        survives(&words.join(" "));
    }

    #[test]
    fn files_with_mistakes(text in mutated()) {
        survives(&text);
    }

    #[test]
    fn settings(path in "[a-z.\\[\\]0-9\"=]{0,20}", value in "\\PC{0,20}") {
        if let Err(problem) = with(SMALL, &[&format!("{path}={value}"), &path]) {
            assert!(!super::rendered(&problem).is_empty());
        }
    }
}
