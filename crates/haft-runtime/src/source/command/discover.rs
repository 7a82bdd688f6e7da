//! Finds the command folders of a root; one bad folder never affects another.

use super::{
    CommandLine, CommandTool, Manifest, ManifestText,
    content::{self, Hashed},
    parse,
};
use crate::catalogue::Problem;
use haft_core::{Failure, FailureKind, FileKind, Files, PathArg, RealPath, without_bom};
use std::sync::Arc;

/// The longest manifest.
const MANIFEST_MAX_BYTES: usize = 1024 * 1024;
/// The most folders of one root.
const FOLDERS_MAX: usize = 1_000;
const MANIFEST: &str = "tool.json";

/// A folder whose folders are tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRoot {
    /// Where it is.
    pub path: RealPath,
    /// How it is shown to people, for example `.haft/tools`.
    pub shown: String,
    /// Who owns its tools, for example `folder:.haft/tools`.
    pub owner: String,
    /// Whether stdout and stderr come as one stream, as the older form has it.
    pub merged: bool,
}

impl CommandRoot {
    /// A root by its path, as it is shown. Folders of the older form are known by their name.
    pub fn new(path: RealPath, shown: impl Into<String>) -> Self {
        let shown = shown.into();
        let merged = path.absolute().ends_with(".pequenin/tools");
        Self { path, owner: format!("folder:{shown}"), shown, merged }
    }

    fn problem(&self, path: String, text: String, fix: &str) -> Problem {
        Problem { source: self.owner.clone(), path: Some(path), line: Some(1), text, fix: fix.to_owned() }
    }
}

/// What a root holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The tools that can be used, by name.
    pub tools: Vec<CommandTool>,
    /// What is wrong with the others, and odd about these.
    pub problems: Vec<Problem>,
}

/// Reads every folder of a root. No such root means no tools.
pub fn load(files: &dyn Files, root: &CommandRoot) -> Loaded {
    let mut loaded = Loaded::default();
    let listing = match files.list(&root.path, FOLDERS_MAX) {
        Ok(listing) => listing,
        Err(failure) if failure.kind == FailureKind::NotFound => return loaded,
        Err(failure) => {
            let text = format!("the folder of tools can't be read: {failure}");
            loaded.problems.push(root.problem(
                root.shown.clone(),
                text,
                "make it a folder that you may read",
            ));
            return loaded;
        }
    };
    if listing.left_out > 0 {
        let text = format!("only the first {FOLDERS_MAX} folders are read");
        loaded.problems.push(root.problem(root.shown.clone(), text, "spread the tools over several roots"));
    }
    for entry in &listing.entries {
        let name = entry.path.file_name();
        if matches!(entry.kind, FileKind::Folder | FileKind::Link) && !name.starts_with('.') {
            let (tool, mut problems) = load_folder(files, root, name);
            loaded.tools.extend(tool);
            loaded.problems.append(&mut problems);
        }
    }
    loaded
}

/// Reads one folder of a root. A folder without a manifest holds no command tool, and that is no problem.
pub fn load_folder(files: &dyn Files, root: &CommandRoot, name: &str) -> (Option<CommandTool>, Vec<Problem>) {
    let path = format!("{}/{name}/{MANIFEST}", root.shown);
    let problem = |text: String, fix: &str| (None, vec![root.problem(path.clone(), text, fix)]);
    let folder = match real(files, &root.path.join(name)) {
        Ok(folder) => folder,
        Err(failure) => return problem(format!("the folder can't be read: {failure}"), "make it readable"),
    };
    let text = match read_manifest(files, &folder) {
        Ok(Some(text)) => text,
        Ok(None) => return (None, Vec::new()),
        Err(why) => return problem(why, "make it a readable UTF-8 file of at most 1 MiB"),
    };
    let from = ManifestText { text: &text, folder: name, path: &path, owner: &root.owner };
    let mut manifest = match parse(&from) {
        Ok(manifest) => manifest,
        Err(problems) => return (None, problems),
    };
    let mut problems = std::mem::take(&mut manifest.warnings);
    if let Err((text, fix)) = check_program(files, &folder, &mut manifest) {
        problems.push(from.problem(manifest.command_line, text, fix));
        return (None, problems);
    }
    match content::hash(files, &folder, &text) {
        Ok(hashed) => (Some(tool(root, folder, manifest, (hashed, path))), problems),
        Err(why) => {
            let fix = "keep only what the tool needs in its folder; a venv or node_modules beside it";
            problems.push(from.problem(
                1,
                format!("the tool's content can't be hashed: {why}"),
                fix.to_owned(),
            ));
            (None, problems)
        }
    }
}

fn tool(
    root: &CommandRoot,
    folder: RealPath,
    manifest: Manifest,
    (hashed, path): (Hashed, String),
) -> CommandTool {
    CommandTool {
        spec: Arc::new(manifest.spec),
        // What a module prints besides would break its events.
        merged: root.merged && !matches!(manifest.command, CommandLine::Module(_)),
        command: manifest.command,
        output: manifest.output,
        folder,
        hash: hashed.hash,
        entries: hashed.entries.into(),
        path,
        name_line: manifest.name_line,
    }
}

/// Where a path leads, links followed.
fn real(files: &dyn Files, at: &RealPath) -> Result<RealPath, Failure> {
    files.resolve(&PathArg(at.absolute()))
}

fn read_manifest(files: &dyn Files, folder: &RealPath) -> Result<Option<String>, String> {
    let read = real(files, &folder.join(MANIFEST)).and_then(|at| {
        // A link to a file is no folder, and holds no manifest.
        if files.stat(folder)?.kind != FileKind::Folder {
            return Err(Failure::not_found("not a folder"));
        }
        files.read(&at, 0, MANIFEST_MAX_BYTES + 1)
    });
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(None),
        Err(failure) => return Err(format!("the manifest can't be read: {failure}")),
    };
    if bytes.len() > MANIFEST_MAX_BYTES {
        return Err("the manifest is longer than 1 MiB".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| format!("the manifest is not UTF-8: {error}"))?;
    Ok(Some(without_bom(&text).to_owned()))
}

/// Whether the program in the folder that the command starts is there and can be executed; of a module, its main file.
fn check_program(
    files: &dyn Files,
    folder: &RealPath,
    manifest: &mut Manifest,
) -> Result<(), (String, String)> {
    if let CommandLine::Module(hosted) = &mut manifest.command {
        return hosted.find_main(files, folder);
    }
    let Some(program) = manifest.command.own_program() else {
        return Ok(());
    };
    let bare = program.trim_start_matches("./");
    let stat = real(files, &folder.join(bare)).and_then(|at| files.stat(&at));
    match stat {
        Err(failure) if failure.kind == FailureKind::NotFound => Err((
            format!("the command's program \"{program}\" is not there"),
            format!("put it at {}/{bare}, or correct \"command\"", folder.absolute()),
        )),
        Err(failure) => Err((
            format!("the command's program \"{program}\" can't be looked at: {failure}"),
            "correct \"command\", or the file's permissions".to_owned(),
        )),
        Ok(stat) if stat.kind != FileKind::File => Err((
            format!("the command's program \"{program}\" is not a file"),
            "correct \"command\"".to_owned(),
        )),
        Ok(stat) if stat.mode & 0o111 == 0 => Err((
            format!("the command's program \"{program}\" is not executable"),
            format!("run: chmod +x {}/{bare}", folder.absolute()),
        )),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Tree;
    use super::*;

    const GOOD: &str = r#"{"name": "good", "description": "d", "command": ["./run.sh"]}"#;

    fn root() -> CommandRoot {
        CommandRoot::new(RealPath::new("/w", ".haft/tools"), ".haft/tools")
    }

    fn good() -> Tree {
        Tree::default().with("/w/.haft/tools/good/tool.json", GOOD, 0o644).with(
            "/w/.haft/tools/good/run.sh",
            "",
            0o755,
        )
    }

    #[test]
    fn one_bad_folder_takes_no_other_down() {
        let at = |name: &str| format!("/w/.haft/tools/{name}/tool.json");
        let tree = good()
            .with(&at("broken"), "{", 0o644)
            .with(&at("folder"), &GOOD.replace("good", "other"), 0o644)
            .with(&at("gone"), &GOOD.replace("good", "gone").replace("\"command\"", "\n\"command\""), 0o644)
            .with(&at("plain"), &GOOD.replace("good", "plain"), 0o644)
            .with("/w/.haft/tools/plain/run.sh", "", 0o644)
            .with(
                &at("shell"),
                &GOOD.replace("good", "shell").replace("[\"./run.sh\"]", "\"./run.sh | sort\""),
                0o644,
            )
            .with("/w/.haft/tools/shell/run.sh", "", 0o644)
            .with("/w/.haft/tools/script/index.ts", "", 0o644)
            .with("/w/.haft/tools/.cache/tool.json", "{", 0o644)
            .with("/w/.haft/tools/README.md", "", 0o644);
        let loaded = load(&tree, &root());
        let names: Vec<_> = loaded.tools.iter().map(|tool| tool.spec.name.to_string()).collect();
        assert_eq!(names, ["good"]);
        let shown: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        let expected = [
            (".haft/tools/broken/tool.json:1: not valid JSON", "mend the JSON"),
            (".haft/tools/folder/tool.json:1: the name \"other\" differs", "rename the folder"),
            (".haft/tools/gone/tool.json:2: the command's program \"./run.sh\" is not there", "put it at"),
            (
                ".haft/tools/plain/tool.json:1: the command's program \"./run.sh\" is not executable",
                "chmod +x",
            ),
            (
                ".haft/tools/shell/tool.json:1: the command's program \"./run.sh\" is not executable",
                "chmod +x",
            ),
        ];
        assert_eq!(shown.len(), expected.len(), "{shown:#?}");
        for (problem, (text, fix)) in shown.iter().zip(expected) {
            assert!(problem.starts_with(text) && problem.contains(fix), "{problem}");
        }
    }

    #[test]
    fn a_root_that_is_not_there_holds_nothing() {
        let loaded = load(&Tree::default(), &root());
        assert!(loaded.tools.is_empty() && loaded.problems.is_empty());
    }

    #[test]
    fn folders_of_the_older_form_are_known_by_their_name() {
        assert!(!root().merged);
        assert!(CommandRoot::new(RealPath::new("/w", ".pequenin/tools"), ".pequenin/tools").merged);
        assert_eq!(root().owner, "folder:.haft/tools");
    }
}
