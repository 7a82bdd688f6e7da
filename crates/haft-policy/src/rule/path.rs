//! The path part of a rule: gitignore syntax beneath an anchor.

use super::{RuleError, RuleOrigin};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// A name that no pattern means, to ask whether a pattern covers whatever stands in a folder.
const ANY_NAME: &str = "\u{1}any";

/// One gitignore pattern over absolute paths.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    /// The folder it is anchored to, absolute.
    base: String,
    rules: Gitignore,
    /// The literal folders that an anchored pattern begins with; `None` where it holds at any depth.
    prefix: Option<Vec<String>>,
    /// Whether it ends with a component that is every name.
    is_open: bool,
    /// Its path beneath the base, where an anchored one names just that.
    literal: Option<String>,
}

impl PathPattern {
    /// Reads a pattern: `./x` and `x` beneath the workspace, `/x` beneath the rule file's folder, `~/x`
    /// beneath the home, `//x` absolute.
    pub(super) fn parse(text: &str, at: &RuleOrigin) -> Result<Self, RuleError> {
        let fault = |reason: String| RuleError::Path { path: text.to_owned(), reason };
        let (base, line) = anchor(text, at).map_err(|reason| fault(reason.to_owned()))?;
        if line.split('/').any(|part| part == "..") {
            return Err(fault(
                "`..` leads out of its folder; write the path from its root, with `//`".to_owned(),
            ));
        }
        if line.starts_with('!') {
            return Err(fault("a rule can't be negated".to_owned()));
        }
        let mut builder = GitignoreBuilder::new("");
        builder.add_line(None, &line).map_err(|error| fault(error.to_string()))?;
        let rules = builder.build().map_err(|error| fault(error.to_string()))?;
        if rules.is_empty() {
            return Err(fault("it names no path".to_owned()));
        }
        let body = line.trim_end_matches('/');
        let last = body.rsplit('/').next();
        Ok(Self {
            base: trimmed(&base).to_owned(),
            rules,
            prefix: body.contains('/').then(|| literal_prefix(body)),
            is_open: matches!(last, Some("*" | "**")),
            literal: (body.contains('/') && !body.contains(['*', '?', '[', '\\']))
                .then(|| body.trim_start_matches('/').to_owned()),
        })
    }

    /// Whether the path, or a folder that it is in, is covered. `folder` says whether it counts as a folder.
    pub(super) fn covers(&self, path: &str, folder: bool) -> bool {
        self.beneath(path).is_some_and(|rest| self.covers_beneath(rest, folder))
    }

    /// Whether everything in the folder is covered.
    pub(super) fn covers_tree(&self, folder: &str) -> bool {
        let Some(rest) = self.beneath(folder) else {
            return false;
        };
        let inside = if rest.is_empty() { ANY_NAME.to_owned() } else { format!("{rest}/{ANY_NAME}") };
        self.covers_beneath(rest, true) || (self.is_open && self.covers_beneath(&inside, false))
    }

    /// Whether something in the folder may be covered.
    pub(super) fn reaches_into(&self, folder: &str) -> bool {
        if beneath(folder, &self.base).is_some() {
            return true;
        }
        let Some(rest) = self.beneath(folder) else {
            return false;
        };
        let mut parts = rest.split('/').filter(|part| !part.is_empty());
        let Some(prefix) = &self.prefix else {
            return true;
        };
        prefix.iter().all(|own| parts.next().is_none_or(|part| part == own))
    }

    /// The one file or folder that it covers whole; none for a pattern that holds at many places.
    pub(super) fn place(&self) -> Option<String> {
        let at = |rest: &str| format!("{}/{rest}", self.base.trim_end_matches('/'));
        if let Some(literal) = &self.literal {
            return Some(at(literal));
        }
        let folder = at(&self.prefix.as_ref().filter(|prefix| !prefix.is_empty())?.join("/"));
        self.covers_tree(&folder).then_some(folder)
    }

    fn beneath<'a>(&self, path: &'a str) -> Option<&'a str> {
        beneath(&self.base, path)
    }

    fn covers_beneath(&self, rest: &str, folder: bool) -> bool {
        if rest.is_empty() {
            return false;
        }
        let mut ancestors = rest.match_indices('/').filter_map(|(end, _)| rest.get(..end));
        self.rules.matched(rest, folder).is_ignore()
            || ancestors.any(|ancestor| self.rules.matched(ancestor, true).is_ignore())
    }
}

/// The folder that a pattern is anchored to, and the gitignore line for it.
fn anchor(text: &str, at: &RuleOrigin) -> Result<(String, String), &'static str> {
    let rooted = |rest: &str| {
        if rest.is_empty() { "/**".to_owned() } else { format!("/{rest}") }
    };
    if let Some(rest) = text.strip_prefix("//") {
        return Ok(("/".to_owned(), rooted(rest)));
    }
    if let Some(rest) = text.strip_prefix('/') {
        return Ok((at.folder.clone(), rooted(rest)));
    }
    if let Some(rest) = text.strip_prefix('~') {
        let home = at.home.clone().ok_or("there is no home folder here")?;
        let rest = if rest.is_empty() { Some("") } else { rest.strip_prefix('/') };
        return Ok((home, rooted(rest.ok_or("only one's own home, `~/`, is known")?)));
    }
    if let Some(rest) = text.strip_prefix("./") {
        return Ok((at.workspace.clone(), rooted(rest)));
    }
    let line = match text {
        "." => "/**".to_owned(),
        // Not a comment: rules have none.
        _ if text.starts_with('#') => format!("\\{text}"),
        _ => text.to_owned(),
    };
    Ok((at.workspace.clone(), line))
}

/// The components before the first one with a wildcard.
fn literal_prefix(line: &str) -> Vec<String> {
    let parts = line.trim_start_matches('/').split('/');
    parts.take_while(|part| !part.contains(['*', '?', '[', '{', '\\'])).map(str::to_owned).collect()
}

fn trimmed(folder: &str) -> &str {
    match folder.trim_end_matches('/') {
        "" => "/",
        folder => folder,
    }
}

/// The rest of `path` beneath `folder`, empty for the folder itself.
pub(super) fn beneath<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    if folder == "/" {
        return path.strip_prefix('/');
    }
    match path.strip_prefix(folder)? {
        "" => Some(""),
        rest => rest.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::at;

    #[test]
    fn anchors_and_gitignore_syntax() {
        let cases = [
            ("./src/**", "/w/src/a.rs", true),
            ("./src/**", "/w/src/x/a.rs", true),
            ("./src/**", "/w/src2/a.rs", false),
            ("src/**", "/w/src/a.rs", true),
            ("src/**", "/w/x/src/a.rs", false),
            ("./src", "/w/src/a.rs", true),
            ("./src", "/w/x/src/a.rs", false),
            ("src", "/w/x/src/a.rs", true),
            ("secret/", "/w/a/secret/k", true),
            ("*.env", "/w/a/b.env", true),
            ("*.env", "/other/b.env", false),
            ("**/.env", "/w/.env", true),
            ("./a/*.rs", "/w/a/b/c.rs", false),
            ("/docs/**", "/conf/docs/a", true),
            ("/docs/**", "/w/docs/a", false),
            ("~/.ssh/**", "/home/u/.ssh/id", true),
            ("~/.ssh/**", "/home/v/.ssh/id", false),
            ("//etc/**", "/etc/passwd", true),
            ("//etc/**", "/w/etc/passwd", false),
            ("//**", "/anything", true),
            (".", "/w/a/b", true),
            ("./", "/w/a/b", true),
            ("./**", "/w2/a", false),
            ("./\\[id\\].tsx", "/w/[id].tsx", true),
            ("#x", "/w/#x", true),
            ("./{a,}/b", "/w/c", false),
        ];
        for (text, path, expected) in cases {
            assert_eq!(
                PathPattern::parse(text, &at()).unwrap().covers(path, false),
                expected,
                "{text} on {path}"
            );
        }
    }

    #[test]
    fn whole_trees_and_reach() {
        let cases = [
            ("./secret/**", "/w/secret", true, true),
            ("./secret/**", "/w/secret/a", true, true),
            ("./secret/**", "/w", false, true),
            ("./secret/**", "/w/src", false, false),
            ("./secret/*", "/w/secret", true, true),
            ("./secret/*.key", "/w/secret", false, true),
            ("*.key", "/w/src", false, true),
            ("*.key", "/other", false, false),
            ("**", "/w", true, true),
            ("./**", "/w", true, true),
            ("./**", "/", false, true),
            ("./[!a]*", "/w", false, true),
        ];
        for (text, path, whole, reach) in cases {
            let pattern = PathPattern::parse(text, &at()).unwrap();
            assert_eq!(
                (pattern.covers_tree(path), pattern.reaches_into(path)),
                (whole, reach),
                "{text} on {path}"
            );
        }
    }
}
