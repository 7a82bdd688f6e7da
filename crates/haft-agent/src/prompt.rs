//! The system prompt: short, since each request pays for it.

/// The prompt for a workspace and a date (as the host writes it); instructions files are the caller's to
/// append.
pub fn system_prompt(workspace: &str, date: &str) -> String {
    include_str!("system.md").replace("{date}", date).replace("{workspace}", workspace)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_place_is_filled() {
        let prompt = super::system_prompt("/w", "29 November 2026");
        assert!(prompt.contains("/w") && prompt.contains("29 November 2026"));
        assert!(!prompt.contains('{'), "{prompt}");
    }
}
