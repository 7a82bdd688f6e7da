//! A tool whose module runs under Node, Deno or Bun, for those that need packages.
//!
//! To haft it is a command like any other, whose text is put together here: it is asked, pinned and bounded as one, and
//! its process runs in the sandbox.

use haft_core::{Failure, FileKind, Files, PathArg, RealPath, Spec};
use serde::Deserialize;
use serde_json::json;
use std::{collections::BTreeSet, fmt, sync::Arc};

/// What stands around the module.
const AROUND: &str = include_str!("hosted.mjs");
/// The main files that are looked for where none is named.
const MAINS: [&str; 4] = ["index.ts", "index.mts", "index.js", "index.mjs"];
/// Endings that a named one may lack.
const ENDINGS: [&str; 5] = ["", ".ts", ".mts", ".js", ".mjs"];

/// A runtime for JavaScript that the user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsRuntime {
    /// Node, 18 or newer; for TypeScript 22.18 or newer.
    Node,
    /// Deno, 2 or newer.
    Deno,
    /// Bun, 1 or newer.
    Bun,
}

impl JsRuntime {
    /// The program.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Deno => "deno",
            Self::Bun => "bun",
        }
    }

    /// The command that runs a text, which follows.
    fn before_text(self) -> &'static [&'static str] {
        match self {
            Self::Node => &["node", "--no-warnings", "--input-type=module", "--eval"],
            // Packages are those that lie there, and nothing is written beside the tool, whose hash it would change.
            Self::Deno => &["deno", "eval", "--quiet", "--no-lock", "--node-modules-dir=manual"],
            // It would fetch what is missing, which nobody has seen.
            Self::Bun => &["bun", "--no-install", "--eval"],
        }
    }
}

/// A module and the runtime for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosted {
    runtime: JsRuntime,
    /// Its main file in the tool's folder; empty until it was looked for.
    main: String,
    name: Arc<str>,
    capabilities: BTreeSet<String>,
    /// The id of the extension whose `activate` registers the tool; none where the module exports it.
    extension: Option<String>,
}

impl Hosted {
    /// A module of the tool with that declaration.
    pub(super) fn new(runtime: JsRuntime, main: Option<String>, spec: &Spec) -> Self {
        let main = main.map(|main| main.trim_start_matches("./").to_owned()).unwrap_or_default();
        let (name, capabilities) = (Arc::clone(&spec.name), spec.capabilities.clone());
        Self { runtime, main, name, capabilities, extension: None }
    }

    /// The same of a tool that an extension registers.
    pub(super) fn of_extension(self, id: &str) -> Self {
        Self { extension: Some(id.to_owned()), ..self }
    }

    /// The argument vector.
    pub(super) fn argv(&self) -> Vec<String> {
        let mut about = json!({
            "runtime": self.runtime.name(),
            "name": &*self.name,
            "main": self.main,
            "capabilities": self.capabilities,
        });
        if let (Some(id), Some(fields)) = (&self.extension, about.as_object_mut()) {
            fields.insert("extension".to_owned(), id.as_str().into());
        }
        let before = self.runtime.before_text().iter().map(|word| (*word).to_owned());
        before.chain([format!("const about = {about};\n{AROUND}")]).collect()
    }

    /// Looks for its main file.
    ///
    /// # Errors
    /// What is wrong, and what would mend it.
    pub(super) fn find_main(&mut self, files: &dyn Files, folder: &RealPath) -> Result<(), (String, String)> {
        let is_there = |main: &str| {
            let real = files.resolve(&PathArg(folder.join(main).absolute()));
            let stat = real.and_then(|at| if folder.covers(&at) { files.stat(&at) } else { Err(outside()) });
            stat.is_ok_and(|stat| stat.kind == FileKind::File)
        };
        if self.main.is_empty() {
            let found = MAINS.into_iter().find(|main| is_there(main));
            let missing = || {
                let text =
                    format!("\"runtime\": \"{}\" needs a module, and there is none", self.runtime.name());
                (text, format!("write {}/index.mjs, or name a file as \"main\"", folder.absolute()))
            };
            found.ok_or_else(missing)?.clone_into(&mut self.main);
            return Ok(());
        }
        let mut ways = ENDINGS.iter().map(|ending| format!("{}{ending}", self.main));
        let found = ways.find(|main| is_there(main)).ok_or_else(|| {
            let text = format!("\"main\" is no file of the folder: {}", self.main);
            (text, "name a module in it, as \"main\": \"index.mjs\"".to_owned())
        })?;
        self.main = found;
        Ok(())
    }
}

fn outside() -> Failure {
    Failure::not_found("it isn't in the tool's folder")
}

/// What a person would call it.
impl fmt::Display for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.runtime.name(), self.main)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Tree;
    use super::*;

    fn hosted(main: Option<&str>) -> Hosted {
        let spec = Spec::new("pads", "d").with_capabilities(&["fs.read"]);
        Hosted::new(JsRuntime::Node, main.map(str::to_owned), &spec)
    }

    #[test]
    fn its_module_is_the_one_that_is_named_or_an_index() {
        let folder = RealPath::new("/w", "t/pads");
        let tree = Tree::default()
            .with("/w/t/pads/index.mjs", "", 0o644)
            .with("/w/t/pads/src/a.mjs", "", 0o644)
            .with("/w/t/other.mjs", "", 0o644);
        for (main, found) in [
            (None, Some("node index.mjs")),
            (Some("./src/a.mjs"), Some("node src/a.mjs")),
            (Some("src/a"), Some("node src/a.mjs")),
            (Some("gone.mjs"), None),
            (Some("src"), None),
        ] {
            let mut hosted = hosted(main);
            let looked = hosted.find_main(&tree, &folder);
            assert_eq!(looked.is_ok().then(|| hosted.to_string()).as_deref(), found, "{main:?}");
        }
        let (text, fix) = hosted(None).find_main(&Tree::default(), &folder).unwrap_err();
        assert!(text.contains("\"runtime\": \"node\"") && fix.contains("index.mjs"), "{text}; {fix}");
    }

    #[test]
    fn what_runs_knows_its_tool_and_starts_the_users_runtime() {
        let argv = hosted(Some("a.mjs")).argv();
        assert_eq!(argv[0], "node");
        let text = &argv[argv.len() - 1];
        let (first, _) = text.split_once('\n').unwrap();
        let about = first.strip_prefix("const about = ").and_then(|rest| rest.strip_suffix(';')).unwrap();
        let about: serde_json::Value = serde_json::from_str(about).unwrap();
        let expected = serde_json::json!({
            "capabilities": ["fs.read"], "main": "a.mjs", "name": "pads", "runtime": "node",
        });
        assert_eq!(about, expected);
        for (runtime, start) in [
            (JsRuntime::Deno, &["deno", "eval", "--quiet", "--no-lock", "--node-modules-dir=manual"][..]),
            (JsRuntime::Bun, &["bun", "--no-install", "--eval"][..]),
        ] {
            let argv = Hosted { runtime, ..hosted(Some("a.mjs")) }.argv();
            assert_eq!(&argv[..argv.len() - 1], start);
        }
        // One argument can't be longer.
        assert!(text.len() < 128 * 1024);
    }
}
