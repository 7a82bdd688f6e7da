//! Lists, pipelines and simple commands.

use super::{
    cursor::{Cursor, RESERVED},
    expansion::{is_name, is_name_start},
    syntax::{AndOr, Command, Fallible, Joint, List, Node, Pipeline, Plain, Scanned},
    word::Place,
};
use crate::command::Word;

/// A variable's name, and whether `+=` stands behind it.
type Assigned = (String, bool);

impl Cursor<'_> {
    /// Commands up to one of `stops` (keywords, `)` or `;;`), or to the end.
    pub(super) fn list(&mut self, stops: &[&str]) -> Fallible<List> {
        let mut list = Vec::new();
        loop {
            self.newlines()?;
            if self.at >= self.end || self.stops_at(stops) {
                return Ok(list);
            }
            let mut item = self.and_or()?;
            self.blanks()?;
            match self.peek() {
                None | Some('\n') => {}
                Some(';' | ')') if self.stops_at(stops) => {}
                Some(';') if !self.looking_at(";;") && !self.looking_at(";&") => {
                    self.bump();
                }
                Some('&') if !self.looking_at("&>") => {
                    self.bump();
                    item.is_background = true;
                }
                Some(c) => return Err(format!("`{c}` stands where a command ends")),
            }
            list.push(item);
        }
    }

    fn stops_at(&self, stops: &[&str]) -> bool {
        stops.iter().any(|stop| match *stop {
            ")" => self.looking_at(")"),
            ";;" => self.looking_at(";;") || self.looking_at(";&"),
            keyword => self.reserved() == Some(keyword),
        })
    }

    fn and_or(&mut self) -> Fallible<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks()?;
            let joint = if self.eat("&&") {
                Joint::And
            } else if self.eat("||") {
                Joint::Or
            } else {
                return Ok(AndOr { first, rest, is_background: false });
            };
            self.newlines()?;
            rest.push((joint, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Fallible<Pipeline> {
        let mut is_negated = false;
        if self.reserved() == Some("!") {
            self.bump();
            is_negated = true;
            self.blanks()?;
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks()?;
            if self.looking_at("||") || !self.eat("|") {
                return Ok(Pipeline { is_negated, commands });
            }
            if self.eat("&") {
                self.only_bash("`|&`")?;
            }
            self.newlines()?;
            commands.push(self.command()?);
        }
    }

    pub(super) fn command(&mut self) -> Fallible<Command> {
        self.enter()?;
        let Some(node) = self.compound()? else {
            let command = self.simple()?;
            self.leave();
            return Ok(command);
        };
        let mut redirects = Vec::new();
        loop {
            self.blanks()?;
            if !self.redirect_ahead() {
                break;
            }
            redirects.push(self.redirect()?);
        }
        self.leave();
        Ok(Command { node, redirects })
    }

    fn simple(&mut self) -> Fallible<Command> {
        let mut plain = Plain::default();
        let mut redirects = Vec::new();
        loop {
            self.blanks()?;
            if self.redirect_ahead() {
                redirects.push(self.redirect()?);
                continue;
            }
            if plain.words.is_empty()
                && let Some(assigned) = self.assigned()?
            {
                plain.assignments.push(self.assignment(assigned)?);
                continue;
            }
            let Some(word) = self.word(Place::Argument)? else {
                break;
            };
            let is_first = plain.words.is_empty();
            if is_first && plain.assignments.is_empty() && redirects.is_empty() {
                self.blanks()?;
                if self.looking_at("(") {
                    return self.function(&word);
                }
            }
            if is_first && !word.is_quoted && word.word.exact().is_some_and(|text| RESERVED.contains(&text)) {
                return Err("a keyword is written in pieces".to_owned());
            }
            plain.words.push(word);
        }
        if plain.words.is_empty() && plain.assignments.is_empty() && redirects.is_empty() {
            return Err("a command is missing".to_owned());
        }
        self.note_words(&plain.words);
        Ok(Command { node: Node::Simple(plain), redirects })
    }

    /// What the second reader sees of a command: its program and words, but of `[ … ]` the whole.
    fn note_words(&mut self, words: &[Scanned]) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return;
        };
        self.seen.programs.push(first.span.0);
        if first.word.exact() == Some("[") && !first.is_quoted {
            self.note((first.span.0, last.span.1));
        } else {
            self.seen.spans.extend(words.iter().map(|word| word.span));
        }
    }

    /// `NAME=` or `NAME+=`, which is consumed.
    fn assigned(&mut self) -> Fallible<Option<Assigned>> {
        let rest = self.rest();
        let len = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (Some(name), Some(after)) = (rest.get(..len), rest.get(len..)) else {
            return Ok(None);
        };
        if !name.starts_with(is_name_start) {
            return Ok(None);
        }
        if after.starts_with('[') {
            return Err("an array's element may be set".to_owned());
        }
        let appends = after.starts_with("+=");
        if !appends && !after.starts_with('=') {
            return Ok(None);
        }
        if appends {
            self.only_bash("`+=`")?;
        }
        Ok(Some((name.to_owned(), appends)))
    }

    fn assignment(&mut self, (name, appends): Assigned) -> Fallible<(String, Scanned)> {
        let start = self.at;
        self.at += name.len() + if appends { 2 } else { 1 };
        if self.looking_at("(") {
            return Err("an array is set".to_owned());
        }
        let value_start = self.at;
        let mut value = self.word(Place::Value)?.unwrap_or_else(|| Scanned {
            word: Word::known(""),
            span: (value_start, value_start),
            is_quoted: false,
            nested: Vec::new(),
        });
        if appends {
            let text = value.word.text().to_owned();
            value.word = Word::Unknown { text, prefix: String::new(), splits: false };
        }
        self.note((start, self.at));
        Ok((name, value))
    }

    /// `NAME ()` and a body.
    fn function(&mut self, name: &Scanned) -> Fallible<Command> {
        if name.is_quoted || name.word.exact().is_none() {
            return Err("`(` stands within a command".to_owned());
        }
        self.note(name.span);
        self.bump();
        self.blanks()?;
        if !self.eat(")") {
            return Err("`(` stands within a command".to_owned());
        }
        self.function_body()
    }

    pub(super) fn function_body(&mut self) -> Fallible<Command> {
        self.doubt("it defines a function, which may stand for any later word");
        self.newlines()?;
        let body = self.command()?;
        Ok(Command { node: Node::Function(Box::new(body)), redirects: Vec::new() })
    }
}
