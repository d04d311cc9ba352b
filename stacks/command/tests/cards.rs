//! Cards of the controls of stacks.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use aqmkit_lab::characterize::{control, hosts};
use aqmkit_results::cases::Verdict;

fn aqmkit(line: &str, out: &Path) -> u8 {
    let words = format!("aqmkit-stacks {line}");
    let out = ["--out".into(), out.as_os_str().to_owned(), "--quiet".into()];
    aqmkit_stacks::run(words.split(' ').map(OsString::from).chain(out)).expect("the stacks have different names")
}

#[test]
fn controls_that_no_stack_has_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for subject in ["quin:bbr", "quinn:reno", "quinn:", ":bbr", "smoltcp:bbr3"] {
        for cases in ["", " --cases bbr"] {
            assert_eq!(aqmkit(&format!("characterize --control {subject}{cases}"), dir.path()), 2, "{subject}{cases}");
        }
    }
    let none = aqmkit_experiment::Catalogues::default();
    let told = control("quinn:bbr", &none).unwrap_err().to_string();
    assert!(told.contains("no transport stack is called \"quinn\""), "{told}");
}

/// The label has the control, also where it is the default; ECN goes to those that can use it.
#[test]
fn a_stack_stands_for_its_default_control() {
    let catalogues = aqmkit_stacks::catalogues().unwrap();
    let quinn = control("quinn", &catalogues).unwrap();
    assert_eq!((quinn.label(), quinn.transport("stack")), ("quinn:cubic", Some("quinn")));
    let keys = ["traffic.own.transport".to_owned()];
    let with_ecn = |text: &str| {
        let choice = control(text, &catalogues).unwrap().choice(&keys, true);
        choice["traffic.own.transport"].get("ecn").and_then(toml::Value::as_bool)
    };
    assert_eq!((with_ecn("quinn:bbr"), with_ecn("smoltcp:cubic"), with_ecn("cubic")), (Some(true), None, None));
}

/// What a stack does not show is not judged, for a reason that says what it is.
#[test]
fn cases_that_need_more_than_a_stack_shows_are_not_judged() {
    let catalogues = aqmkit_stacks::catalogues().unwrap();
    let judged = |text: &str| {
        let cases = aqmkit_characterize::cases::judge(text, &hosts(text, &catalogues).unwrap());
        let verdicts = cases.cases.into_iter().map(|case| (case.number, (case.verdict, case.found)));
        verdicts.collect::<BTreeMap<_, _>>()
    };
    let quinn = judged("quinn:cubic");
    let hidden = |number: &u32| quinn[number].0 == Verdict::NotJudged;
    assert!([10, 14].iter().all(hidden) && ![1, 15, 16].iter().any(hidden), "{quinn:#?}");
    assert_eq!(quinn[&10].1, "the stack does not show its bytes in flight");
    assert_eq!(quinn[&8].1, "the stack does not show the state of its model");
    let smoltcp = judged("smoltcp:reno");
    assert_eq!(smoltcp[&14].1, "the stack does not show its congestion window");
    assert_ne!(smoltcp[&10].0, Verdict::NotJudged);
}
