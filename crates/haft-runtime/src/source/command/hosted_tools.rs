//! Tools of an extension whose main file runs under Node, Deno or Bun.
//!
//! Nothing of it runs before a call was allowed, so that the extension's manifest says what tools there are. Each is a
//! command like any other: a process of its own, in the sandbox, in which the extension is activated first.

use super::{
    CommandLine, CommandTool, JsRuntime, Loaded, ManifestText, OutputForm, content,
    manifest::parse_registered,
};
use haft_core::{Files, RealPath};
use serde_json::{Value, json};
use std::sync::Arc;

/// What an extension's manifest says of the tools that its main file registers.
#[derive(Debug)]
pub struct HostedTools<'a> {
    /// What its main file runs under.
    pub runtime: JsRuntime,
    /// Its main file, relative to its folder; the ending may be left out.
    pub main: &'a str,
    /// The extension's id.
    pub id: &'a str,
    /// Its folder, links followed.
    pub folder: &'a RealPath,
    /// What is said of each tool, by the names that `tool.json` has.
    pub tools: Vec<Value>,
}

impl HostedTools<'_> {
    /// The tools as commands; `from` is the extension's manifest. Blocking.
    pub fn load(&self, files: &dyn Files, from: &ManifestText<'_>) -> Loaded {
        let mut loaded = Loaded::default();
        let said = json!([self.runtime.name(), self.main, self.id, self.tools]).to_string();
        let hashed = match content::hash(files, self.folder, &said) {
            Ok(hashed) => hashed,
            Err(why) => {
                let text = format!("the extension's content can't be hashed: {why}");
                let fix = "keep only what it needs in its folder, and node_modules beside it".to_owned();
                loaded.problems.push(from.problem(1, text, fix));
                return loaded;
            }
        };
        let entries: Arc<[(String, String)]> = hashed.entries.into();
        for said in &self.tools {
            let name = said.get("name").and_then(Value::as_str).unwrap_or_default();
            let line = line_of(from.text, name);
            let placed = |mut problem: crate::catalogue::Problem| {
                problem.line = Some(line);
                problem
            };
            let of_tool = ManifestText { folder: name, ..*from };
            let mut data = said.clone();
            if let Some(fields) = data.as_object_mut() {
                fields.insert("runtime".to_owned(), Value::from(self.runtime.name()));
                fields.insert("main".to_owned(), Value::from(self.main));
            }
            let mut manifest = match parse_registered(&of_tool, data) {
                Ok(manifest) => manifest,
                Err(problems) => {
                    loaded.problems.extend(problems.into_iter().map(placed));
                    continue;
                }
            };
            loaded.problems.extend(std::mem::take(&mut manifest.warnings).into_iter().map(placed));
            let CommandLine::Module(hosted) = manifest.command else { continue };
            let mut hosted = hosted.of_extension(self.id);
            if let Err((text, fix)) = hosted.find_main(files, self.folder) {
                // It is the same for all of them.
                loaded.problems.push(from.problem(1, text, fix));
                return loaded;
            }
            loaded.tools.push(CommandTool {
                spec: Arc::new(manifest.spec),
                command: CommandLine::Module(hosted),
                output: OutputForm::Events,
                folder: self.folder.clone(),
                merged: false,
                hash: Arc::clone(&hashed.hash),
                entries: Arc::clone(&entries),
                path: from.path.to_owned(),
                name_line: line,
            });
        }
        loaded
    }
}

/// The line of a manifest on which a tool is named, else the first.
fn line_of(text: &str, name: &str) -> usize {
    let quoted = format!("\"{name}\"");
    text.lines().position(|line| line.contains(&quoted)).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::fake::Tree;
    use super::*;

    const TEXT: &str = "{\n\"toolMetadata\": [\n{\"id\": \"to_table\"},\n{\"id\": \"bad\"}]}";

    fn load(main: &str) -> Loaded {
        let tree = Tree::default().with("/w/e/pack/extension.json", TEXT, 0o644).with(
            "/w/e/pack/main.mjs",
            "",
            0o644,
        );
        let folder = RealPath::new("/w", "e/pack");
        let tools = vec![
            json!({"name": "to_table", "description": "d", "readOnly": true, "icon": "i"}),
            json!({"name": "bad", "description": "d", "riskTier": "high"}),
        ];
        let from = ManifestText {
            text: TEXT,
            folder: "pack",
            path: "e/pack/extension.json",
            owner: "extension:pack",
        };
        HostedTools { runtime: JsRuntime::Node, main, id: "pack", folder: &folder, tools }.load(&tree, &from)
    }

    #[test]
    fn each_is_a_confined_command_and_a_bad_one_takes_no_other_down() {
        let loaded = load("main");
        let [tool] = &loaded.tools[..] else { panic!("{:?}", loaded.problems) };
        assert_eq!((&*tool.spec.name, tool.command.to_string().as_str()), ("to_table", "node main.mjs"));
        assert!(tool.spec.confined);
        let argv = tool.command.argv("/w/e/pack");
        let (first, _) = argv[argv.len() - 1].split_once('\n').unwrap();
        assert!(first.contains(r#""extension":"pack""#) && first.contains(r#""name":"to_table""#), "{first}");
        let [problem] = &loaded.problems[..] else { panic!("{:?}", loaded.problems) };
        assert_eq!((problem.line, problem.path.as_deref()), (Some(4), Some("e/pack/extension.json")));
        assert!(problem.text.contains("unknown variant `high`"), "{problem}");
    }

    #[test]
    fn a_main_file_that_is_not_there_is_told_of_once() {
        let loaded = load("gone");
        assert!(loaded.tools.is_empty());
        let texts: Vec<&str> = loaded.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(texts, ["\"main\" is no file of the folder: gone"]);
    }
}
