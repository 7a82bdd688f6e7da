//! The trust file of one workspace: read, and changed one thing at a time.

#[cfg(test)]
mod tests;

use super::{SavedGrant, Trust, problem};
use crate::settings::pins::{SavedPin, fit};
use haft_core::{Failure, LastRead, StateFolder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The form of the file.
const VERSION: u32 = 1;
/// More than that is no file of ours.
const FILE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// A longer rule isn't saved.
const RULE_MAX_BYTES: usize = 4 * 1024;

/// The trust file of one workspace.
#[derive(Clone)]
pub struct TrustFile {
    state: Arc<dyn StateFolder>,
    workspace: String,
    at: String,
    last: Arc<LastRead>,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    workspace: String,
    trusted: bool,
    #[serde(default)]
    grants: Vec<SavedGrant>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    denied: Vec<SavedGrant>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pins: BTreeMap<String, SavedPin>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    servers: BTreeMap<String, SavedPin>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    approved: BTreeSet<String>,
}

impl TrustFile {
    /// The file of a workspace, given by its real absolute path.
    pub fn new(state: Arc<dyn StateFolder>, workspace: &str) -> Self {
        let at = format!("trust/{:x}.json", Sha256::digest(workspace));
        Self { state, workspace: workspace.to_owned(), at, last: Arc::default() }
    }

    /// Where it is.
    pub fn path(&self) -> String {
        self.state.path(&self.at)
    }

    /// What it says now. No file means an untrusted workspace without grants.
    pub fn load(&self) -> Trust {
        let path = self.path();
        let read = self.state.read_tail(&self.at, FILE_MAX_BYTES).map_err(|failure| failure.text);
        match read.and_then(|bytes| self.parse(bytes.as_deref())) {
            Ok(content) => Trust {
                trusted: content.trusted,
                saved: content.grants,
                denied: content.denied,
                pins: content.pins,
                servers: content.servers,
                approved: content.approved,
                path,
                problems: Vec::new(),
            },
            Err(why) => {
                let text = format!(
                    "the trust file is damaged, so nothing is granted, no tool counts as known, the workspace isn't \
                     trusted, and every call asks: saved refusals don't count either until the file is mended. {why}"
                );
                Trust { problems: vec![problem(&path, text, mend())], path, ..Trust::default() }
            }
        }
    }

    /// Remembers whether the user trusts the workspace.
    ///
    /// # Errors
    /// Conflict where the file is damaged; invalid input where it would grow longer than what is read of it;
    /// unavailable where it can't be written.
    pub fn set_trusted(&self, trusted: bool) -> Result<(), Failure> {
        self.change(|content| {
            content.trusted = trusted;
            if !trusted {
                content.approved.clear();
            }
        })
    }

    /// Remembers that the user trusts the workspace with what it brings now, in place of what it brought before.
    ///
    /// # Errors
    /// As [`TrustFile::set_trusted`].
    pub fn trust(&self, brought: &BTreeSet<String>) -> Result<(), Failure> {
        self.change(|content| {
            content.trusted = true;
            content.approved.clone_from(brought);
        })
    }

    /// Saves a grant. The same rule for the same tool is replaced.
    ///
    /// # Errors
    /// As [`TrustFile::set_trusted`]; invalid input for a rule that is too long.
    pub fn add_grant(&self, grant: &SavedGrant) -> Result<(), Failure> {
        check_length(&grant.rule)?;
        self.change(|content| {
            content.grants.retain(|saved| saved.rule != grant.rule || saved.tool_hash != grant.tool_hash);
            content.grants.push(grant.clone());
        })
    }

    /// Saves a refusal. The same rule is replaced.
    ///
    /// # Errors
    /// As [`TrustFile::add_grant`].
    pub fn add_denial(&self, denial: &SavedGrant) -> Result<(), Failure> {
        check_length(&denial.rule)?;
        self.change(|content| {
            content.denied.retain(|saved| saved.rule != denial.rule);
            content.denied.push(denial.clone());
        })
    }

    /// Remembers a foreign tool as it is, in place of what it was.
    ///
    /// # Errors
    /// As [`TrustFile::set_trusted`].
    pub fn add_pin(&self, key: &str, pin: &SavedPin) -> Result<(), Failure> {
        self.change(|content| {
            content.pins.insert(key.to_owned(), pin.clone());
            fit(&mut content.pins, key);
        })
    }

    /// Lets a server of the workspace be started as it is, in place of what it was.
    ///
    /// # Errors
    /// As [`TrustFile::set_trusted`].
    pub fn approve_server(&self, name: &str, pin: &SavedPin) -> Result<(), Failure> {
        self.change(|content| {
            content.servers.insert(name.to_owned(), pin.clone());
            fit(&mut content.servers, name);
        })
    }

    /// Takes a server's approval back; says whether there was one.
    ///
    /// # Errors
    /// As [`TrustFile::set_trusted`].
    pub fn forget_server(&self, name: &str) -> Result<bool, Failure> {
        let mut found = false;
        self.change(|content| found = content.servers.remove(name).is_some())?;
        Ok(found)
    }

    /// The file as it is, for whoever looks often and reads it only where it changed; none where it can't be read.
    pub fn bytes(&self) -> Option<Arc<[u8]>> {
        let read = || self.state.read_tail(&self.at, FILE_MAX_BYTES);
        self.last.bytes(self.state.stamp(&self.at), read)
    }

    /// The pins in what [`TrustFile::bytes`] gave; none where that is damaged.
    pub(in crate::settings) fn pins_in(&self, bytes: Option<&[u8]>) -> BTreeMap<String, SavedPin> {
        self.parse(bytes).map(|content| content.pins).unwrap_or_default()
    }

    /// Takes a rule's grants and refusals back; says whether there were any.
    ///
    /// # Errors
    /// As [`TrustFile::set_trusted`].
    pub fn remove_grant(&self, rule: &str) -> Result<bool, Failure> {
        let mut found = false;
        self.change(|content| {
            let before = content.grants.len() + content.denied.len();
            content.grants.retain(|saved| saved.rule != rule);
            content.denied.retain(|saved| saved.rule != rule);
            found = content.grants.len() + content.denied.len() < before;
        })?;
        Ok(found)
    }

    /// Forgets everything, also a damaged file.
    ///
    /// # Errors
    /// Unavailable where it can't be removed.
    pub fn reset(&self) -> Result<(), Failure> {
        self.state.remove(&self.at)
    }

    fn change(&self, mut change: impl FnMut(&mut Content)) -> Result<(), Failure> {
        self.state.update(&self.at, &mut |before: Option<&[u8]>| {
            let len = before.map_or(0, <[u8]>::len);
            let mut content = self.parse(before).map_err(|why| {
                Failure::conflict(format!("the trust file {} is damaged ({why}) — {}", self.path(), mend()))
            })?;
            change(&mut content);
            let mut bytes = serde_json::to_vec_pretty(&content).map_err(|error| {
                Failure::internal("the trust file has no JSON form").diagnose(error.to_string())
            })?;
            bytes.push(b'\n');
            // It may still become shorter.
            if bytes.len() > FILE_MAX_BYTES && bytes.len() >= len {
                return Err(Failure::invalid(format!(
                    "the trust file {} would grow longer than {} MiB, and is never read further — take back what isn't \
                     needed any more with `haft permissions revoke`",
                    self.path(),
                    FILE_MAX_BYTES >> 20
                )));
            }
            Ok(bytes)
        })
    }

    fn parse(&self, bytes: Option<&[u8]>) -> Result<Content, String> {
        let Some(bytes) = bytes else {
            let workspace = self.workspace.clone();
            return Ok(Content {
                version: VERSION,
                workspace,
                trusted: false,
                grants: Vec::new(),
                denied: Vec::new(),
                pins: BTreeMap::new(),
                servers: BTreeMap::new(),
                approved: BTreeSet::new(),
            });
        };
        let content: Content = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if content.version != VERSION {
            return Err(format!("it has version {}, this haft reads version {VERSION}", content.version));
        }
        if content.workspace != self.workspace {
            return Err(format!("it belongs to {}", content.workspace));
        }
        Ok(content)
    }
}

fn check_length(rule: &str) -> Result<(), Failure> {
    if rule.len() <= RULE_MAX_BYTES {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "a rule of {} bytes isn't saved, {RULE_MAX_BYTES} are the most — save a shorter one, with * for what varies",
        rule.len()
    )))
}

fn mend() -> &'static str {
    "remove the file, then run `haft trust` again; what was always allowed, and tools that ran before, are asked about \
     once more"
}
