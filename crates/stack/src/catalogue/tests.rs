use super::*;
use crate::stop_and_wait::StopAndWait;

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.add(Addition::of::<StopAndWait>()).unwrap();
    catalogue
}

fn table(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn spec(text: &str) -> Result<Spec, ParamError> {
    catalogue().spec("stop-and-wait", table(text))
}

fn message(error: &ParamError) -> String {
    let said = error.explain("a key of the transport", "the transport");
    format!("{}; {}", said.what, said.right)
}

#[test]
fn all_that_decides_a_run_is_in_what_is_serialized() {
    let text = |s: &str| serde_json::to_string(&spec(s).unwrap()).unwrap();
    assert_eq!(
        text(r#"{"ecn": true, "stop-and-wait": {"segment": 500}}"#),
        r#"{"name":"stop-and-wait","version":"1","settings":{"congestion":"","ecn":true},"params":{"segment":500,"tries":8}}"#
    );
    assert_ne!(spec("{}").unwrap(), spec(r#"{"ecn": true}"#).unwrap());
    assert_ne!(spec("{}").unwrap(), spec(r#"{"stop-and-wait": {"tries": 3}}"#).unwrap());
    assert_eq!(spec("{}").unwrap(), spec(r#"{"stop-and-wait": {"tries": 8}}"#).unwrap());
}

#[test]
fn the_help_for_an_unknown_name_says_which_stacks_there_are() {
    let error = Catalogue::default().spec("quinn", table("{}")).unwrap_err();
    let text = message(&error);
    assert!(text.contains("there is no stack \"quinn\"; this program has no stacks from outside"), "{text}");
    let misspelt = catalogue().spec("stop-and-wit", table("{}")).unwrap_err();
    assert!(message(&misspelt).contains("did you mean stop-and-wait?"), "{}", message(&misspelt));
}

#[test]
fn what_a_stack_does_not_have_is_refused() {
    let refused = |text: &str| message(&spec(text).unwrap_err());
    assert!(
        refused(r#"{"congestion": "cubic"}"#).contains("the stack stop-and-wait has no congestion control \"cubic\"")
    );
    assert!(refused(r#"{"mss": 1000}"#).contains("mss"));
    assert!(refused(r#"{"stop-and-wait": {"tries": 0}}"#).contains("stop-and-wait.tries"));
    assert!(refused(r#"{"stop-and-wait": {"window": 2}}"#).contains("window"));
}

#[test]
fn a_name_is_added_once() {
    assert!(catalogue().add(Addition::of::<StopAndWait>()).is_err());
}
