//! The declaration and the run of `bash`.

use super::{
    editor::waits_for_a_person,
    input::{BashInput, TIMEOUT_MAX_MS},
    place::Place,
    script::{argv, variables},
    settings::BashSettings,
};
use crate::{
    job::{ended_meanwhile, how_to_go_on, kept},
    program::{Ending, gaps, noted, reported_cwd, seconds, timed_out, with_partial},
};
use haft_core::{
    Captured, Command, Cx, Effects, Exit, Failure, FailureKind, Job, JobOrder, JobView, JobWait, Output,
    Preview, SHELL_FOLDER, SessionView, Shape, Shell, Spec, StopReason, TerminalSize, Tether, Tool, Touch,
    Waited,
};
use serde_json::{Value, json};
use std::{fmt::Write, time::Duration};

/// Added to the longest timeout: stopping the tree and taking its last output, so that the tool's own
/// deadline always comes before the runtime's.
const GRACE: Duration = Duration::from_secs(15);
/// How long the first output of a job, or its early end, is waited for.
const FIRST_LOOK: Duration = Duration::from_millis(500);
/// A job that has printed something and then nothing for so long has said what it has to say at first.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// Runs a command line in a shell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BashTool {
    settings: BashSettings,
}

impl BashTool {
    pub(crate) fn new(settings: BashSettings) -> Self {
        Self { settings }
    }

    fn command(self, shell: &str, input: &BashInput, place: &Place) -> Command {
        let is_open = input.has_terminal() || (input.is_background() && !input.is_kept());
        Command {
            env: variables(input.has_terminal()),
            merged: true,
            // A command that the call waits for may go on afterwards: its time is the tool's to keep.
            deadline: input.job_deadline().filter(|_| input.is_background()),
            report: !input.is_background(),
            terminal: input.has_terminal().then(TerminalSize::default),
            tether: Some(if is_open { Tether::open() } else { Tether::closed() }),
            quiet_after: Some(self.settings.quiet_after),
            keep: input.is_kept(),
            ..Command::new(argv(shell, &input.command), place.at.clone())
        }
    }
}

impl Tool for BashTool {
    type Input = BashInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("bash", include_str!("prompt.md").trim())
            .with_aliases(&["Bash"])
            .with_input_aliases("command", &["cmd", "script"])
            .with_input_aliases("timeout", &["timeout_ms"])
            .with_input_aliases("cwd", &["workdir"])
            .with_input_aliases("background", &["run_in_background", "runInBackground"])
            .with_input_aliases("onTimeout", &["on_timeout"])
            .with_input_aliases("pty", &["tty"])
            .with_category("shell")
            .with_capabilities(&["shell.arbitrary"])
            .with_timeout(Duration::from_millis(TIMEOUT_MAX_MS) + GRACE)
            .with_display("❯", "Running")
            .confined()
            .long_running()
    }

    fn validate(&self, input: &BashInput) -> Result<(), Failure> {
        input.check()?;
        match waits_for_a_person(&input.command).filter(|_| !input.has_terminal()) {
            Some(why) => Err(Failure::invalid(why)),
            None => Ok(()),
        }
    }

    fn effects(&self, input: &BashInput, _: &dyn SessionView) -> Effects {
        let command = Touch::Command(input.command.as_str().into());
        let mut touches = match &input.cwd {
            Some(cwd) => vec![command, Touch::Read(cwd.clone())],
            None if input.is_background() => vec![command],
            None => vec![command, Touch::Session(SHELL_FOLDER.into())],
        };
        touches.extend(input.outside.then_some(Touch::Unconfined));
        touches.extend(input.is_kept().then_some(Touch::Outlives));
        Effects::Only(touches)
    }

    async fn preview(&self, input: &BashInput, cx: &Cx) -> Result<Preview, Failure> {
        // Before anybody is asked.
        refuse_where_nothing_goes_on(input, cx)?;
        Ok(Preview { text: input.command.clone(), digest: Vec::new() })
    }

    async fn run(&self, input: BashInput, cx: &Cx) -> Result<Output, Failure> {
        refuse_where_nothing_goes_on(&input, cx)?;
        let place = Place::choose(&input, cx).await?;
        // Where a job goes is its own affair.
        let place = Place { persists: place.persists && !input.is_background(), ..place };
        // The gates read the line as this shell's language.
        let shell = match cx.world.processes.shell() {
            Shell::Bash => "bash",
            Shell::Posix => "sh",
        };
        let order = JobOrder {
            command: self.command(shell, &input, &place),
            line: input.command.as_str().into(),
            background: input.is_background(),
        };
        let job = cx.jobs.start(order).await?;
        let run = Run { input: &input, place: &place, job: job.as_ref(), cx };
        if input.is_background() { run.first_look().await } else { run.to_its_end().await }
    }
}

/// A process that makes one call has nobody who could look at a job later.
fn refuse_where_nothing_goes_on(input: &BashInput, cx: &Cx) -> Result<(), Failure> {
    let needs_later = (input.is_background() && !input.is_kept()) || input.goes_on();
    if cx.jobs.go_on() || !needs_later {
        return Ok(());
    }
    let field = if input.is_background() { "background" } else { "onTimeout" };
    let text = format!(
        "/{field} can't be done, so nothing ran: this process ends with this call, and a job would end with it. Run the \
         command to its end with a timeout of up to {TIMEOUT_MAX_MS}; or start one that outlives this process with \
         background=true and keep=true (the user is asked); jobs that can be looked at later are there in `haft serve \
         mcp`, `haft run` and the console"
    );
    Err(Failure { retryable: false, ..Failure::new(FailureKind::Unavailable, text) })
}

/// A command that runs, and the call that started it.
struct Run<'a> {
    input: &'a BashInput,
    place: &'a Place,
    job: &'a dyn Job,
    cx: &'a Cx,
}

impl Run<'_> {
    /// Waits for its end, or until it is to go on without the call.
    async fn to_its_end(&self) -> Result<Output, Failure> {
        let limit = JobWait { limit: Some(self.input.deadline()), ..JobWait::default() };
        match self.job.wait(limit, &self.cx.cancel).await {
            Waited::Released => self.goes_on(None),
            Waited::Cancelled => Err(self.stopped(Failure::cancelled()).await),
            Waited::Limit if self.input.goes_on() => match self.job.release() {
                Ok(_) => self.goes_on(Some(self.input.deadline())),
                // It ended at the last moment, or there are too many jobs.
                Err(_) if self.job.view().end.is_some() => self.ended(),
                Err(failure) => self.late(Some(&failure)).await,
            },
            Waited::Limit => self.late(None).await,
            Waited::Ended | Waited::Said | Waited::Paused => self.ended(),
        }
    }

    /// Its time has run out.
    async fn late(&self, unmoved: Option<&Failure>) -> Result<Output, Failure> {
        let quiet = self.job.view().quiet;
        let mut late = self.timed_out();
        if let Some(failure) = unmoved {
            // Writing to a string can't fail.
            let _ = write!(late.text, ". It couldn't go on in the background: {failure}");
        }
        if let Some(quiet) = quiet {
            let _ = write!(
                late.text,
                ". Before that {quiet}. If it asks for something, use its non-interactive form, or start it with \
                 background=true and pty=true and write to it"
            );
        }
        Err(self.stopped(late).await)
    }

    /// The failure, with the output there was until the command was stopped.
    async fn stopped(&self, failure: Failure) -> Failure {
        let failure = self.job.stop().await.err().unwrap_or(failure);
        match self.job.read() {
            Ok(captured) => with_partial(failure, captured),
            Err(_) => failure,
        }
    }

    /// It has ended by itself.
    fn ended(&self) -> Result<Output, Failure> {
        let (view, captured) = (self.job.view(), self.job.read()?);
        match view.end {
            Some(Ok(exit)) if exit.reason == StopReason::Itself => {
                Ok(completed(&exit, captured, self.place, view.ran, &self.news()?))
            }
            Some(Ok(exit)) if exit.reason == StopReason::Deadline => {
                Err(with_partial(self.timed_out(), captured))
            }
            Some(Ok(_)) => Err(with_partial(Failure::cancelled(), captured)),
            Some(Err(failure)) => Err(with_partial(failure, captured)),
            None => Err(Failure::internal("the command's end isn't known")),
        }
    }

    /// It is a job now; `after` is the time that had run out, none where the user moved it.
    fn goes_on(&self, after: Option<Duration>) -> Result<Output, Failure> {
        let why = match after {
            Some(time) => format!("it took longer than {}, so it goes on in the background", seconds(time)),
            None => "the user moved it to the background".to_owned(),
        };
        self.running(&[why])
    }

    /// The first moment of a job.
    async fn first_look(&self) -> Result<Output, Failure> {
        let look = JobWait { limit: Some(FIRST_LOOK), pause: Some(FIRST_PAUSE), ..JobWait::default() };
        match self.job.wait(look, &self.cx.cancel).await {
            Waited::Cancelled => Err(self.stopped(Failure::cancelled()).await),
            Waited::Ended => self.ended(),
            _ => self.running(&[]),
        }
    }

    /// What there is of a command that goes on.
    fn running(&self, why: &[String]) -> Result<Output, Failure> {
        let (view, captured) = (self.job.view(), self.job.read()?);
        let mut notes = why.to_vec();
        if let Some(gone) = &self.place.gone {
            notes.push(format!("the working directory {gone} is gone; this runs in the workspace root"));
        }
        if let Some(time) =
            view.id.as_ref().and_then(|_| self.input.job_deadline()).filter(|_| why.is_empty())
        {
            notes.push(format!("it is stopped after {}", seconds(time)));
        }
        notes.extend(kept(&view));
        notes.extend(view.confined.as_ref().filter(|confined| !confined.is_whole()).map(gaps));
        notes.extend(self.news()?);
        notes.push(how_to_go_on(&view));
        let text = noted(captured.text, &notes, &standing(&view));
        let output = Output::text(text).with_metadata(metadata(&view));
        Ok(Output { shape: Shape::HeadTail, truncation: captured.truncation, ..output })
    }

    /// Jobs that ended while nobody looked.
    fn news(&self) -> Result<Vec<String>, Failure> {
        Ok(ended_meanwhile(&self.cx.jobs.ended_unseen()?))
    }

    fn timed_out(&self) -> Failure {
        timed_out(self.input.deadline(), Duration::from_millis(TIMEOUT_MAX_MS))
    }
}

/// The last line of what goes on.
fn standing(view: &JobView) -> String {
    let pid = view.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
    format!("[runs as {}{pid}]", view.id.as_deref().unwrap_or("a job"))
}

fn metadata(view: &JobView) -> Value {
    json!({ "job": view.id, "pid": view.pid, "kept": view.kept, "cwd": view.folder, "sandbox": view.confined })
}

fn completed(exit: &Exit, captured: Captured, place: &Place, took: Duration, news: &[String]) -> Output {
    let start = place.at.absolute();
    let cwd = reported_cwd(&exit.report).unwrap_or(&start);
    let moved = place.persists && cwd != start;
    let ending = Ending {
        output: &captured.text,
        exit,
        took,
        moved_to: moved.then_some(cwd),
        gone: place.gone.as_deref(),
        more: news,
    };
    let mut output = Output::text(ending.text()).with_metadata(ending.metadata(cwd));
    if moved || place.persists && place.gone.is_some() {
        output.session.push((SHELL_FOLDER.into(), Value::String(cwd.to_owned())));
    }
    output.shape = Shape::HeadTail;
    output.truncation = captured.truncation;
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoSession;
    use haft_core::{PathArg, RealPath, Status};
    use std::sync::Arc;

    fn input(value: Value) -> BashInput {
        serde_json::from_value(value).unwrap()
    }

    fn exit(report: &[u8]) -> Exit {
        Exit {
            status: Status::Code(0),
            reason: StopReason::Itself,
            survivors: Vec::new(),
            survivor_count: 0,
            report: report.to_vec(),
            confined: None,
        }
    }

    fn place(persists: bool, gone: Option<&str>) -> Place {
        Place { at: RealPath::new("/w", ""), persists, gone: gone.map(str::to_owned) }
    }

    #[test]
    fn effects_name_the_whole_line() {
        let effects = BashTool::default().effects(&input(json!({"command": "ls; rm x"})), &NoSession);
        assert_eq!(
            effects,
            Effects::Only(vec![Touch::Command("ls; rm x".into()), Touch::Session("cwd".into())])
        );
        let effects = BashTool::default().effects(&input(json!({"command": "ls", "cwd": "a"})), &NoSession);
        assert_eq!(
            effects,
            Effects::Only(vec![Touch::Command("ls".into()), Touch::Read(PathArg::from("a"))])
        );
    }

    #[test]
    fn a_job_changes_nothing_of_the_session_and_says_where_it_goes_beyond_it() {
        let tool = BashTool::default();
        let of = |value| tool.effects(&input(value), &NoSession);
        let command = || Touch::Command("make".into());
        assert_eq!(of(json!({"command": "make", "background": true})), Effects::Only(vec![command()]));
        assert_eq!(
            of(json!({"command": "make", "background": true, "keep": true})),
            Effects::Only(vec![command(), Touch::Outlives])
        );
    }

    #[test]
    fn only_what_may_be_written_to_has_its_input_open() {
        let made = |value: Value| BashTool::default().command("bash", &input(value), &place(true, None));
        let is_open = |value: Value| made(value).tether.unwrap().takes_input();
        assert!(!is_open(json!({"command": "a"})));
        assert!(is_open(json!({"command": "a", "background": true})));
        assert!(is_open(json!({"command": "a", "pty": true})));
        assert!(!is_open(json!({"command": "a", "background": true, "keep": true})));
        let timed = made(json!({"command": "a", "timeout": 5}));
        assert!(timed.deadline.is_none() && timed.report && !timed.keep, "the tool keeps the time");
        let job = made(json!({"command": "a", "timeout": 5, "background": true}));
        assert!(job.deadline == Some(Duration::from_millis(5)) && !job.report);
    }

    #[test]
    fn the_own_deadline_comes_before_the_runtimes() {
        assert!(BashTool::default().spec().timeout() > Duration::from_millis(TIMEOUT_MAX_MS));
    }

    #[test]
    fn a_moved_shell_stays_where_it_went_unless_the_call_named_its_folder() {
        let moved =
            completed(&exit(b"/w/src\n"), Captured::default(), &place(true, None), Duration::ZERO, &[]);
        assert_eq!(moved.session, [(Arc::<str>::from("cwd"), json!("/w/src"))]);
        let once =
            completed(&exit(b"/w/src\n"), Captured::default(), &place(false, None), Duration::ZERO, &[]);
        assert!(once.session.is_empty() && once.joined_text() == "[exit 0]");
        let still = completed(&exit(b"/w\n"), Captured::default(), &place(true, None), Duration::ZERO, &[]);
        assert!(still.session.is_empty() && still.joined_text() == "[exit 0]");
    }

    #[test]
    fn a_folder_that_is_gone_is_forgotten() {
        let output =
            completed(&exit(b""), Captured::default(), &place(true, Some("/w/old")), Duration::ZERO, &[]);
        assert_eq!(output.session, [(Arc::<str>::from("cwd"), json!("/w"))]);
        assert!(output.joined_text().contains("/w/old is gone"));
    }
}
