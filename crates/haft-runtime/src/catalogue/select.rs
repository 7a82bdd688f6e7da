//! Tool sets: which tools one session sees. Visibility, not permission; both are checked.

use haft_core::Spec;
use serde::{Deserialize, Serialize};

/// Names, categories, or names with a trailing `*`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSet {
    /// What is in; empty means no tools.
    pub include: Vec<String>,
    /// What is out again.
    pub exclude: Vec<String>,
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::all()
    }
}

impl ToolSet {
    /// Every tool.
    pub fn all() -> Self {
        Self { include: vec!["*".to_owned()], exclude: Vec::new() }
    }

    /// Whether the tool with that model-facing name is in the set.
    pub fn contains(&self, name: &str, spec: &Spec) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name, spec));
        any(&self.include) && !any(&self.exclude)
    }
}

fn matches(pattern: &str, name: &str, spec: &Spec) -> bool {
    if let Some(category) = pattern.strip_prefix("category:") {
        return spec.category == category;
    }
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern || spec.category == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_include_means_no_tools() {
        let spec = Spec::new("git_log", "d").with_category("git");
        let set = |include: &[&str], exclude: &[&str]| ToolSet {
            include: include.iter().map(|text| (*text).to_owned()).collect(),
            exclude: exclude.iter().map(|text| (*text).to_owned()).collect(),
        };
        assert!(!set(&[], &[]).contains("git_log", &spec));
        assert!(set(&["git_log"], &[]).contains("git_log", &spec));
        assert!(set(&["git"], &[]).contains("git_log", &spec));
        assert!(set(&["git_*"], &[]).contains("git_log", &spec));
        assert!(!set(&["*"], &["git_*"]).contains("git_log", &spec));
        assert!(!set(&["git_lo"], &[]).contains("git_log", &spec));
        assert!(ToolSet::all().contains("git_log", &spec));
    }
}
