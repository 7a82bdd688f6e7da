//! How the end of a command is told; pure.

use super::{
    hint::{BARRED, hint, kept},
    note::noted,
};
use crate::glob::counted;
use haft_core::{Confined, Exit, Status, looks_barred};
use serde_json::{Value, json};
use std::time::Duration;

/// From this time on a command's duration is told.
const DURATION_TOLD: Duration = Duration::from_secs(1);

/// What is known of a command that ended by itself.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    /// Its output, bounded.
    pub(crate) output: &'a str,
    /// How it ended.
    pub(crate) exit: &'a Exit,
    /// How long it ran.
    pub(crate) took: Duration,
    /// Where the shell stands now, if it moved and that persists.
    pub(crate) moved_to: Option<&'a str>,
    /// The folder where it should have started, but which is gone.
    pub(crate) gone: Option<&'a str>,
    /// What else is to be told.
    pub(crate) more: &'a [String],
}

impl Ending<'_> {
    /// The output, then a note a line, the status last.
    pub(crate) fn text(&self) -> String {
        noted(self.output.to_owned(), &self.notes(), &self.status())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(gone) = self.gone {
            notes.push(format!("the working directory {gone} is gone; this ran in the workspace root"));
        }
        notes.extend(survivors(self.exit));
        if let Some(place) = self.moved_to {
            notes.push(format!("cwd now {place}"));
        }
        let failed = self.exit.status != Status::Code(0);
        if failed {
            notes.extend(hint(self.output).map(str::to_owned));
        }
        if let Some(confined) = &self.exit.confined {
            if failed && looks_barred(self.output) {
                notes.push(BARRED.to_owned());
            }
            if failed {
                notes.extend(kept(self.output).map(str::to_owned));
            }
            if !confined.is_whole() {
                notes.push(gaps(confined));
            }
            notes.extend(confined.noticed.iter().cloned());
        }
        notes.extend_from_slice(self.more);
        notes
    }

    fn status(&self) -> String {
        let status = format!("[{}]", status(self.exit.status));
        if self.took > DURATION_TOLD { format!("{status} [took {}]", seconds(self.took)) } else { status }
    }

    /// The same for people and programs.
    pub(crate) fn metadata(&self, cwd: &str) -> Value {
        let (code, signal) = match self.exit.status {
            Status::Code(code) => (Some(code), None),
            Status::Signal(signal) => (None, Some(signal)),
        };
        json!({
            "exitCode": code,
            "signal": signal,
            "durationMs": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            "cwd": cwd,
            "stopped": self.exit.survivor_count,
            "sandbox": self.exit.confined,
        })
    }
}

/// How a command ended, in words.
pub(crate) fn status(status: Status) -> String {
    match status {
        Status::Code(code) => format!("exit {code}"),
        Status::Signal(signal) => format!("killed by signal {signal}"),
    }
}

/// What the sandbox doesn't do.
pub(crate) fn gaps(confined: &Confined) -> String {
    format!("the sandbox isn't whole: {}", confined.gaps.join("; "))
}

/// A time for people: `300 ms`, `2 s`, `2.5 s`.
pub(crate) fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// The directory that the wrapper left in the report, if any.
pub(crate) fn reported_cwd(report: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(report).ok()?;
    Some(text.strip_suffix('\n').unwrap_or(text)).filter(|path| path.starts_with('/'))
}

fn survivors(exit: &Exit) -> Option<String> {
    if exit.survivor_count == 0 {
        return None;
    }
    let mut names: Vec<String> =
        exit.survivors.iter().map(|survivor| format!("{} (pid {})", survivor.name, survivor.pid)).collect();
    if exit.survivor_count > names.len() {
        names.push(format!("{} more", exit.survivor_count - names.len()));
    }
    let (count, were) = match exit.survivor_count {
        1 => ("1 process".to_owned(), "was"),
        count => (counted(u64::try_from(count).unwrap_or(u64::MAX), "process"), "were"),
    };
    Some(format!("{count} left running in the background {were} stopped: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Layer, StopReason, Survivor};

    fn exit(status: Status) -> Exit {
        Exit {
            status,
            reason: StopReason::Itself,
            survivors: Vec::new(),
            survivor_count: 0,
            report: Vec::new(),
            confined: None,
        }
    }

    fn ending<'a>(output: &'a str, exit: &'a Exit) -> Ending<'a> {
        Ending { output, exit, took: Duration::from_millis(20), moved_to: None, gone: None, more: &[] }
    }

    #[test]
    fn the_status_is_always_the_last_line() {
        assert_eq!(ending("", &exit(Status::Code(0))).text(), "[exit 0]");
        assert_eq!(ending("a\n", &exit(Status::Code(3))).text(), "a\n[exit 3]");
        assert_eq!(ending("a", &exit(Status::Signal(9))).text(), "a\n[killed by signal 9]");
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_told_before_it() {
        let exit = Exit {
            survivors: vec![Survivor { pid: 12, name: "sleep".to_owned() }],
            survivor_count: 2,
            ..exit(Status::Code(0))
        };
        let ending = Ending {
            took: Duration::from_millis(3_240),
            moved_to: Some("/w/src"),
            gone: Some("/w/old"),
            ..ending("ready\n", &exit)
        };
        assert_eq!(
            ending.text(),
            "ready\n\
             [the working directory /w/old is gone; this ran in the workspace root]\n\
             [2 processes left running in the background were stopped: sleep (pid 12), 1 more]\n\
             [cwd now /w/src]\n\
             [exit 0] [took 3.2 s]"
        );
    }

    #[test]
    fn advice_is_given_on_failures_only() {
        let output = "error: there was a problem with the editor 'false'\n";
        assert!(ending(output, &exit(Status::Code(1))).text().contains("git commit -m"));
        assert!(!ending(output, &exit(Status::Code(0))).text().contains("git commit -m"));
    }

    #[test]
    fn what_the_sandbox_stopped_and_what_it_lacks_is_told() {
        let whole = Confined { layers: vec![Layer::Namespaces], ..Confined::default() };
        let confined =
            |code, confined: Confined| Exit { confined: Some(confined), ..exit(Status::Code(code)) };
        let output = "touch: cannot touch '/opt/x': Read-only file system\n";
        assert!(ending(output, &confined(1, whole.clone())).text().contains("outside=true"));
        assert!(!ending(output, &confined(0, whole.clone())).text().contains("outside"));
        assert!(!ending("error: mismatched types\n", &confined(1, whole.clone())).text().contains("outside"));
        assert!(!ending(output, &exit(Status::Code(1))).text().contains("outside"));
        let git = "error: could not write config file .git/config: Device or resource busy\n";
        assert!(ending(git, &confined(4, whole.clone())).text().contains("git's settings"));
        assert!(!ending(git, &exit(Status::Code(4))).text().contains("git's settings"));
        let noticed = Confined { noticed: vec!["/w/x was set aside".to_owned()], ..whole.clone() };
        assert_eq!(ending("", &confined(0, noticed)).text(), "[/w/x was set aside]\n[exit 0]");
        let partly = Confined { gaps: vec!["the network can be reached".into()], ..whole };
        assert_eq!(
            ending("", &confined(0, partly)).text(),
            "[the sandbox isn't whole: the network can be reached]\n[exit 0]"
        );
    }

    #[test]
    fn the_report_names_a_directory_or_nothing() {
        assert_eq!(reported_cwd(b"/w/a b\n"), Some("/w/a b"));
        assert_eq!(reported_cwd(b"/w/ends in newline\n\n"), Some("/w/ends in newline\n"));
        assert_eq!(reported_cwd(b""), None);
        assert_eq!(reported_cwd(b"\n"), None);
        assert_eq!(reported_cwd(b"/w/\xff\n"), None);
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Duration::from_millis(300)), "300 ms");
        assert_eq!(seconds(Duration::from_secs(2)), "2 s");
        assert_eq!(seconds(Duration::from_millis(2_500)), "2.5 s");
    }
}
