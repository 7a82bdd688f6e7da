//! `tools.$search` and `tools.$describe`: by what the session finds and offers.

use haft_core::{SessionView, Spec};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many tools are found at most.
const FOUND_MAX: usize = 10;
/// No tool has a longer name; one that a script makes up may be as long as its memory, and is told in errors.
const NAME_MAX_BYTES: usize = 200;

/// The tools that fit some words, the best first.
pub(crate) fn found(session: &dyn SessionView, tools: &[(Arc<str>, Arc<Spec>)], words: &str) -> Value {
    let (names, more) = session.find(words, FOUND_MAX);
    let known = |name: &Arc<str>| tools.iter().find(|(known, _)| known == name);
    let best = names.iter().filter_map(known);
    let best: Vec<Value> =
        best.map(|(name, spec)| json!({"name": name, "description": spec.description})).collect();
    json!({"tools": best, "more": more})
}

/// The name that the parts of a call lead to: that of a tool where there is one, as `tools.mcp.github.list`.
pub(crate) fn called(tools: &[(Arc<str>, Arc<Spec>)], parts: &[String]) -> String {
    let is_known = |name: &String| tools.iter().any(|(known, _)| **known == **name);
    let ways = ["__", "_", "."].map(|between| parts.join(between));
    let known = ways.iter().find(|name| is_known(name));
    let [first, ..] = &ways;
    match known {
        None if first.len() > NAME_MAX_BYTES => {
            format!("{}…", first.get(..first.floor_char_boundary(NAME_MAX_BYTES)).unwrap_or_default())
        }
        _ => known.unwrap_or(first).clone(),
    }
}

/// One tool in full; a text that says so where there is none.
pub(crate) fn described(tools: &[(Arc<str>, Arc<Spec>)], name: &str) -> Value {
    match tools.iter().find(|(known, _)| **known == *name) {
        Some((name, spec)) => json!({
            "name": name,
            "description": spec.description,
            "inputSchema": spec.input_schema,
            "outputSchema": spec.output_schema,
        }),
        None => Value::from(format!("there is no tool \"{name}\"; tools.$search(words) finds some")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{RealPath, Seen};

    fn tools() -> Vec<(Arc<str>, Arc<Spec>)> {
        let tool = |name: &str, description: &str| (Arc::from(name), Arc::new(Spec::new(name, description)));
        vec![
            tool("find_node", "Finds a node."),
            tool("list", "Lists what can be found of nodes."),
            tool("x", "Else."),
        ]
    }

    /// A session that finds the names that it is asked for.
    struct Finds;

    impl SessionView for Finds {
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

        fn find(&self, words: &str, most: usize) -> (Vec<Arc<str>>, usize) {
            let names: Vec<Arc<str>> = words.split_whitespace().map(Arc::from).collect();
            let more = names.len().saturating_sub(most);
            (names.into_iter().take(most).collect(), more)
        }
    }

    #[test]
    fn parts_of_a_name_lead_to_the_tool_that_is_there() {
        let parts = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(called(&tools(), &parts("find node")), "find_node");
        assert_eq!(called(&tools(), &parts("x")), "x");
        assert_eq!(called(&tools(), &parts("a b")), "a__b");
        let long = called(&tools(), &["ä".repeat(1 << 20)]);
        assert!(long.ends_with("ä…") && long.len() < 2 * NAME_MAX_BYTES, "{} bytes", long.len());
    }

    #[test]
    fn what_the_session_finds_is_told_in_its_order_and_one_tool_in_full() {
        let found = found(&Finds, &tools(), "x gone find_node");
        let first = json!({"name": "x", "description": "Else."});
        let second = json!({"name": "find_node", "description": "Finds a node."});
        assert_eq!(found, json!({"tools": [first, second], "more": 0}));
        assert_eq!(described(&tools(), "x")["description"], "Else.");
        assert!(described(&tools(), "y").as_str().unwrap().contains("no tool"));
    }
}
