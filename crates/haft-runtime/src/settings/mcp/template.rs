//! A text with `${NAME}` in it, filled in when it is used: so that settings name secrets and never hold them.

use haft_core::{Credential, Failure};
use serde::Serialize;
use std::fmt;

/// What stands for the root of the workspace.
const WORKSPACE: &str = "workspaceFolder";
/// How the name of something stored begins.
const STORED: &str = "secret:";

/// A text of settings in which `${NAME}` stands for an environment variable, `${NAME:-text}` for one that may be
/// missing, `${secret:NAME}` for what is stored, and `${workspaceFolder}` for the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Template(String);

/// One piece of a template.
enum Piece<'a> {
    Text(&'a str),
    Workspace,
    Credential { credential: Credential, default: Option<&'a str> },
}

impl Template {
    /// A template as it is written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A template that is one credential.
    pub fn of(credential: &Credential) -> Self {
        match credential {
            Credential::Variable(name) => Self(format!("${{{name}}}")),
            Credential::Stored(name) => Self(format!("${{{STORED}{name}}}")),
        }
    }

    /// A text that may be nothing but a reference, as settings write it: `secret:NAME`, `env:VARIABLE`.
    pub fn of_reference(text: impl Into<String>) -> Self {
        let text = text.into();
        Credential::parse(&text).map_or_else(|_| Self(text.clone()), |credential| Self::of(&credential))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The credentials in it, in their order.
    pub fn credentials(&self) -> Vec<Credential> {
        let found = self.pieces().into_iter().filter_map(|piece| match piece {
            Piece::Credential { credential, .. } => Some(credential),
            Piece::Text(_) | Piece::Workspace => None,
        });
        found.collect()
    }

    /// The credential that it is, where it is nothing besides and has no text in its place.
    pub fn reference(&self) -> Option<Credential> {
        let mut pieces = self.pieces().into_iter().filter(|piece| !matches!(piece, Piece::Text("")));
        match (pieces.next(), pieces.next()) {
            (Some(Piece::Credential { credential, default: None }), None) => Some(credential),
            _ => None,
        }
    }

    /// Whether all of it is written out.
    pub fn is_plain(&self) -> bool {
        self.credentials().is_empty()
    }

    /// The whole text, each name replaced by its value.
    ///
    /// # Errors
    /// What `find` says of the first that isn't there and has no text in its place.
    pub fn fill(
        &self,
        workspace: &str,
        find: &dyn Fn(&Credential) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        let mut text = String::new();
        for piece in self.pieces() {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Workspace => text.push_str(workspace),
                Piece::Credential { credential, default } => match (find(&credential), default) {
                    (Ok(value), _) => text.push_str(&value),
                    (Err(_), Some(default)) => text.push_str(default),
                    (Err(failure), None) => return Err(failure),
                },
            }
        }
        Ok(text)
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        let (mut pieces, mut rest) = (Vec::new(), self.0.as_str());
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inner, behind)) = after.split_once('}') else { break };
            if let Some(piece) = piece(inner) {
                pieces.extend([Piece::Text(before), piece]);
            } else {
                // Not ours, so it stays as it stands.
                let whole = rest.len() - behind.len();
                pieces.push(Piece::Text(rest.get(..whole).unwrap_or_default()));
            }
            rest = behind;
        }
        pieces.push(Piece::Text(rest));
        pieces
    }
}

/// What stands between the brackets.
fn piece(inner: &str) -> Option<Piece<'_>> {
    if inner == WORKSPACE {
        return Some(Piece::Workspace);
    }
    if inner.starts_with(STORED) {
        let credential = Credential::parse(inner).ok()?;
        return Some(Piece::Credential { credential, default: None });
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let credential = Credential::variable(name.strip_prefix("env:").unwrap_or(name)).ok()?;
    Some(Piece::Credential { credential, default })
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        let find = |credential: &Credential| match credential.to_string().as_str() {
            "env:A" => Ok("1".to_owned()),
            "secret:mcp:x" => Ok("s".to_owned()),
            _ => Err(credential.missing()),
        };
        Template::new(text).fill("/w", &find).map_err(|failure| failure.text)
    }

    #[test]
    fn names_are_filled_in_and_the_rest_stays() {
        for (text, whole) in [
            ("x", "x"),
            ("Bearer ${A}.", "Bearer 1."),
            ("${env:A}${A:-2}${B:-2}${B:-}", "112"),
            ("${secret:mcp:x} ${workspaceFolder}/a", "s /w/a"),
            ("$A ${ ${input:x} ${A", "$A ${ ${input:x} ${A"),
            ("${A}${not a name}", "1${not a name}"),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(whole), "{text}");
        }
        assert!(filled("${A} ${B} ${C}").unwrap_err().contains("the variable B isn't set"));
        assert!(filled("${secret:y}").unwrap_err().contains("haft secret set y"));
    }

    #[test]
    fn a_reference_alone_is_a_template_too() {
        assert_eq!(Template::of_reference("secret:x").as_str(), "${secret:x}");
        assert_eq!(Template::of_reference("env:A").as_str(), "${A}");
        assert_eq!(Template::of_reference("Bearer ${A}").credentials().len(), 1);
        assert!(Template::new("a ${b c} ${workspaceFolder}").is_plain());
        for (text, is_one) in [
            ("${A}", true),
            ("${env:A}", true),
            ("${secret:x}", true),
            ("Bearer ${A}", false),
            ("${A:-b}", false),
        ] {
            assert_eq!(Template::new(text).reference().is_some(), is_one, "{text}");
        }
    }
}
