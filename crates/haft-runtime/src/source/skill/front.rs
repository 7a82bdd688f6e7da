//! What stands between two lines of `---` at the beginning of a file: keys with values. Pure.
//!
//! As much of YAML as such files hold in practice: plain and quoted values, and texts on the lines below their key. What
//! has more to it (lists, tables) is passed over.

use haft_core::without_bom;

/// The line around it.
const FENCE: &str = "---";
/// How many lines of it are read.
const LINES_MAX: usize = 200;

/// Keys and values, and what follows them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter<'t> {
    values: Vec<(&'t str, String)>,
    /// The rest of the file.
    pub(super) body: &'t str,
}

impl<'t> FrontMatter<'t> {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    /// There is none, or it has no end.
    pub(super) fn read(text: &'t str) -> Result<Self, String> {
        let text = without_bom(text);
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_end() != FENCE {
            return Err(format!("it doesn't begin with a line {FENCE}"));
        }
        let mut at = first.len();
        let mut inner = Vec::new();
        for line in lines.take(LINES_MAX) {
            at += line.len();
            if line.trim_end() == FENCE {
                let body = text.get(at..).unwrap_or_default();
                return Ok(Self { values: values(&inner), body });
            }
            inner.push(line.trim_end());
        }
        Err(format!("what begins with {FENCE} has no end within {LINES_MAX} lines"))
    }

    /// What stands behind a key.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }
}

fn values<'t>(lines: &[&'t str]) -> Vec<(&'t str, String)> {
    let mut all: Vec<(&'t str, String)> = Vec::new();
    for line in lines {
        if line.starts_with(char::is_whitespace) {
            // It goes on with what the last key began.
            if let Some((_, value)) = all.last_mut() {
                value.push('\n');
                value.push_str(line.trim());
            }
        } else if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
            all.push((key.trim_end(), value.trim().to_owned()));
        }
    }
    for (_, value) in &mut all {
        *value = bare(value);
    }
    all
}

/// A value without the quotes around it, or the sign that it stands on the lines below.
fn bare(value: &str) -> String {
    let (first, rest) = value.split_once('\n').unwrap_or((value, ""));
    if matches!(first, ">" | ">-" | ">+" | "|" | "|-" | "|+" | "") {
        return rest.to_owned();
    }
    let within = |quote: char| value.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote));
    if let Some(inner) = within('"') {
        return inner.replace("\\\"", "\"").replace("\\\\", "\\");
    }
    within('\'').map_or_else(|| value.to_owned(), |inner| inner.replace("''", "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_each_of_their_forms() {
        let text = "---\n# a comment: none\nplain: a: b\nquoted: \"say \\\"hi\\\"\"\nsingle: 'it''s'\nfolded: >-\n  one\n  two\nlong: three\n  four\nlist:\n  - x\n---\nbody\n---\n";
        let front = FrontMatter::read(text).unwrap();
        for (key, value) in [
            ("plain", "a: b"),
            ("quoted", "say \"hi\""),
            ("single", "it's"),
            ("folded", "one\ntwo"),
            ("long", "three\nfour"),
        ] {
            assert_eq!(front.value(key), Some(value), "{key}");
        }
        assert_eq!(front.value("none"), None);
        assert_eq!(front.body, "body\n---\n");
        assert_eq!(FrontMatter::read("---\r\na: b\r\n---\r\nbody").unwrap().value("a"), Some("b"));
    }

    #[test]
    fn a_fence_that_never_closes_holds_nobody_up() {
        assert!(FrontMatter::read(&format!("---\n{}", "a: b\n".repeat(100_000))).is_err());
        assert!(FrontMatter::read("").is_err());
    }
}
