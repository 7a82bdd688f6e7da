//! `find`, which runs commands in the midst of its words.

use super::{Found, options};
use crate::command::{Simple, Word};

/// The options after which a command stands.
const RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Adds what `find` runs.
pub(super) fn add(found: &mut Found, simple: &Simple) {
    let hides = |word: &Word| match word {
        Word::Exact(_) => false,
        Word::Glob { prefix, .. } => prefix.is_empty(),
        Word::Unknown { text, prefix, splits } => {
            !text.starts_with('\\') && (*splits || prefix.is_empty() || prefix.starts_with('-'))
        }
    };
    if simple.words.iter().skip(1).any(hides) {
        found.doubt("a word of `find` could be an action");
    }
    let mut words = simple.words.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        if !word.exact().is_some_and(|text| RUNS.contains(&text)) {
            continue;
        }
        let is_elsewhere = word.exact().is_some_and(|text| text.ends_with("dir"));
        let mut inner: Vec<Word> = Vec::new();
        let mut is_open = false;
        let mut has_end = false;
        for (_, word) in words.by_ref() {
            let is_plus = word.exact() == Some("+") && inner.last().is_some_and(|last| last.text() == "{}");
            if is_plus || word.exact() == Some(";") || word.text() == "\\;" {
                is_open |= is_plus;
                has_end = true;
                break;
            }
            is_open |= word.text().contains("{}");
            inner.push(options::replace(word, Some("{}")));
        }
        if !has_end {
            found.doubt("a command of `find` doesn't end");
        }
        if !inner.is_empty() {
            found.words(at + 1, inner, is_open);
            if let Some(run) = found.runs.last_mut() {
                run.is_elsewhere = is_elsewhere;
            }
        }
    }
}
