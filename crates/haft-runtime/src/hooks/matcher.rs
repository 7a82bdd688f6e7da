//! Which names a hook is about.

use regex::{Regex, RegexBuilder};
use std::fmt;

/// The most memory that one compiled pattern may take.
const PATTERN_MAX_BYTES: usize = 1 << 20;

/// One name, a list of names, a pattern for whole names, or everything.
#[derive(Debug, Clone)]
pub struct Matcher(Kind);

#[derive(Debug, Clone)]
enum Kind {
    All,
    Names(Vec<String>),
    Pattern(Regex),
}

impl Matcher {
    /// Everything.
    pub fn all() -> Self {
        Self(Kind::All)
    }

    /// Reads a matcher: empty or `*` is everything, `A` a name, `A|B` a list, and what has other characters
    /// than names have is a regular expression for the whole name. Names with `*` alone (`mcp__x__*`) are
    /// read as people mean them: any text in its place.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text == "*" {
            return Ok(Self::all());
        }
        if text.chars().all(is_of_list) {
            let names = text.split('|').map(str::trim).filter(|name| !name.is_empty());
            return Ok(Self(Kind::Names(names.map(str::to_owned).collect())));
        }
        let is_glob = text.chars().all(|c| is_of_list(c) || c == '*');
        let pattern = if is_glob { text.replace(' ', "").replace('*', ".*") } else { text.to_owned() };
        RegexBuilder::new(&format!("^(?:{pattern})$"))
            .size_limit(PATTERN_MAX_BYTES)
            .build()
            .map(|regex| Self(Kind::Pattern(regex)))
            .map_err(|error| {
                let told = error.to_string();
                let last = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                format!("\"{text}\" is no usable pattern: {last}")
            })
    }

    /// Whether one of the names is meant. A pattern is held against `own` names only: what it leaves out on
    /// purpose must not come in under a name that its author didn't know.
    pub(super) fn matches(&self, own: &[&str], others: &[&str]) -> bool {
        match &self.0 {
            Kind::All => true,
            Kind::Names(names) => {
                own.iter().chain(others).any(|name| names.iter().any(|known| known == name))
            }
            Kind::Pattern(regex) => own.iter().any(|name| regex.is_match(name)),
        }
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::All => f.write_str("*"),
            Kind::Names(names) => f.write_str(&names.join("|")),
            Kind::Pattern(regex) => f.write_str(regex.as_str()),
        }
    }
}

fn is_of_list(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lists_and_patterns_mean_whole_names() {
        let cases: [(&str, &str, bool); 18] = [
            ("", "Bash", true),
            ("*", "Bash", true),
            (" * ", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("bash", "Bash", false),
            ("Edit|Write", "Write", true),
            ("Edit | Write", "Write", true),
            ("Edit|Write", "NotebookEdit", false),
            ("Edit|", "Edit", true),
            ("Notebook.*", "NotebookEdit", true),
            ("Edit.*", "NotebookEdit", false),
            (".*Edit", "NotebookEdit", true),
            ("mcp__memory__.*", "mcp__memory__add", true),
            ("mcp__.*__write.*", "mcp__files__write_all", true),
            ("mcp__memory__*", "mcp__memory__add", true),
            ("^(Edit|Write)$", "Edit", true),
            ("Edit|Wr.te", "XWrite", false),
        ];
        for (matcher, name, expected) in cases {
            assert_eq!(Matcher::parse(matcher).unwrap().matches(&[name], &[]), expected, "{matcher} {name}");
        }
    }

    #[test]
    fn a_list_knows_a_tool_by_all_its_names_a_pattern_by_its_own() {
        assert!(Matcher::parse("bash").unwrap().matches(&["Bash"], &["bash"]));
        assert!(!Matcher::parse("[^B].*").unwrap().matches(&["Bash"], &["bash"]));
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        for text in ["(", "Edit(", "(?!Bash).*", "a{1000}{1000}{1000}"] {
            let said = Matcher::parse(text).unwrap_err();
            assert!(said.contains(text) && !said.ends_with(": "), "{said}");
        }
    }
}
