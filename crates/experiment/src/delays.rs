//! `delays`: propagation delays beyond those of the links.

use aqmkit_base::Duration;
use serde::{Deserialize, Serialize};

use super::link::not_too_long;
use super::problem::{Problem, closest, suggest};
use super::read::{Keys, read};
use super::tree::Node;

/// The fixed part of the round trip that links do not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Delays {
    /// No additional delay.
    #[serde(skip_deserializing)]
    None,
    /// Uniform on this range, drawn for each connection.
    Uniform((Duration, Duration)),
    /// Assigned to flows in turn.
    Each(Vec<Duration>),
    /// Rows are servers, columns are clients.
    Matrix(Vec<Vec<Duration>>),
}

/// Kinds of delays that are written as a table with one key.
const KINDS: &[&str] = &["uniform", "each", "matrix"];

const NAMES: &[&str] = &["none", "parris-table-a1"];

const FORMS: &str = "write \"none\", a time, \"parris-table-a1\", { uniform = [from, to] }, { each = [times] } or \
                     { matrix = [[times of a server], …] }";

/// Table A.1 of Parris 2001, in milliseconds: a row for each of the servers floyd, goober, thelmalou,
/// roadrunner and goddard, a column for each of the clients brain, howard, lovey, speedy, petunia and tweetie.
const PARRIS_TABLE_A1: [[u64; 6]; 5] = [
    [15, 0, 14, 60, 98, 30],
    [30, 15, 28, 112, 42, 50],
    [10, 45, 80, 84, 154, 60],
    [73, 126, 30, 70, 56, 70],
    [40, 5, 96, 15, 49, 110],
];

/// Reads a value of `delays` for this number of servers and clients.
pub(super) fn read_delays(node: &Node, servers: u32, clients: u32) -> Result<Delays, Problem> {
    let delays = match node.as_str() {
        Some(text) => named(node, text)?,
        None if node.is_table() => kind(node)?,
        None => return Err(Problem::new("this is not a value of delays").right(FORMS).at(&node.at)),
    };
    check(&delays, servers, clients).map_err(|e| e.at(&node.at))?;
    Ok(delays)
}

/// Reads a table whose only key is the kind of delays.
fn kind(node: &Node) -> Result<Delays, Problem> {
    let known = |key: &str| KINDS.contains(&key);
    match node.entries() {
        [only] if !known(&only.key) => {
            let problem = Problem::new(format!("{:?} is not a kind of delays", only.key)).at(&only.at);
            Err(problem.right(suggest(&only.key, KINDS.iter().copied())).right(FORMS))
        }
        [_] => read::<Delays>(node, Keys::of("a kind of delays")),
        _ => Err(Problem::new("delays has one kind, as its only key").right(FORMS).at(&node.at)),
    }
}

fn named(node: &Node, text: &str) -> Result<Delays, Problem> {
    let time = match text {
        "none" => return Ok(Delays::None),
        "parris-table-a1" => return Ok(parris_table_a1()),
        _ => text.parse::<Duration>(),
    };
    time.map(|t| Delays::Each(vec![t])).map_err(|e| {
        let problem = Problem::new(format!("{text:?} is not a value of delays")).at(&node.at);
        match closest(text, NAMES.iter().copied()) {
            Some(name) => problem.right(format!("did you mean {name}?")),
            None if text.starts_with(|c: char| c.is_ascii_digit()) => problem.right(e.hint),
            None => problem.right(FORMS),
        }
    })
}

fn parris_table_a1() -> Delays {
    let row = |row: &[u64; 6]| row.iter().map(|ms| Duration::from_millis(*ms)).collect();
    Delays::Matrix(PARRIS_TABLE_A1.iter().map(row).collect())
}

fn check(delays: &Delays, servers: u32, clients: u32) -> Result<(), Problem> {
    let longest = match delays {
        Delays::None => None,
        Delays::Uniform((_, high)) => Some(high),
        Delays::Each(list) => list.iter().max(),
        Delays::Matrix(rows) => rows.iter().flatten().max(),
    };
    longest.map_or(Ok(()), |d| not_too_long(*d))?;
    match delays {
        Delays::Uniform((low, high)) if low > high => {
            Err(Problem::new(format!("the range from {low} to {high} is reversed")).right("give the shorter first"))
        }
        Delays::Each(list) if list.is_empty() => {
            Err(Problem::new("each has no times").right("give at least one, for example { each = [\"20ms\"] }"))
        }
        Delays::Matrix(rows) => check_matrix(rows, servers, clients),
        _ => Ok(()),
    }
}

fn check_matrix(rows: &[Vec<Duration>], servers: u32, clients: u32) -> Result<(), Problem> {
    let help = format!("it needs a row for each of {servers} servers and a column for each of {clients} clients");
    if rows.len() != servers as usize {
        return Err(Problem::new(format!("the matrix of delays has {} rows", rows.len())).right(help));
    }
    match rows.iter().position(|row| row.len() != clients as usize) {
        Some(i) => {
            let what = format!("row {} of the matrix of delays has {} columns", i + 1, rows[i].len());
            Err(Problem::new(what).right(help))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_a1_has_the_averages_that_are_printed_beside_it() {
        let mean = |ms: Vec<u64>| ms.iter().sum::<u64>() as f64 / ms.len() as f64;
        let rows: Vec<f64> = PARRIS_TABLE_A1.iter().map(|r| mean(r.to_vec())).collect();
        let printed = [36.16667, 46.16667, 72.16667, 70.83333, 52.5];
        assert!(rows.iter().zip(printed).all(|(a, b)| (a - b).abs() < 1e-4), "{rows:?}");
        let columns: Vec<f64> = (0..6).map(|c| mean(PARRIS_TABLE_A1.iter().map(|r| r[c]).collect())).collect();
        assert_eq!(columns, [33.6, 38.2, 49.6, 68.2, 79.8, 64.0]);
    }
}
