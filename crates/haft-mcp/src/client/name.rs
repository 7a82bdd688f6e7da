//! What a server's tools are called here: `mcp__<server>__<tool>`, or with another prefix.
//!
//! A name depends on nothing but the server's and the tool's own, so that it stays the same when other tools or servers
//! come and go. What can't stand as it is gets a hash of both names at its end: two tools whose names differ only in
//! what can't stand are still two.

use haft_core::{NAME_MAX_CHARS, exact};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// How many digits of the hash stand in a name.
const HASH_CHARS: usize = 8;

/// The name of a tool; `prefix` is put before it in place of `mcp__<server>__`.
pub(crate) fn tool_name(server: &str, prefix: Option<&str>, tool: &str) -> Arc<str> {
    let (start, is_plain_start) = match prefix {
        Some(prefix) => (mapped(prefix), prefix.chars().all(is_allowed)),
        None => (format!("mcp__{}__", mapped(server)), is_plain_server(server)),
    };
    let whole = format!("{start}{}", mapped(tool));
    if is_plain_start && tool.chars().all(is_allowed) && whole.len() <= NAME_MAX_CHARS {
        return whole.into();
    }
    let hash = format!("{:x}", Sha256::digest(format!("{server}\0{tool}")));
    let kept: String = whole.chars().take(NAME_MAX_CHARS - HASH_CHARS - 1).collect();
    let short: String = hash.chars().take(HASH_CHARS).collect();
    format!("{kept}_{short}").into()
}

/// What the names of a server's tools begin with: its own way, and the one that holds under any prefix.
pub fn name_beginnings(server: &str, prefix: Option<&str>) -> Vec<String> {
    let own = prefix.map(mapped).filter(|prefix| !prefix.is_empty());
    own.into_iter().chain([format!("mcp__{}__", mapped(server))]).collect()
}

/// What a rule for all tools of a server is written for.
pub(crate) fn full_name(server: &str, tool: &str) -> Arc<str> {
    tool_name(server, None, tool)
}

/// A name of a server's own as people and models read it: on one line, with what hides in it.
pub(crate) fn shown_name(own: &str) -> String {
    exact(own).replace('\n', "\\n").replace('\t', "\\t")
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// One whose name can be told from the tool's: it holds no two underscores, and neither begins nor ends with one.
fn is_plain_server(name: &str) -> bool {
    name.chars().all(is_allowed) && !name.contains("__") && !name.starts_with('_') && !name.ends_with('_')
}

fn mapped(text: &str) -> String {
    text.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_name_that_can_stand_stays() {
        assert_eq!(&*tool_name("lens", None, "find_node"), "mcp__lens__find_node");
        assert_eq!(&*tool_name("lens", Some(""), "find_node"), "find_node");
        assert_eq!(&*tool_name("lens", Some("l_"), "find-node"), "l_find-node");
    }

    #[test]
    fn a_name_is_read_with_what_hides_in_it() {
        assert_eq!(shown_name("größe\u{200b}\n\u{1b}x"), "größe\\u{200b}\\n\\u{1b}x");
    }

    #[test]
    fn case_f36_names_are_mapped_without_collisions_and_stay_the_same() {
        let long = "n".repeat(90);
        let all = [
            ("s", "cal_add"),
            ("s", "cal.add"),
            ("s", "cal add"),
            ("s", long.as_str()),
            ("s", "größe"),
            ("s_", "_x"),
            ("s", "__x"),
            ("a__b", "c"),
            ("a", "b__c"),
            ("my server", "x"),
            ("my.server", "x"),
        ];
        let names: BTreeSet<Arc<str>> =
            all.iter().map(|(server, tool)| tool_name(server, None, tool)).collect();
        assert_eq!(names.len(), all.len(), "{names:?}");
        for name in &names {
            assert!(haft_core::ToolName::parse(name).is_ok(), "{name}");
        }
        assert_eq!(&*tool_name("s", None, "cal_add"), "mcp__s__cal_add");
        // A hash that changed would ask about each tool anew.
        assert_eq!(tool_name("s", None, "cal.add"), tool_name("s", None, "cal.add"));
        assert_eq!(tool_name("s", None, "cal.add").len(), "mcp__s__cal_add_".len() + HASH_CHARS);
        assert_eq!(tool_name("s", None, &long).len(), NAME_MAX_CHARS);
    }
}
