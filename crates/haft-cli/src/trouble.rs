//! What went wrong with a command: one line what, one line what to do.

use crate::status::Status;
use haft_core::{Failure, FailureKind};
use std::fmt;

/// A fault of a command, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// What went wrong.
    pub(crate) what: String,
    /// What would put it right.
    pub(crate) fix: Option<String>,
    /// What the shell sees.
    pub(crate) status: Status,
}

impl Trouble {
    /// The command was used wrongly.
    pub(crate) fn usage(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: Some(fix.into()), status: Status::Usage }
    }

    /// The command couldn't do it.
    pub(crate) fn failed(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: Some(fix.into()), status: Status::Failed }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Trouble {}

/// Tells people that standard output could not be written; a command that did what it was asked has failed then.
pub(crate) fn output_lost(why: &str, status: Status) -> Status {
    let fix = "give standard output a place that can be written";
    let lost = report(&Trouble::failed(format!("the output could not be written: {why}"), fix).into());
    if status == Status::Completed { lost } else { status }
}

/// Tells people about an error and says what the shell sees.
pub(crate) fn report(error: &anyhow::Error) -> Status {
    let red = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
    if let Some(trouble) = error.downcast_ref::<Trouble>() {
        anstream::eprintln!("{red}error{red:#}: {}", trouble.what);
        if let Some(fix) = &trouble.fix {
            anstream::eprintln!("  fix: {fix}");
        }
        return trouble.status;
    }
    // Its text already says what would fix it.
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    anstream::eprintln!("{red}error{red:#}: {}", causes.join(": "));
    let Some(failure) = error.downcast_ref::<Failure>() else { return Status::Failed };
    if let Some(diagnostic) = &failure.diagnostic {
        anstream::eprintln!("  cause: {diagnostic}");
    }
    if failure.kind == FailureKind::InvalidInput { Status::Usage } else { Status::Failed }
}
