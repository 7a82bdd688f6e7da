//! Where a credential is: in a variable that haft was started with, or stored under a name.
//!
//! Settings hold references, never values. What is stored is asked for through [`Credentials`].

use crate::{Failure, Secret};
use serde::{Serialize, Serializer};
use std::{fmt, sync::Arc, time::SystemTime};

/// The longest plain name, in bytes.
const NAME_MAX_BYTES: usize = 64;
/// The longest name of whom a credential is for, and of what belongs to them.
const OWNER_MAX_BYTES: usize = 32;
const OWNED_MAX_BYTES: usize = 256;
/// How a reference begins.
const STORED: &str = "secret:";
const VARIABLE: &str = "env:";

/// The name of a stored credential: `work-key`, or with whom it is for, `model:anthropic`, `mcp:https://id.example.org`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(Arc<str>);

/// Why a text names no stored credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretNameError {
    /// It breaks the rule for plain names.
    #[error(
        "\"{0}\" is no name for a secret: write up to {NAME_MAX_BYTES} letters, digits, dots, hyphens and underscores, a \
         letter or digit first; whom it is for may stand before it with a colon, as in model:anthropic"
    )]
    Plain(String),
    /// What stands before or after its colon can't.
    #[error(
        "\"{0}\" is no name for a secret: before the colon stand up to {OWNER_MAX_BYTES} small letters, digits and hyphens, \
         after it up to {OWNED_MAX_BYTES} visible characters without quotes and backslashes"
    )]
    Owned(String),
    /// The beginning of a reference was taken for a part of the name.
    #[error("\"{0}\" is a reference, as settings hold it; the name is what stands behind its first colon")]
    Reference(String),
}

impl SecretName {
    /// Reads a name.
    ///
    /// # Errors
    /// Says what a name is made of.
    pub fn parse(text: &str) -> Result<Self, SecretNameError> {
        if text.starts_with(STORED) || text.starts_with(VARIABLE) {
            return Err(SecretNameError::Reference(text.to_owned()));
        }
        match text.split_once(':') {
            None if is_plain(text) => Ok(Self(text.into())),
            None => Err(SecretNameError::Plain(text.to_owned())),
            Some((owner, owned)) if is_owner(owner) && is_owned(owned) => Ok(Self(text.into())),
            Some(_) => Err(SecretNameError::Owned(text.to_owned())),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_plain(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    text.len() <= NAME_MAX_BYTES
        && text.bytes().all(allowed)
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

fn is_owner(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=OWNER_MAX_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

fn is_owned(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\');
    (1..=OWNED_MAX_BYTES).contains(&text.len()) && text.bytes().all(allowed)
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a credential is to be had: `secret:NAME`, or `env:VARIABLE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Credential {
    /// In a variable that haft was started with.
    Variable(String),
    /// Stored under a name.
    Stored(SecretName),
}

/// Why a text says of no credential where it is. The text isn't repeated: it may be the credential itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// It begins like neither form.
    #[error("it has to say where the value is, and never be the value itself")]
    Form,
    /// What follows `env:` is no variable.
    #[error("it names no variable: those are letters, digits and underscores")]
    Variable,
    /// What follows `secret:` is no name.
    #[error("it names no stored secret")]
    Stored,
}

impl Credential {
    /// Reads `secret:NAME` or `env:VARIABLE`.
    ///
    /// # Errors
    /// Neither of both; the text isn't repeated.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        if let Some(name) = text.strip_prefix(STORED) {
            return SecretName::parse(name).map(Self::Stored).map_err(|_| CredentialError::Stored);
        }
        match text.strip_prefix(VARIABLE) {
            Some(name) => Self::variable(name),
            None => Err(CredentialError::Form),
        }
    }

    /// The same, where a name that stands alone is a variable's.
    ///
    /// # Errors
    /// As [`Credential::parse`].
    pub fn parse_or_variable(text: &str) -> Result<Self, CredentialError> {
        if text.contains(':') {
            return Self::parse(text);
        }
        Self::variable(text).map_err(|_| CredentialError::Form)
    }

    /// The variable of that name.
    ///
    /// # Errors
    /// It is no name of a variable.
    pub fn variable(name: &str) -> Result<Self, CredentialError> {
        if is_variable(name) { Ok(Self::Variable(name.to_owned())) } else { Err(CredentialError::Variable) }
    }

    /// Why it can't be had.
    pub fn missing(&self) -> Failure {
        Failure::not_found(match self {
            Self::Variable(name) => format!("the variable {name} isn't set; set it before haft is started"),
            Self::Stored(name) => format!("{self} isn't stored; store it with: haft secret set {name}"),
        })
    }
}

/// Whether a text can be the name of a variable.
pub fn is_variable(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

impl fmt::Display for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "{VARIABLE}{name}"),
            Self::Stored(name) => write!(f, "{STORED}{name}"),
        }
    }
}

impl Serialize for Credential {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is known of a stored credential without opening it to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// Its name.
    pub name: SecretName,
    /// When its value was last set.
    pub changed: SystemTime,
}

/// Where credentials are stored. Each call may read a file, and stretching a passphrase takes a moment.
pub trait Credentials: Send + Sync {
    /// A value; none where nothing has that name.
    ///
    /// # Errors
    /// Unavailable where what is stored can't be opened.
    fn get(&self, name: &SecretName) -> Result<Option<Secret>, Failure>;

    /// Stores a value in place of the former.
    ///
    /// # Errors
    /// As [`Credentials::get`]; or it can't be written. What was stored then stays as it was.
    fn put(&self, name: &SecretName, value: &Secret) -> Result<(), Failure>;

    /// Takes a value away; says whether there was one.
    ///
    /// # Errors
    /// As [`Credentials::put`].
    fn remove(&self, name: &SecretName) -> Result<bool, Failure>;

    /// What is stored, by name.
    ///
    /// # Errors
    /// As [`Credentials::get`].
    fn list(&self) -> Result<Vec<StoredSecret>, Failure>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_or_say_whom_they_are_for() {
        for name in ["a", "work-key", "K_1.b", "model:anthropic", "mcp:https://id.example.org/a?b=c"] {
            assert_eq!(SecretName::parse(name).unwrap().as_str(), name);
        }
        let long = "x".repeat(NAME_MAX_BYTES + 1);
        for name in [
            "", "a/b", "../x", "-a", ".a", "a b", "é", "a\n", "Mcp:x", ":x", "mcp:", "mcp:a b", "mcp:\"",
            &long,
        ] {
            assert!(SecretName::parse(name).is_err(), "{name:?}");
        }
        let error = SecretName::parse("secret:a").unwrap_err();
        assert!(error.to_string().contains("behind its first colon"), "{error}");
    }

    #[test]
    fn a_reference_says_where_and_an_error_repeats_nothing() {
        let stored = Credential::Stored(SecretName::parse("model:x").unwrap());
        assert_eq!(Credential::parse("secret:model:x"), Ok(stored.clone()));
        assert_eq!(Credential::parse("env:KEY"), Ok(Credential::Variable("KEY".to_owned())));
        assert_eq!(Credential::parse_or_variable("KEY"), Ok(Credential::Variable("KEY".to_owned())));
        assert_eq!(Credential::parse_or_variable("secret:model:x"), Ok(stored.clone()));
        assert_eq!(stored.to_string(), "secret:model:x");
        assert_eq!(serde_json::to_string(&stored).unwrap(), "\"secret:model:x\"");
        for text in ["hunter2", "Bearer hunter2", "env:hunter 2", "secret:hunter/2", "x:hunter2", ""] {
            let error = Credential::parse(text).unwrap_err();
            assert!(!error.to_string().contains("hunter"), "{error}");
        }
        assert!(Credential::parse_or_variable("Bearer hunter2").is_err());
        assert!(Credential::parse_or_variable("2x").is_err());
    }

    #[test]
    fn what_is_missing_says_how_to_get_it() {
        let text = |reference: &str| Credential::parse(reference).unwrap().missing().text;
        assert!(text("secret:a").contains("haft secret set a"));
        assert!(text("env:A").contains("the variable A"));
    }
}
