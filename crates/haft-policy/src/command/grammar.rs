//! How a program reads its words: which are options, which are their values, which are operands.
//!
//! A grammar is a text with one token for each kind of option: `-al` letters without a value, `-nw:` letters with
//! one (`:@` where it is a path that is read), `-U?` letters whose value can only be glued on, `-#` a number as in
//! `head -5`, `--all`, `--width=`, `--file=@`, `--color[=]`, and `=-version` for a whole word. Options are looked
//! for behind operands too, as GNU programs do, and abbreviations are never completed.

use super::Word;
use std::{borrow::Cow, slice::Iter};

/// One thing that a program finds among its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// An option that the grammar lists, such as `-n` or `--all`.
    Option {
        /// With its dashes.
        name: String,
        /// What was given with it.
        value: Option<Cow<'a, Word>>,
        /// Whether the value is a path.
        is_path: bool,
    },
    /// A word that isn't an option.
    Operand {
        /// The word.
        word: &'a Word,
        /// Whether it surely is one word and no option.
        is_sure: bool,
    },
    /// An option that isn't listed, lacks its value, or isn't known.
    Strange(&'a Word),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Path,
    Glued,
}

/// What the words after the program are.
pub(crate) fn items<'a>(grammar: &str, words: &'a [Word]) -> Vec<Item<'a>> {
    let mut items = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word {
            Word::Exact(text) if text == "--" => {
                items.extend(rest.by_ref().map(|word| Item::Operand { word, is_sure: true }));
            }
            Word::Exact(text) if text.len() > 1 && text.starts_with('-') => {
                if has_token(grammar, '=', text) {
                    items.push(Item::Option { name: text.clone(), value: None, is_path: false });
                } else if text.starts_with("--") {
                    items.push(long(grammar, word, &mut rest));
                } else {
                    cluster(grammar, word, &mut rest, &mut items);
                }
            }
            Word::Exact(_) => items.push(Item::Operand { word, is_sure: true }),
            _ if word.prefix().starts_with('-') => items.push(patterned(grammar, word)),
            _ => {
                let is_sure = is_process(word) || (!word.prefix().is_empty() && is_one(word));
                items.push(Item::Operand { word, is_sure });
            }
        }
    }
    items
}

/// The words, each long option in full that is abbreviated and can stand for only one option of the grammar.
pub(crate) fn completed(grammar: &str, words: &[Word]) -> Vec<Word> {
    let end = words.iter().position(|word| word.exact() == Some("--")).unwrap_or(words.len());
    let full = |(at, word): (usize, &Word)| match word {
        Word::Exact(text) if at < end => Word::Exact(in_full(grammar, text)),
        _ => word.clone(),
    };
    words.iter().enumerate().map(full).collect()
}

fn in_full(grammar: &str, text: &str) -> String {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if name.len() < 3 || !name.starts_with("--") || long_takes(grammar, name).is_some() {
        return text.to_owned();
    }
    let fitting = grammar.split_ascii_whitespace().filter(|token| token.starts_with(name));
    let mut fitting = fitting.map(|token| token.trim_end_matches(['=', '@', '[', ']']));
    match (fitting.next(), fitting.next()) {
        (Some(full), None) => value.map_or_else(|| full.to_owned(), |value| format!("{full}={value}")),
        _ => text.to_owned(),
    }
}

/// Whether the word is `<(…)` or `>(…)`: a name that the shell makes up, which begins with a slash.
pub(crate) fn is_process(word: &Word) -> bool {
    matches!(word, Word::Unknown { text, .. } if text.starts_with("<(") || text.starts_with(">("))
}

/// Whether the word can't become several or an option among others.
fn is_one(word: &Word) -> bool {
    !matches!(word, Word::Unknown { splits: true, .. })
}

/// Whether the grammar has the token `mark` + `text`.
fn has_token(grammar: &str, mark: char, text: &str) -> bool {
    grammar.split_ascii_whitespace().any(|token| token.strip_prefix(mark) == Some(text))
}

/// `--name`, `--name=value` or `--name value`.
fn long<'a>(grammar: &str, word: &'a Word, rest: &mut Iter<'a, Word>) -> Item<'a> {
    let (name, glued) = match word.text().split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word.text(), None),
    };
    let option = |value, is_path| Item::Option { name: name.to_owned(), value, is_path };
    match (long_takes(grammar, name), glued) {
        (Some(Takes::Nothing | Takes::Glued), None) => option(None, false),
        (Some(Takes::Value | Takes::Glued), Some(value)) => {
            option(Some(Cow::Owned(Word::known(value))), false)
        }
        (Some(Takes::Path), Some(value)) => option(Some(Cow::Owned(Word::known(value))), true),
        (Some(takes @ (Takes::Value | Takes::Path)), None) => match rest.next() {
            Some(value) if is_value(value) => option(Some(Cow::Borrowed(value)), takes == Takes::Path),
            Some(value) => Item::Strange(value),
            None => Item::Strange(word),
        },
        _ => Item::Strange(word),
    }
}

/// Whether the word is just one, whatever it says.
fn is_value(word: &Word) -> bool {
    matches!(word, Word::Exact(_) | Word::Unknown { splits: false, .. })
}

/// `--include=*.rs`: whatever file names the pattern becomes, each is the same option with another value.
fn patterned<'a>(grammar: &str, word: &'a Word) -> Item<'a> {
    let Some((name, _)) = word.prefix().split_once('=') else {
        return Item::Strange(word);
    };
    let takes = if is_one(word) { long_takes(grammar, name) } else { None };
    if !matches!(takes, Some(Takes::Value | Takes::Glued)) {
        return Item::Strange(word);
    }
    Item::Option { name: name.to_owned(), value: Some(Cow::Borrowed(word)), is_path: false }
}

/// `-abc`, `-n5`, `-n 5`.
fn cluster<'a>(grammar: &str, word: &'a Word, rest: &mut Iter<'a, Word>, items: &mut Vec<Item<'a>>) {
    let letters = word.text().trim_start_matches('-');
    if has_token(grammar, '-', "#") && letters.chars().all(|c| c.is_ascii_digit()) {
        items.push(Item::Option { name: "-#".to_owned(), value: None, is_path: false });
        return;
    }
    let mut letters = letters.chars();
    while let Some(letter) = letters.next() {
        let glued = letters.as_str();
        let name = format!("-{letter}");
        let value = match (short_takes(grammar, letter), glued) {
            (None, _) => {
                items.push(Item::Strange(word));
                return;
            }
            (Some(Takes::Nothing), _) => {
                items.push(Item::Option { name, value: None, is_path: false });
                continue;
            }
            (Some(Takes::Glued), "") => None,
            (Some(Takes::Value | Takes::Path), "") => match rest.next() {
                Some(value) if is_value(value) => Some(Cow::Borrowed(value)),
                other => {
                    items.push(Item::Strange(other.unwrap_or(word)));
                    return;
                }
            },
            (Some(_), _) => Some(Cow::Owned(Word::known(glued))),
        };
        let is_path = short_takes(grammar, letter) == Some(Takes::Path);
        items.push(Item::Option { name, value, is_path });
        return;
    }
}

/// What a long option takes; the name with its dashes.
fn long_takes(grammar: &str, name: &str) -> Option<Takes> {
    let tokens = grammar.split_ascii_whitespace().filter(|token| token.starts_with("--"));
    tokens.filter_map(|token| token.strip_prefix(name)).find_map(|rest| match rest {
        "" => Some(Takes::Nothing),
        "=" => Some(Takes::Value),
        "=@" => Some(Takes::Path),
        "[=]" => Some(Takes::Glued),
        _ => None,
    })
}

fn short_takes(grammar: &str, letter: char) -> Option<Takes> {
    if !letter.is_ascii_alphanumeric() {
        return None;
    }
    let tokens = grammar.split_ascii_whitespace().filter(|token| !token.starts_with("--"));
    tokens.filter_map(|token| token.strip_prefix('-')).find_map(|token| {
        let (letters, takes) = if let Some(letters) = token.strip_suffix(":@") {
            (letters, Takes::Path)
        } else if let Some(letters) = token.strip_suffix(':') {
            (letters, Takes::Value)
        } else if let Some(letters) = token.strip_suffix('?') {
            (letters, Takes::Glued)
        } else {
            (token, Takes::Nothing)
        };
        letters.contains(letter).then_some(takes)
    })
}

/// The names of the listed options that were given.
pub(crate) fn names<'i>(items: &'i [Item<'_>]) -> impl Iterator<Item = &'i str> {
    items.iter().filter_map(|item| match item {
        Item::Option { name, .. } => Some(name.as_str()),
        _ => None,
    })
}

/// The operands.
pub(crate) fn operands<'a>(items: &[Item<'a>]) -> impl Iterator<Item = &'a Word> {
    items.iter().filter_map(|item| match item {
        Item::Operand { word, .. } => Some(*word),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(grammar: &str, words: &[&str]) -> String {
        let words: Vec<Word> = words.iter().map(|word| Word::known(*word)).collect();
        let shown = items(grammar, &words).into_iter().map(|item| match item {
            Item::Option { name, value, is_path } => {
                let mark = if is_path { "@" } else { "=" };
                value.map_or(name.clone(), |value| format!("{name}{mark}{}", value.text()))
            }
            Item::Operand { word, .. } => format!("<{}>", word.text()),
            Item::Strange(word) => format!("?{}", word.text()),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_are_told_from_values_and_operands() {
        let grammar = "-ab -n: -f:@ -U? -# --all --width= --file=@ --color[=] =-version";
        let cases: [(&[&str], &str); 16] = [
            (&["-ab", "x", "-a"], "-a -b <x> -a"),
            (&["-n5", "-n", "5"], "-n=5 -n=5"),
            (&["-an5"], "-a -n=5"),
            (&["-nfoo"], "-n=foo"),
            (&["-f", "x", "-fy"], "-f@x -f@y"),
            (&["-U", "x", "-U3"], "-U <x> -U=3"),
            (&["-12"], "-#"),
            (&["--all", "--width", "3", "--width=4"], "--all --width=3 --width=4"),
            (&["--file", "x", "--file=y"], "--file@x --file@y"),
            (&["--color", "x", "--color=never"], "--color <x> --color=never"),
            (&["--", "-a", "--"], "<-a> <-->"),
            (&["-"], "<->"),
            (&["-version"], "-version"),
            (&["--al", "--all=1", "-ax"], "?--al ?--all=1 -a ?-ax"),
            (&["-n"], "?-n"),
            (&["--width"], "?--width"),
        ];
        for (words, expected) in cases {
            assert_eq!(shown(grammar, words), expected, "{words:?}");
        }
    }

    #[test]
    fn an_abbreviation_is_completed_where_only_one_option_fits() {
        let grammar = "-a --target-directory=@ --suffix= --size= --color[=] --all";
        let cases = [
            ("--target=x", "--target-directory=x"),
            ("--t", "--target-directory"),
            ("--s=1", "--s=1"),
            ("--col", "--color"),
            ("--all", "--all"),
            ("--zz", "--zz"),
            ("-t", "-t"),
        ];
        for (text, expected) in cases {
            assert_eq!(completed(grammar, &[Word::known(text)]), [Word::known(expected)], "{text}");
        }
        let behind = [Word::known("--"), Word::known("--t")];
        assert_eq!(completed(grammar, &behind), behind);
    }

    #[test]
    fn what_may_become_an_option_is_not_sure() {
        let unknown = |prefix: &str, splits| Word::Unknown {
            text: format!("{prefix}$X"),
            prefix: prefix.to_owned(),
            splits,
        };
        let glob = |prefix: &str| Word::Glob { text: format!("{prefix}*"), prefix: prefix.to_owned() };
        let sure = |word: Word| match items("-a --in= --all", &[word]).first() {
            Some(Item::Operand { is_sure, .. }) => Some(*is_sure),
            Some(Item::Option { .. }) => Some(true),
            _ => None,
        };
        assert_eq!(sure(unknown("", false)), Some(false));
        assert_eq!(sure(unknown("a", false)), Some(true));
        assert_eq!(sure(unknown("a", true)), Some(false));
        assert_eq!(sure(unknown("-a", false)), None);
        assert_eq!(sure(unknown("--in=", false)), Some(true));
        assert_eq!(sure(unknown("--in=", true)), None);
        assert_eq!(sure(glob("")), Some(false));
        assert_eq!(sure(glob("./")), Some(true));
        assert_eq!(sure(glob("-")), None);
        assert_eq!(sure(glob("--in=")), Some(true));
        assert_eq!(sure(glob("--all=")), None);
    }
}
