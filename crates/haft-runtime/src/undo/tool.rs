//! The tool `undo`.

use super::{
    input::UndoInput,
    job::{Job, known},
    plan::paths,
    target::{NAME, chosen},
};
use haft_core::{
    Cx, Effects, Exposure, Failure, Flags, Output, PathArg, Permission, Preview, Risk, SessionView, Spec,
    Tool, Touch,
};

/// Takes file changes back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UndoTool;

impl Tool for UndoTool {
    type Input = UndoInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        // Never beside other calls: what the last change is must be settled before.
        Spec::new(NAME, include_str!("prompt.md").trim_end())
            .with_aliases(&["Undo"])
            .with_input_aliases("call", &["call_id", "callId", "id"])
            .with_input_aliases("dryRun", &["dry_run"])
            .with_category("files")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .with_capabilities(&["fs.write"])
            .with_exposure(Exposure::Deferred)
            .with_display("↩️", "Undoing")
    }

    fn validate(&self, input: &UndoInput) -> Result<(), Failure> {
        input.target().map(drop)
    }

    fn effects(&self, input: &UndoInput, session: &dyn SessionView) -> Effects {
        let Ok(target) = input.target() else { return Effects::none() };
        let (changes, undone) = known(session);
        let calls = chosen(&target, &changes, &undone);
        let touch = |path: PathArg| if input.is_dry() { Touch::Read(path) } else { Touch::Write(path) };
        let paths = paths(&changes, &calls).into_iter().map(|path| touch(PathArg(path.absolute())));
        Effects::Only(paths.collect())
    }

    fn flags(&self, input: &UndoInput) -> Flags {
        if !input.is_dry() {
            return Flags::default();
        }
        Flags { read_only: Some(true), permission: Some(Permission::Auto), ..Flags::default() }
    }

    async fn preview(&self, input: &UndoInput, cx: &Cx) -> Result<Preview, Failure> {
        let job = Job::new(input.target()?, cx);
        cx.blocking(move || {
            let ready = job.ready()?;
            Ok(Preview { text: ready.shown(), digest: ready.plan.digest() })
        })
        .await
    }

    async fn run(&self, input: UndoInput, cx: &Cx) -> Result<Output, Failure> {
        let job = Job::new(input.target()?, cx);
        let cancel = cx.cancel.clone();
        let (output, changed) = cx
            .blocking(move || {
                let ready = job.ready()?;
                if input.is_dry() {
                    return Ok((job.dry(&ready), Vec::new()));
                }
                if cancel.is_fired() {
                    return Err(Failure::cancelled());
                }
                job.run(ready)
            })
            .await?;
        for path in &changed {
            cx.file_changed(path);
        }
        Ok(output)
    }
}
