//! Redirections.

use super::{
    cursor::{Cursor, is_meta},
    syntax::{Aim, Fallible, Scanned, Target},
};
use crate::command::{RedirectKind, Word};

/// Longer operators before those that they begin with.
const OPERATORS: [&str; 12] = ["<<<", "<<-", "<<", "<>", "<&", "<", "&>>", "&>", ">>", ">&", ">|", ">"];

impl Cursor<'_> {
    /// Whether a redirection begins here.
    pub(super) fn redirect_ahead(&self) -> bool {
        let rest = self.rest();
        let operator = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = operator.len() < rest.len();
        let is_process = self.is_bash() && (operator.starts_with("<(") || operator.starts_with(">("));
        if is_process && !has_number {
            return false;
        }
        operator.starts_with(['<', '>']) || (!has_number && self.is_bash() && operator.starts_with("&>"))
    }

    pub(super) fn redirect(&mut self) -> Fallible<Aim> {
        let number = self.eat_while(|c| c.is_ascii_digit());
        let Some(operator) = OPERATORS.into_iter().find(|operator| self.looking_at(operator)) else {
            return Err("a redirection can't be read".to_owned());
        };
        self.eat(operator);
        if self.looking_at("(") {
            return Err("a process substitution stands within a word".to_owned());
        }
        let kind = match operator {
            "<<" | "<<-" => {
                let at = self.here_document(operator == "<<-")?;
                return Ok(Aim { kind: RedirectKind::Text, target: Target::Here(at) });
            }
            "<&" | ">&" => return self.duplicate(operator, number),
            "<<<" => {
                self.only_bash("`<<<`")?;
                RedirectKind::Text
            }
            "<" => RedirectKind::Read,
            "<>" => RedirectKind::ReadWrite,
            _ => RedirectKind::Write,
        };
        Ok(Aim { kind, target: Target::Word(self.needed_word("a redirection's target")?) })
    }

    /// `2>&1`, `>&-`, and in Bash `>&file`.
    fn duplicate(&mut self, operator: &str, number: &str) -> Fallible<Aim> {
        if self.eat("-") {
            if self.peek().is_some_and(|c| !is_meta(c)) {
                return Err("a redirection can't be read".to_owned());
            }
            let span = (self.at, self.at);
            let word = Word::known("-");
            let target = Target::Word(Scanned { word, span, is_quoted: false, nested: Vec::new() });
            return Ok(Aim { kind: RedirectKind::Copy, target });
        }
        let target = self.needed_word("a redirection's target")?;
        let digits = target.word.exact().map(|text| text.strip_suffix('-').unwrap_or(text));
        let is_descriptor =
            digits.is_some_and(|text| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()));
        let kind = if is_descriptor {
            RedirectKind::Copy
        } else if operator == ">&" && number.is_empty() && self.is_bash() {
            RedirectKind::Write
        } else {
            return Err("a redirection's descriptor isn't known".to_owned());
        };
        Ok(Aim { kind, target: Target::Word(target) })
    }
}
