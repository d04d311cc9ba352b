use aqmkit_base::Bytes;
use serde::{Deserialize, Serialize};

use super::*;
use crate::congestion::{CongestionControl, Cx, Window};
use crate::profile::Profile;

/// Grows by one segment per acknowledgement, and reduces by a fraction of the window at a loss.
#[derive(Clone, Debug)]
struct Greedy {
    window: Window,
    left: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    left: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { left: 0.9 }
    }
}

impl CongestionControl for Greedy {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, _acked: u64, cx: &Cx<'_>) {
        self.window.cwnd += cx.mss();
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        let left = (self.window.cwnd as f64 * self.left) as u64;
        self.window.enter_recovery(left, cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.window.timed_out(again, Window::half(cx), cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.on_loss(cx);
    }
}

impl Scheme for Greedy {
    const NAME: &'static str = "greedy";

    type Params = Params;

    fn check(params: &Params) -> Result<(), ParamError> {
        aqmkit_base::param::in_range("left", params.left, 0.1, 1.0)
    }

    fn new(params: &Params, profile: &Profile) -> Self {
        Greedy { window: Window::new(profile), left: params.left }
    }
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.add(Addition::of::<Greedy>(3)).expect("its name is free");
    catalogue
}

fn profile(json: &str) -> Result<Profile, String> {
    let table = serde_json::from_str(json).expect("JSON");
    let overrides = catalogue().overrides(table).map_err(|e| e.explain("a field", "").to_string())?;
    overrides.apply(Profile::rfc()).map_err(|e| e.to_string())
}

#[test]
fn an_added_control_is_chosen_by_name_with_the_parameters_of_its_table() {
    let chosen = profile(r#"{"congestion": "greedy", "greedy": {"left": 0.5}, "mss": "1000b"}"#).unwrap();
    assert_eq!((chosen.congestion.name(), chosen.mss), ("greedy", Bytes(1000)));
    let kind = serde_json::to_value(&chosen.congestion).unwrap();
    assert_eq!(kind["Added"], serde_json::json!({ "name": "greedy", "version": 3, "params": { "left": 0.5 } }));
    let default = profile(r#"{"congestion": "greedy"}"#).unwrap();
    assert_ne!(default.congestion, chosen.congestion);
    assert_eq!(profile(r#"{"congestion": "greedy", "greedy": {"left": 0.9}}"#).unwrap().congestion, default.congestion);
    assert_eq!(profile(r#"{"congestion": "cubic", "greedy": {"left": 0.9}}"#).unwrap().congestion, Kind::Cubic);
    assert_eq!(profile("{}").unwrap(), Profile::rfc());
}

#[test]
fn what_is_wrong_with_it_is_said_by_name() {
    let said = |json| profile(json).unwrap_err();
    assert_eq!(said(r#"{"greedy": {"left": true}}"#), "greedy.left is boolean true: it must be a number");
    assert!(said(r#"{"greedy": {"lfet": 1}}"#).starts_with("lfet is not a known key of greedy: did you mean left?"));
    assert!(said(r#"{"congestion": "greedy", "greedy": {"left": 2.0}}"#).starts_with("greedy.left = 2 is not valid"));
    assert!(said(r#"{"congestion": "gredy"}"#).contains("did you mean greedy?"));
    assert!(said(r#"{"congestion": 3}"#).starts_with("congestion is "));
    assert!(said(r#"{"msss": "1b"}"#).starts_with("msss is not a field: did you mean mss?"));
}

#[test]
fn a_name_means_one_control() {
    /// The same control under a name that is taken.
    macro_rules! taken {
        ($name:literal) => {{
            #[derive(Clone, Debug)]
            struct Other(Greedy);
            impl CongestionControl for Other {
                fn window(&self) -> &Window {
                    &self.0.window
                }
                fn window_mut(&mut self) -> &mut Window {
                    &mut self.0.window
                }
                fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
                    self.0.on_ack(acked, cx);
                }
                fn on_loss(&mut self, cx: &Cx<'_>) {
                    self.0.on_loss(cx);
                }
                fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
                    self.0.on_timeout(again, cx);
                }
                fn on_ecn(&mut self, cx: &Cx<'_>) {
                    self.0.on_ecn(cx);
                }
            }
            impl Scheme for Other {
                const NAME: &'static str = $name;
                type Params = Params;
                fn new(params: &Params, profile: &Profile) -> Self {
                    Other(Greedy::new(params, profile))
                }
            }
            catalogue().add(Addition::of::<Other>(1)).map_err(|e| e.got)
        }};
    }
    assert_eq!(taken!("greedier"), Ok(()));
    assert_eq!(taken!("greedy"), Err("greedy".to_owned()));
    assert_eq!(taken!("reno"), Err("reno".to_owned()));
    assert_eq!(taken!("tfrc"), Err("tfrc".to_owned()));
    assert_eq!(taken!("mss"), Err("mss".to_owned()));
    assert_eq!(catalogue().names().last(), Some("greedy"));
}
