//! `--config`: reads options of a bridge, a link or a shaper from a file.
//!
//! A file has one table, `[bridge]`, `[shape]` or `[link]`, whose keys are the long options of that command. A list
//! repeats an option, and `true` sets one without a value. `interfaces` gives the two interfaces of a bridge,
//! `interface` that of `shape`. The options are inserted before those on the command line and parsed together with
//! them, so that they have the same meaning; the command line takes precedence.

use std::ffi::OsString;
use std::ops::Range;
use std::path::Path;

use aqmkit_base::near::{closest, suggest};
use aqmkit_experiment::Problem;
use aqmkit_files::bounded;
use clap::{Arg, ArgAction, CommandFactory, Parser};
use toml::de::{DeTable, DeValue};

use super::args::{Cli, Command};
use super::fail::{Failure, wrong};

/// The commands that accept a configuration file.
const COMMANDS: [&str; 3] = ["bridge", "shape", "link"];

/// Options that make sense only on a command line.
const NOT_IN_A_FILE: [&str; 5] = ["config", "cleanup", "help", "version", "server"];

/// A key in a file.
#[derive(Clone)]
struct Given {
    /// The line number of the key.
    line: usize,
    /// The options that it is converted to.
    options: Vec<String>,
}

/// A configuration file.
#[derive(Clone)]
pub(super) struct Config {
    /// The path of the file, for messages.
    file: String,
    /// The command to which it applies.
    pub(super) command: &'static str,
    /// The interfaces of a bridge, or the interface of `shape`.
    interfaces: Vec<String>,
    /// The other keys.
    given: Vec<Given>,
}

/// The location of an error, for messages.
struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn line(&self, at: &Range<usize>) -> usize {
        self.text.get(..at.start).unwrap_or_default().matches('\n').count() + 1
    }

    fn problem(&self, at: &Range<usize>, what: &str) -> Problem {
        Problem::new(format!("{}:{}: {what}", self.file, self.line(at)))
    }
}

/// Whether a text is a configuration file rather than an experiment: it has a table `[bridge]`, `[shape]` or `[link]`
/// and no traffic, or only a table whose name is close to one of these.
#[must_use]
pub(super) fn is_configuration(text: &str) -> bool {
    let Ok(table) = DeTable::parse(text) else { return false };
    let keys = table.get_ref();
    let is_close = |key: &str| closest(key, COMMANDS).is_some();
    match keys.iter().next() {
        Some((key, value)) if keys.len() == 1 => is_close(key.get_ref()) && value.get_ref().is_table(),
        _ => COMMANDS.into_iter().any(|command| keys.contains_key(command)) && !keys.contains_key("traffic"),
    }
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or a key is not an option of its command.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = bounded::text(path, &bounded::CONFIGURATION)
            .map_err(|e| Problem::from(e).right(bounded::CONFIGURATION.form))?;
        Config::parse(&path.display().to_string(), &text)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// As [`Config::read`].
    fn parse(file: &str, text: &str) -> Result<Self, Failure> {
        let place = Place { file, text };
        let file_table = DeTable::parse(text)
            .map_err(|e| place.problem(&e.span().unwrap_or_default(), e.message()).right("the file must be TOML"))?;
        let mut tables = file_table.get_ref().iter();
        let (Some((table, keys)), None) = (tables.next(), tables.next()) else {
            return wrong(
                format!("{file} must have one table"),
                "write [bridge], [shape] or [link], and its options below",
            );
        };
        let Some(command) = COMMANDS.into_iter().find(|command| *command == table.get_ref().as_ref()) else {
            let problem = place
                .problem(&table.span(), &format!("{} is not a command with a configuration file", table.get_ref()));
            let right = match closest(table.get_ref(), COMMANDS) {
                Some(near) => format!("did you mean [{near}]? There are [bridge], [shape] and [link]"),
                None => "write [bridge], [shape] or [link]".to_owned(),
            };
            return Err(Failure::Problem(problem.right(right)));
        };
        let DeValue::Table(keys) = keys.get_ref() else {
            return wrong(format!("{file}: {command} is not a table"), format!("write [{command}]"));
        };
        let program = Cli::command();
        let known: Vec<&Arg> = program
            .find_subcommand(command)
            .into_iter()
            .flat_map(clap::Command::get_arguments)
            .filter(|arg| arg.get_long().is_some_and(|long| !NOT_IN_A_FILE.contains(&long)))
            .collect();
        let mut config = Config { file: file.to_owned(), command, interfaces: Vec::new(), given: Vec::new() };
        for (key, value) in keys {
            let (name, problem) = (key.get_ref().as_ref(), |what: &str| place.problem(&key.span(), what));
            if name == "interfaces" && command == "bridge" {
                config.interfaces = texts(value.get_ref());
                if config.interfaces.len() != 2 {
                    let right = "write interfaces = [\"eth1\", \"eth2\"]";
                    return Err(problem("a bridge has two interfaces").right(right).into());
                }
                continue;
            }
            if name == "interface" && command == "shape" {
                config.interfaces.extend(self::text(value.get_ref()));
                if config.interfaces.is_empty() {
                    return Err(problem("interface has one value").right("write interface = \"eth0\"").into());
                }
                continue;
            }
            let Some(arg) = known.iter().find(|arg| arg.get_long() == Some(name)) else {
                let of_interfaces = if command == "shape" { "interface" } else { "interfaces" };
                let names = known.iter().filter_map(|arg| arg.get_long()).chain([of_interfaces]);
                return Err(problem(&format!("{command} has no option {name:?}")).right(suggest(name, names)).into());
            };
            let options = options(arg, name, value.get_ref()).map_err(|(what, right)| problem(&what).right(right))?;
            config.given.push(Given { line: place.line(&key.span()), options });
        }
        Ok(config)
    }

    /// Inserts the options of the file before those of the command line.
    ///
    /// # Errors
    /// When an option of the file is invalid.
    pub(super) fn before(&self, line: &[OsString]) -> Result<Vec<OsString>, Failure> {
        self.command()?;
        let Some(place) = line.iter().position(|arg| arg == self.command) else {
            return wrong(
                format!("{} is a configuration of aqmkit {}", self.file, self.command),
                "give a configuration file of this command",
            );
        };
        let mut whole: Vec<OsString> = line[..=place].to_vec();
        whole.extend(self.options().map(OsString::from));
        let names_interfaces = Cli::try_parse_from(line).is_ok_and(|cli| match cli.command {
            Command::Bridge(bridge) => bridge.first.is_some(),
            Command::Shape(shape) => shape.interface.is_some(),
            _ => false,
        });
        if !names_interfaces {
            whole.extend(self.interfaces.iter().map(OsString::from));
        }
        whole.extend_from_slice(&line[place + 1..]);
        Ok(whole)
    }

    /// Parses the options of the file alone.
    ///
    /// # Errors
    /// When an option is invalid.
    pub(super) fn command(&self) -> Result<Command, Failure> {
        self.parsed().map_err(|error| {
            let text = error.to_string();
            let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            let before = self.place_of_mistake(|config| config.parsed().is_ok());
            let right = format!("aqmkit {} --help lists the options", self.command);
            Failure::Problem(Problem::new(format!("{before}{what}")).right(right))
        })
    }

    fn parsed(&self) -> Result<Command, clap::Error> {
        let line = ["aqmkit", self.command].into_iter().chain(self.interfaces.iter().map(String::as_str));
        // Required options may be on the command line; if they are missing there too, parsing both reports it.
        let with_itself = line.chain(self.options()).chain(["--config", &self.file]);
        Cli::try_parse_from(with_itself).map(|cli| cli.command)
    }

    fn options(&self) -> impl Iterator<Item = &str> {
        self.given.iter().flat_map(|given| &given.options).map(String::as_str)
    }

    /// The location of the error in an invalid file, as a prefix of a message: the line of the key whose removal makes
    /// the file valid, if there is one.
    #[must_use]
    pub(super) fn place_of_mistake(&self, is_right: impl Fn(&Config) -> bool) -> String {
        let without = |at: usize| {
            let mut config = self.clone();
            config.given.remove(at);
            is_right(&config)
        };
        match (0..self.given.len()).find(|at| without(*at)) {
            Some(at) => format!("{}:{}: ", self.file, self.given[at].line),
            None => format!("{}: ", self.file),
        }
    }
}

/// Formats a value as on a command line.
fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// Formats the values of a list.
fn texts(value: &DeValue<'_>) -> Vec<String> {
    match value {
        DeValue::Array(list) => list.iter().filter_map(|one| text(one.get_ref())).collect(),
        _ => Vec::new(),
    }
}

/// Converts a key to options, or returns an error and its remedy.
fn options(arg: &Arg, name: &str, value: &DeValue<'_>) -> Result<Vec<String>, (String, String)> {
    let takes_a_value = arg.get_action().takes_values();
    match value {
        DeValue::Boolean(set) if !takes_a_value => Ok(if *set { vec![format!("--{name}")] } else { Vec::new() }),
        _ if !takes_a_value => Err((format!("{name} has no value"), format!("write {name} = true"))),
        DeValue::Array(list) if matches!(arg.get_action(), ArgAction::Append) => {
            let given = texts(value);
            if given.len() == list.len() {
                return Ok(given.iter().map(|text| format!("--{name}={text}")).collect());
            }
            Err((format!("{name} is a list of strings"), format!("write {name} = [\"…\"]")))
        }
        _ => match text(value) {
            Some(text) => Ok(vec![format!("--{name}={text}")]),
            None => Err((format!("{name} has one value"), format!("write {name} = \"…\""))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAN: &str = "[bridge]\ninterfaces = [\"eth1\", \"eth2\"]\nrate = \"50mbit\"\naqm = \"codel:target=10ms\"\noverhead = -4\nclass = [\"voice=dscp:46\", \"rest=*\"]\njson = true\n";

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn bridge(text: &str, with: &str) -> super::super::args::wire::Bridge {
        let whole = Config::parse("wan.toml", text).unwrap().before(&line(with)).unwrap();
        match Cli::try_parse_from(whole).unwrap().command {
            Command::Bridge(bridge) => *bridge,
            other => panic!("{other:?}"),
        }
    }

    fn mistake(text: &str) -> String {
        let failure = Config::parse("wan.toml", text).and_then(|config| config.command().map(|_| ())).unwrap_err();
        failure.text().unwrap()
    }

    #[test]
    fn the_options_of_a_file_are_those_of_the_command() {
        let read = bridge(WAN, "aqmkit bridge --config wan.toml");
        assert_eq!((read.first.as_deref(), read.second.as_deref()), (Some("eth1"), Some("eth2")));
        assert_eq!((read.queue.aqm.as_str(), read.queue.framing.overhead), ("codel:target=10ms", -4));
        assert_eq!(read.queue.class, ["voice=dscp:46", "rest=*"]);
        assert!(read.json);
    }

    #[test]
    fn the_command_line_counts_before_the_file() {
        let read = bridge(WAN, "aqmkit --quiet bridge --config wan.toml --aqm pie eth8 eth9");
        assert_eq!(
            (read.queue.aqm.as_str(), read.first.as_deref(), read.second.as_deref()),
            ("pie", Some("eth8"), Some("eth9"))
        );
        assert_eq!(read.rate.unwrap().to_string(), "50mbit");
    }

    #[test]
    fn mistakes_have_their_line_and_what_would_be_right() {
        let unknown = mistake("[bridge]\nrate = \"5mbit\"\nbackrate = \"5mbit\"\n");
        assert!(unknown.contains("wan.toml:3: bridge has no option \"backrate\""), "{unknown}");
        assert!(unknown.contains("back-rate"), "{unknown}");
        let unit = mistake("[bridge]\ninterfaces = [\"a\", \"b\"]\nrate = \"5ms\"\n");
        assert!(unit.contains("wan.toml:3: ") && unit.contains("5ms") && unit.contains("--rate"), "{unit}");
        assert!(mistake("[bridge]\ninterfaces = [\"a\"]\n").contains("two interfaces"));
        assert!(mistake("[bridge]\nrate = \"5mbit\"\njson = 3\n").contains("json = true"));
        assert!(mistake("[brigde]\n").contains("did you mean [bridge]?"));
        assert!(mistake("[wan]\n").contains("[bridge], [shape] or [link]"));
        assert!(mistake("[bridge]\nrate = \"5mbit\n").contains("wan.toml:2"));
        assert!(mistake("").contains("one table"));
    }

    proptest::proptest! {
        /// Any text is either accepted or rejected with a message.
        #[test]
        fn a_damaged_file_is_read_or_refused(
            at in 0..WAN.len(), cut in 0..12_usize, splinter in "[-0-9a-z.,\"=\\[\\]{} \n]{0,6}", table in "bridge|shape|link|run",
        ) {
            let mut text = WAN.replace("[bridge]", &format!("[{table}]"));
            let to = (at + cut).min(text.len());
            text.replace_range(at.min(to)..to, &splinter);
            let read = Config::parse("wan.toml", &text).and_then(|config| config.command().map(|_| ()));
            if let Err(failure) = read {
                let told = failure.text().unwrap();
                proptest::prop_assert!(told.contains("wan.toml") && told.len() < 4000, "{told}");
            }
        }
    }

    #[test]
    fn an_experiment_is_no_configuration() {
        assert!(
            is_configuration(WAN)
                && is_configuration("[link]\nrate = \"5mbit\"")
                && is_configuration("[brigde]\nrate = \"5mbit\"")
        );
        assert!(!is_configuration("[topology]\nrate = \"5mbit\"") && !is_configuration("bridge = 1"));
        assert!(!is_configuration("title = \"x\"\n[[traffic]]\nkind = \"bulk\"\n[link]\n") && !is_configuration("[[["));
    }
}
