//! What the user said about a workspace: whether it is trusted, what may always run in it, and which foreign tools
//! were let run.
//!
//! One file a workspace, in the user's state folder and never in the workspace, so that no repository brings
//! its own. A damaged file grants nothing and says so; since it may have held refusals, every call asks until it is
//! mended. It isn't written over either: what it held can still be of use to a person.

use super::pins::{SavedPin, fit};
use crate::catalogue::Problem;
use haft_core::{Failure, StateFolder};
use haft_policy::{Action, Grant, Rule, RuleOrigin};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// The form of the file.
const VERSION: u32 = 1;
/// More than that is no file of ours.
const FILE_MAX_BYTES: usize = 4 * 1024 * 1024;
/// A longer rule isn't saved.
const RULE_MAX_BYTES: usize = 4 * 1024;

/// A saved "always".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedGrant {
    /// The rule that allows.
    pub rule: String,
    /// The hash of the tool it was given to; none for built-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_hash: Option<Arc<str>>,
    /// When, in seconds since 1970.
    pub saved_at: u64,
}

impl SavedGrant {
    /// A grant given at that time.
    pub fn new(rule: impl Into<String>, tool_hash: Option<Arc<str>>, at: SystemTime) -> Self {
        let saved_at = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { rule: rule.into(), tool_hash, saved_at }
    }
}

/// What a trust file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Whether the user trusts the workspace.
    pub trusted: bool,
    /// What may always run.
    pub saved: Vec<SavedGrant>,
    /// What must never run.
    pub denied: Vec<SavedGrant>,
    /// The foreign tools that were let run, as they were then, by owner and name with a slash between.
    pub pins: BTreeMap<String, SavedPin>,
    /// The servers of the workspace that may be started, as they were when the user approved them.
    pub servers: BTreeMap<String, SavedPin>,
    /// What the workspace brought when the user trusted it and that may do more than tighten only as it was then: its
    /// extensions and hooks, each a word for what it is with its hash.
    pub approved: BTreeSet<String>,
    /// Where it is.
    pub path: String,
    /// Why it says nothing, where it is damaged.
    pub problems: Vec<Problem>,
}

impl Trust {
    /// The grants as rules that allow. One that is no rule grants nothing, and is a problem.
    pub fn grants(&self, place: &super::Place) -> (Vec<Grant>, Vec<Problem>) {
        let at = place.rule_origin(Some(self.path.clone()));
        let (mut grants, mut problems) = (Vec::new(), Vec::new());
        for saved in &self.saved {
            match Rule::parse(Action::Allow, &saved.rule, &at) {
                Ok(rule) => grants.push(Grant { rule, tool_hash: saved.tool_hash.clone() }),
                Err(error) => problems.push(problem(
                    &self.path,
                    format!("the grant \"{}\" grants nothing: {error}", saved.rule),
                    "remove it from the file; haft asks again and saves a new one",
                )),
            }
        }
        (grants, problems)
    }

    /// The refusals as rules that deny. One that is no rule denies its tool, and is a problem. Of a damaged file, which
    /// may have held refusals, a rule that asks about everything.
    pub fn denials(&self, place: &super::Place) -> (Vec<Rule>, Vec<Problem>) {
        let at = place.rule_origin(Some(self.path.clone()));
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        if !self.problems.is_empty() {
            let source = Some(format!("{}; that file is damaged, so every call asks", self.path));
            rules.extend(Rule::parse(Action::Ask, "*", &RuleOrigin { source, ..at.clone() }).ok());
        }
        for denied in &self.denied {
            rules.push(Rule::parse(Action::Deny, &denied.rule, &at).unwrap_or_else(|error| {
                problems.push(problem(
                    &self.path,
                    format!("the refusal \"{}\" doesn't parse: {error}", denied.rule),
                    "remove it with `haft permissions revoke`, and write it anew with `haft permissions deny`",
                ));
                Rule::broken(Action::Deny, &denied.rule, &at, &error)
            }));
        }
        (rules, problems)
    }
}

/// The trust file of one workspace.
#[derive(Clone)]
pub struct TrustFile {
    state: Arc<dyn StateFolder>,
    workspace: String,
    at: String,
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
        Self { state, workspace: workspace.to_owned(), at }
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
    pub fn bytes(&self) -> Option<Vec<u8>> {
        self.state.read_tail(&self.at, FILE_MAX_BYTES).ok().flatten()
    }

    /// The pins in what [`TrustFile::bytes`] gave; none where that is damaged.
    pub(super) fn pins_in(&self, bytes: Option<&[u8]>) -> BTreeMap<String, SavedPin> {
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

fn problem(path: &str, text: String, fix: &str) -> Problem {
    Problem {
        source: "trust".to_owned(),
        path: Some(path.to_owned()),
        line: Some(1),
        text,
        fix: fix.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::*;
    use haft_core::{Change, Counter, LineLog, SpillFile, StateEntry};
    use std::sync::Mutex;

    #[derive(Default)]
    struct Kept(Mutex<BTreeMap<String, Vec<u8>>>);

    impl StateFolder for Kept {
        fn path(&self, at: &str) -> String {
            format!("/state/{at}")
        }

        fn read_tail(&self, at: &str, max: usize) -> Result<Option<Vec<u8>>, Failure> {
            let files = self.0.lock().unwrap();
            Ok(files.get(at).map(|bytes| bytes[bytes.len().saturating_sub(max)..].to_vec()))
        }

        fn read_from(&self, _: &str, _: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
            Err(Failure::internal("unused"))
        }

        fn update(&self, at: &str, change: &mut Change<'_>) -> Result<(), Failure> {
            let mut files = self.0.lock().unwrap();
            let after = change(files.get(at).map(Vec::as_slice))?;
            files.insert(at.to_owned(), after);
            Ok(())
        }

        fn open_log(&self, _: &str) -> Result<Box<dyn LineLog>, Failure> {
            Err(Failure::internal("unused"))
        }

        fn open_counter(&self, _: &str) -> Result<Box<dyn Counter>, Failure> {
            Err(Failure::internal("unused"))
        }

        fn open_spill(&self, _: &str) -> Result<Box<dyn SpillFile>, Failure> {
            Err(Failure::internal("unused"))
        }

        fn list(&self, _: &str) -> Vec<StateEntry> {
            Vec::new()
        }

        fn hold(&self, _: &str) -> Result<Box<dyn haft_core::Held>, Failure> {
            Err(Failure::internal("unused"))
        }

        fn is_held(&self, _: &str) -> bool {
            false
        }

        fn remove(&self, at: &str) -> Result<(), Failure> {
            self.0.lock().unwrap().remove(at);
            Ok(())
        }
    }

    fn place() -> Place {
        Place { workspace: "/w".into(), home: None, trusted: true }
    }

    fn saved(rule: &str, hash: Option<&str>) -> SavedGrant {
        SavedGrant::new(rule, hash.map(Arc::from), UNIX_EPOCH + std::time::Duration::from_secs(7))
    }

    fn pin(hash: &str) -> SavedPin {
        SavedPin { hash: hash.into(), parts: Vec::new(), pinned_at: 7 }
    }

    #[test]
    fn a_pin_lasts_takes_the_place_of_the_last_one_and_leaves_the_rest_alone() {
        let file = TrustFile::new(Arc::new(Kept::default()), "/w");
        file.set_trusted(true).unwrap();
        for hash in ["h1", "h2"] {
            file.add_pin("o/x", &pin(hash)).unwrap();
        }
        file.add_grant(&saved("bash(ls)", None)).unwrap();
        let trust = file.load();
        assert!(trust.trusted && trust.saved.len() == 1);
        assert_eq!(trust.pins, BTreeMap::from([("o/x".to_owned(), pin("h2"))]));
        assert_eq!(file.pins_in(file.bytes().as_deref()), trust.pins);
    }

    #[test]
    fn what_was_approved_goes_with_the_trust_and_is_replaced_as_a_whole() {
        let file = TrustFile::new(Arc::new(Kept::default()), "/w");
        let brought = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        file.trust(&brought(&["hook a", "extension x h1"])).unwrap();
        file.add_grant(&saved("bash(ls)", None)).unwrap();
        assert!(file.load().trusted);
        assert_eq!(file.load().approved, brought(&["hook a", "extension x h1"]));
        file.trust(&brought(&["extension x h2"])).unwrap();
        assert_eq!(file.load().approved, brought(&["extension x h2"]));
        file.set_trusted(false).unwrap();
        assert!(file.load().approved.is_empty() && file.load().saved.len() == 1);
    }

    #[test]
    fn trust_and_grants_last_and_stay_in_their_workspace() {
        let state = Arc::new(Kept::default());
        let file = TrustFile::new(state.clone(), "/w");
        assert_eq!(file.load(), Trust { path: file.path(), ..Trust::default() });
        file.set_trusted(true).unwrap();
        for grant in [saved("bash(ls)", None), saved("count", Some("h1")), saved("count", Some("h1"))] {
            file.add_grant(&grant).unwrap();
        }
        let trust = TrustFile::new(state.clone(), "/w").load();
        assert!(trust.trusted && trust.problems.is_empty());
        assert_eq!(trust.saved, [saved("bash(ls)", None), saved("count", Some("h1"))]);
        let (grants, problems) = trust.grants(&place());
        assert_eq!((grants.len(), problems.len()), (2, 0));
        assert_eq!(grants[1].tool_hash.as_deref(), Some("h1"));
        assert!(grants.iter().all(|grant| grant.rule.action == Action::Allow));
        assert!(TrustFile::new(state, "/other").load().saved.is_empty());
        assert!(file.remove_grant("count").unwrap() && !file.remove_grant("count").unwrap());
        assert_eq!(file.load().saved.len(), 1);
        file.reset().unwrap();
        assert!(!file.load().trusted);
    }

    #[test]
    fn a_damaged_file_grants_nothing_says_so_and_is_not_written_over() {
        let state = Arc::new(Kept::default());
        let file = TrustFile::new(state.clone(), "/w");
        let cases = [
            "{",
            "[]",
            "",
            r#"{"version":9,"workspace":"/w","trusted":true,"grants":[]}"#,
            r#"{"version":1,"workspace":"/other","trusted":true,"grants":[]}"#,
            r#"{"version":1,"workspace":"/w","trusted":"yes"}"#,
        ];
        for content in cases {
            let before = content.as_bytes().to_vec();
            state.0.lock().unwrap().insert(file.at.clone(), before.clone());
            let trust = file.load();
            assert!(!trust.trusted && trust.saved.is_empty(), "{content}");
            assert!(trust.problems[0].text.contains("nothing is granted"), "{content}");
            assert!(trust.problems[0].text.contains("refusals don't count"), "{content}");
            assert!(trust.problems[0].fix.contains("haft trust"));
            let (rules, _) = trust.denials(&place());
            let [rule] = rules.as_slice() else { panic!("{rules:?}") };
            assert!(rule.action == Action::Ask && rule.text == "*", "{content}");
            assert!(rule.source.as_ref().unwrap().starts_with(&file.path()), "{content}");
            for refused in [file.add_grant(&saved("bash", None)), file.add_pin("o/x", &pin("h1"))] {
                assert!(refused.unwrap_err().text.contains("remove the file"), "{content}");
            }
            assert!(file.pins_in(file.bytes().as_deref()).is_empty(), "{content}");
            assert_eq!(state.0.lock().unwrap().get(&file.at), Some(&before));
        }
    }

    #[test]
    fn nothing_is_saved_that_could_not_be_read_again() {
        let state = Arc::new(Kept::default());
        let file = TrustFile::new(state.clone(), "/w");
        let long = format!("bash({})", "x".repeat(RULE_MAX_BYTES));
        for refused in [file.add_grant(&saved(&long, None)), file.add_denial(&saved(&long, None))] {
            assert!(refused.unwrap_err().text.contains("shorter one"));
        }
        assert!(file.load().saved.is_empty() && file.load().denied.is_empty());

        let rule = |number: usize| format!("bash({number:06} {})", "x".repeat(4_000));
        let grants: Vec<SavedGrant> = (0..1_030).map(|number| saved(&rule(number), None)).collect();
        let content = Content {
            version: VERSION,
            workspace: "/w".to_owned(),
            trusted: true,
            grants,
            denied: Vec::new(),
            pins: BTreeMap::new(),
            servers: BTreeMap::new(),
            approved: BTreeSet::new(),
        };
        state.0.lock().unwrap().insert(file.at.clone(), serde_json::to_vec(&content).unwrap());
        let full = (0..100).find_map(|number| file.add_denial(&saved(&rule(10_000 + number), None)).err());
        assert!(full.unwrap().text.contains("revoke"));
        let trust = file.load();
        assert!(trust.problems.is_empty() && trust.trusted, "what is there can still be read");
        assert!(file.remove_grant(&rule(0)).unwrap());
    }

    #[test]
    fn a_grant_that_is_no_rule_grants_nothing() {
        let file = TrustFile::new(Arc::new(Kept::default()), "/w");
        file.add_grant(&saved("bash(ls", None)).unwrap();
        let (grants, problems) = file.load().grants(&place());
        assert!(grants.is_empty());
        assert!(problems[0].text.contains("grants nothing"));
    }
}
