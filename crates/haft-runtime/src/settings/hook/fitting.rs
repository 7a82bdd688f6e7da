//! Whether a hook's matcher fits a tool at all. Pure.

use crate::{
    hooks::{HookEvent, other_names},
    settings::{load::unmatchable::TOOLS, slip},
};

/// What is wrong with a matcher that fits no tool that is known, and what to write instead.
///
/// A pattern may mean anything, and so may the matcher of an event that isn't about a tool.
pub(super) fn misfit(event: HookEvent, matcher: &str) -> Option<(String, String)> {
    let text = matcher.trim();
    if !is_about_tools(event) || !text.chars().all(|c| is_of_name(c) || is_between(c)) {
        return None;
    }
    let names: Vec<&str> = text.split(is_between).filter(|name| !name.is_empty()).collect();
    if !text.split('|').all(|part| part.trim().chars().all(is_of_name)) {
        let what = format!("the matcher \"{text}\" fits no tool: between names stands |, and nothing else");
        return Some((what, format!("write \"{}\"", names.join("|"))));
    }
    let is_known = |name: &str| {
        name.starts_with("mcp__") || TOOLS.contains(&name) || other_names().any(|own| own == name)
    };
    // Most likely a tool of the user's own, unless it looks like a slip of the pen.
    let unknown = names.into_iter().find(|name| !is_known(name) && slip(&TOOLS, name).is_some())?;
    let near = slip(&TOOLS, unknown)?;
    let what = format!(
        "no built-in tool is called \"{unknown}\", so that the matcher \"{text}\" hears there only a tool of your own"
    );
    Some((what, format!("if you have no such tool, write \"{near}\"")))
}

fn is_about_tools(event: HookEvent) -> bool {
    use HookEvent::{PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse};
    matches!(event, PreToolUse | PermissionRequest | PostToolUse | PostToolUseFailure)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn is_between(c: char) -> bool {
    matches!(c, '|' | ',') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_nothing_says_what_to_write() {
        let cases = [
            ("edit, read", "fits no tool", "\"edit|read\""),
            ("edit write", "fits no tool", "\"edit|write\""),
            ("edit,read", "fits no tool", "\"edit|read\""),
            ("Reed", "no built-in tool is called \"Reed\"", "\"read\""),
            ("bash|Wriite", "no built-in tool is called \"Wriite\"", "\"write\""),
        ];
        for (matcher, says, fix) in cases {
            let (what, instead) = misfit(HookEvent::PreToolUse, matcher).unwrap_or_default();
            assert!(what.contains(says) && instead.contains(fix), "{matcher}: {what}; {instead}");
        }
    }

    #[test]
    fn what_may_fit_is_left_alone() {
        for matcher in ["", "*", "edit | read", "Edit|MultiEdit", "mcp__x__y", "git_*", "^re(ad|x)$", "a.*"] {
            assert_eq!(misfit(HookEvent::PostToolUse, matcher), None, "{matcher}");
        }
        assert_eq!(misfit(HookEvent::SessionStart, "startup, resume"), None);
    }
}
