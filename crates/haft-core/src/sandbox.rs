//! What a process is kept from while it runs, and what of it could be done.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt};

/// What confined processes may do. Everything that isn't named can be read and not be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Absolute folders whose files can be changed.
    pub writable: Vec<String>,
    /// Files and folders in them that can't.
    pub kept: Vec<Kept>,
    /// Absolute files and folders that can't even be read; those that aren't there are passed over. Where one is a
    /// link, what it leads to is hidden.
    pub hidden: Vec<String>,
    /// Files and folders in hidden ones that are read all the same.
    pub shown: Vec<String>,
    /// Paths that nothing can stand for while a command runs, and that mustn't be made: what is there afterwards and
    /// wasn't before is set aside, and that is said.
    pub watched: Vec<String>,
    /// Whom they reach over the network.
    pub network: Reach,
    /// Whether nothing may run where not all of this can be done.
    pub required: bool,
}

/// A path in a writable folder that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Absolute.
    pub path: String,
    /// Whether it can't be made either where it isn't there.
    pub even_absent: bool,
}

/// Whom confined processes reach over the network. Written as `"closed"`, `"open"` or a list of hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "Named")]
pub enum Reach {
    /// Nobody but themselves.
    #[default]
    Closed,
    /// These hosts, through a proxy that checks names and addresses: `example.org`, `*.example.org`, and
    /// `127.0.0.1:8080` for an address that is otherwise refused.
    Hosts(Vec<String>),
    /// Everybody.
    Open,
}

impl Reach {
    /// Whether a text can stand in the list of hosts: a name, a domain as `*.example.org`, or either with a port.
    pub fn is_host(text: &str) -> bool {
        let name = text.strip_prefix("*.").unwrap_or(text);
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || ['.', '-', ':', '[', ']', '_'].contains(&c))
            && !name.starts_with('.')
    }
}

/// [`Reach`] as it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected \"closed\", \"open\" or a list of hosts")]
enum Named {
    Word(String),
    Hosts(Vec<String>),
}

impl TryFrom<Named> for Reach {
    type Error = String;

    fn try_from(named: Named) -> Result<Self, String> {
        match named {
            Named::Word(word) if word == "closed" => Ok(Self::Closed),
            Named::Word(word) if word == "open" => Ok(Self::Open),
            Named::Word(word) => {
                Err(format!("\"{word}\" is no network; write \"closed\", \"open\" or a list of hosts"))
            }
            Named::Hosts(hosts) => match hosts.iter().find(|host| !Self::is_host(host)) {
                Some(wrong) => Err(format!(
                    "\"{wrong}\" is no host; write a name (example.org), a domain (*.example.org), or name and port"
                )),
                None => Ok(Self::Hosts(hosts)),
            },
        }
    }
}

impl From<Reach> for Named {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Closed => Self::Word("closed".to_owned()),
            Reach::Open => Self::Word("open".to_owned()),
            Reach::Hosts(hosts) => Self::Hosts(hosts),
        }
    }
}

/// How one command's sandbox differs from the [`Confinement`] that holds for all: what was approved for its call, and
/// what its tool's [`crate::Profile`] says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Absolute files and folders that it may change, with all that is in them, also kept ones. Those that aren't
    /// there are passed over.
    pub writable: Vec<String>,
    /// Absolute files that it may make or change, and nothing beside them; folders are passed over.
    pub files: Vec<String>,
    /// Absolute folders that it may change as if they were among the confinement's: what is kept or hidden in them
    /// stays so. They are made where they aren't there.
    pub folders: Vec<String>,
    /// Absolute folders that it may not change though others may, save for what the other lists name.
    pub closed: Vec<String>,
    /// Whom it reaches, where that isn't what holds for all.
    pub network: Option<Reach>,
}

/// Signs in what a command says that the sandbox may have stopped it.
const BARRIERS: [&str; 16] = [
    "read-only file system",
    "permission denied",
    "operation not permitted",
    "eacces",
    "erofs",
    "enetunreach",
    "econnrefused",
    "network is unreachable",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "name or service not known",
    "getaddrinfo",
    "connection refused",
    "failed to connect",
    "haft's sandbox",
];

/// Whether what a failed command said looks as if the sandbox had stopped it.
pub fn looks_barred(output: &str) -> bool {
    let output = output.to_ascii_lowercase();
    BARRIERS.iter().any(|sign| output.contains(sign))
}

/// One thing that keeps a process in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Its own mounts, process ids and network.
    Namespaces,
    /// The program of that name, which puts up the namespaces where haft itself may not.
    Bubblewrap,
    /// Files, TCP ports and signals by the kernel's own rules.
    Landlock,
    /// System calls that are refused.
    Seccomp,
    /// No special rights, also as root.
    Capabilities,
}

impl Layer {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Capabilities => "capabilities",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What held a process in, and what it wasn't kept from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Confined {
    /// What was in place.
    pub layers: Vec<Layer>,
    /// What couldn't be done, a sentence each, for people and in each result. Empty where all was.
    pub gaps: Vec<Cow<'static, str>>,
    /// What was found after it that has to be known, a sentence each: what it left and was set aside, and what somebody
    /// else changed meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noticed: Vec<String>,
    /// How many folders weren't gone through for what it left, where there are too many.
    #[serde(skip_serializing_if = "is_none")]
    pub unsearched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Confined {
    /// Whether everything that was wanted is in place.
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty() && !self.layers.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_network_is_written_as_a_word_or_a_list_and_reads_back() {
        let hosts =
            ["example.org", "*.example.net", "127.0.0.1:8080", "[::1]:80"].map(str::to_owned).to_vec();
        for (written, reach) in [
            (json!("closed"), Reach::Closed),
            (json!("open"), Reach::Open),
            (json!(hosts), Reach::Hosts(hosts.clone())),
        ] {
            assert_eq!(serde_json::from_value::<Reach>(written.clone()).unwrap(), reach);
            assert_eq!(serde_json::to_value(reach).unwrap(), written);
        }
        for (wrong, says) in [
            (json!("shut"), "no network"),
            (json!(["https://a.b/"]), "no host"),
            (json!(3), "a list of hosts"),
        ] {
            let error = serde_json::from_value::<Reach>(wrong.clone()).unwrap_err().to_string();
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }

    #[test]
    fn what_the_sandbox_stopped_is_told_from_other_faults() {
        for output in [
            "touch: cannot touch '/x': Read-only file system",
            "getaddrinfo EAI_AGAIN",
            "haft's sandbox lets",
        ] {
            assert!(looks_barred(output), "{output}");
        }
        assert!(!looks_barred("error[E0308]: mismatched types"));
    }
}
