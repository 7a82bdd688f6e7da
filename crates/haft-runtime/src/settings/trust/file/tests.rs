//! What trust files keep, and what of a damaged one.

use super::*;
use crate::settings::Place;
use haft_core::{Change, Counter, LineLog, SpillFile, StateEntry};
use haft_policy::Action;
use std::{sync::Mutex, time::UNIX_EPOCH};

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
