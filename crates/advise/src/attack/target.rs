//! The discipline or congestion control under attack.

use aqmkit_aqm::registry;
use aqmkit_base::near::suggest;
use aqmkit_experiment::Catalogues;

/// A congestion control of TCP or of a stack from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The stack; `None` for the simulator's TCP.
    pub stack: Option<&'static str>,
    /// The name of the control in it.
    pub name: &'static str,
}

impl Control {
    /// A control of the simulator's TCP.
    #[must_use]
    pub const fn tcp(name: &'static str) -> Control {
        Control { stack: None, name }
    }

    /// As in arguments: `bbr`, or `quinn:bbr`.
    #[must_use]
    pub fn written(self) -> String {
        self.joined(":")
    }

    /// As the label of a run: `bbr`, or `quinn-bbr`.
    #[must_use]
    pub fn label(self) -> String {
        self.joined("-")
    }

    /// The control of a stack with this name, or the default of the stack.
    ///
    /// # Errors
    /// When there is no such stack, or it has no such control.
    pub fn of_stack(stack: &str, control: Option<&str>, catalogues: &Catalogues) -> Result<Control, Unknown> {
        let Some(about) = catalogues.stacks.find(stack) else {
            let what = format!("no transport stack is called {stack:?}");
            if catalogues.stacks.names().next().is_none() {
                let right = "this program has no stacks; aqmkit-stacks is the same command with quinn, noq, smoltcp, sctp and str0m \
                             (cargo build --release in stacks/)";
                return Err((what, right.to_owned()));
            }
            return Err((what, suggest(stack, catalogues.stacks.names())));
        };
        let found = match control {
            None => about.controls.first(),
            Some(written) => about.controls.iter().find(|known| known.eq_ignore_ascii_case(written)),
        };
        let Some(name) = found else {
            let what = format!("the stack {stack} has no congestion control {:?}", control.unwrap_or_default());
            return Err((what, suggest(control.unwrap_or_default(), about.controls.iter().copied())));
        };
        Ok(Control { stack: Some(about.name), name })
    }

    fn joined(self, by: &str) -> String {
        self.stack.map_or_else(|| self.name.to_owned(), |stack| format!("{stack}{by}{}", self.name))
    }
}

/// A queue discipline or a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The discipline of the bottleneck.
    Discipline(&'static str),
    /// The congestion control of the attacked flows.
    Control(Control),
}

/// An unknown name: what is wrong, and what would be right.
pub type Unknown = (String, String);

impl Target {
    /// The target of this name: a discipline in any spelling that the catalogue knows, one of these `controls` of TCP,
    /// or `STACK:CONTROL`, where a stack alone stands for its default control.
    ///
    /// # Errors
    /// When nothing has this name.
    pub fn find(written: &str, controls: &[&'static str], catalogues: &Catalogues) -> Result<Target, Unknown> {
        if let Some((stack, control)) = written.split_once(':') {
            return of_stack(stack.trim(), Some(control.trim()), catalogues);
        }
        if let Some(name) = discipline(written, catalogues) {
            return Ok(Target::Discipline(name));
        }
        if let Some(name) = controls.iter().find(|control| control.eq_ignore_ascii_case(written)) {
            return Ok(Target::Control(Control::tcp(name)));
        }
        if catalogues.stacks.find(written).is_some() {
            return of_stack(written, None, catalogues);
        }
        let known = controls.iter().copied().chain(catalogues.disciplines.names()).chain(catalogues.stacks.names());
        let what = format!("{written:?} is neither a discipline nor a congestion control");
        Err((what, suggest(written, known)))
    }

    /// Its name, as in arguments.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Target::Discipline(name) => name.to_owned(),
            Target::Control(control) => control.written(),
        }
    }

    /// Its name, as the label of runs.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Target::Discipline(name) => name.to_owned(),
            Target::Control(control) => control.label(),
        }
    }

    /// Its replacement in the comparison: a discipline that isolates flows, or the usual control, of the same stack if
    /// it has another one.
    #[must_use]
    pub fn reference(self, catalogues: &Catalogues) -> Target {
        let usual = |own: &str| if own == "cubic" { "newreno" } else { "cubic" };
        match self {
            Target::Discipline("fq-codel") => Target::Discipline("fifo"),
            Target::Discipline(_) => Target::Discipline("fq-codel"),
            Target::Control(Control { stack: None, name }) => Target::Control(Control::tcp(usual(name))),
            Target::Control(Control { stack: Some(stack), name }) => {
                let has = catalogues.stacks.find(stack).map(|about| about.controls).unwrap_or_default();
                let other = has.iter().find(|control| **control == usual(name));
                let other = other.or_else(|| has.iter().find(|control| **control != name));
                let same_stack = other.map(|other| Control { stack: Some(stack), name: other });
                Target::Control(same_stack.unwrap_or(Control::tcp("cubic")))
            }
        }
    }
}

/// The discipline of this name, in any spelling that the catalogue knows.
pub(super) fn discipline(written: &str, catalogues: &Catalogues) -> Option<&'static str> {
    let built_in = registry::find(written).map(|entry| entry.name);
    built_in.or_else(|| catalogues.disciplines.names().find(|name| *name == written))
}

fn of_stack(stack: &str, control: Option<&str>, catalogues: &Catalogues) -> Result<Target, Unknown> {
    Control::of_stack(stack, control, catalogues).map(Target::Control)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: [&str; 3] = ["newreno", "cubic", "bbr"];

    #[test]
    fn names_are_found_in_any_spelling_and_near_ones_are_named() {
        let catalogues = Catalogues::default();
        let find = |name: &str| Target::find(name, &TCP, &catalogues);
        assert_eq!(find("fq_codel"), Ok(Target::Discipline("fq-codel")));
        assert_eq!(find("BBR"), Ok(Target::Control(Control::tcp("bbr"))));
        let (what, right) = find("cubik").unwrap_err();
        assert!(what.contains("cubik") && right.contains("cubic"), "{what}: {right}");
        for name in TCP.into_iter().chain(["fifo", "fq-codel"]) {
            let target = find(name).unwrap();
            assert_ne!(target.reference(&catalogues), target);
        }
    }

    #[test]
    fn a_stack_that_the_program_does_not_have_is_said_to_be_elsewhere() {
        let (what, right) = Target::find("quinn:bbr", &TCP, &Catalogues::default()).unwrap_err();
        assert!(what.contains("\"quinn\"") && right.contains("aqmkit-stacks"), "{what}: {right}");
    }
}
