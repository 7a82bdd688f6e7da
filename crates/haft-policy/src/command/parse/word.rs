//! Words: quote removal, and what of a word is known.

use super::{
    characters,
    cursor::{Cursor, is_meta},
    syntax::{Fallible, List, Scanned},
};
use crate::command::Word;

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Argument,
    /// After `NAME=`: neither split nor matched against file names.
    Value,
}

/// Whether an expansion stands in double quotes (or a here-document).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    None,
    Double,
}

/// A word as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) literal: String,
    pub(super) nested: Vec<List>,
    /// How long the literal was at the first expansion.
    opaque: Option<usize>,
    /// The same at the first wildcard.
    glob: Option<usize>,
    /// The same at the first unquoted brace.
    brace: Option<usize>,
    splits: bool,
    is_escaped: bool,
    is_quoted: bool,
    /// The last character where it is unquoted.
    last: Option<char>,
}

impl Pieces {
    /// An expansion.
    pub(super) fn expands(&mut self, splits: bool) {
        self.opaque.get_or_insert(self.literal.len());
        self.splits |= splits;
        self.last = None;
    }

    /// A character that stands for itself.
    pub(super) fn literal(&mut self, c: char) {
        self.literal.push(c);
        self.is_quoted = true;
        self.last = None;
    }

    /// A character behind a backslash.
    pub(super) fn escaped(&mut self, c: char) {
        self.is_escaped = true;
        self.literal(c);
    }

    /// An unquoted character.
    fn bare(&mut self, c: char) -> Fallible<()> {
        if characters::looks_blank(c) {
            return Err("it holds a character that only looks like a blank".to_owned());
        }
        let len = self.literal.len();
        let is_first = len == 0 && !self.is_quoted && self.opaque.is_none();
        match c {
            '*' | '?' | '[' => {
                self.glob.get_or_insert(len);
            }
            '{' => {
                self.brace.get_or_insert(len);
            }
            '~' if is_first || matches!(self.last, Some(':' | '=')) => self.expands(false),
            _ => {}
        }
        self.literal.push(c);
        self.last = Some(c);
        Ok(())
    }

    /// The word, given how it is written.
    pub(super) fn finish(mut self, raw: &str, place: Place) -> (Word, bool, Vec<List>) {
        // `{a,b}` and `{1..3}` need a comma or two dots; braces without them stand for themselves.
        if let Some(brace) = self.brace.filter(|_| raw.contains(',') || raw.contains("..")) {
            self.opaque = Some(self.opaque.map_or(brace, |opaque| opaque.min(brace)));
            self.splits = true;
        }
        let glob = self.glob.filter(|_| place == Place::Argument && raw != "[");
        let splits = place == Place::Argument && (self.splits || glob.is_some());
        let known = [self.opaque, glob].into_iter().flatten().min();
        let prefix = known.map_or(self.literal.as_str(), |at| self.literal.get(..at).unwrap_or_default());
        let word = if self.opaque.is_some() || self.is_escaped {
            Word::Unknown { text: raw.to_owned(), prefix: prefix.to_owned(), splits }
        } else if glob.is_some() {
            let prefix = if prefix.starts_with('-') { "" } else { prefix };
            Word::Glob { text: raw.to_owned(), prefix: prefix.to_owned() }
        } else {
            Word::Exact(self.literal)
        };
        (word, self.is_quoted, self.nested)
    }
}

impl Cursor<'_> {
    /// The word that begins here, none before an operator.
    pub(super) fn word(&mut self, place: Place) -> Fallible<Option<Scanned>> {
        let start = self.at;
        let mut pieces = Pieces::default();
        if self.is_bash() && (self.looking_at("<(") || self.looking_at(">(")) {
            self.process_substitution(&mut pieces)?;
        }
        while let Some(c) = self.peek() {
            match c {
                _ if is_meta(c) => break,
                '\\' => self.escape(&mut pieces)?,
                '\'' => self.single_quotes(&mut pieces)?,
                '"' => self.double_quotes(&mut pieces)?,
                '$' => self.dollar(&mut pieces, Quote::None)?,
                '`' => self.backticks(&mut pieces, Quote::None)?,
                _ => {
                    self.bump();
                    pieces.bare(c)?;
                }
            }
        }
        if self.at == start {
            return Ok(None);
        }
        if self.is_bash() && (self.looking_at("<(") || self.looking_at(">(")) {
            return Err("a process substitution is part of a word".to_owned());
        }
        let span = (start, self.at);
        let raw = self.between(start, self.at);
        if raw.starts_with('{') && raw.ends_with('}') && matches!(self.peek(), Some('<' | '>')) {
            return Err("a redirection names its descriptor by a variable".to_owned());
        }
        let (word, is_quoted, nested) = pieces.finish(raw, place);
        Ok(Some(Scanned { word, span, is_quoted, nested }))
    }

    /// The word that must stand here.
    pub(super) fn needed_word(&mut self, what: &str) -> Fallible<Scanned> {
        self.blanks()?;
        let word = self.word(Place::Argument)?.ok_or_else(|| format!("{what} is missing"))?;
        self.note(word.span);
        Ok(word)
    }

    fn escape(&mut self, pieces: &mut Pieces) -> Fallible<()> {
        self.bump();
        match self.bump() {
            Some('\n') => {
                // It could make a keyword, a number before an operator, or two words look like one.
                self.doubt("a line continuation stands within a word");
                pieces.last = None;
                Ok(())
            }
            Some(c) => {
                pieces.escaped(c);
                Ok(())
            }
            None => Err("it ends with a backslash".to_owned()),
        }
    }

    fn single_quotes(&mut self, pieces: &mut Pieces) -> Fallible<()> {
        self.bump();
        let text = self.eat_while(|c| c != '\'');
        pieces.is_quoted = true;
        pieces.last = None;
        pieces.literal.push_str(text);
        if self.eat("'") { Ok(()) } else { Err("a quotation doesn't end".to_owned()) }
    }

    pub(super) fn double_quotes(&mut self, pieces: &mut Pieces) -> Fallible<()> {
        self.bump();
        pieces.is_quoted = true;
        pieces.last = None;
        while let Some(c) = self.peek() {
            match c {
                '"' => {
                    self.bump();
                    return Ok(());
                }
                '\\' => self.quoted_escape(pieces, "$`\"\\")?,
                '$' => self.dollar(pieces, Quote::Double)?,
                '`' => self.backticks(pieces, Quote::Double)?,
                _ => {
                    self.bump();
                    pieces.literal(c);
                }
            }
        }
        Err("a quotation doesn't end".to_owned())
    }

    /// A backslash where only some characters can be escaped.
    pub(super) fn quoted_escape(&mut self, pieces: &mut Pieces, escapable: &str) -> Fallible<()> {
        self.bump();
        match self.bump() {
            Some('\n') => Ok(()),
            Some(c) => {
                if !escapable.contains(c) {
                    pieces.escaped('\\');
                }
                pieces.escaped(c);
                Ok(())
            }
            None => Err("it ends with a backslash".to_owned()),
        }
    }
}
