//! What an extension registers, learnt once for each of its contents.

use super::super::{
    apart::apart,
    declare::{Declared, ModuleFault},
    kept::Kept,
    load::NotLoaded,
};
use super::child::Extension;
use haft_core::StateFolder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};

/// How long starting a child and activating in it may take.
const ASK_TIMEOUT: Duration = Duration::from_secs(15);

/// What an extension's `activate` registers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Activated {
    /// Tools of its own.
    pub tools: Vec<Declared>,
    /// What it wants to hear of.
    pub hooks: Vec<DeclaredHook>,
    /// What it wants to change of others' tools.
    pub changes: Vec<DeclaredChange>,
    /// What people can have it do.
    pub commands: Vec<DeclaredCommand>,
}

/// A command for people that an extension registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredCommand {
    /// What it is called.
    pub name: String,
    /// What it does, or nothing.
    pub description: String,
}

/// A hook that an extension registers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredHook {
    /// Its number in the extension.
    pub number: u64,
    /// `PreToolUse` and its kin.
    pub event: String,
    /// Which tools; empty for all.
    pub matcher: String,
}

/// A change of somebody else's tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeclaredChange {
    /// Whether the tool is to be hidden, not just tightened.
    pub removes: bool,
    /// The tool.
    pub name: String,
    /// What is tightened: `permission`, `riskTier`, `description`.
    pub how: Value,
}

/// Runs an extension's `activate` in a child that lends it nothing, and says what it registers; what is known of a
/// content in `kept`, also that it is broken, isn't asked again. Blocking; also where there is no runtime.
///
/// # Errors
/// It throws, doesn't end in time, or can't be read.
pub fn activate_once(
    extension: &Extension,
    kept: Option<&dyn StateFolder>,
) -> Result<Activated, ModuleFault> {
    let (kept, loading) = (Kept::new(kept), extension.loading());
    if let Some(known) = kept.known(&loading) {
        return known;
    }
    let activated = apart(ASK_TIMEOUT, || loading.apart());
    let activated = activated.unwrap_or_else(|failure| Err(NotLoaded::untried(&failure)));
    kept.keep(&loading, activated.map(|(_, registered)| gathered(registered)))
}

/// One thing that was registered, or taken back.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Registered {
    Register { number: u64, data: Value, functions: BTreeSet<String> },
    Wrap { number: u64, name: String, how: Value },
    Remove { number: u64, name: String },
    Hook { number: u64, event: String, matcher: String },
    Command { number: u64, name: String, description: String },
    Dispose { number: u64 },
}

/// What is left of it all; what can't be read is nothing.
fn gathered(events: Vec<Value>) -> Activated {
    let read: Vec<Registered> =
        events.into_iter().filter_map(|event| serde_json::from_value(event).ok()).collect();
    let gone: BTreeSet<u64> = read
        .iter()
        .filter_map(|one| if let Registered::Dispose { number } = one { Some(*number) } else { None })
        .collect();
    let mut all = Activated::default();
    for one in read {
        match one {
            Registered::Register { number, data, functions } if !gone.contains(&number) => {
                all.tools.push(Declared { data, functions });
            }
            Registered::Wrap { number, name, how } if !gone.contains(&number) => {
                all.changes.push(DeclaredChange { removes: false, name, how });
            }
            Registered::Remove { number, name } if !gone.contains(&number) => {
                all.changes.push(DeclaredChange { removes: true, name, how: Value::Null });
            }
            Registered::Hook { number, event, matcher } if !gone.contains(&number) => {
                all.hooks.push(DeclaredHook { number, event, matcher });
            }
            Registered::Command { number, name, description } if !gone.contains(&number) => {
                all.commands.push(DeclaredCommand { name, description });
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_taken_back_is_not_registered() {
        let all = gathered(vec![
            json!({"type": "register", "number": 1, "data": {"name": "a"}, "functions": ["execute"]}),
            json!({"type": "register", "number": 2, "data": {"name": "b"}, "functions": []}),
            json!({"type": "hook", "number": 3, "event": "PreToolUse", "matcher": ""}),
            json!({"type": "wrap", "number": 4, "name": "bash", "how": {"permission": "confirm"}}),
            json!({"type": "command", "number": 5, "name": "x", "description": "d"}),
            json!({"type": "command", "number": 6, "name": "y", "description": ""}),
            json!({"type": "dispose", "number": 2}),
            json!({"type": "dispose", "number": 6}),
            json!("stray"),
        ]);
        assert_eq!(all.tools.len(), 1);
        assert_eq!((all.hooks[0].number, all.changes[0].name.as_str()), (3, "bash"));
        assert_eq!(all.commands, [DeclaredCommand { name: "x".to_owned(), description: "d".to_owned() }]);
        let back: Activated = serde_json::from_value(json!(all)).unwrap();
        assert_eq!(back, all);
    }
}
