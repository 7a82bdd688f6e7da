//! What a call will touch, stated before it runs: the ground for rules, locks and approval texts.

use crate::{Failure, FailureKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// A path as the caller wrote it; [`crate::Cx::path`] gives what was judged, never resolving twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct PathArg(pub String);

impl From<&str> for PathArg {
    fn from(path: &str) -> Self {
        Self(path.to_owned())
    }
}

/// A root folder and a path beneath it, all links followed.
///
/// `root` is absolute; `beneath` has no `.`, `..` or leading slash and is empty for the root itself.
/// Two spellings of one file give one value. A path outside every root stands beneath `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RealPath {
    /// The absolute folder that a handle is opened on.
    pub root: Arc<str>,
    /// The rest, relative to `root`.
    pub beneath: Arc<str>,
}

impl RealPath {
    /// A path from its two parts.
    pub fn new(root: &str, beneath: &str) -> Self {
        Self { root: root.into(), beneath: beneath.into() }
    }

    /// The whole absolute path.
    pub fn absolute(&self) -> String {
        match (self.root.as_ref(), self.beneath.as_ref()) {
            (root, "") => root.to_owned(),
            ("/", beneath) => format!("/{beneath}"),
            (root, beneath) => format!("{root}/{beneath}"),
        }
    }

    /// Whether this path lies outside every configured root.
    pub fn is_outside(&self) -> bool {
        self.root.as_ref() == "/"
    }

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        let whole = if self.beneath.is_empty() { &self.root } else { &self.beneath };
        whole.rsplit('/').next().unwrap_or(whole)
    }

    /// The path of `name` in this folder.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let beneath =
            if self.beneath.is_empty() { name.to_owned() } else { format!("{}/{name}", self.beneath) };
        Self { root: Arc::clone(&self.root), beneath: beneath.into() }
    }

    /// Whether `other` is this path or lies in the folder that this path names.
    pub fn covers(&self, other: &Self) -> bool {
        let (own, other) = (self.absolute(), other.absolute());
        own == "/" || own == other || other.strip_prefix(&own).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for RealPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.beneath.as_ref() {
            "" => f.write_str(&self.root),
            beneath if self.is_outside() => write!(f, "/{beneath}"),
            beneath => f.write_str(beneath),
        }
    }
}

/// One thing that a call touches.
///
/// Exhaustive on purpose, as [`Effects`], [`crate::Answer`] and [`crate::Outcome`]: a new kind must
/// break gates and admission at build time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Touch<P> {
    /// One file or folder listing is read.
    Read(P),
    /// One file is created, changed or removed; never made a link (that is [`Touch::WriteTree`]).
    Write(P),
    /// Anything beneath a folder may be read.
    ReadTree(P),
    /// Anything beneath a folder may be written.
    WriteTree(P),
    /// A network host is contacted.
    Host(Arc<str>),
    /// A line for the shell runs; it may touch anything. It starts in the folder of the first [`Touch::Read`] stated
    /// beside it, else in the session's working directory (its state `cwd`), else in the workspace's root.
    Command(Arc<str>),
    /// A server that is spoken with, by its name; it may do anything that its own rights allow.
    Server(Arc<str>),
    /// A key of the session's state changes.
    Session(Arc<str>),
    /// It runs outside the sandbox, where there is one.
    Unconfined,
    /// What it starts goes on after the session's end.
    Outlives,
}

/// All that a call touches: as stated by a tool, and as [`Effects<RealPath>`] once resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effects<P = PathArg> {
    /// Unstated: judged as a whole, runs alone, refused in plan mode.
    Everything,
    /// Only dispatches other calls: no claim and no slot, each inner call is judged and admitted alone.
    Delegated,
    /// Just these.
    Only(Vec<Touch<P>>),
}

impl<P> Effects<P> {
    /// No effect on anything.
    pub fn none() -> Self {
        Self::Only(Vec::new())
    }

    /// The touches, empty where they aren't stated.
    pub fn touches(&self) -> &[Touch<P>] {
        match self {
            Self::Only(touches) => touches,
            Self::Everything | Self::Delegated => &[],
        }
    }
}

impl<P> Touch<P> {
    /// The path, where the touch has one.
    pub fn path(&self) -> Option<&P> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::ReadTree(path) | Self::WriteTree(path) => Some(path),
            Self::Host(_)
            | Self::Command(_)
            | Self::Server(_)
            | Self::Session(_)
            | Self::Unconfined
            | Self::Outlives => None,
        }
    }

    /// Whether the touch reads its path.
    pub fn reads(&self) -> bool {
        matches!(self, Self::Read(_) | Self::ReadTree(_))
    }

    /// Whether the touch writes its path.
    pub fn writes(&self) -> bool {
        matches!(self, Self::Write(_) | Self::WriteTree(_))
    }

    /// The same touch with its path turned into another type.
    ///
    /// # Errors
    /// Whatever `resolve` answers for the path.
    pub fn try_map<Q, E>(&self, resolve: impl FnOnce(&P) -> Result<Q, E>) -> Result<Touch<Q>, E> {
        Ok(match self {
            Self::Read(path) => Touch::Read(resolve(path)?),
            Self::Write(path) => Touch::Write(resolve(path)?),
            Self::ReadTree(path) => Touch::ReadTree(resolve(path)?),
            Self::WriteTree(path) => Touch::WriteTree(resolve(path)?),
            Self::Host(host) => Touch::Host(Arc::clone(host)),
            Self::Command(line) => Touch::Command(Arc::clone(line)),
            Self::Server(name) => Touch::Server(Arc::clone(name)),
            Self::Session(key) => Touch::Session(Arc::clone(key)),
            Self::Unconfined => Touch::Unconfined,
            Self::Outlives => Touch::Outlives,
        })
    }
}

/// Effects as a manifest writes them: texts in which `{field}` stands for a field of the input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EffectTemplate {
    /// Files or folders that are read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    /// Files that are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// Hosts that are contacted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl EffectTemplate {
    /// The effects for one input. A template whose field is absent is left out; an array gives one each.
    ///
    /// # Errors
    /// A field that is neither text nor an array of texts.
    pub fn fill(&self, input: &Value) -> Result<Effects, Failure> {
        let mut touches = Vec::new();
        for template in &self.reads {
            touches.extend(expand(template, input)?.into_iter().map(|path| Touch::ReadTree(PathArg(path))));
        }
        for template in &self.writes {
            touches.extend(expand(template, input)?.into_iter().map(|path| Touch::WriteTree(PathArg(path))));
        }
        for template in &self.hosts {
            touches.extend(expand(template, input)?.into_iter().map(|host| Touch::Host(host.into())));
        }
        Ok(Effects::Only(touches))
    }
}

fn expand(template: &str, input: &Value) -> Result<Vec<String>, Failure> {
    let Some((before, rest)) = template.split_once('{') else {
        return Ok(vec![template.to_owned()]);
    };
    let Some((field, after)) = rest.split_once('}') else {
        return Err(Failure::new(
            FailureKind::Internal,
            format!("effect template \"{template}\" has no closing brace"),
        ));
    };
    let values = match input.get(field) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(_) => {
            return Err(Failure::invalid(format!(
                "/{field} must be a string, since it names what the tool touches"
            )));
        }
    };
    let mut all = Vec::new();
    for value in values {
        for tail in expand(after, input)? {
            all.push(format!("{before}{value}{tail}"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_folder_covers_what_is_in_it_and_not_its_namesake() {
        let folder = RealPath::new("/w", "src");
        assert!(folder.covers(&RealPath::new("/w", "src/a.rs")));
        assert!(folder.covers(&RealPath::new("/w/src", "a.rs")));
        assert!(folder.covers(&folder));
        assert!(!folder.covers(&RealPath::new("/w", "src2/a.rs")));
        assert!(RealPath::new("/", "").covers(&folder));
    }

    #[test]
    fn templates_take_fields_and_arrays() {
        let template = EffectTemplate { reads: vec!["{dir}/{names}".into()], ..Default::default() };
        let effects = template.fill(&json!({"dir": "a", "names": ["x", "y"]})).unwrap();
        assert_eq!(
            effects,
            Effects::Only(vec![Touch::ReadTree("a/x".into()), Touch::ReadTree("a/y".into())])
        );
        assert_eq!(template.fill(&json!({"dir": "a"})).unwrap(), Effects::none());
        assert!(template.fill(&json!({"dir": 3, "names": []})).is_err());
    }
}
