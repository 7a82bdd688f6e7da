//! The declaration and the run of `job`.

use super::{
    input::{Action, JobInput, TIMEOUT_MAX_MS},
    say::{name, notes, row, stands},
};
use crate::program::{Ending, noted, seconds, with_partial};
use haft_core::{
    Captured, Confined, Cx, Effects, Exposure, Failure, Flags, Job, JobView, JobWait, Output, OwnCheck,
    PathArg, Permission, Preview, Risk, SessionView, Shape, Spec, StopReason, Tool, Touch, Waited, Why,
};
use serde_json::json;
use std::{fmt::Write, sync::Arc, time::Duration};

/// Added to the longest wait, so that the tool's own limit always comes before the runtime's.
const GRACE: Duration = Duration::from_secs(15);
/// How long what a job says to its input is waited for.
const ANSWER: Duration = Duration::from_secs(1);
/// A job that has answered and then printed nothing for so long has said what it has to say.
const ANSWER_PAUSE: Duration = Duration::from_millis(200);

/// Looks at jobs, writes to them, ends them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JobTool;

impl Tool for JobTool {
    type Input = JobInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("job", include_str!("prompt.md").trim_end())
            .with_input_aliases("id", &["job", "job_id", "jobId"])
            .with_input_aliases("timeout", &["timeout_ms"])
            .with_input_aliases("text", &["input", "stdin", "data"])
            .with_category("shell")
            .with_permission(Permission::Auto)
            .with_capabilities(&["shell.arbitrary"])
            .with_exposure(Exposure::Deferred)
            .with_timeout(Duration::from_millis(TIMEOUT_MAX_MS) + GRACE)
            .with_display("⏳", "Looking after")
            .confined()
            .long_running()
    }

    fn validate(&self, input: &JobInput) -> Result<(), Failure> {
        input.check()
    }

    /// What is written to a job is judged as a line that it may run, beside the job's own line: whoever may not run
    /// either may not write it.
    fn effects(&self, input: &JobInput, session: &dyn SessionView) -> Effects {
        let job = if input.action == Action::Write { session.job(input.id()) } else { None };
        let Some(job) = job else { return Effects::none() };
        let mut touches = vec![Touch::Command(Arc::clone(&job.line))];
        if !input.text().is_empty() {
            // With what was written before it, which the job may not have run yet.
            touches.push(Touch::Command(format!("{}{}", job.unfinished, input.text()).into()));
        }
        if !job.folder.is_empty() {
            touches.push(Touch::Read(PathArg(job.folder)));
        }
        touches.extend(job.confined.is_none().then_some(Touch::Unconfined));
        Effects::Only(touches)
    }

    fn flags(&self, input: &JobInput) -> Flags {
        match input.action {
            Action::List | Action::Read | Action::Wait => Flags {
                permission: Some(Permission::Auto),
                read_only: Some(true),
                concurrency_safe: Some(true),
                risk: Some(Risk::Safe),
                ..Flags::default()
            },
            Action::Write => {
                Flags { permission: Some(Permission::Confirm), read_only: Some(false), ..Flags::default() }
            }
            // Ending what the session itself started changes nothing else.
            Action::Stop => Flags {
                permission: Some(Permission::Confirm),
                mutates: Some(false),
                risk: Some(Risk::Standard),
                ..Flags::default()
            },
        }
    }

    /// What runs outside a whole sandbox may do anything with what it is told.
    fn check(&self, input: &JobInput, session: &dyn SessionView) -> Option<OwnCheck> {
        let job = (input.action == Action::Write).then(|| session.job(input.id())).flatten()?;
        let is_held = job.confined.as_ref().is_some_and(Confined::is_whole);
        (!is_held).then(|| {
            let reason =
                format!("{} runs outside the sandbox, and may do anything with this text", name(&job));
            OwnCheck::Ask(Why::new("own", reason))
        })
    }

    async fn preview(&self, input: &JobInput, cx: &Cx) -> Result<Preview, Failure> {
        // An unknown job is said before anybody is asked.
        let job = match input.action {
            Action::Write | Action::Stop => cx.jobs.find(input.id())?.view(),
            Action::List | Action::Read | Action::Wait => return Ok(Preview::default()),
        };
        let what = if input.action == Action::Stop { "stops" } else { "writes to" };
        let mut text = format!("{what} {}: {}", name(&job), job.line);
        if !input.text().is_empty() {
            // Writing to a string can't fail.
            let _ = write!(text, "\nthis text:\n{}", input.text());
        }
        if input.closes() {
            text.push_str("\nand ends its input");
        }
        Ok(Preview { text, digest: Vec::new() })
    }

    async fn run(&self, input: JobInput, cx: &Cx) -> Result<Output, Failure> {
        if input.action == Action::List {
            return list(cx);
        }
        let job = cx.jobs.find(input.id())?;
        match input.action {
            Action::List | Action::Read => shown(job.as_ref(), Captured::default(), &[]),
            Action::Wait => wait(&input, job.as_ref(), cx).await,
            Action::Write => write(&input, job.as_ref(), cx).await,
            Action::Stop => stop(job.as_ref()).await,
        }
    }
}

fn list(cx: &Cx) -> Result<Output, Failure> {
    let jobs = cx.jobs.list()?;
    // All of them are told of here.
    drop(cx.jobs.ended_unseen()?);
    let rows: Vec<String> = jobs.iter().map(row).collect();
    let text = if rows.is_empty() {
        "There are no jobs; bash with background=true starts one.".to_owned()
    } else {
        rows.join("\n")
    };
    Ok(Output::text(text).with_metadata(json!({ "jobs": jobs.len() })))
}

async fn wait(input: &JobInput, job: &dyn Job, cx: &Cx) -> Result<Output, Failure> {
    let wait = JobWait { limit: Some(input.limit()), text: input.until.clone(), pause: None };
    let note = match job.wait(wait, &cx.cancel).await {
        Waited::Cancelled => return Err(Failure::cancelled()),
        Waited::Said => format!("it printed {:?}", input.until.as_deref().unwrap_or_default()),
        Waited::Limit => match &input.until {
            Some(text) => format!("waited {}, and it didn't print {text:?}", seconds(input.limit())),
            None => format!("waited {}", seconds(input.limit())),
        },
        Waited::Ended => match &input.until {
            Some(text) => format!("it ended before it was seen to print {text:?}"),
            None => return shown(job, Captured::default(), &[]),
        },
        Waited::Released | Waited::Paused => return shown(job, Captured::default(), &[]),
    };
    shown(job, Captured::default(), &[note])
}

/// Writes, and shows what comes of it within a moment, after what was there before.
async fn write(input: &JobInput, job: &dyn Job, cx: &Cx) -> Result<Output, Failure> {
    let before = job.read()?;
    let mut note = format!("wrote {} bytes", input.text().len());
    let written = if input.text().is_empty() { Ok(()) } else { job.write(input.text().into()) };
    let closed = if input.closes() { written.and_then(|()| job.close()) } else { written };
    if let Err(failure) = closed {
        // What was read is shown once only.
        return Err(with_partial(failure, before));
    }
    if input.closes() {
        note.push_str(", and its input ends there");
    }
    let answer = JobWait { limit: Some(ANSWER), pause: Some(ANSWER_PAUSE), text: None };
    job.wait(answer, &cx.cancel).await;
    shown(job, before, &[note])
}

async fn stop(job: &dyn Job) -> Result<Output, Failure> {
    if job.view().end.is_some() {
        return shown(job, Captured::default(), &["it had ended already".to_owned()]);
    }
    job.stop().await?;
    shown(job, Captured::default(), &["it was stopped: nothing of it is left".to_owned()])
}

/// What a job printed since the last look, and how it stands.
fn shown(job: &dyn Job, before: Captured, more: &[String]) -> Result<Output, Failure> {
    let captured = job.read()?;
    let view = job.view();
    let mut output = before.text;
    output.push_str(&captured.text);
    let truncation = captured.truncation.or(before.truncation);
    let mut told = more.to_vec();
    if output.is_empty() {
        told.push("nothing printed since the last look".to_owned());
    }
    let text = if let Some(Ok(exit)) = &view.end {
        told.push(format!("{} has ended{}", name(&view), cause(exit.reason)));
        let ending =
            Ending { output: &output, exit, took: view.ran, moved_to: None, gone: None, more: &told };
        ending.text()
    } else {
        told.extend(notes(&view));
        noted(output, &told, &format!("[{} {}]", name(&view), stands(&view)))
    };
    let output = Output::text(text).with_metadata(metadata(&view));
    Ok(Output { shape: Shape::HeadTail, truncation, ..output })
}

fn cause(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Itself => "",
        StopReason::Deadline => ": its timeout had passed, and it was stopped",
        StopReason::Cancelled => ": it was stopped",
    }
}

fn metadata(view: &JobView) -> serde_json::Value {
    let exit = view.end.as_ref().and_then(|end| end.as_ref().ok());
    json!({
        "job": view.id,
        "pid": view.pid,
        "running": view.end.is_none(),
        "status": exit.map(|exit| exit.status),
        "durationMs": u64::try_from(view.ran.as_millis()).unwrap_or(u64::MAX),
        "sandbox": view.confined,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Layer, RealPath, Seen};
    use serde_json::Value;

    /// A session with one job.
    struct OneJob(Option<Confined>);

    impl SessionView for OneJob {
        fn id(&self) -> Arc<str> {
            "s".into()
        }
        fn state(&self, _: &str) -> Option<Value> {
            None
        }
        fn seen(&self, _: &RealPath) -> Option<Seen> {
            None
        }
        fn on_run_end(&self, _: Box<dyn FnOnce() + Send>) {}
        fn job(&self, id: &str) -> Option<JobView> {
            (id == "job-1").then(|| JobView {
                id: Some("job-1".into()),
                call: CallId::outer(1),
                line: "python3 -i".into(),
                folder: "/w/src".to_owned(),
                pid: Some(7),
                kept: false,
                terminal: true,
                takes_input: true,
                confined: self.0.clone(),
                ran: Duration::ZERO,
                silent: Duration::ZERO,
                quiet: None,
                unread: 0,
                waiting: 0,
                unfinished: String::new(),
                end: None,
            })
        }
    }

    fn input(value: Value) -> JobInput {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_written_is_judged_as_the_line_that_it_may_be() {
        let write = input(json!({"action": "write", "id": "job-1", "text": "rm -rf x\n"}));
        let line = |text: &str| Touch::Command(text.into());
        let folder = || Touch::Read(PathArg::from("/w/src"));
        let whole = Confined { layers: vec![Layer::Namespaces], gaps: Vec::new(), ..Confined::default() };
        let inside = OneJob(Some(whole));
        assert_eq!(
            JobTool.effects(&write, &inside),
            Effects::Only(vec![line("python3 -i"), line("rm -rf x\n"), folder()])
        );
        assert_eq!(
            JobTool.effects(&write, &OneJob(None)),
            Effects::Only(vec![line("python3 -i"), line("rm -rf x\n"), folder(), Touch::Unconfined])
        );
        assert_eq!(JobTool.check(&write, &inside), None);
        assert!(matches!(JobTool.check(&write, &OneJob(None)), Some(OwnCheck::Ask(_))));
        let flags = JobTool.flags(&write);
        assert_eq!((flags.permission, flags.read_only), (Some(Permission::Confirm), Some(false)));
    }

    #[test]
    fn looking_is_free_and_stopping_asks() {
        for action in ["list", "read", "wait"] {
            let flags = JobTool.flags(&input(json!({"action": action, "id": "job-1"})));
            assert_eq!((flags.permission, flags.read_only), (Some(Permission::Auto), Some(true)), "{action}");
        }
        let stop = input(json!({"action": "stop", "id": "job-1"}));
        assert_eq!(JobTool.flags(&stop).permission, Some(Permission::Confirm));
        assert_eq!(JobTool.effects(&stop, &OneJob(None)), Effects::none());
    }
}
