//! The names of tools, their inputs and the modes, as hooks written for another tool know them; both ways.

use haft_policy::{Mode, stands_for};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Whose names a hook knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// haft's own.
    #[default]
    Haft,
    /// Those of Claude Code, as in hooks imported from it.
    ClaudeCode,
}

/// A built-in tool under both names.
struct Pair {
    ours: &'static str,
    /// The name that is sent, then others that matchers know.
    theirs: &'static [&'static str],
    /// Properties whose names differ, ours first. Others pass under the name they have.
    fields: &'static [(&'static str, &'static str)],
}

#[rustfmt::skip] // a table
static PAIRS: &[Pair] = &[
    Pair { ours: "read", theirs: &["Read"], fields: &[("path", "file_path")] },
    Pair { ours: "write", theirs: &["Write"], fields: &[("path", "file_path")] },
    Pair { ours: "edit", theirs: &["Edit", "MultiEdit"], fields: &[("path", "file_path")] },
    Pair { ours: "notebook_edit", theirs: &["NotebookEdit"], fields: &[
        ("path", "notebook_path"), ("cell", "cell_id"), ("action", "edit_mode"), ("source", "new_source"),
        ("type", "cell_type"),
    ] },
    Pair { ours: "glob", theirs: &["Glob"], fields: &[] },
    Pair { ours: "grep", theirs: &["Grep"], fields: &[
        ("mode", "output_mode"), ("context", "-C"), ("ignoreCase", "-i"), ("limit", "head_limit"),
    ] },
    Pair { ours: "tree", theirs: &["LS"], fields: &[] },
    Pair { ours: "bash", theirs: &["Bash"], fields: &[("background", "run_in_background")] },
    Pair { ours: "fetch", theirs: &["WebFetch"], fields: &[] },
    Pair { ours: "search", theirs: &["WebSearch"], fields: &[] },
    Pair { ours: "todo", theirs: &["TodoWrite"], fields: &[("items", "todos")] },
    Pair { ours: "agent", theirs: &["Task", "Agent"], fields: &[("task", "prompt")] },
    Pair { ours: "ask", theirs: &["AskUserQuestion"], fields: &[] },
    Pair { ours: "plan", theirs: &["ExitPlanMode"], fields: &[] },
    Pair { ours: "skill", theirs: &["Skill"], fields: &[("name", "skill")] },
];

/// Built-in tools that change files and have no counterpart. Whoever waits for the other tool's writers means them too.
const WRITERS: [&str; 3] = ["patch", "replace", "undo"];
/// The other tool's writers.
const THEIR_WRITERS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];
/// Properties, by their names, that hold a path, which the other tool always gives whole.
const PATHS: [&str; 3] = ["file_path", "notebook_path", "path"];
/// One replacement of an edit: our name, theirs, and what else models write.
const REPLACEMENT: [(&str, &str, &[&str]); 3] = [
    ("old", "old_string", &["old_text", "oldText", "old_str", "oldString"]),
    ("new", "new_string", &["new_text", "newText", "new_str", "newString"]),
    ("all", "replace_all", &["replaceAll"]),
];
/// The one value of grep's mode that differs: ours, theirs.
const GREP_FILES: (&str, &str) = ("files", "files_with_matches");

/// The names of built-in tools that hooks of others know.
pub(crate) fn other_names() -> impl Iterator<Item = &'static str> {
    PAIRS.iter().flat_map(|pair| pair.theirs).copied()
}

/// A tool and its input, as one hook is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Told {
    pub(super) tool: String,
    pub(super) input: Value,
}

impl Names {
    /// The mode's name.
    pub(super) fn mode(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Self::Haft, _) => mode.name(),
            (Self::ClaudeCode, Mode::Plan) => "plan",
            (Self::ClaudeCode, Mode::AcceptEdits) => "acceptEdits",
            (Self::ClaudeCode, Mode::Auto | Mode::Yolo | Mode::Full) => "bypassPermissions",
            (Self::ClaudeCode, Mode::Ask | Mode::Default | Mode::Headless) => "default",
        }
    }

    /// A call in these names. `workspace` makes paths whole where that is the custom.
    pub(super) fn told(self, tool: (&str, bool), input: &Value, workspace: &str) -> Told {
        let (Self::ClaudeCode, Some(pair), Value::Object(ours)) = (self, pair_of(tool), input) else {
            return Told { tool: meant(tool).to_owned(), input: input.clone() };
        };
        let mut theirs = Map::new();
        for (key, value) in ours {
            let differing = pair.fields.iter().find(|(own, _)| own == key);
            let named = differing.map_or(key.as_str(), |(_, name)| *name);
            theirs.insert(named.to_owned(), value.clone());
        }
        let mut name = pair.theirs.first().copied().unwrap_or(pair.ours);
        match pair.ours {
            "edit" => name = edit_to_theirs(&mut theirs),
            "grep" => swap(&mut theirs, "output_mode", GREP_FILES),
            _ => {}
        }
        for key in PATHS {
            if let Some(Value::String(path)) = theirs.get_mut(key)
                && !path.starts_with(['/', '~'])
            {
                *path = whole(workspace, path);
            }
        }
        Told { tool: name.to_owned(), input: Value::Object(theirs) }
    }

    /// An input that a hook rewrote, in haft's names again.
    pub(super) fn heard(self, tool: (&str, bool), input: Value) -> Value {
        let (Self::ClaudeCode, Some(pair)) = (self, pair_of(tool)) else { return input };
        let theirs = match input {
            Value::Object(theirs) => theirs,
            other => return other,
        };
        let mut ours = Map::new();
        for (key, value) in theirs {
            let differing = pair.fields.iter().find(|(_, name)| *name == key);
            let named = differing.map_or(key.as_str(), |(own, _)| *own);
            ours.insert(named.to_owned(), value);
        }
        match pair.ours {
            "edit" => edit_to_ours(&mut ours),
            "grep" => swap(&mut ours, "mode", (GREP_FILES.1, GREP_FILES.0)),
            _ => {}
        }
        Value::Object(ours)
    }

    /// What a tool returned, in the form that hooks of this kind look into.
    pub(super) fn response(self, told: &Told, text: &str, structured: Option<&Value>) -> Value {
        if self == Self::ClaudeCode {
            let path = PATHS.iter().find_map(|key| told.input.get(key));
            match told.tool.as_str() {
                "Bash" => {
                    return json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false});
                }
                "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
                    return json!({"filePath": path, "success": true, "text": text});
                }
                _ => {}
            }
        }
        structured
            .cloned()
            .unwrap_or_else(|| json!({"content": [{"type": "text", "text": text}], "text": text}))
    }
}

/// What hooks of one kind call a tool: their own names for it, and the others'.
pub(super) fn names_of(names: Names, tool: (&str, bool)) -> (Vec<&str>, Vec<&str>) {
    let theirs = pair_of(tool).map(|pair| pair.theirs.to_vec()).unwrap_or_default();
    let ours = if meant(tool) == tool.0 { vec![tool.0] } else { vec![meant(tool), tool.0] };
    match names {
        Names::Haft => (ours, theirs),
        Names::ClaudeCode if tool.1 && WRITERS.contains(&tool.0) => {
            (std::iter::once(tool.0).chain(THEIR_WRITERS).collect(), Vec::new())
        }
        Names::ClaudeCode if theirs.is_empty() => (ours, Vec::new()),
        Names::ClaudeCode => (theirs, ours),
    }
}

/// Only a built-in tool is the other tool's counterpart: anybody may name a tool `read`.
fn pair_of((tool, is_core): (&str, bool)) -> Option<&'static Pair> {
    let ours = meant((tool, is_core));
    PAIRS.iter().find(|pair| is_core && pair.ours == ours)
}

/// The tool that hooks hear of: a built-in one that does another's work for scripts goes by that one's name.
fn meant((tool, is_core): (&str, bool)) -> &str {
    stands_for(tool).filter(|_| is_core).unwrap_or(tool)
}

fn whole(workspace: &str, path: &str) -> String {
    match path.trim_start_matches("./") {
        "" | "." => workspace.to_owned(),
        path => format!("{}/{path}", workspace.trim_end_matches('/')),
    }
}

fn swap(input: &mut Map<String, Value>, key: &str, (from, to): (&str, &str)) {
    if let Some(Value::String(value)) = input.get_mut(key)
        && value == from
    {
        to.clone_into(value);
    }
}

/// One replacement stands beside the path, several in a list, each under a name of its own.
fn edit_to_theirs(input: &mut Map<String, Value>) -> &'static str {
    let (one, several) = ("Edit", "MultiEdit");
    match input.remove("edits") {
        Some(Value::Array(mut edits)) => {
            for edit in edits.iter_mut().filter_map(Value::as_object_mut) {
                rename_replacement(edit, false);
            }
            match edits.pop() {
                Some(Value::Object(only)) if edits.is_empty() => {
                    input.extend(only);
                    rename_replacement(input, false);
                    one
                }
                last => {
                    edits.extend(last);
                    input.insert("edits".to_owned(), Value::Array(edits));
                    rename_replacement(input, false);
                    several
                }
            }
        }
        odd => {
            input.extend(odd.map(|odd| ("edits".to_owned(), odd)));
            rename_replacement(input, false);
            one
        }
    }
}

fn edit_to_ours(input: &mut Map<String, Value>) {
    if let Some(Value::Array(edits)) = input.get_mut("edits") {
        for edit in edits.iter_mut().filter_map(Value::as_object_mut) {
            rename_replacement(edit, true);
        }
        return;
    }
    rename_replacement(input, true);
    let mut edit = Map::new();
    for (ours, _, _) in REPLACEMENT {
        edit.extend(input.remove(ours).map(|value| (ours.to_owned(), value)));
    }
    input.insert("edits".to_owned(), json!([edit]));
}

/// Gives the parts of a replacement our names or theirs, whichever name they came under.
fn rename_replacement(edit: &mut Map<String, Value>, to_ours: bool) {
    for (ours, theirs, others) in REPLACEMENT {
        let to = if to_ours { ours } else { theirs };
        for from in [ours, theirs].iter().chain(others).filter(|from| **from != to) {
            if !edit.contains_key(to)
                && let Some(value) = edit.remove(*from)
            {
                edit.insert(to.to_owned(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theirs(tool: &str, input: &Value) -> Told {
        Names::ClaudeCode.told((tool, true), input, "/w")
    }

    #[test]
    fn inputs_are_told_in_the_other_tools_names_and_read_back() {
        let cases = [
            (
                "read",
                json!({"path": "a.rs", "offset": 2}),
                "Read",
                json!({"file_path": "/w/a.rs", "offset": 2}),
            ),
            (
                "write",
                json!({"path": "/x/a", "content": "c"}),
                "Write",
                json!({"file_path": "/x/a", "content": "c"}),
            ),
            (
                "edit",
                json!({"path": "~/a", "edits": [{"old": "x", "new": "y", "all": true}]}),
                "Edit",
                json!({"file_path": "~/a", "old_string": "x", "new_string": "y", "replace_all": true}),
            ),
            (
                "edit",
                json!({"path": "./a", "edits": [{"old": "x", "new": "y"}, {"old": "p", "new": "q"}]}),
                "MultiEdit",
                json!({"file_path": "/w/a", "edits": [
                    {"old_string": "x", "new_string": "y"}, {"old_string": "p", "new_string": "q"},
                ]}),
            ),
            (
                "grep",
                json!({"pattern": "p", "mode": "files", "context": 2, "ignoreCase": true, "limit": 9}),
                "Grep",
                json!({"pattern": "p", "output_mode": "files_with_matches", "-C": 2, "-i": true, "head_limit": 9}),
            ),
            ("glob", json!({"pattern": "*", "path": "."}), "Glob", json!({"pattern": "*", "path": "/w"})),
            ("bash", json!({"command": "ls", "timeout": 5}), "Bash", json!({"command": "ls", "timeout": 5})),
            ("fetch", json!({"url": "http://h"}), "WebFetch", json!({"url": "http://h"})),
            ("todo", json!({"items": []}), "TodoWrite", json!({"todos": []})),
            ("agent", json!({"task": "t"}), "Task", json!({"prompt": "t"})),
            ("mcp__x__y", json!({"path": "a"}), "mcp__x__y", json!({"path": "a"})),
        ];
        for (tool, ours, name, input) in cases {
            let told = theirs(tool, &ours);
            assert_eq!((told.tool.as_str(), &told.input), (name, &input), "{tool}");
            let mut back = Names::ClaudeCode.heard((tool, true), told.input);
            if ours["path"] != back["path"] {
                // Made whole, and means the same.
                assert_eq!(back["path"], theirs("tree", &ours).input["path"], "{tool}");
                back["path"] = ours["path"].clone();
            }
            assert_eq!(back, ours, "{tool}");
        }
    }

    #[test]
    fn a_replacement_is_found_under_every_name_that_models_write() {
        let flat = json!({"path": "/a", "oldText": "x", "newText": "y", "replaceAll": true});
        let told = theirs("edit", &flat);
        let expected = json!({"file_path": "/a", "old_string": "x", "new_string": "y", "replace_all": true});
        assert_eq!((told.tool.as_str(), &told.input), ("Edit", &expected));
        let listed = json!({"path": "/a", "edits": [{"old_str": "x", "new_str": "y"}]});
        assert_eq!(theirs("edit", &listed).input["old_string"], "x");
        let odd = json!({"path": "/a", "edits": "no list"});
        assert_eq!(theirs("edit", &odd).input, json!({"file_path": "/a", "edits": "no list"}));
    }

    #[test]
    fn who_hears_of_a_tool_hears_of_its_form_for_scripts() {
        for (form, ours, theirs, input) in [
            ("script_read", "read", "Read", json!({"path": "a"})),
            ("script_fetch", "fetch", "WebFetch", json!({"url": "https://example.com/"})),
        ] {
            for (names, told) in [(Names::Haft, ours), (Names::ClaudeCode, theirs)] {
                assert_eq!(names.told((form, true), &input, "/w").tool, told);
                assert_eq!(names.told((form, false), &input, "/w").tool, form, "anybody may name a tool so");
                for matcher in [ours, theirs, form] {
                    let matcher = crate::hooks::Matcher::parse(matcher).unwrap();
                    let heard = |is_core: bool| {
                        let (own, others) = names_of(names, (form, is_core));
                        matcher.matches(&own, &others)
                    };
                    assert!(heard(true), "{matcher} hears {form}");
                    assert_eq!(heard(false), matcher.to_string() == form, "{matcher}");
                }
            }
        }
    }

    #[test]
    fn only_built_in_tools_have_a_counterpart() {
        let input = json!({"path": "a"});
        let told = Names::ClaudeCode.told(("read", false), &input, "/w");
        assert_eq!(told, Told { tool: "read".to_owned(), input: input.clone() });
        assert_eq!(Names::Haft.told(("read", true), &input, "/w").input, input);
        assert_eq!(names_of(Names::ClaudeCode, ("edit", true)), (vec!["Edit", "MultiEdit"], vec!["edit"]));
        assert_eq!(names_of(Names::Haft, ("edit", true)), (vec!["edit"], vec!["Edit", "MultiEdit"]));
        for tool in WRITERS {
            for matcher in ["Edit", "Write|MultiEdit", "NotebookEdit", ".*Edit", "^(Edit|Write)$", tool] {
                let matcher = crate::hooks::Matcher::parse(matcher).unwrap();
                let heard = |names: Names, is_core: bool| {
                    let (own, others) = names_of(names, (tool, is_core));
                    matcher.matches(&own, &others)
                };
                assert!(heard(Names::ClaudeCode, true), "{matcher:?} hears {tool}");
                if !matcher.matches(&[tool], &[]) {
                    assert!(!heard(Names::ClaudeCode, false), "anybody's {tool} for {matcher:?}");
                    assert!(!heard(Names::Haft, true), "{matcher:?} in haft's own names");
                }
            }
            let (own, others) = names_of(Names::ClaudeCode, (tool, true));
            for matcher in ["Bash", "Read|Grep|Glob", "mcp__.*"] {
                assert!(!crate::hooks::Matcher::parse(matcher).unwrap().matches(&own, &others), "{matcher}");
            }
        }
        assert_eq!(names_of(Names::ClaudeCode, ("own", true)), (vec!["own"], vec![]));
    }

    #[test]
    fn modes_have_the_names_that_hooks_know() {
        let known = ["default", "plan", "acceptEdits", "bypassPermissions"];
        for mode in Mode::ALL {
            assert!(known.contains(&Names::ClaudeCode.mode(mode)), "{mode}");
            assert_eq!(Names::Haft.mode(mode), mode.name());
        }
    }

    #[test]
    fn responses_have_what_hooks_look_into() {
        let names = Names::ClaudeCode;
        let bash = theirs("bash", &json!({"command": "ls"}));
        assert_eq!(names.response(&bash, "a", None)["stdout"], "a");
        let write = theirs("write", &json!({"path": "a", "content": ""}));
        assert_eq!(names.response(&write, "ok", None)["filePath"], "/w/a");
        assert_eq!(Names::Haft.response(&bash, "a", None)["text"], "a");
        assert_eq!(Names::Haft.response(&bash, "a", Some(&json!({"n": 1}))), json!({"n": 1}));
    }
}
