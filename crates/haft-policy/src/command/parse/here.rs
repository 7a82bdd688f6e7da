//! Here-documents.

use super::{
    cursor::{Cursor, Here},
    syntax::{Fallible, Scanned},
    word::{Pieces, Place, Quote},
};

/// The second reader keeps delimiters in a buffer of fixed size.
const DELIMITER_MAX_BYTES: usize = 64;
const HERES_MAX: usize = 8;

impl Cursor<'_> {
    /// Reads the delimiter behind `<<`; the text follows after the next newline.
    pub(super) fn here_document(&mut self, strips_tabs: bool) -> Fallible<usize> {
        self.blanks()?;
        let start = self.at;
        let word =
            self.word(Place::Argument)?.ok_or_else(|| "a here-document has no delimiter".to_owned())?;
        let raw = self.between(start, self.at);
        let unquoted = ["'", "\""].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote));
        let delimiter = unquoted.unwrap_or(raw);
        let is_plain = !delimiter.is_empty()
            && delimiter.len() <= DELIMITER_MAX_BYTES
            && delimiter.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if !is_plain || word.word.exact() != Some(delimiter) {
            return Err("a here-document's delimiter is no plain word".to_owned());
        }
        if self.heres.len() >= HERES_MAX {
            return Err(format!("it has more than {HERES_MAX} here-documents"));
        }
        let at = self.heres.len();
        self.heres.push(Here {
            delimiter: delimiter.to_owned(),
            is_literal: unquoted.is_some(),
            strips_tabs,
            level: self.level,
            body: None,
        });
        self.pending.push(at);
        Ok(at)
    }

    /// Whether a here-document announced within the open substitution has no text yet.
    pub(super) fn owes_text(&self) -> bool {
        self.pending.iter().any(|at| self.heres.get(*at).is_some_and(|here| here.level >= self.level))
    }

    /// Reads the texts that are due, right after a newline.
    pub(super) fn here_bodies(&mut self) -> Fallible<()> {
        for at in std::mem::take(&mut self.pending) {
            let Some(here) = self.heres.get(at) else {
                continue;
            };
            if here.level != self.level {
                return Err("a here-document's text stands within a substitution".to_owned());
            }
            let (delimiter, is_literal, strips_tabs) =
                (here.delimiter.clone(), here.is_literal, here.strips_tabs);
            let start = self.at;
            let end = self.body_end(&delimiter, strips_tabs)?;
            let next = std::mem::replace(&mut self.at, start);
            let text_end = std::mem::replace(&mut self.end, end);
            let mut pieces = Pieces::default();
            self.here_text(&mut pieces, is_literal, strips_tabs)?;
            self.at = next;
            self.end = text_end;
            let (word, is_quoted, nested) = pieces.finish(self.between(start, end), Place::Value);
            if let Some(here) = self.heres.get_mut(at) {
                here.body = Some(Scanned { word, span: (start, end), is_quoted, nested });
            }
        }
        Ok(())
    }

    /// Skips the text and its delimiter; gives where the text ends.
    fn body_end(&mut self, delimiter: &str, strips_tabs: bool) -> Fallible<usize> {
        while self.at < self.end {
            let start = self.at;
            let line = self.eat_while(|c| c != '\n');
            self.eat("\n");
            let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
            if line == delimiter {
                // The newline before what follows is part of the grammar again.
                return Ok(start);
            }
        }
        Err("a here-document doesn't end".to_owned())
    }

    fn here_text(&mut self, pieces: &mut Pieces, is_literal: bool, strips_tabs: bool) -> Fallible<()> {
        let mut is_line_start = true;
        while let Some(c) = self.peek() {
            let was_line_start = std::mem::replace(&mut is_line_start, c == '\n');
            match c {
                '\t' if strips_tabs && was_line_start => {
                    self.bump();
                    is_line_start = true;
                }
                '\\' if !is_literal && self.looking_at("\\\n") => {
                    // The next line would belong to this one, even if it is the delimiter.
                    return Err("a here-document has a line continuation".to_owned());
                }
                '\\' if !is_literal => self.quoted_escape(pieces, "$`\\")?,
                '$' if !is_literal => self.dollar(pieces, Quote::Double)?,
                '`' if !is_literal => self.backticks(pieces, Quote::Double)?,
                _ => {
                    self.bump();
                    pieces.literal(c);
                }
            }
        }
        Ok(())
    }
}
