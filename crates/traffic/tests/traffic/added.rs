//! Models that a program adds to the catalogue.

use aqmkit_traffic::model::{Knob, Model};
use aqmkit_traffic::registry::{ALL, Spec};
use aqmkit_traffic::{Addition, Catalogue, Data, ParamError, Population, cbr};
use serde::{Deserialize, Serialize};

use super::harness::{Host, population};

/// Constant bit rate under another name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Twin(cbr::Params);

impl Model for Twin {
    const NAME: &'static str = "twin";

    fn check(&self) -> Result<(), ParamError> {
        self.0.check()
    }

    fn files(&self) -> Vec<String> {
        vec!["twin.txt".to_owned()]
    }

    fn knob(&mut self) -> Option<Knob<'_>> {
        self.0.knob()
    }

    fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        aqmkit_traffic::model::texts(data, 1)?;
        self.0.prepare(&[])
    }
}

fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.add(Addition::of::<Twin>(7)).expect("its name is free");
    catalogue
}

fn spec(json: &str) -> Result<Spec, ParamError> {
    catalogue().spec("twin", &serde_json::from_str(json).expect("JSON"))
}

#[test]
fn an_added_model_sends_what_the_same_model_sends_inside() {
    const JSON: &str = r#"{"flows": 3, "packet": "500b", "rate": "1mbit", "jitter": 0.5}"#;
    let sent = |population: &dyn Population| {
        assert_eq!(population.instances(), 3);
        let mut host = Host::new(population, 2, 5);
        host.run(aqmkit_base::Duration::from_secs(5));
        host.sent.iter().map(|s| (s.at, s.len, s.tag)).collect::<Vec<_>>()
    };
    let added = spec(JSON).unwrap();
    assert_eq!((added.name(), added.files()), ("twin", vec!["twin.txt".to_owned()]));
    let twin = sent(&*added.prepare(&[Data::from("")]).unwrap());
    assert!(twin.len() > 1000);
    assert_eq!(twin, sent(&*population("cbr", JSON)));
    assert!(added.prepare(&[]).is_err(), "its file is missing");
}

#[test]
fn its_parameters_are_read_checked_and_scaled_as_any() {
    let mut twin = spec(r#"{"flows": 4}"#).unwrap();
    assert_eq!((twin.check(), twin.version()), (Ok(()), Some(7)));
    let same = twin.clone();
    assert!(twin.knob().unwrap().set_amount(8.0));
    assert_ne!(twin, same);
    assert_eq!(serde_json::to_value(&twin).unwrap()["flows"], 8);
    assert_eq!(twin, spec(r#"{"flows": 8}"#).unwrap());
    assert_eq!(spec(r#"{"flows": 0}"#).unwrap().check().unwrap_err().field, "flows");
    let wrong = spec(r#"{"flwos": 1}"#).unwrap_err().of("twin").to_string();
    assert!(wrong.starts_with("flwos is not a parameter of twin: did you mean flows?"), "{wrong}");
    assert_eq!(Spec::named("cbr").unwrap().version(), None);
}

#[test]
fn a_name_means_one_model() {
    let mut catalogue = catalogue();
    assert_eq!(catalogue.names().count(), ALL.len() + 1);
    assert!(catalogue.has("twin") && catalogue.has("bulk") && !catalogue.has("twins"));
    assert_eq!(catalogue.add(Addition::of::<Twin>(8)).unwrap_err().got, "twin");
    assert_eq!(catalogue.add(Addition::of::<cbr::Params>(1)).unwrap_err().got, "cbr");
    let unknown = catalogue.spec("twim", &serde_json::from_str("{}").unwrap()).unwrap_err().to_string();
    assert!(unknown.contains("did you mean twin?"), "{unknown}");
}
