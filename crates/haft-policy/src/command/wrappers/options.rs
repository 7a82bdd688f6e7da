//! A wrapper's own options, up to the command that it runs.

use super::{
    Found, Run, What, assignment,
    table::{Manner, Wrapper},
};
use crate::command::{Dialect, Simple, Word, glance};

/// What has been read of a wrapper's words.
#[derive(Debug, Default)]
struct Reading {
    /// Where the next word stands.
    next: usize,
    /// Whether `--` was there.
    is_over: bool,
    /// The text of an option.
    text: Option<usize>,
    /// Glued to its option.
    glued_text: Option<(usize, String)>,
    /// What `xargs` replaces.
    replaced: Option<String>,
    assignments: Vec<(String, Word)>,
    /// Words that are no options.
    operands: Vec<usize>,
}

/// Adds what a wrapper of the table runs.
pub(super) fn add(found: &mut Found, simple: &Simple, wrapper: &Wrapper, dialect: Dialect) {
    let words = &simple.words;
    if wrapper.name == "command" && words.get(1).and_then(Word::exact).is_some_and(only_asks) {
        return;
    }
    if wrapper.name == "parallel" {
        found.doubt("`parallel` builds commands by rules of its own");
    }
    let mut reading = Reading { next: 1, ..Reading::default() };
    while let Some(word) = words.get(reading.next) {
        let at = reading.next;
        reading.next += 1;
        if !step(found, &mut reading, wrapper, word) {
            continue;
        }
        reading.operands.push(at);
        let is_own = reading.operands.len() <= wrapper.operands;
        if !is_own && wrapper.manner != Manner::Text {
            break;
        }
    }
    finish(found, simple, wrapper, reading, dialect);
}

/// `command -v` and `command -V` run nothing.
fn only_asks(option: &str) -> bool {
    matches!(option, "-v" | "-V" | "-pv" | "-pV")
}

/// Reads one word; says whether it is no option.
fn step(found: &mut Found, reading: &mut Reading, wrapper: &Wrapper, word: &Word) -> bool {
    if reading.is_over {
        return !takes_assignment(reading, wrapper, word);
    }
    let Some(text) = word.exact() else {
        let is_operand = matches!(word, Word::Unknown { splits: false, .. } | Word::Glob { .. })
            && !word.prefix().is_empty()
            && !word.prefix().starts_with('-');
        if takes_assignment(reading, wrapper, word) {
            return false;
        }
        // An operand of its own may be any one word; a command may not.
        if !is_operand && reading.operands.len() < wrapper.operands {
            found.doubt(format!("a word of `{}` isn't known", wrapper.name));
        } else if !is_operand && glance::plainly(word).is_none_or(|text| text.starts_with('-')) {
            found.doubt(format!("an option of `{}` isn't known", wrapper.name));
        }
        return true;
    };
    if text == "--" {
        reading.is_over = true;
    } else if let Some(long) = text.strip_prefix("--") {
        long_option(found, reading, wrapper, long);
    } else if let Some(short) = text.strip_prefix('-').filter(|short| !short.is_empty()) {
        short_options(found, reading, wrapper, short);
    } else if text == "-" {
        if !matches!(wrapper.name, "env" | "su" | "runuser") {
            found.doubt(format!("`{} -` isn't known", wrapper.name));
        }
    } else {
        return !takes_assignment(reading, wrapper, word);
    }
    false
}

fn takes_assignment(reading: &mut Reading, wrapper: &Wrapper, word: &Word) -> bool {
    if wrapper.manner != Manner::Assignments {
        return false;
    }
    let Some((name, value)) = assignment(word.prefix()) else {
        return false;
    };
    let value = match word {
        Word::Exact(_) => Word::known(value),
        Word::Glob { text, .. } | Word::Unknown { text, .. } => {
            Word::Unknown { text: text.clone(), prefix: value.to_owned(), splits: false }
        }
    };
    reading.assignments.push((name.to_owned(), value));
    // What is split could go on with anything.
    !matches!(word, Word::Unknown { splits: true, .. } | Word::Glob { .. })
}

fn long_option(found: &mut Found, reading: &mut Reading, wrapper: &Wrapper, long: &str) {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    let known = wrapper.long.iter().chain(wrapper.long_valued);
    let mut fitting = known.filter(|known| known.starts_with(name));
    let option = match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(*only),
        (Some(_), Some(_)) => {
            wrapper.long.iter().chain(wrapper.long_valued).find(|known| **known == name).copied()
        }
        (None, _) => None,
    };
    let Some(option) = option else {
        found.doubt(format!("the option `--{name}` of `{}` isn't known", wrapper.name));
        if wrapper.name == "env" && "split-string".starts_with(name) {
            reading.glued_text = value.map(|value| (reading.next.saturating_sub(1), value.to_owned()));
        }
        return;
    };
    if option == "replace" {
        reading.replaced = Some(value.unwrap_or("{}").to_owned());
    }
    if value.is_none() && wrapper.long_valued.contains(&option) {
        reading.next += 1;
    }
}

fn short_options(found: &mut Found, reading: &mut Reading, wrapper: &Wrapper, short: &str) {
    if wrapper.name == "nice" && short.trim_start_matches(['-', '+']).chars().all(|c| c.is_ascii_digit()) {
        return;
    }
    let mut rest = short.chars();
    while let Some(option) = rest.next() {
        let glued = rest.as_str();
        let is_split = wrapper.name == "env" && option == 'S';
        if wrapper.flags.contains(option) {
            continue;
        }
        if wrapper.glued.contains(option) {
            if option == 'i' {
                reading.replaced = Some(if glued.is_empty() { "{}" } else { glued }.to_owned());
            }
        } else if wrapper.text == Some(option) || is_split {
            if is_split {
                found.doubt("`env -S` splits by rules of its own");
            }
            if glued.is_empty() {
                reading.text = Some(reading.next);
                reading.next += 1;
            } else {
                reading.glued_text = Some((reading.next.saturating_sub(1), glued.to_owned()));
            }
        } else if wrapper.valued.contains(option) {
            if glued.is_empty() {
                reading.next += 1;
            }
            if wrapper.name == "xargs" && matches!(option, 'I' | 'J') {
                // With the value as the next word it is found there.
                reading.replaced = Some(glued.to_owned());
            }
        } else {
            found.doubt(format!("the option `-{option}` of `{}` isn't known", wrapper.name));
        }
        return;
    }
}

fn finish(found: &mut Found, simple: &Simple, wrapper: &Wrapper, mut reading: Reading, dialect: Dialect) {
    let words = &simple.words;
    let from = found.runs.len();
    // Texts go to the user's shell, which reads at least what POSIX says.
    let shell = if matches!(wrapper.manner, Manner::Text | Manner::Joined) || wrapper.text.is_some() {
        Dialect::Posix
    } else {
        dialect
    };
    if let Some((at, text)) = reading.glued_text.take() {
        found.text(at, &[Word::known(text)], shell);
    }
    if let Some((at, word)) = reading.text.and_then(|at| Some((at, words.get(at)?))) {
        found.text(at, std::slice::from_ref(word), shell);
    }
    let mut operands = reading.operands.iter().copied();
    let inner = if wrapper.manner == Manner::Text {
        let second = operands.nth(1);
        if second.is_some() {
            found.doubt(format!("`{}` has words that may be a command", wrapper.name));
        }
        second
    } else {
        operands.nth(wrapper.operands)
    };
    // Behind the keyword `time` grammar goes on.
    let is_negation = wrapper.name == "time"
        && inner.and_then(|at| words.get(at)).is_some_and(|word| word.exact() == Some("!"));
    let inner = if is_negation { inner.map(|at| at + 1) } else { inner };
    if is_negation {
        found.doubt("`time !` isn't read the same way everywhere");
    }
    let inner = inner.filter(|at| *at < words.len());
    if let Some((at, rest)) = inner.and_then(|at| Some((at, words.get(at..)?))) {
        if wrapper.manner == Manner::Joined {
            found.text(at, rest, shell);
        } else {
            let is_open = simple.is_open || wrapper.manner == Manner::Open;
            let replaced = replaced(&reading, words, at);
            let rest = rest.iter().map(|word| replace(word, replaced.as_deref())).collect();
            found.words(at, rest, is_open);
        }
    }
    for Run { assignments, is_elsewhere, what, .. } in found.runs.iter_mut().skip(from) {
        assignments.extend(reading.assignments.iter().cloned());
        *is_elsewhere |= wrapper.is_elsewhere;
        if let (What::Text { dialect, .. }, true) = (what, wrapper.name == "env") {
            *dialect = Dialect::Posix;
        }
    }
}

/// What `xargs` replaces, where that stands in a word of its own before the command.
fn replaced(reading: &Reading, words: &[Word], inner: usize) -> Option<String> {
    let replaced = reading.replaced.as_ref()?;
    if !replaced.is_empty() {
        return Some(replaced.clone());
    }
    let own = words.get(..inner)?;
    let at = own.iter().position(|word| word.exact().is_some_and(|text| text.ends_with(['I', 'J'])))?;
    Some(own.get(at + 1)?.text().to_owned())
}

/// A word in which something unknown will stand.
pub(super) fn replace(word: &Word, what: Option<&str>) -> Word {
    let what = what.filter(|what| !what.is_empty());
    match (word.exact(), what.and_then(|what| word.text().split_once(what))) {
        (Some(text), Some((prefix, _))) => {
            Word::Unknown { text: text.to_owned(), prefix: prefix.to_owned(), splits: false }
        }
        _ => word.clone(),
    }
}
