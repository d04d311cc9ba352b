//! The list of built-in traffic models. Each line registers a name for experiment files and the command line, and a
//! reference page.

use aqmkit_base::read::Value;
use serde::{Serialize, Serializer};

use super::added::Added;
use super::model::{Data, Format, Knob, Model, ParamError, Population};
pub use aqmkit_base::page::Entry;

macro_rules! registry {
    ($($variant:ident = $module:ident, $name:literal;)*) => {
        /// The parameters of one traffic model in the catalogue.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Spec {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant(super::$module::Params),
            )*
            /// A model that a program has added: see [`crate::catalogue`].
            Added(Added),
        }

        aqmkit_base::pages! { "traffic model" in "": $($module, $name;)+ }

        impl Spec {
            /// The model with this name and default parameters.
            #[must_use]
            pub fn named(name: &str) -> Option<Spec> {
                match name {
                    $($name => Some(Spec::$variant(Default::default())),)*
                    _ => None,
                }
            }

            /// The model with the parameters of a table; parameters that are missing in the table have their defaults.
            ///
            /// # Errors
            /// When a key is unknown, or a value has the wrong type or unit.
            pub fn with(&self, table: &Value) -> Result<Spec, ParamError> {
                match self {
                    $(Spec::$variant(_) => table.read().map(Spec::$variant),)*
                    Spec::Added(a) => a.with(table).map(Spec::Added),
                }
            }

            /// The version of an added model ([`crate::catalogue::Addition::of`]); `None` for models of this crate.
            #[must_use]
            pub fn version(&self) -> Option<u32> {
                match self {
                    Spec::Added(added) => Some(added.version()),
                    _ => None,
                }
            }

            /// The name of the model.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Spec::$variant(_) => $name,)*
                    Spec::Added(a) => a.name(),
                }
            }

            /// Checks the parameters: [`Model::check`].
            ///
            /// # Errors
            /// When a parameter is invalid.
            pub fn check(&self) -> Result<(), ParamError> {
                match self {
                    $(Spec::$variant(p) => p.check(),)*
                    Spec::Added(a) => a.check(),
                }
            }

            /// The data files that the parameters name: [`Model::files`].
            #[must_use]
            pub fn files(&self) -> Vec<String> {
                match self {
                    $(Spec::$variant(p) => p.files(),)*
                    Spec::Added(a) => a.files(),
                }
            }

            /// The format of the data files: [`Model::FORMAT`].
            #[must_use]
            pub fn format(&self) -> Format {
                match self {
                    $(Spec::$variant(_) => <super::$module::Params as Model>::FORMAT,)*
                    Spec::Added(a) => a.format(),
                }
            }

            /// The parameter that sets the load: [`Model::knob`].
            pub fn knob(&mut self) -> Option<Knob<'_>> {
                match self {
                    $(Spec::$variant(p) => p.knob(),)*
                    Spec::Added(a) => a.knob(),
                }
            }

            /// The parameter with the number of applications, and its value: [`Model::count`].
            pub fn count(&mut self) -> Option<(&'static str, &mut usize)> {
                match self {
                    $(Spec::$variant(p) => p.count(),)*
                    Spec::Added(a) => a.count(),
                }
            }

            /// Creates the population: [`Model::prepare`].
            ///
            /// # Errors
            /// When a parameter or the contents of a file are invalid.
            pub fn prepare(&self, data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
                match self {
                    $(Spec::$variant(p) => p.prepare(data),)*
                    Spec::Added(a) => a.prepare(data),
                }
            }
        }

        impl Serialize for Spec {
            /// Only the parameters: the name is [`Spec::name`].
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                // Through one type-erased serializer: otherwise each model's would be compiled for each format.
                let parameters: &dyn erased_serde::Serialize = match self {
                    $(Spec::$variant(p) => p,)*
                    Spec::Added(a) => a.serialized(),
                };
                erased_serde::serialize(parameters, s)
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$(<super::$module::Params as Model>::NAME),*];
    };
}

registry! {
    Bulk = bulk, "bulk";
    HttpUnc = http_unc, "http-unc";
    HttpMah = http_mah, "http-mah";
    Mpeg = mpeg, "mpeg";
    Videoconf = videoconf, "videoconf";
    Cbr = cbr, "cbr";
    Ramp = ramp, "ramp";
    Web = web, "web";
    ShortFlows = short_flows, "short-flows";
    Abt = abt, "abt";
    OnOff = on_off, "on-off";
    Pcap = pcap, "pcap";
    Dash = dash, "dash";
    Voip = voip, "voip";
    Game = game, "game";
    Pages = pages, "pages";
    Call = call, "call";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_its_name_its_page_and_defaults_that_can_be_used() {
        assert_eq!(NAMES, ALL.iter().map(|e| e.name).collect::<Vec<_>>());
        for entry in ALL {
            let page = page(entry.name).unwrap();
            assert!(page.starts_with(&format!("# {}: ", entry.name)), "{}", entry.name);
            for section in ["## Model", "## Parameters", "## Deviations", "## Evidence", "## References"] {
                assert!(page.contains(section), "{} has no {section}", entry.name);
            }
            assert!(!entry.summary().is_empty());
            let spec = Spec::named(entry.name).unwrap();
            assert_eq!(spec.name(), entry.name);
            // Only the file of `pcap` has no default.
            match spec.check() {
                Ok(()) => assert!(spec.prepare(&[]).unwrap().instances() > 0),
                Err(e) => assert_eq!((e.field.as_str(), spec.format()), ("file", Format::Capture)),
            }
            let written = serde_json::to_string(&spec).unwrap();
            assert_eq!(Spec::read(entry.name, &mut serde_json::Deserializer::from_str(&written)).unwrap(), spec);
        }
    }

    #[test]
    fn unknown_names_and_keys_are_refused() {
        let read = |kind: &str, text: &str| {
            Spec::read(kind, &mut serde_json::Deserializer::from_str(text)).unwrap_err().to_string()
        };
        assert!(read("bulq", "{}").contains("did you mean bulk?"));
        assert!(read("bulk", r#"{"flow": 3}"#).starts_with("flow is not a parameter of bulk: did you mean flows?"));
        assert!(find("bulk").is_some() && find("bulq").is_none() && Spec::named("bulq").is_none());
    }
}
