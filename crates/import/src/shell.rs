//! Parses scripts of `tc` lines: continued lines, variables and comments. Lines that only a shell could run are skipped, each with a note.

use std::collections::BTreeMap;

use aqmkit_tc::{Listing, Script};

use crate::Note;

/// Words that begin what only a shell can run.
const SHELL: &[&str] = &["if", "for", "while", "case", "until", "function", "select"];

/// Words of commands and of syntax that do nothing to a queue.
const QUIET: &[&str] = &[
    "ip", "modprobe", "echo", "set", "sleep", "ethtool", "insmod", "exit", "true", ":", "fi", "done", "esac", "then",
    "else", "elif", "do", "}", "{", "exec", "shift", "return", "printf", "sysctl", "ifconfig",
];

/// Runs the script as far as it is made of `tc` lines and assignments.
pub(crate) fn read(text: &str, notes: &mut Vec<Note>) -> Listing {
    let mut script = Script::default();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for (line, whole) in lines(text) {
        let (code, comment) =
            whole.split_once(" #").map_or((whole.as_str(), None), |(code, comment)| (code, Some(comment)));
        for command in code.split(';').flat_map(|part| part.split("&&")) {
            let mut tell = |why: String| notes.push(Note::new(Some(line), why));
            let command = command.split("||").next().unwrap_or_default().trim();
            if command.is_empty() || command.starts_with('#') {
                continue;
            }
            if let Some((name, value)) = assignment(command) {
                match expand(value, &variables) {
                    Ok(value) => drop(variables.insert(name.to_owned(), value)),
                    Err(why) => tell(format!("{name} is not known: {why}")),
                }
                continue;
            }
            run(command, line, name_in(comment), &variables, &mut script, &mut tell);
        }
    }
    script.listing()
}

/// A comment of one word, which names a class.
fn name_in(comment: Option<&str>) -> Option<&str> {
    let mut words = comment?.split_whitespace();
    let first = words.next()?;
    words.next().is_none().then_some(first)
}

fn run(
    command: &str,
    line: usize,
    name: Option<&str>,
    variables: &BTreeMap<String, String>,
    script: &mut Script,
    tell: &mut dyn FnMut(String),
) {
    // A `>` begins the redirection of output.
    let plain: Vec<&str> = command.split_whitespace().take_while(|word| !word.contains('>')).collect();
    let first = plain.first().copied().unwrap_or_default();
    let is_tc =
        |word: &str| word.ends_with("/tc") || word.trim_matches(['"', '$', '{', '}']).eq_ignore_ascii_case("tc");
    let start = plain.iter().position(|word| is_tc(word));
    let words = match (start, first) {
        (Some(at), _) if plain[..at].iter().all(|word| matches!(*word, "sudo" | "then" | "else" | "do")) => {
            &plain[at + 1..]
        }
        (None, "qdisc" | "class" | "filter") => &plain[..],
        (Some(_), _) => {
            return tell(format!("{first} runs tc on conditions, which are not known; the line is left out"));
        }
        (None, _) if SHELL.contains(&first) => {
            return tell(format!("{first} needs a shell to run: write out the lines of tc that it makes"));
        }
        (None, _) if QUIET.contains(&first) || first.starts_with('[') || first.ends_with("()") => return,
        (None, _) => return tell(format!("{first} is not tc, and is left out")),
    };
    let expanded: Result<Vec<String>, String> = words.iter().map(|word| expand(word, variables)).collect();
    let result = expanded.and_then(|typed| {
        let typed: Vec<&str> = typed.iter().flat_map(|word| word.split_whitespace()).collect();
        script.command(&typed, line, name)
    });
    if let Err(why) = result {
        tell(format!("the line is left out: {why}"));
    }
}

/// Lines with those that continue them, and the number of the first.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let (part, goes_on) = line.trim_end().strip_suffix('\\').map_or((line, false), |part| (part, true));
        match all.last_mut() {
            Some((_, last)) if open => last.push_str(&format!(" {}", part.trim())),
            _ => all.push((index + 1, part.trim().to_owned())),
        }
        open = goes_on;
    }
    all
}

fn assignment(command: &str) -> Option<(&str, &str)> {
    let command = command.strip_prefix("export ").or_else(|| command.strip_prefix("local ")).unwrap_or(command);
    let (name, value) = command.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value.trim()))
}

/// Replaces variables; quotes go.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(&rest[..at]);
        let right = "write the value instead";
        if rest[at..].starts_with('`') || rest[at..].starts_with("$(") {
            return Err(format!("{text} needs a shell to run: {right}"));
        }
        let after = &rest[at + 1..];
        let (name, tail) = match after.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(|| format!("{text} has no closing brace"))?,
            None => after.split_at(after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len())),
        };
        let (name, otherwise) = name.split_once(":-").map_or((name, None), |(name, value)| (name, Some(value)));
        let value = variables.get(name).map(String::as_str).or(otherwise);
        out.push_str(value.ok_or_else(|| format!("${name} is not set in this script: {right}"))?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out.replace(['"', '\''], ""))
}
