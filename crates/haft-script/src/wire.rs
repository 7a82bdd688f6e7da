//! What haft and the child that runs a script tell each other: one JSON object a line, both ways.
//!
//! What the child says is the script's word and nothing more: it is looked at with the eyes of a stranger.

use haft_core::{Ended, Failure, FailureKind, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A longer line of the child's ends it.
pub(crate) const LINE_MAX_BYTES: usize = 16 << 20;

/// What one script may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bounds {
    /// Calls that run at the same time.
    pub(crate) at_once: u64,
    /// The longest timer in milliseconds.
    pub(crate) timer_ms: u64,
}

/// A file of source text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceFile {
    /// Its path in the folder, as errors name it.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

/// A file of source text as the engine runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StrippedFile {
    /// Its path in the folder.
    pub(crate) path: String,
    /// What is run.
    pub(crate) code: String,
    /// Where its pieces came from: line and column in what is run, line and column in the source, from 0, and so on.
    pub(crate) places: Vec<u32>,
}

/// What haft tells the child.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Order {
    /// Run a script of code mode.
    Run {
        /// The script.
        file: SourceFile,
        /// What it may use.
        bounds: Bounds,
    },
    /// Say how a script reads with `return` before its last expression; nothing runs.
    Save {
        /// The script.
        file: SourceFile,
    },
    /// Load a module and say what it declares.
    Load {
        /// The files of its folder that no child has stripped yet.
        files: Vec<SourceFile>,
        /// The others.
        stripped: Vec<StrippedFile>,
        /// The path of the one that is loaded.
        entry: String,
        /// `tools` or `extension`.
        form: String,
        /// What an extension is told of itself.
        about: Value,
        /// What it may use.
        bounds: Bounds,
    },
    /// Call a function of what was loaded.
    Call {
        /// Which call the answer is to.
        id: u64,
        /// Which function: `execute`, `consult`, `cleanup`, `hook`, `command`.
        #[serde(rename = "fn")]
        function: String,
        /// Of which tool, hook or command.
        of: String,
        /// Its input.
        input: Value,
        /// What the call is lent.
        cx: Value,
    },
    /// A call is to end.
    Abort {
        /// Which.
        id: u64,
        /// Why.
        reason: String,
    },
    /// The answer to an [`Word::Ask`].
    Answer {
        /// Which.
        id: u64,
        /// What it came to.
        #[serde(default)]
        value: Value,
        /// Why it came to nothing.
        #[serde(default)]
        error: Option<Refused>,
    },
    /// Stop what runs and say where it was.
    Stop,
}

impl Order {
    /// The answer to what a script asked for.
    pub(crate) fn answer(id: u64, given: Result<Value, Refused>) -> Self {
        match given {
            Ok(value) => Self::Answer { id, value, error: None },
            Err(error) => Self::Answer { id, value: Value::Null, error: Some(error) },
        }
    }
}

/// Why what a script asked for came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// For the script.
    pub(crate) text: String,
    /// The tool that failed.
    pub(crate) tool: Option<String>,
    /// What kind of fault.
    pub(crate) kind: String,
}

impl Refused {
    /// For what failed before a call was made of it.
    pub(crate) fn of_failure(failure: &Failure) -> Self {
        Self { text: failure.text.clone(), tool: None, kind: kind_of(failure.kind) }
    }

    /// For a call that didn't complete.
    pub(crate) fn of_ended(ended: &Ended) -> Self {
        let kind = match &ended.outcome {
            Outcome::Failed { kind } => kind_of(*kind),
            other => other.name().to_owned(),
        };
        Self { text: ended.output.joined_text(), tool: Some(ended.tool.to_string()), kind }
    }
}

/// A kind of failure, as scripts read it.
fn kind_of(kind: FailureKind) -> String {
    json!(kind).as_str().unwrap_or("failed").to_owned()
}

/// What the child says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "say", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Word {
    /// It is closed off and waits.
    Ready {
        /// What it isn't kept from.
        gaps: Vec<String>,
    },
    /// It stripped these files of its module, so that no other child has to.
    Stripped {
        /// As the engine runs them.
        files: Vec<StrippedFile>,
    },
    /// A line of the script's.
    Log {
        /// `log`, `debug`, `warn` or `error`.
        level: String,
        /// The line.
        text: String,
    },
    /// The script wants something.
    Ask {
        /// Which answer it waits for.
        id: u64,
        /// Of which call; 0 for a script of code mode.
        call: u64,
        /// `tool`, `search`, `describe`, or a thing that modules are lent.
        what: String,
        /// The parts of a name.
        name: Vec<String>,
        /// The input.
        input: Value,
    },
    /// A tool of a module says something while it runs.
    Event {
        /// Of which call.
        call: u64,
        /// What, in the form of a stream of events.
        event: Value,
    },
    /// It came to a good end.
    Done {
        /// Which call; 0 for a script, and for loading.
        id: u64,
        /// What it returned.
        value: Value,
        /// Whether it returned nothing at all.
        #[serde(default)]
        is_nothing: bool,
        /// What else is to be told of a script.
        #[serde(default)]
        rest: Rest,
    },
    /// It didn't.
    Failed {
        /// Which call; 0 for a script, and for loading.
        id: u64,
        /// Why.
        fault: Fault,
        /// What else is to be told of a script.
        #[serde(default)]
        rest: Rest,
    },
}

/// What a script's end leaves to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Rest {
    /// Why promises were rejected that nobody waited for: the first of them.
    pub(crate) unheard: Vec<Fault>,
    /// How many more there were.
    pub(crate) more: u64,
    /// Calls that still waited for their turn.
    pub(crate) unmade: u64,
    /// Timers that were set once the script had returned.
    pub(crate) timers: u64,
}

/// An error of a script's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Fault {
    /// `TypeError` and its kin.
    pub(crate) name: Option<String>,
    /// What it says.
    pub(crate) text: String,
    /// The tool that failed, where a tool did.
    pub(crate) tool: Option<String>,
    /// What kind of fault the tool's was.
    pub(crate) kind: Option<String>,
    /// Where in the script.
    pub(crate) place: Option<Place>,
}

/// A place in a script as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The file.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: u32,
    /// The column, from 1.
    pub(crate) column: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_child_are_read_and_strangers_are_not() {
        let ask = r#"{"say":"ask","id":1,"call":0,"what":"tool","name":["grep"],"input":{"pattern":"x"}}"#;
        let Word::Ask { name, input, .. } = serde_json::from_str(ask).unwrap() else { panic!("no ask") };
        assert_eq!((name, input), (vec!["grep".to_owned()], json!({"pattern": "x"})));
        for stranger in [
            r#"{"say":"ask","id":1,"call":0,"what":"tool","name":{"a":1},"input":{}}"#,
            r#"{"say":"kill"}"#,
            "[]",
            r#"{"say":"done","id":-1,"value":1}"#,
        ] {
            assert!(serde_json::from_str::<Word>(stranger).is_err(), "{stranger}");
        }
    }

    #[test]
    fn orders_are_one_line_each() {
        let order = Order::answer(3, Ok(json!("a\nb")));
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(text, r#"{"do":"answer","id":3,"value":"a\nb","error":null}"#);
        assert_eq!(serde_json::to_string(&Order::Stop).unwrap(), r#"{"do":"stop"}"#);
    }
}
