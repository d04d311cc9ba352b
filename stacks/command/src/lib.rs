//! The command `aqmkit` with transport stacks from outside, for `--stack` of `compare` and `transport.stack` of experiment files.

use std::ffi::OsString;

use aqmkit_base::ParamError;
use aqmkit_experiment::Catalogues;
use aqmkit_stack::Addition;
use aqmkit_stack_noq::Noq;
use aqmkit_stack_quinn::Quinn;
use aqmkit_stack_sctp::Sctp;
use aqmkit_stack_smoltcp::Smoltcp;
use aqmkit_stack_str0m::Str0m;

/// The stacks, with all that the library has.
///
/// # Errors
/// When two have the same name.
pub fn catalogues() -> Result<Catalogues, ParamError> {
    let mut catalogues = Catalogues::default();
    let all = [
        Addition::of::<Quinn>(),
        Addition::of::<Noq>(),
        Addition::of::<Smoltcp>(),
        Addition::of::<Sctp>(),
        Addition::of::<Str0m>(),
    ];
    for stack in all {
        catalogues.stacks.add(stack)?;
    }
    Ok(catalogues)
}

/// Runs the command; `args` starts with the program name. Returns the exit code.
///
/// # Errors
/// When two stacks have the same name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Result<u8, ParamError> {
    Ok(aqmkit::run_with(args, &catalogues()?))
}
