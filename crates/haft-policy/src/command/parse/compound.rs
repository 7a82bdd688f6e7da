//! Commands made of commands: groups, loops, choices, tests.

use super::{
    cursor::Cursor,
    expansion::{is_name, is_name_start},
    syntax::{Command, Fallible, List, Node, Plain, Scanned},
    word::Place,
};
use crate::command::Word;

/// Tests that read a text as arithmetic, or look into a variable by name.
const EVALUATING: [&str; 8] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];

impl Cursor<'_> {
    /// The compound command that begins here.
    pub(super) fn compound(&mut self) -> Fallible<Option<Node>> {
        if self.looking_at("(") {
            return self.subshell().map(Some);
        }
        let Some(keyword) = self.reserved() else {
            return Ok(None);
        };
        let node = match keyword {
            "{" => self.group(),
            "if" => self.choice(),
            "case" => self.case(),
            "for" => self.for_loop(),
            "while" | "until" => self.while_loop(keyword),
            "[[" => self.test(),
            "function" => self.function_by_keyword(),
            _ => Err(format!("`{keyword}` stands where a command begins")),
        };
        node.map(Some)
    }

    fn subshell(&mut self) -> Fallible<Node> {
        self.bump();
        if self.looking_at("(") {
            return Err("`((` begins arithmetic".to_owned());
        }
        let list = self.filled(&[")"])?;
        if self.eat(")") { Ok(Node::Subshell(list)) } else { Err("`)` is missing".to_owned()) }
    }

    fn group(&mut self) -> Fallible<Node> {
        self.expect("{")?;
        let list = self.filled(&["}"])?;
        self.expect("}")?;
        Ok(Node::Group(list))
    }

    /// A list that must not be empty.
    fn filled(&mut self, stops: &[&str]) -> Fallible<List> {
        let list = self.list(stops)?;
        if list.is_empty() { Err("a command is missing".to_owned()) } else { Ok(list) }
    }

    fn choice(&mut self) -> Fallible<Node> {
        let mut lists = Vec::new();
        self.expect("if")?;
        loop {
            lists.push(self.filled(&["then"])?);
            self.expect("then")?;
            lists.push(self.filled(&["elif", "else", "fi"])?);
            if self.reserved() != Some("elif") {
                break;
            }
            self.expect("elif")?;
        }
        if self.reserved() == Some("else") {
            self.expect("else")?;
            lists.push(self.filled(&["fi"])?);
        }
        self.expect("fi")?;
        Ok(Node::Choice { words: Vec::new(), lists })
    }

    fn while_loop(&mut self, keyword: &str) -> Fallible<Node> {
        self.expect(keyword)?;
        let condition = self.filled(&["do"])?;
        let body = self.do_group()?;
        Ok(Node::Loop { variable: None, words: Vec::new(), lists: vec![condition, body] })
    }

    fn do_group(&mut self) -> Fallible<List> {
        self.expect("do")?;
        let body = self.filled(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    fn for_loop(&mut self) -> Fallible<Node> {
        self.expect("for")?;
        self.blanks()?;
        let variable = self.eat_while(is_name);
        if !variable.starts_with(is_name_start) {
            return Err("a loop's variable has no plain name".to_owned());
        }
        self.newlines()?;
        let mut words = Vec::new();
        if self.reserved() != Some("do") && !self.looking_at(";") {
            self.expect("in")?;
            loop {
                self.blanks()?;
                let Some(word) = self.word(Place::Argument)? else {
                    break;
                };
                self.note(word.span);
                words.push(word);
            }
            if !matches!(self.peek(), Some(';' | '\n')) {
                return Err("a loop's list doesn't end".to_owned());
            }
        }
        if !self.looking_at(";;") {
            self.eat(";");
        }
        self.newlines()?;
        let body = self.do_group()?;
        Ok(Node::Loop { variable: Some(variable.to_owned()), words, lists: vec![body] })
    }

    fn case(&mut self) -> Fallible<Node> {
        if self.level > 0 {
            return Err("a `case` stands within a substitution".to_owned());
        }
        self.expect("case")?;
        let mut words = vec![self.needed_word("what `case` looks at")?];
        let mut lists = Vec::new();
        self.newlines()?;
        self.expect("in")?;
        loop {
            self.newlines()?;
            if self.reserved() == Some("esac") {
                break;
            }
            self.eat("(");
            loop {
                words.push(self.needed_word("a pattern")?);
                self.blanks()?;
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return Err("a pattern doesn't end".to_owned());
            }
            lists.push(self.list(&[";;", "esac"])?);
            if self.looking_at(";;&") || self.looking_at(";&") {
                self.only_bash("falling through in `case`")?;
            }
            if !self.eat(";;&") && !self.eat(";;") && !self.eat(";&") {
                break;
            }
        }
        self.expect("esac")?;
        Ok(Node::Choice { words, lists })
    }

    /// `[[ … ]]`, without regular expressions, whose words have rules of their own.
    fn test(&mut self) -> Fallible<Node> {
        self.only_bash("`[[`")?;
        let start = self.at;
        let bracket = |at: usize, text: &str| Scanned {
            word: Word::known(text),
            span: (at, at + text.len()),
            is_quoted: false,
            nested: Vec::new(),
        };
        let mut words = vec![bracket(start, "[[")];
        self.expect("[[")?;
        loop {
            self.blanks()?;
            if self.reserved() == Some("]]") {
                break;
            }
            if ["&&", "||", "(", ")"].iter().any(|operator| self.eat(operator)) {
                continue;
            }
            if self.looking_at("<(") || self.looking_at(">(") {
                return Err("a test holds a process substitution".to_owned());
            }
            let Some(word) = self.word(Place::Argument)? else {
                return Err("a test can't be read".to_owned());
            };
            if word.word.text() == "=~" {
                return Err("a test matches a regular expression".to_owned());
            }
            match word.word.exact() {
                Some(operator) if EVALUATING.contains(&operator) => {
                    self.doubt("a test evaluates a text, which can run commands");
                }
                _ => {}
            }
            words.push(word);
        }
        words.push(bracket(self.at, "]]"));
        self.expect("]]")?;
        self.seen.programs.push(start);
        self.note((start, self.at));
        Ok(Node::Simple(Plain { assignments: Vec::new(), words }))
    }

    fn function_by_keyword(&mut self) -> Fallible<Node> {
        self.only_bash("`function`")?;
        self.expect("function")?;
        self.needed_word("a function's name")?;
        self.blanks()?;
        if self.eat("(") {
            self.blanks()?;
            if !self.eat(")") {
                return Err("a function's parentheses aren't empty".to_owned());
            }
        }
        let Command { node, .. } = self.function_body()?;
        Ok(node)
    }
}
