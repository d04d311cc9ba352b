//! `compare`: builds an experiment from the arguments, which runs like any other.

#[cfg(test)]
mod today;

use aqmkit_base::Duration;
use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_files::put;
use aqmkit_lab::compare::{Comparison, idle, short_name, with_times};
use aqmkit_lab::measure::measured;
use aqmkit_lab::rates::second;
use aqmkit_lab::{LabError, Workspace, perform_rounds};
use toml::Table;

use super::args;
use super::fail::Failure;
use super::perform::{Bars, Shown, directory, jobs, perform, prepare, show};
use super::progress::Talk;
use super::rounds::until;
use super::say;

/// `aqmkit compare`.
///
/// # Errors
/// When a discipline or an amount of traffic is wrong, and as `run`.
pub(super) fn compare(args: &args::Compare, catalogues: &Catalogues, talk: Talk) -> Result<(), Failure> {
    let file = comparison(args)?.experiment(catalogues)?;
    let dir = directory(args.how.out.as_deref(), &format!("compare/{}", short_name(&file, &file.to_string())));
    let read = |repeat: u32, warmup: Option<Duration>| {
        let overrides = Overrides { seed: args.how.seed, repeat: Some(repeat), ..Overrides::default() };
        let exp = Experiment::from_table("compare", &with_times(&file, None, warmup), &overrides, catalogues);
        exp.map_err(|problem| LabError::from(problem.of_label("aqm")))
    };
    // Reports invalid arguments before anything is written.
    let first = read(args.how.repeat.unwrap_or(1), None)?;
    save(args, &file)?;
    let bars = Bars::of_one(talk);
    let workspace = Workspace { play: true, ..bars.workspace(&dir, jobs(args.how.jobs)) };
    let (performed, complete) = match args.how.repeat {
        Some(repeat) => (perform(&first, workspace, talk)?, with_times(&file, Some(repeat), None)),
        None => {
            prepare(&first, &dir, talk)?;
            let rounds =
                perform_rounds(read, Experiment::plan, &until(args.precision, args.warmup.is_none()), workspace)?;
            (rounds.performed, with_times(&file, Some(rounds.seeds), rounds.warmup))
        }
    };
    save(args, &complete)?;
    put(&dir.join("experiment.toml"), &complete.to_string())?;
    if let Some(warning) = idle(&performed.results) {
        say::message(&format!("warning: {warning}"));
    }
    show(&performed, &dir, Shown::of(args.how.json, true))
}

/// Converts the arguments to a comparison.
///
/// # Errors
/// When a direction has two rates, or the estimate of `--measured` cannot be used.
fn comparison(args: &args::Compare) -> Result<Comparison, Failure> {
    let measured = args.measured.as_deref().map(measured).transpose()?;
    let rates = measured.as_ref().map(|(_, rates)| *rates).or(args.rate);
    let estimate = measured.map(|(estimate, _)| estimate).unwrap_or_default();
    // The buffer is that of the queue which is there; others have the usual limit.
    let buffer = estimate.buffer.filter(|buffer| args.limit.is_none() && !buffer.is_zero());
    let with_buffer = |name: &String| match buffer {
        Some(buffer) if name == "fifo" => format!("fifo:limit={buffer}"),
        _ => name.clone(),
    };
    Ok(Comparison {
        disciplines: args.disciplines.iter().map(with_buffer).collect(),
        down: rates.map(|rates| rates.first),
        up: second(rates, "--up", args.up)?,
        rtt: estimate.rtt.or(args.rtt),
        framing: args.framing.framing(),
        wire: args.wire.wire(),
        driver: args.driver,
        preset: args.preset.clone(),
        mix: args.mix.clone(),
        limit: args.limit,
        sweep: args.sweep.clone(),
        duration: args.duration,
        warmup: args.warmup,
    })
}

/// Writes the experiment to the file given by `--save`, if any.
fn save(args: &args::Compare, experiment: &Table) -> Result<(), Failure> {
    if let Some(file) = &args.save {
        if let Some(directory) = file.parent() {
            std::fs::create_dir_all(directory)?;
        }
        put(file, &experiment.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aqmkit_experiment::Problem;
    use clap::Parser as _;
    use toml::Table;

    use super::*;
    use crate::args::{Cli, Command};

    fn file(line: &str) -> Result<Table, Failure> {
        let cli = Cli::try_parse_from(format!("aqmkit compare {line}").split(' ')).unwrap();
        let Command::Compare(args) = cli.command else { panic!("not compare") };
        Ok(comparison(&args)?.experiment(&Catalogues::default())?)
    }

    fn read(file: &Table) -> Result<Experiment, Problem> {
        Experiment::from_table("compare", file, &Overrides::default(), &Catalogues::default())
    }

    #[test]
    fn arguments_become_an_experiment() {
        insta::assert_snapshot!(
            file("fifo red:min=5,max=40 --rate 20mbit --rtt 30ms --bulk 3 --http 0.9 --cbr 10mbit --limit 90")
                .unwrap()
                .to_string()
        );
    }

    #[test]
    fn a_home_link_has_two_queues_and_mixed_flows() {
        let line = "dualpi2 red --rate 50mbit/10mbit --rtt 30ms --bulk 5 --upload 2 --cc cubic,prague --ecn \
                    --sweep red.max=20,40 --sweep rtt=10ms,30ms";
        insta::assert_snapshot!(file(line).unwrap().to_string());
    }

    #[test]
    fn two_rates_have_one_meaning() {
        let of = |line: &str| file(&format!("fifo --upload 1 {line}")).unwrap().to_string();
        assert_eq!(of("--down 50mbit --up 10mbit"), of("--rate 50mbit/10mbit"));
        assert_eq!(of("--rate 50mbit --up 10mbit"), of("--rate 50mbit/10mbit"));
        assert_eq!(of("--preset cable --rate 9mbit"), of("--preset cable --rate 9mbit/10mbit"));
    }

    #[test]
    fn a_discipline_of_which_a_parameter_is_swept_is_compared() {
        let labels = |line: &str| -> Vec<String> {
            let file = file(line).unwrap();
            let queues = file["sweep"]["aqm"].as_array().unwrap();
            queues.iter().map(|queue| queue["label"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(labels("cake --sweep red.max=20,40"), ["cake", "red max=20", "red max=40"]);
        assert_eq!(labels("red:min=5 --sweep red.max=20,40"), ["red:min=5 max=20", "red:min=5 max=40"]);
        assert_eq!(labels("cake --sweep red.max=20,40 --sweep red.min=5,6").len(), 5);
    }

    /// Every accepted set of arguments gives a valid experiment.
    #[test]
    fn what_is_written_can_be_read() {
        for line in [
            "fifo red",
            "fifo --preset home-dsl",
            "fifo cbq --preset datacentre --cc prague --bulk 2 --limit 90kb",
            "fifo --rate 9mbit/1mbit --upload 1 --bulk 1 --video 2 --ecn",
            "red:max=50 --sweep red.min=5..10 --sweep rate=1mbit..9mbit/3",
            "red pie --up 5mbit --sweep down=1mbit,2mbit",
            "red pi cbq --up 5mbit --limit 1bdp --loss 1% --jitter 5ms --reorder 1%,5ms --driver 256,bql",
            "pi dcn wred fred --limit 90kb --loss every=100,burst=2 --sweep limit=50,20ms,2bdp",
            "fifo sfq dualpi2 --ecn --preset datacentre",
            "fifo --loss p=1%,r=25% --driver 64 --bulk 4 --cc cubic,prague,bbr",
            "red --web 0.5 --video 1 --call 1 --game 2 --voip 3 --mpeg 1 --videoconf 1 --http 0.1 --cbr 1mbit",
        ] {
            let file = file(line).unwrap();
            let run = read(&file);
            let run = run.unwrap_or_else(|e| panic!("{line}: {e}\n{file}"));
            let saved = Experiment::parse("compare", &file.to_string(), &Overrides::default()).unwrap();
            assert_eq!((run.hash(), run.axes), (saved.hash(), saved.axes), "{line}: --save writes what is run");
        }
    }

    #[test]
    fn a_tree_in_a_file_is_compared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home.toml");
        let tree = "name = \"htb\"\ndefault = \"rest\"\n[[class]]\nname = \"call\"\nrate = \"1mbit\"\n[[class]]\nname = \"rest\"\nrate = \"8mbit\"\naqm = \"fq-codel\"\n";
        std::fs::write(&path, tree).unwrap();
        let line = format!("fifo {} tbf:aqm=codel tbf:latency=20ms --ecn", path.display());
        let file = file(&line).unwrap();
        let queues = file["sweep"]["aqm"].as_array().unwrap();
        let of = |i: usize, key: &str| queues[i].get(key).and_then(toml::Value::as_str);
        assert_eq!((of(1, "name"), of(1, "label")), (Some("htb"), Some("home")));
        assert_eq!((of(2, "limit"), of(2, "label")), (None, Some("tbf:aqm=codel")));
        let run = read(&file).unwrap_or_else(|e| panic!("{e}\n{file}"));
        let saved = Experiment::parse("compare", &file.to_string(), &Overrides::default()).unwrap();
        assert_eq!(run.hash(), saved.hash(), "--save writes what is run");
    }

    #[test]
    fn every_queue_has_room_for_the_same() {
        let limits = |line: &str| -> Vec<Option<String>> {
            let file = file(line).unwrap();
            let queues = file["sweep"]["aqm"].as_array().unwrap().clone();
            queues.iter().map(|queue| queue.get("limit").map(ToString::to_string)).collect()
        };
        let of = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
        assert_eq!(limits("fifo fq-codel csfq"), of(&["\"1000p\""; 3]));
        assert_eq!(limits("fifo red:limit=50 --limit 90kb"), of(&["\"92160b\"", "50"]));
        assert_eq!(limits("cbq"), [None], "it has one limit for each class");
    }

    #[test]
    fn other_comparisons_go_elsewhere() {
        let of = |file: &Table| short_name(file, &file.to_string());
        let name = |line: &str| of(&file(line).unwrap());
        assert!(name("fifo red:min=5").starts_with("fifo-red-"), "{}", name("fifo red:min=5"));
        assert_eq!(name("fifo red --jobs 2"), name("fifo red"), "the same runs");
        let different = ["fifo red", "fifo red --rate 11mbit", "fifo red:min=6", "red fifo", "fifo red --bulk 3"];
        let names: BTreeSet<String> = different.map(name).into();
        assert_eq!(names.len(), different.len());
    }

    #[test]
    fn without_traffic_there_is_that_of_today() {
        let kinds = |line: &str| -> Vec<String> {
            let file = file(line).unwrap();
            let list = file["traffic"].as_array().unwrap();
            list.iter().map(|traffic| traffic["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(kinds("fifo"), ["bulk", "video", "call", "voip", "web"]);
        assert_eq!(kinds("fifo --up 5mbit"), ["bulk", "upload", "video", "call", "call-up", "voip", "voip-up", "web"]);
        assert_eq!(kinds("fifo --http 0.5"), ["http-mah"]);
    }

    #[test]
    fn wrong_arguments_are_named() {
        let text = |line| file(line).unwrap_err().text().unwrap_or_default();
        assert!(text("rde").contains("did you mean red?"));
        assert!(text("red:min").contains("has no value"));
        assert!(text("red --http 90").contains("not a load"));
        assert!(text("red red").contains("red is given twice"));
        assert!(text("red --transport cubic").contains("write --cc cubic"));
        assert!(text("red --cc cubik").contains("did you mean cubic?"));
        assert!(text("red --upload 1").contains("--rate 50mbit/10mbit"));
        assert!(text("red --rate 9mbit/1mbit --up 2mbit").contains("by --up"));
        assert!(text("red --cc cubic,prague --bulk 1").contains("cannot be shared by 2"));
        assert!(text("red --preset cabel").contains("did you mean cable?"));
        assert!(text("red --sweep rde.max=1,2").contains("did you mean red?"));
        assert!(text("red --transport bsd4").contains("did you mean bsd44?"));
    }

    #[test]
    fn what_is_wrong_is_told_of_the_argument() {
        let told = |line: &str| {
            let problem = read(&file(line).unwrap()).unwrap_err().of_label("aqm");
            assert_eq!(problem.location(), None);
            problem.in_one_line()
        };
        assert!(
            told("fifo red:minn=5").starts_with("red:minn=5: minn is not a parameter of red"),
            "{}",
            told("fifo red:minn=5")
        );
        assert!(!told("fifo red:minn=5").contains("occurs where"), "{}", told("fifo red:minn=5"));
        assert!(told("fifo --bulk 9999999").starts_with("flows"), "{}", told("fifo --bulk 9999999"));
    }
}
