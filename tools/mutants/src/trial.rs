//! Tests each change with the tests that reach it.

use std::time::Duration;

use crate::compile::id;
use crate::draw::Mutant;
use crate::error::Result;
use crate::parallel::in_parallel;
use crate::process::End;
use crate::suite::{Suite, Test};

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It does not compile.
    Refused,
    /// A test failed.
    Killed {
        /// The crate of the test.
        by: String,
        /// The test.
        test: String,
        /// Whether it did not end in time.
        late: bool,
    },
    /// Every test that reaches it passed.
    Survived {
        /// The number of these tests.
        tests: usize,
    },
}

/// The time limit of a test: several times its duration without a change.
fn limit(test: &Test) -> Duration {
    test.takes * 5 + Duration::from_secs(2)
}

/// Tests some changes, given by their indices in the list, and returns their outcomes in the same order.
pub fn try_all(
    suite: &Suite,
    mutants: &[Mutant],
    kept: &[usize],
    order: &[String],
    jobs: usize,
    done: &(dyn Fn(usize, &Fate) + Sync),
) -> Result<Vec<Fate>> {
    let fates = in_parallel(jobs, kept.to_vec(), |_, i| {
        let fate = try_one(suite, &mutants[*i], id(*i), order)?;
        done(*i, &fate);
        Ok(fate)
    });
    fates.into_iter().collect()
}

fn try_one(suite: &Suite, mutant: &Mutant, id: u32, order: &[String]) -> Result<Fate> {
    let tests = suite.reaching(id, &mutant.crate_name, order);
    for test in &tests {
        let binary = &suite.binaries[test.binary];
        let end = binary.run(&test.name, id, limit(test))?;
        if end != End::Passed {
            let by = binary.crate_name.clone();
            return Ok(Fate::Killed { by, test: suite.title(test), late: end == End::Late });
        }
    }
    Ok(Fate::Survived { tests: tests.len() })
}
