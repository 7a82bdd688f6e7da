//! A place in the text, and what has been found up to it.

use super::{
    characters,
    syntax::{Fallible, Scanned},
};
use crate::command::Dialect;

/// How deep commands and expansions may be nested.
const NESTING_MAX: usize = 64;

/// Keywords, recognised where a command begins. `in` and `time` are left out: they are told from words
/// elsewhere.
pub(super) const RESERVED: [&str; 20] = [
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "select", "then", "until", "while",
];

/// What was seen where, for the second reader to compare.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Words, assignments, targets and substitutions.
    pub(super) spans: Vec<(usize, usize)>,
    /// Where the program of a command stands.
    pub(super) programs: Vec<usize>,
}

/// A here-document.
#[derive(Debug)]
pub(super) struct Here {
    pub(super) delimiter: String,
    /// Whether its delimiter is quoted, so that its body stands for itself.
    pub(super) is_literal: bool,
    /// `<<-`
    pub(super) strips_tabs: bool,
    /// In how many substitutions it was announced: its body must stand in the same ones.
    pub(super) level: usize,
    pub(super) body: Option<Scanned>,
}

/// Reads a text from left to right.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) at: usize,
    /// Where to stop: the text's end, or that of the part which is being read.
    pub(super) end: usize,
    pub(super) dialect: Dialect,
    nesting: usize,
    /// How many substitutions are open.
    pub(super) level: usize,
    pub(super) heres: Vec<Here>,
    /// Here-documents whose bodies follow after the next newline.
    pub(super) pending: Vec<usize>,
    pub(super) seen: Seen,
    /// What doesn't hinder reading on, but makes the line unclear.
    pub(super) doubts: Vec<String>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, dialect: Dialect) -> Self {
        Self {
            text,
            at: 0,
            end: text.len(),
            dialect,
            nesting: 0,
            level: 0,
            heres: Vec::new(),
            pending: Vec::new(),
            seen: Seen::default(),
            doubts: Vec::new(),
        }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn looking_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Consumes a run of characters.
    pub(super) fn eat_while(&mut self, holds: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !holds(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    pub(super) fn is_bash(&self) -> bool {
        self.dialect == Dialect::Bash
    }

    pub(super) fn only_bash(&self, what: &str) -> Fallible<()> {
        if self.is_bash() { Ok(()) } else { Err(format!("{what} isn't POSIX")) }
    }

    pub(super) fn doubt(&mut self, why: &str) {
        if !self.doubts.iter().any(|known| known == why) {
            self.doubts.push(why.to_owned());
        }
    }

    /// Goes one level deeper; to be followed by [`Cursor::leave`].
    pub(super) fn enter(&mut self) -> Fallible<()> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX { Err("it is nested too deep".to_owned()) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.nesting = self.nesting.saturating_sub(1);
    }

    /// Skips blanks, line continuations and a comment.
    pub(super) fn blanks(&mut self) -> Fallible<()> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => {
                    self.bump();
                }
                Some('\\') if self.eat("\\\n") => {}
                Some('#') if self.level > 0 => {
                    return Err("a comment stands within a substitution".to_owned());
                }
                Some('#') => {
                    self.eat_while(|c| c != '\n');
                }
                Some(c) if characters::looks_blank(c) => {
                    return Err("it holds a character that only looks like a blank".to_owned());
                }
                _ => return Ok(()),
            }
        }
    }

    /// Skips blanks and newlines, and reads the here-documents that stand after the first of these.
    pub(super) fn newlines(&mut self) -> Fallible<()> {
        loop {
            self.blanks()?;
            if !self.eat("\n") {
                return Ok(());
            }
            self.here_bodies()?;
        }
    }

    /// The keyword that stands here.
    pub(super) fn reserved(&self) -> Option<&'static str> {
        let rest = self.rest();
        let word = rest.split(is_meta).next().unwrap_or_default();
        RESERVED.into_iter().find(|reserved| *reserved == word)
    }

    /// Consumes a keyword.
    pub(super) fn expect(&mut self, keyword: &str) -> Fallible<()> {
        let word = self.rest().split(is_meta).next().unwrap_or_default();
        if word == keyword {
            self.at += keyword.len();
            Ok(())
        } else {
            Err(format!("`{keyword}` is missing"))
        }
    }

    pub(super) fn note(&mut self, span: (usize, usize)) {
        self.seen.spans.push(span);
    }
}

/// Characters that end an unquoted word.
pub(super) fn is_meta(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}
