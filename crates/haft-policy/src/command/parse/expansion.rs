//! Expansions: what begins with `$`, a backtick, or `<(`.

use super::{
    cursor::Cursor,
    syntax::{Fallible, List},
    word::{Pieces, Quote},
};

/// The operators of `${name…}` that only choose or cut a value.
const POSIX_OPERATORS: [&str; 10] = [":-", ":+", ":?", "##", "%%", "-", "+", "?", "#", "%"];

/// The same in Bash alone.
const BASH_OPERATORS: [&str; 6] = ["//", "/", "^^", "^", ",,", ","];

const ARITHMETIC: &str = "arithmetic over variables can run commands";

impl Cursor<'_> {
    /// What begins with the `$` here.
    pub(super) fn dollar(&mut self, pieces: &mut Pieces, quote: Quote) -> Fallible<()> {
        let start = self.at;
        self.bump();
        let is_bare = quote == Quote::None;
        match self.peek() {
            Some('(') if self.looking_at("((") => self.arithmetic(pieces, is_bare),
            Some('(') => {
                self.bump();
                pieces.expands(is_bare);
                let list = self.enclosed()?;
                self.note((start, self.at));
                pieces.nested.push(list);
                Ok(())
            }
            Some('{') => self.parameter(pieces, quote),
            Some('[') => Err("`$[…]` is arithmetic of old".to_owned()),
            Some('\'') if is_bare => self.ansi_quotes(pieces),
            Some('"') if is_bare => {
                self.only_bash("`$\"…\"`")?;
                pieces.expands(false);
                self.double_quotes(pieces)
            }
            Some(c) if is_name_start(c) => {
                self.eat_while(is_name);
                pieces.expands(is_bare);
                Ok(())
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.bump();
                pieces.expands(is_bare || c == '@');
                Ok(())
            }
            _ => {
                pieces.literal('$');
                Ok(())
            }
        }
    }

    /// The commands up to the closing parenthesis.
    fn enclosed(&mut self) -> Fallible<List> {
        self.enter()?;
        self.level += 1;
        let list = self.list(&[")"])?;
        if self.owes_text() {
            return Err("a here-document's text doesn't follow within its substitution".to_owned());
        }
        self.level -= 1;
        self.leave();
        if self.eat(")") { Ok(list) } else { Err("a substitution doesn't end".to_owned()) }
    }

    pub(super) fn process_substitution(&mut self, pieces: &mut Pieces) -> Fallible<()> {
        let start = self.at;
        self.bump();
        self.bump();
        pieces.expands(false);
        let list = self.enclosed()?;
        self.note((start, self.at));
        pieces.nested.push(list);
        Ok(())
    }

    pub(super) fn backticks(&mut self, pieces: &mut Pieces, quote: Quote) -> Fallible<()> {
        let start = self.at;
        self.bump();
        let len = self.rest().find('`').ok_or_else(|| "a backtick has no partner".to_owned())?;
        let close = self.at + len;
        let inner = self.between(self.at, close);
        if inner.contains('\\') || (quote == Quote::Double && inner.contains('"')) {
            return Err("quotes within backticks are read differently by shells".to_owned());
        }
        pieces.expands(quote == Quote::None);
        let end = std::mem::replace(&mut self.end, close);
        self.enter()?;
        self.level += 1;
        let list = self.list(&[])?;
        if self.at != close || self.owes_text() {
            return Err("the commands within backticks can't be read".to_owned());
        }
        self.level -= 1;
        self.leave();
        self.end = end;
        self.bump();
        self.note((start, self.at));
        pieces.nested.push(list);
        Ok(())
    }

    /// `$((…))`. Names within may hold texts that are evaluated in their turn, commands included.
    fn arithmetic(&mut self, pieces: &mut Pieces, splits: bool) -> Fallible<()> {
        self.eat("((");
        pieces.expands(splits);
        let mut depth = 0_usize;
        while let Some(c) = self.bump() {
            match c {
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ')' if self.eat(")") => return Ok(()),
                '$' if self.peek().is_some_and(is_name) => self.doubt(ARITHMETIC),
                _ if is_name_start(c) => self.doubt(ARITHMETIC),
                _ if c.is_ascii_digit() || " +-*/%<>=!&|^~?:,".contains(c) => {}
                _ => break,
            }
        }
        Err("the arithmetic can't be read".to_owned())
    }

    /// `$'…'`
    fn ansi_quotes(&mut self, pieces: &mut Pieces) -> Fallible<()> {
        self.only_bash("`$'…'`")?;
        self.bump();
        pieces.expands(false);
        while let Some(c) = self.bump() {
            match c {
                '\'' => return Ok(()),
                '\\' => {
                    self.bump();
                }
                _ => pieces.literal(c),
            }
        }
        Err("a quotation doesn't end".to_owned())
    }

    /// `${…}`, as far as it can neither assign nor evaluate.
    fn parameter(&mut self, pieces: &mut Pieces, quote: Quote) -> Fallible<()> {
        self.enter()?;
        self.bump();
        let refused = || Err("a `${…}` does more than choose or cut a value".to_owned());
        let is_length = self.looking_at("#") && !self.looking_at("#}");
        if is_length {
            self.bump();
        }
        let is_list = self.looking_at("@");
        let name = self.eat_while(is_name);
        let is_special = name.is_empty() && self.peek().is_some_and(|c| "@*#?$-".contains(c));
        if is_special {
            self.bump();
        } else if name.is_empty() {
            return refused();
        }
        let is_whole = self.subscript()?;
        pieces.expands(quote == Quote::None || is_list || is_whole);
        if !self.eat("}") {
            if is_length || !self.operator()? {
                return refused();
            }
            self.operand(pieces, quote)?;
        }
        self.leave();
        Ok(())
    }

    /// `[@]` (said by `true`), `[*]` or a number; any other subscript is arithmetic.
    fn subscript(&mut self) -> Fallible<bool> {
        if !self.eat("[") {
            return Ok(false);
        }
        self.only_bash("an array")?;
        let is_whole = self.eat("@");
        if !is_whole && !self.eat("*") && self.eat_while(|c| c.is_ascii_digit()).is_empty() {
            return Err(ARITHMETIC.to_owned());
        }
        if self.eat("]") { Ok(is_whole) } else { Err(ARITHMETIC.to_owned()) }
    }

    fn operator(&mut self) -> Fallible<bool> {
        if POSIX_OPERATORS.iter().any(|operator| self.eat(operator)) {
            return Ok(true);
        }
        self.only_bash("this `${…}`")?;
        if BASH_OPERATORS.iter().any(|operator| self.eat(operator)) {
            return Ok(true);
        }
        if self.eat(":") {
            // A part of the value, by number alone.
            self.eat_while(|c| c.is_ascii_digit() || matches!(c, ' ' | ':' | '-'));
            return Ok(self.looking_at("}"));
        }
        Ok(false)
    }

    /// Up to the closing brace. Shells don't agree on quotes in there.
    fn operand(&mut self, pieces: &mut Pieces, quote: Quote) -> Fallible<()> {
        while let Some(c) = self.peek() {
            match c {
                '}' => {
                    self.bump();
                    return Ok(());
                }
                '\'' | '"' | '\\' | '`' | '{' | '(' | ')' | '<' | '>' | '\n' => break,
                '$' => self.dollar(pieces, quote)?,
                _ => {
                    self.bump();
                }
            }
        }
        Err("a `${…}` holds quotes or doesn't end".to_owned())
    }
}

pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
