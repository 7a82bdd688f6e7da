//! What is looked for, as it was written.

use super::words::split;

/// A longer query is read as far as this: it comes from models and scripts, and each of its words is looked up.
const QUERY_MAX_BYTES: usize = 8 * 1024;

/// A query, read.
///
/// `select:a,b` names tools. Otherwise words; `+word` must be in a tool, `source:name` keeps the tools of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Tools that are named by `select:`; then nothing else counts.
    pub select: Vec<String>,
    /// Words that must be in a tool, in small letters.
    pub required: Vec<String>,
    /// The source that tools must be of, in small letters.
    pub source: Option<String>,
    /// The rest, as it was written.
    pub text: String,
}

impl Query {
    /// Reads a query. Every text is one; of a longer one than 8 KiB its beginning.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let text = text.get(..text.floor_char_boundary(QUERY_MAX_BYTES)).unwrap_or_default();
        if let Some(names) = text.strip_prefix("select:") {
            let names = names.split([',', ' ', '\n']).map(str::trim).filter(|name| !name.is_empty());
            return Self { select: names.map(str::to_owned).collect(), ..Self::default() };
        }
        let mut query = Self::default();
        let mut rest: Vec<&str> = Vec::new();
        for word in text.split_whitespace() {
            if let Some(source) = word.strip_prefix("source:").filter(|source| !source.is_empty()) {
                query.source = Some(source.to_lowercase());
            } else if let Some(required) = word.strip_prefix('+').filter(|word| !split(word).is_empty()) {
                for part in split(required) {
                    if !query.required.contains(&part) {
                        query.required.push(part);
                    }
                }
                rest.push(required);
            } else {
                rest.push(word);
            }
        }
        query.text = rest.join(" ");
        query
    }

    /// Whether it says nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.select.is_empty() && self.source.is_none() && split(&self.text).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_query_without_end_only_its_beginning_is_looked_at() {
        for text in ["z".repeat(1_000_000), "é ".repeat(500_000), format!("select:{}", "a,".repeat(500_000))]
        {
            let query = Query::parse(&text);
            let kept = query.text.len() + query.select.iter().map(String::len).sum::<usize>();
            assert!((1..=QUERY_MAX_BYTES).contains(&kept), "{kept}");
        }
    }

    #[test]
    fn forms_are_told_apart() {
        let query = Query::parse("  source:GitHub +issue list open ones ");
        assert_eq!(query.source.as_deref(), Some("github"));
        assert_eq!(
            (query.required.as_slice(), query.text.as_str()),
            (&["issue".to_owned()][..], "issue list open ones")
        );
        assert_eq!(Query::parse("select:read, git_log").select, ["read", "git_log"]);
        assert!(Query::parse(" + - … ").is_empty() && !Query::parse("source:x").is_empty());
        assert!(Query::parse("").is_empty());
        assert_eq!(Query::parse("+issue +issues +issue").required, ["issue", "issues"]);
    }

    #[test]
    fn a_query_without_end_is_read_as_far_as_it_says_something() {
        let query = Query::parse(&"ä".repeat(1 << 20));
        assert_eq!(query.text.len(), QUERY_MAX_BYTES);
        let names = format!("select:{}", "a,".repeat(1 << 20));
        assert!(Query::parse(&names).select.len() <= QUERY_MAX_BYTES);
    }
}
