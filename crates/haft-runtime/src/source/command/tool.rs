//! A tool whose code is a command.

use super::{CommandLine, OutputForm, content, run};
use haft_core::{
    AnyTool, Bound, BoxFuture, Command, Cx, Effects, Failure, Output, Preview, RealPath, SessionView, Spec,
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
    /// Name and digest of each entry of its folder.
    pub(super) entries: Arc<[(String, String)]>,
    pub(super) path: String,
    pub(super) name_line: usize,
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

    fn parts(&self) -> Vec<(String, String)> {
        let mut parts = vec![("command".to_owned(), self.command.to_string())];
        parts.extend(declared(&self.spec));
        let form = match self.output {
            OutputForm::Text => None,
            OutputForm::Json => Some("json"),
            OutputForm::Events => Some("events"),
        };
        parts.extend(form.map(|form| ("output".to_owned(), form.to_owned())));
        parts.extend(content::parts(&self.entries));
        parts
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Ok(Box::new(BoundCommand { tool: self, input }))
    }
}

/// What a declaration says, by the names that manifests use.
fn declared(spec: &Spec) -> impl Iterator<Item = (String, String)> {
    let manifest_name = |name: String| if name == "inputSchema" { "parameters".to_owned() } else { name };
    spec.said().into_iter().map(move |(name, text)| (manifest_name(name), text))
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

    fn preview<'a>(&'a self, _: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        let text = format!("$ {}\nin {}", self.tool.command, self.tool.folder);
        let digest = self.tool.hash.as_bytes().to_vec();
        Box::pin(std::future::ready(Ok(Preview { text, digest })))
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move { run::run(&self.tool, &self.input, &cx).await })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CommandRoot, fake::Tree, load_folder};
    use super::*;

    #[test]
    fn its_parts_are_what_it_says_and_what_lies_in_its_folder() {
        let manifest = r#"{"name": "x", "description": "d", "command": ["./run.sh", "a b"], "output": "json",
            "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "permission": "auto", "readOnly": true, "riskTier": "safe", "capabilities": ["fs.read"],
            "timeoutMs": 9, "effects": {"reads": ["src"]}, "sandbox": {"network": ["a.example"]}}"#;
        let tree = Tree::default().with("/w/t/x/tool.json", manifest, 0o644).with("/w/t/x/run.sh", "", 0o755);
        let (tool, problems) = load_folder(&tree, &CommandRoot::new(RealPath::new("/w", "t"), "t"), "x");
        assert!(problems.is_empty(), "{problems:?}");
        let parts = tool.unwrap().parts();
        assert_eq!(parts[0], ("command".to_owned(), "./run.sh 'a b'".to_owned()));
        let text = |name: &str| parts.iter().find(|part| part.0 == name).map(|part| part.1.as_str());
        let expected = [
            ("description", "d"),
            ("parameters", r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#),
            ("permission", "auto"),
            ("readOnly", "true"),
            ("risk", "safe"),
            ("capabilities", r#"["fs.read"]"#),
            ("timeoutMs", "9"),
            ("effects", r#"{"reads":["src"]}"#),
            ("sandbox", r#"{"network":["a.example"]}"#),
            ("output", "json"),
        ];
        for (name, said) in expected {
            assert_eq!(text(name), Some(said), "{name}");
        }
        assert!(text("file run.sh").is_some() && text("file tool.json").is_some());
        assert!(text("name").is_none() && text("idempotent").is_none());
    }
}
