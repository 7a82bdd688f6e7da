//! Shells and builtins that take a text.

use super::{Found, table};
use crate::command::{Dialect, RedirectKind, Simple, Word};

/// Short options of shells that have no value.
const FLAGS: &str = "abefhiklmnprtuvxBCDEHP";

/// Long options that have no value and run nothing.
const LONG: [&str; 6] = ["--login", "--noediting", "--noprofile", "--norc", "--posix", "--verbose"];

/// Adds the text that a shell gets with `-c`, or to read.
pub(super) fn add(found: &mut Found, simple: &Simple, program: &str) {
    let is_bash = table::SHELLS.iter().any(|(name, is_bash)| *name == program && *is_bash);
    let dialect = if is_bash { Dialect::Bash } else { Dialect::Posix };
    let mut has_text = false;
    let mut reads_input = false;
    let mut is_over = false;
    let mut next = 1;
    while let Some(word) = simple.words.get(next) {
        let Some(text) = word.exact() else {
            if !has_text || word.prefix().is_empty() {
                found.doubt(format!("a word of `{program}` isn't known"));
            }
            break;
        };
        if is_over || !text.starts_with(['-', '+']) {
            break;
        }
        next += 1;
        if matches!(text, "--" | "-") {
            is_over = true;
        } else if !text.starts_with("--") {
            let letters = text.trim_start_matches(['-', '+']);
            has_text |= text.starts_with('-') && letters.contains('c');
            reads_input |= letters.contains('s');
            next += letters.matches(['o', 'O']).count();
            let known = |c: char| FLAGS.contains(c) || matches!(c, 'c' | 's' | 'o' | 'O');
            if let Some(letter) = letters.chars().find(|c| !known(*c)) {
                found.doubt(format!("the option `-{letter}` of `{program}` isn't known"));
            }
        } else if !LONG.contains(&text) {
            found.doubt(format!("the option `{text}` of `{program}` isn't known"));
        }
    }
    let operand = simple.words.get(next);
    if let (true, Some(word)) = (has_text, operand) {
        found.text(next, std::slice::from_ref(word), dialect);
    } else if operand.is_none() || reads_input {
        add_input(found, simple, dialect);
    }
    if table::OTHER_SHELLS.contains(&program) && !found.runs.is_empty() {
        found.doubt(format!("`{program}` reads its text by rules of its own"));
    }
    if simple.is_open && !has_text {
        found.doubt(format!("`{program}` gets words that aren't known"));
    }
}

/// A here-document or here-string is the text that a shell reads.
fn add_input(found: &mut Found, simple: &Simple, dialect: Dialect) {
    let texts = simple.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Text);
    for redirect in texts {
        found.text(simple.words.len(), std::slice::from_ref(&redirect.target), dialect);
    }
}

/// Adds the text that a builtin evaluates; says whether it is such a builtin.
pub(super) fn add_builtin(found: &mut Found, simple: &Simple, program: &str, dialect: Dialect) -> bool {
    let skipped = simple.words.iter().skip(1).take_while(|word| word.exact() == Some("--")).count();
    let from = 1 + skipped;
    let words = simple.words.get(from..).unwrap_or_default();
    match program {
        "eval" => {
            if !words.is_empty() {
                found.text(from, words, dialect);
            }
            true
        }
        "trap" => {
            let first = words.first().filter(|_| words.len() > 1);
            let is_text = first.is_some_and(|word| {
                word.exact().is_none_or(|text| !text.is_empty() && !text.starts_with('-'))
            });
            if let (Some(word), true) = (first, is_text) {
                found.text(from, std::slice::from_ref(word), dialect);
            }
            true
        }
        "alias" => {
            for (at, word) in simple.words.iter().enumerate().skip(1) {
                if let Some((_, value)) = word.exact().and_then(|text| text.split_once('=')) {
                    found.text(at, &[Word::known(value)], dialect);
                }
            }
            true
        }
        _ => false,
    }
}
