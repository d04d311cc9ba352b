//! The stacks that a program has, by name, with their parameters.
//!
//! The library has none: a stack comes with dependencies of its own. A program creates a catalogue, adds stacks, and passes it to
//! the readers of experiment files, as with disciplines and congestion controls.

use std::fmt;
use std::sync::Arc;

use aqmkit_base::ParamError;
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::factory::Factory;

/// The keys of `[transport]` that apply to every stack, beside the table of its own parameters.
const KEYS: &[&str] = &["congestion", "ecn"];

/// The settings that all stacks have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// The congestion control: one of [`Kind::CONTROLS`]; empty where there are none.
    pub congestion: &'static str,
    /// Whether the ends send their datagrams as ECN-capable and respond to marks.
    pub ecn: bool,
}

/// A stack with a name and parameters, which a program can add to a [`Catalogue`].
pub trait Kind: 'static {
    /// The name in experiment files, as a value of `stack`. The table of the same name holds the parameters.
    const NAME: &'static str;

    /// The version of the stack and of its adapter, such as `0.11.19/1`. It is part of the key of stored runs, so that
    /// runs of another version are not reused: raise the second number when a change of the adapter changes results.
    const VERSION: &'static str;

    /// The reference page in Markdown; its first line is `# NAME: one-line description`.
    const PAGE: &'static str;

    /// The congestion controls, the default first.
    const CONTROLS: &'static [&'static str];

    /// The parameters as a user writes them.
    type Params: Clone + fmt::Debug + PartialEq + Default + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// Checks the parameters together with the settings.
    ///
    /// # Errors
    /// Names the first that cannot be used.
    fn check(_params: &Self::Params, _settings: &Settings) -> Result<(), ParamError> {
        Ok(())
    }

    /// The factory of ends with these parameters, which were checked.
    fn factory(params: &Self::Params, settings: &Settings) -> Arc<dyn Factory>;
}

/// A [`Kind`] without its type.
trait Held: fmt::Debug + Send + Sync {
    fn about(&self) -> About;
    fn read(&self, table: &Value, settings: &Settings) -> Result<Read, ParamError>;
    fn defaults(&self) -> Box<dyn erased_serde::Serialize>;
}

/// The constants of a [`Kind`].
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// [`Kind::NAME`].
    pub name: &'static str,
    /// [`Kind::VERSION`].
    pub version: &'static str,
    /// [`Kind::PAGE`].
    pub page: &'static str,
    /// [`Kind::CONTROLS`].
    pub controls: &'static [&'static str],
}

impl About {
    /// The one-line description: the first line of the page after the name.
    #[must_use]
    pub fn summary(&self) -> &'static str {
        let title = self.page.lines().next().unwrap_or_default();
        title.split_once(": ").map_or(title, |(_, rest)| rest)
    }
}

/// Parameters that were read and checked, and the factory with them.
struct Read {
    params: Arc<dyn Params>,
    factory: Arc<dyn Factory>,
}

/// The parameters of some kind.
trait Params: fmt::Debug + Send + Sync {
    fn serialized(&self) -> &dyn erased_serde::Serialize;
    /// The parameters as text, which is equal for equal ones.
    fn text(&self) -> String;
}

impl<P: fmt::Debug + Serialize + Send + Sync> Params for P {
    fn serialized(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}

struct Of<K>(std::marker::PhantomData<fn() -> K>);

impl<K: Kind> fmt::Debug for Of<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(K::NAME)
    }
}

impl<K: Kind> Held for Of<K> {
    fn about(&self) -> About {
        About { name: K::NAME, version: K::VERSION, page: K::PAGE, controls: K::CONTROLS }
    }

    fn read(&self, table: &Value, settings: &Settings) -> Result<Read, ParamError> {
        let params: K::Params = table.read().map_err(|e| e.within(K::NAME))?;
        K::check(&params, settings).map_err(|e| e.within(K::NAME))?;
        let factory = K::factory(&params, settings);
        Ok(Read { params: Arc::new(params), factory })
    }

    fn defaults(&self) -> Box<dyn erased_serde::Serialize> {
        Box::new(K::Params::default())
    }
}

/// A stack to add to a [`Catalogue`].
#[derive(Clone, Debug)]
pub struct Addition(Arc<dyn Held>);

impl Addition {
    /// This stack.
    #[must_use]
    pub fn of<K: Kind>() -> Self {
        Addition(Arc::new(Of::<K>(std::marker::PhantomData)))
    }
}

/// The stacks of a program. The default has none.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    added: Vec<Arc<dyn Held>>,
}

/// `congestion` and `ecn` as written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    congestion: Option<String>,
    ecn: bool,
}

impl Catalogue {
    /// Adds a stack.
    ///
    /// # Errors
    /// When its name is taken, by a stack or by a key beside which its parameters stand.
    pub fn add(&mut self, addition: Addition) -> Result<(), ParamError> {
        let name = addition.0.about().name;
        if self.names().chain(KEYS.iter().copied()).chain(["stack", "profile"]).any(|known| known == name) {
            return Err(ParamError::new(
                "name",
                name,
                "it must not be that of another stack or of a key of [transport]",
            ));
        }
        self.added.push(addition.0);
        Ok(())
    }

    /// The names of the stacks, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.added.iter().map(|held| held.about().name)
    }

    /// The stacks, in the order in which they were added.
    pub fn all(&self) -> impl Iterator<Item = About> {
        self.added.iter().map(|held| held.about())
    }

    /// The stack of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<About> {
        self.all().find(|about| about.name == name)
    }

    /// The default parameters of the stack of this name, for its reference page.
    #[must_use]
    pub fn defaults(&self, name: &str) -> Option<Box<dyn erased_serde::Serialize>> {
        self.held(name).map(|held| held.defaults())
    }

    /// The help for a name that no stack of this program has.
    #[must_use]
    pub fn help(&self, name: &str) -> String {
        if self.added.is_empty() {
            return "this program has no stacks from outside; one that has adds them to its catalogues".to_owned();
        }
        suggest(name, self.names())
    }

    /// Reads the table `[transport]` of a stack, without the keys `stack` and `profile`: `congestion`, `ecn`, and the table of the
    /// stack's own parameters.
    ///
    /// # Errors
    /// When there is no such stack, a key is unknown, or a value cannot be used.
    pub fn spec(&self, name: &str, mut table: Value) -> Result<Spec, ParamError> {
        let Some(held) = self.held(name) else {
            return Err(ParamError::sentence("stack", format!("there is no stack {name:?}"), self.help(name)));
        };
        let about = held.about();
        let params = table.remove(name).unwrap_or(Value::Table(Vec::new()));
        // Parameters of the other stacks have no effect, so that a sweep over stacks can give each its own.
        for other in self.names() {
            table.remove(other);
        }
        let written: Written = table.read()?;
        let settings = Settings { congestion: control(&about, written.congestion)?, ecn: written.ecn };
        let Read { params, factory } = held.read(&params, &settings)?;
        Ok(Spec { about, settings, params, factory })
    }

    fn held(&self, name: &str) -> Option<&Arc<dyn Held>> {
        self.added.iter().find(|held| held.about().name == name)
    }
}

/// The congestion control that was written, or the default.
fn control(about: &About, written: Option<String>) -> Result<&'static str, ParamError> {
    let Some(written) = written else { return Ok(about.controls.first().copied().unwrap_or_default()) };
    about.controls.iter().find(|known| **known == written).copied().ok_or_else(|| {
        let what = format!("the stack {} has no congestion control {written:?}", about.name);
        ParamError::sentence("congestion", what, suggest(&written, about.controls.iter().copied()))
    })
}

/// A stack with its settings and parameters, which were checked.
#[derive(Clone, Debug)]
pub struct Spec {
    about: About,
    settings: Settings,
    params: Arc<dyn Params>,
    factory: Arc<dyn Factory>,
}

impl Spec {
    /// The name of the stack.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.about.name
    }

    /// The settings that all stacks have.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes the ends of its connections.
    #[must_use]
    pub fn factory(&self) -> &Arc<dyn Factory> {
        &self.factory
    }
}

/// Equal if everything that decides what it does is: name, version, settings and parameters.
impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        let of = |spec: &Spec| (spec.about.name, spec.about.version, spec.settings.clone(), spec.params.text());
        of(self) == of(other)
    }
}

/// With everything that decides what it does.
impl Serialize for Spec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut table = s.serialize_struct("Spec", 4)?;
        table.serialize_field("name", self.about.name)?;
        table.serialize_field("version", self.about.version)?;
        table.serialize_field("settings", &self.settings)?;
        table.serialize_field("params", self.params.serialized())?;
        table.end()
    }
}

#[cfg(test)]
mod tests;
