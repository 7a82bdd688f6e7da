//! The second reader: tree-sitter's grammar of Bash, which has to see the same words and programs.
//!
//! It is lenient where a shell isn't, so it decides nothing: it can only object.

use super::cursor::Seen;
use tree_sitter::{Node, Parser};

/// Kinds of nodes that are understood; any other makes the line unclear.
const KINDS: &[&str] = &[
    "ansi_c_string",
    "arithmetic_expansion",
    "binary_expression",
    "brace_expression",
    "case_item",
    "case_statement",
    "command",
    "command_name",
    "command_substitution",
    "comment",
    "compound_statement",
    "concatenation",
    "declaration_command",
    "do_group",
    "elif_clause",
    "else_clause",
    "expansion",
    "extglob_pattern",
    "file_descriptor",
    "file_redirect",
    "for_statement",
    "function_definition",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "heredoc_redirect",
    "heredoc_start",
    "herestring_redirect",
    "if_statement",
    "list",
    "negated_command",
    "number",
    "parenthesized_expression",
    "pipeline",
    "process_substitution",
    "program",
    "raw_string",
    "redirected_statement",
    "regex",
    "simple_expansion",
    "special_variable_name",
    "string",
    "string_content",
    "subscript",
    "subshell",
    "test_command",
    "test_operator",
    "translated_string",
    "unary_expression",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
    "variable_name",
    "while_statement",
];

/// Kinds that are a whole word where no other word is around them.
const WORDS: &[&str] = &[
    "ansi_c_string",
    "arithmetic_expansion",
    "brace_expression",
    "concatenation",
    "expansion",
    "extglob_pattern",
    "number",
    "raw_string",
    "simple_expansion",
    "string",
    "translated_string",
    "variable_assignment",
    "word",
];

/// A node, the kind of its parent, and whether a word is around it.
type Visit<'tree> = (Node<'tree>, &'static str, bool);

/// What the second reader objects to.
pub(super) fn disagreement(text: &str, mut ours: Seen) -> Option<String> {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Some("the second reader can't be used".to_owned());
    }
    let Some(tree) = parser.parse(text, None) else {
        return Some("the second reader gave up".to_owned());
    };
    let root = tree.root_node();
    if root.has_error() {
        return Some("the second reader can't read it".to_owned());
    }
    let mut theirs = Seen::default();
    let mut visits: Vec<Visit<'_>> = vec![(root, "", false)];
    while let Some((node, parent, is_in_word)) = visits.pop() {
        let kind = node.kind();
        if node.is_named() && kind != "word" && !KINDS.contains(&kind) {
            return Some(format!("the second reader sees a {kind} in it"));
        }
        let is_in_word = note(&mut theirs, node, parent, is_in_word);
        let mut cursor = node.walk();
        visits.extend(node.children(&mut cursor).map(|child| (child, kind, is_in_word)));
    }
    for seen in [&mut ours, &mut theirs] {
        seen.spans.sort_unstable();
        seen.spans.dedup();
        seen.programs.sort_unstable();
        seen.programs.dedup();
    }
    if ours.programs != theirs.programs {
        return Some("two readers disagree on where its commands begin".to_owned());
    }
    (ours.spans != theirs.spans).then(|| "two readers disagree on its words".to_owned())
}

/// Notes what a node is; gives whether its children stand within a word.
fn note(seen: &mut Seen, node: Node<'_>, parent: &str, is_in_word: bool) -> bool {
    let span = (node.start_byte(), node.end_byte());
    match node.kind() {
        "command_substitution" | "process_substitution" => {
            seen.spans.push(span);
            false
        }
        "test_command" => {
            seen.programs.push(span.0);
            seen.spans.push(span);
            true
        }
        "heredoc_body" => true,
        "command_name" => {
            seen.programs.push(span.0);
            is_in_word
        }
        "declaration_command" | "unset_command" => {
            seen.programs.push(span.0);
            if let Some(keyword) = node.child(0) {
                seen.spans.push((keyword.start_byte(), keyword.end_byte()));
            }
            is_in_word
        }
        kind if !is_in_word && is_word(kind, parent) => {
            seen.spans.push(span);
            true
        }
        _ => is_in_word,
    }
}

fn is_word(kind: &str, parent: &str) -> bool {
    match kind {
        "variable_name" => matches!(parent, "declaration_command" | "unset_command"),
        "$" | "==" | "=~" => parent == "command",
        _ => WORDS.contains(&kind),
    }
}
