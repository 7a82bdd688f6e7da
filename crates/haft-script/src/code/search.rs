//! `tools.$search` and `tools.$describe` where no tool of haft's own does it: plain words, by what they are in.

use haft_core::Spec;
use serde_json::{Value, json};
use std::sync::Arc;

/// How many tools are found at most.
const FOUND_MAX: usize = 10;

/// The tools that fit some words, the best first.
pub(crate) fn found(tools: &[(Arc<str>, Arc<Spec>)], query: &str) -> Value {
    let query = query.to_lowercase();
    let words: Vec<&str> =
        query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut scored: Vec<(usize, &Arc<str>, &Arc<Spec>)> = tools
        .iter()
        .filter(|(_, spec)| spec.code_mode)
        .map(|(name, spec)| (score(&words, &query, (name, spec)), name, spec))
        .filter(|(score, ..)| *score > 0)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let more = scored.len().saturating_sub(FOUND_MAX);
    let best = scored.into_iter().take(FOUND_MAX);
    let best: Vec<Value> =
        best.map(|(_, name, spec)| json!({"name": name, "description": spec.description})).collect();
    json!({"tools": best, "more": more})
}

fn score(words: &[&str], query: &str, (name, spec): (&str, &Spec)) -> usize {
    let (name, description) = (name.to_lowercase(), spec.description.to_lowercase());
    let exact = if name == query.trim() { 100 } else { 0 };
    let of_word = |word: &&str| match (name.contains(*word), description.contains(*word)) {
        (true, _) => 5,
        (false, true) => 1,
        (false, false) => 0,
    };
    exact + words.iter().map(of_word).sum::<usize>()
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

    fn tools() -> Vec<(Arc<str>, Arc<Spec>)> {
        let tool = |name: &str, description: &str| (Arc::from(name), Arc::new(Spec::new(name, description)));
        vec![
            tool("find_node", "Finds a node."),
            tool("list", "Lists what can be found of nodes."),
            tool("x", "Else."),
        ]
    }

    #[test]
    fn names_count_more_than_descriptions_and_an_exact_one_most() {
        let names = |query: &str| {
            let found = found(&tools(), query);
            found["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("node"), ["find_node", "list"]);
        assert_eq!(names("LIST nodes"), ["list"]);
        assert_eq!(names("zzz"), Vec::<Value>::new());
        assert_eq!(described(&tools(), "x")["description"], "Else.");
        assert!(described(&tools(), "y").as_str().unwrap().contains("no tool"));
    }
}
