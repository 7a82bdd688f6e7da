//! A tool whose code is a command.

use super::{CommandLine, OutputForm, run};
use haft_core::{
    AnyTool, Bound, BoxFuture, Command, Cx, Effects, Failure, Output, OwnCheck, Preview, RealPath,
    SessionView, Spec, Why,
};
use serde_json::Value;
use std::sync::Arc;

/// A tool from a command folder.
#[derive(Debug, Clone)]
pub struct CommandTool {
    pub(super) spec: Arc<Spec>,
    pub(super) command: CommandLine,
    pub(super) output: OutputForm,
    pub(super) folder: RealPath,
    pub(super) merged: bool,
    pub(super) hash: Arc<str>,
    pub(super) path: String,
    pub(super) name_line: usize,
    pub(super) ask: Option<Arc<str>>,
}

impl CommandTool {
    /// SHA-256 over the manifest and all that lies in the folder, in hex.
    pub fn hash(&self) -> &Arc<str> {
        &self.hash
    }

    /// The folder it runs in.
    pub fn folder(&self) -> &RealPath {
        &self.folder
    }

    /// What it runs.
    pub fn command(&self) -> &CommandLine {
        &self.command
    }

    /// Its manifest, as it is shown to people.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The line of the name in the manifest.
    pub fn name_line(&self) -> usize {
        self.name_line
    }

    /// The process for one call. It has no deadline of its own: the call's cancel ends it.
    pub(super) fn process(&self, input: &Value, cx: &Cx) -> Result<Command, Failure> {
        let stdin = serde_json::to_vec(input)
            .map_err(|error| Failure::internal("the input has no JSON form").diagnose(error.to_string()))?;
        let env = vec![
            ("HAFT_WORKSPACE".to_owned(), cx.world.files.workspace().absolute()),
            ("HAFT_CALL_ID".to_owned(), cx.call.to_string()),
            ("HAFT_SESSION".to_owned(), cx.session.id().to_string()),
            // Compiled files beside the code would change the folder's hash, and the tool would ask anew.
            ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
        ];
        let argv = self.command.argv(&self.folder.absolute());
        Ok(Command { env, stdin, merged: self.merged, ..Command::new(argv, self.folder.clone()) })
    }
}

impl AnyTool for CommandTool {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn starts_processes(&self) -> bool {
        true
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Ok(Box::new(BoundCommand { tool: self, input }))
    }
}

struct BoundCommand {
    tool: Arc<CommandTool>,
    input: Arc<Value>,
}

impl Bound for BoundCommand {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        match &self.tool.spec.effects {
            Some(template) => template.fill(&self.input).unwrap_or(Effects::Everything),
            None => Effects::Everything,
        }
    }

    fn check(&self, _: &dyn SessionView) -> Option<OwnCheck> {
        let reason = self.tool.ask.as_ref()?;
        let source = Some(format!("{}:{}", self.tool.path, self.tool.name_line));
        Some(OwnCheck::Ask(Why { gate: "tool".into(), reason: reason.to_string(), rule: None, source }))
    }

    fn preview<'a>(&'a self, _: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        let text = format!("$ {}\nin {}", self.tool.command, self.tool.folder);
        let digest = self.tool.hash.as_bytes().to_vec();
        Box::pin(std::future::ready(Ok(Preview { text, digest })))
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move { run::run(&self.tool, &self.input, &cx).await })
    }
}
