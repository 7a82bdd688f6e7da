//! From a rule's text to what it matches.

use super::{
    CommandPattern, HostPattern, Matcher, ParamPattern, PathPattern, RuleError, RuleOrigin, ToolPattern,
};
use crate::wild::Wild;
use haft_core::Risk;

/// `tool`, `tool(spec)`, `capability:…`, `category:…`, `risk:…` or `param.key=value`.
pub(super) fn matcher(text: &str, at: &RuleOrigin) -> Result<Matcher, RuleError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RuleError::Empty);
    }
    if let Some(tag) = text.strip_prefix("capability:") {
        return label(tag, text).map(Matcher::Capability);
    }
    if let Some(category) = text.strip_prefix("category:") {
        return label(category, text).map(Matcher::Category);
    }
    if let Some(risk) = text.strip_prefix("risk:") {
        return match risk.trim() {
            "safe" => Ok(Matcher::Risk(Risk::Safe)),
            "standard" => Ok(Matcher::Risk(Risk::Standard)),
            "destructive" => Ok(Matcher::Risk(Risk::Destructive)),
            other => Err(RuleError::Risk(other.to_owned())),
        };
    }
    if text.starts_with("param.") {
        return Ok(Matcher::Param(None, ParamPattern::parse(text)?));
    }
    let Some((name, rest)) = text.split_once('(') else {
        return Ok(Matcher::Tool(ToolPattern::parse(text)?));
    };
    let tools = ToolPattern::parse(name.trim_end())?;
    let spec = rest.strip_suffix(')').ok_or_else(|| RuleError::Unclosed(text.to_owned()))?.trim();
    if spec.is_empty() {
        return Err(RuleError::NoSpec(text.to_owned()));
    }
    Ok(if let Some(host) = spec.strip_prefix("domain:") {
        Matcher::Hosts(tools, HostPattern::parse(host)?)
    } else if spec.starts_with("param.") {
        Matcher::Param(Some(tools), ParamPattern::parse(spec)?)
    } else if tools.runs_commands() {
        Matcher::Commands(tools, CommandPattern::parse(spec)?)
    } else {
        Matcher::Paths(tools, PathPattern::parse(spec, at)?)
    })
}

/// The tool that a text which is no rule still clearly names.
pub(super) fn readable_tool(text: &str) -> Option<ToolPattern> {
    let text = text.trim();
    let end = text.find(|c: char| !ToolPattern::allows(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let ends_clearly = rest.is_empty() || rest.starts_with('(') || rest.starts_with(char::is_whitespace);
    if ends_clearly { ToolPattern::parse(name).ok() } else { None }
}

fn label(text: &str, rule: &str) -> Result<Wild, RuleError> {
    match text.trim() {
        "" => Err(RuleError::NoSpec(rule.to_owned())),
        text => Ok(Wild::new(text)),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action, Match, Rule, RuleError,
        sample::{at, bash, reading},
    };

    #[test]
    fn what_is_no_rule_says_what_would_be_one() {
        let cases = [
            ("", "empty"),
            ("my tool", "no tool name"),
            ("a.b(x)", "no tool name"),
            ("bash(ls", "closing parenthesis"),
            ("bash()", "leave the parentheses out"),
            ("capability:", "covers"),
            ("bash(echo 'x)", "unbalanced quote"),
            ("read(../x)", "`//`"),
            ("read(!x)", "negated"),
            ("read(./{a)", "no path pattern"),
            ("risk:high", "destructive"),
            ("param.x", "param.key=value"),
        ];
        for (text, part) in cases {
            let error = Rule::parse(Action::Allow, text, &at()).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_broken_rule_denies_its_tool_and_no_other() {
        let broken = |text: &str| {
            let error = Rule::parse(Action::Allow, text, &at()).unwrap_err();
            Rule::broken(Action::Allow, text, &at(), &error)
        };
        let rule = broken("bash(ls");
        assert_eq!((rule.action, rule.matches(&bash("ls"))), (Action::Deny, Match::Yes));
        assert_eq!(rule.matches(&reading("/w/a")), Match::No);
        assert!(rule.problem().unwrap().contains("closing parenthesis"));
        assert_eq!(broken("read(../x)").matches(&reading("/w/a")), Match::Yes);
        for nothing in ["risk:high", "param.x", "", "(x"] {
            assert_eq!(broken(nothing).matches(&bash("ls")), Match::No, "{nothing}");
        }
        assert_eq!(RuleError::Empty.to_string(), "the rule is empty");
    }
}
