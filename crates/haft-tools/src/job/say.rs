//! How jobs are told of; pure.

use crate::{
    program::{gaps, seconds, status},
    text::size,
};
use haft_core::{Exit, Failure, JobView, StopReason};
use std::time::Duration;

/// How much of a command line is shown.
const LINE_MAX_CHARS: usize = 80;
/// How many jobs that ended meanwhile are named.
const NAMED_MAX: usize = 5;

/// A command line, short and on one line.
fn line_of(line: &str) -> String {
    let flat = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(LINE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None => flat,
    }
}

/// What the model can do with a job that runs.
pub(crate) fn how_to_go_on(job: &JobView) -> String {
    let write = if job.takes_input { ", write to it" } else { "" };
    format!("the tool job can read what it prints, wait{write} or stop it")
}

/// What is to be known of a job that outlives the session.
pub(crate) fn kept(job: &JobView) -> Option<String> {
    let pid = job.pid.filter(|_| job.kept)?;
    Some(format!(
        "it goes on after the session; kill -9 {pid} ends it then, with all it started. What it prints after the session \
         isn't kept: have it write to a file where that is needed"
    ))
}

/// Jobs that have ended and that no call has told of.
pub(crate) fn ended_meanwhile(jobs: &[JobView]) -> Vec<String> {
    let mut notes: Vec<String> = jobs
        .iter()
        .take(NAMED_MAX)
        .map(|job| {
            let more = if job.unread > 0 { "; job read shows what it printed" } else { "" };
            format!("{} ({}): {}{more}", name(job), line_of(&job.line), stands(job))
        })
        .collect();
    let left_out = jobs.len().saturating_sub(NAMED_MAX);
    if left_out > 0 {
        notes.push(format!("{left_out} more jobs have ended; job list shows them"));
    }
    notes
}

/// One job in a list.
pub(super) fn row(job: &JobView) -> String {
    let mut parts = vec![name(job).to_owned(), stands(job)];
    if let Some(pid) = job.pid.filter(|_| job.end.is_none()) {
        parts.push(format!("pid {pid}"));
    }
    if job.unread > 0 {
        parts.push(format!("{} unread", size(job.unread)));
    }
    if job.kept {
        parts.push("kept".to_owned());
    }
    format!("{}: {}", parts.join(", "), line_of(&job.line))
}

/// Its name.
pub(super) fn name(job: &JobView) -> &str {
    job.id.as_deref().unwrap_or("the command")
}

/// Whether it runs, or how it ended.
pub(super) fn stands(job: &JobView) -> String {
    match &job.end {
        None if job.silent >= Duration::from_secs(1) => {
            format!("runs for {}, last output {} ago", whole(job.ran), whole(job.silent))
        }
        None => format!("runs for {}", whole(job.ran)),
        Some(Ok(exit)) => format!("{}{} after {}", why(exit), status(exit.status), whole(job.ran)),
        Some(Err(failure)) => failed(failure),
    }
}

fn why(exit: &Exit) -> &'static str {
    match exit.reason {
        StopReason::Itself => "",
        StopReason::Deadline => "stopped at its timeout, ",
        StopReason::Cancelled => "stopped, ",
    }
}

fn failed(failure: &Failure) -> String {
    format!("interrupted: {}", failure.text)
}

/// What stands below the output of a job that runs.
pub(super) fn notes(job: &JobView) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(job.quiet.as_ref().map(ToString::to_string));
    if job.waiting > 0 {
        notes.push(format!("it hasn't read {} bytes of its input yet", job.waiting));
    }
    notes.extend(job.confined.as_ref().filter(|confined| !confined.is_whole()).map(gaps));
    notes
}

/// A time to the second from ten seconds on, so that nobody reads more into it.
fn whole(time: Duration) -> String {
    if time < Duration::from_secs(10) { seconds(tenths(time)) } else { format!("{} s", time.as_secs()) }
}

fn tenths(time: Duration) -> Duration {
    if time < Duration::from_secs(1) { time } else { Duration::from_millis(ms(time) / 100 * 100) }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, FailureKind, Status};

    fn job(end: Option<Result<Exit, Failure>>) -> JobView {
        JobView {
            id: Some("job-1".into()),
            call: CallId::outer(3),
            line: "npm  run\nstart".into(),
            folder: "/w".to_owned(),
            pid: Some(12),
            kept: false,
            terminal: false,
            takes_input: true,
            confined: None,
            ran: Duration::from_millis(12_345),
            silent: Duration::from_millis(3_250),
            quiet: None,
            unread: 1_536,
            waiting: 0,
            unfinished: String::new(),
            end,
        }
    }

    fn exit(status: Status, reason: StopReason) -> Exit {
        Exit { status, reason, survivors: Vec::new(), survivor_count: 0, report: Vec::new(), confined: None }
    }

    #[test]
    fn a_row_says_how_it_stands() {
        assert_eq!(
            row(&job(None)),
            "job-1, runs for 12 s, last output 3.2 s ago, pid 12, 1.5 KiB unread: npm run start"
        );
        let ended = job(Some(Ok(exit(Status::Code(1), StopReason::Itself))));
        assert_eq!(row(&ended), "job-1, exit 1 after 12 s, 1.5 KiB unread: npm run start");
        let stopped = job(Some(Ok(exit(Status::Signal(15), StopReason::Cancelled))));
        assert!(row(&stopped).contains("stopped, killed by signal 15"));
        let lost = job(Some(Err(Failure::new(FailureKind::Unavailable, "haft ended"))));
        assert!(row(&lost).contains("interrupted: haft ended"));
    }

    #[test]
    fn what_ended_meanwhile_is_named_and_the_rest_counted() {
        let ended = job(Some(Ok(exit(Status::Code(0), StopReason::Itself))));
        let notes = ended_meanwhile(&vec![ended; 7]);
        assert_eq!(notes.len(), 6);
        assert_eq!(notes[0], "job-1 (npm run start): exit 0 after 12 s; job read shows what it printed");
        assert!(notes[5].starts_with("2 more jobs"));
        assert!(ended_meanwhile(&[]).is_empty());
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        assert_eq!(line_of(&"é".repeat(100)).chars().count(), LINE_MAX_CHARS + 1);
    }
}
