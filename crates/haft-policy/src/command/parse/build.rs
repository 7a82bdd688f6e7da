//! From the grammar to the list of simple commands: who feeds whom, who runs within whom, and where.

use super::{
    builtin, declared, folder,
    syntax::{Aim, AndOr, Command, Joint, List, Node, Pipeline, Plain, Scanned, Target},
};
use crate::command::{COMMANDS_MAX, Cwd, Dialect, Line, Redirect, Simple, wrappers};

/// Where a command stands.
#[derive(Debug, Clone, Default)]
struct Place {
    cwd: Cwd,
    inside: Option<usize>,
    feeds_from: Option<usize>,
}

struct Builder {
    line: Line,
    heres: Vec<Option<Scanned>>,
    dialect: Dialect,
    depth: usize,
}

/// Lists the commands of a text that stands `depth` commands away from the line.
pub(super) fn build(list: List, heres: Vec<Option<Scanned>>, dialect: Dialect, depth: usize) -> Line {
    let mut builder = Builder { line: Line::default(), heres, dialect, depth };
    builder.list(list, &mut Place::default());
    builder.line
}

impl Builder {
    fn list(&mut self, list: List, place: &mut Place) {
        for item in list {
            self.and_or(item, place);
        }
    }

    fn and_or(&mut self, item: AndOr, place: &mut Place) {
        let before = place.cwd.clone();
        self.pipeline(item.first, place);
        // Where the shell is if all went well so far, and where it is whatever happened.
        let mut good = place.cwd.clone();
        let mut any = folder::either(&before, &good);
        for (joint, pipeline) in item.rest {
            place.cwd = if joint == Joint::And { good.clone() } else { any.clone() };
            self.pipeline(pipeline, place);
            good = if joint == Joint::And { place.cwd.clone() } else { folder::either(&good, &place.cwd) };
            any = folder::either(&any, &place.cwd);
        }
        place.cwd = if item.is_background { before } else { any };
    }

    fn pipeline(&mut self, pipeline: Pipeline, place: &mut Place) {
        let before = place.cwd.clone();
        if pipeline.commands.len() > 1 {
            let mut feeds_from = place.feeds_from;
            let mut has_moved = false;
            for command in pipeline.commands {
                let from = self.line.commands.len();
                let mut own = Place { feeds_from, ..place.clone() };
                self.command(command, &mut own);
                feeds_from = self.last_since(from, place.inside);
                has_moved = own.cwd != before;
            }
            // Some shells run the last command themselves.
            if has_moved {
                place.cwd = Cwd::Unknown;
            }
        } else {
            for command in pipeline.commands {
                self.command(command, place);
            }
        }
        if pipeline.is_negated {
            place.cwd = folder::either(&before, &place.cwd);
        }
    }

    /// The last command at the same level, which is the one that most likely feeds a pipe.
    fn last_since(&self, from: usize, inside: Option<usize>) -> Option<usize> {
        let mut commands = self.line.commands.iter().enumerate().skip(from);
        let own = commands.rfind(|(_, simple)| {
            simple.inside == inside && simple.wrapper.is_none() && !simple.words.is_empty()
        });
        own.map(|(at, _)| at)
    }

    fn command(&mut self, command: Command, place: &mut Place) {
        let node = match command.node {
            Node::Simple(plain) => return self.simple(plain, command.redirects, place),
            node => node,
        };
        let mut nested = Vec::new();
        for aim in command.redirects {
            let redirect = self.redirect(aim, &place.cwd, &mut nested);
            self.line.redirects.extend(redirect);
        }
        self.side_lists(nested, place);
        match node {
            Node::Simple(_) => {}
            Node::Group(list) => self.list(list, place),
            Node::Subshell(list) => self.list(list, &mut place.clone()),
            Node::Choice { words, lists } => {
                self.words(words, place);
                for list in lists {
                    let mut own = place.clone();
                    self.list(list, &mut own);
                    place.cwd = folder::either(&place.cwd, &own.cwd);
                }
            }
            Node::Loop { variable, words, lists } => {
                self.words(words, place);
                if let Some(assignment) = variable.as_deref().and_then(declared::of_loop) {
                    let assignments = vec![assignment];
                    let (cwd, inside) = (place.cwd.clone(), place.inside);
                    self.push(Simple { assignments, cwd, inside, ..Simple::default() });
                }
                self.repeated(lists, place);
            }
            Node::Function(body) => {
                let mut own = Place { cwd: Cwd::Unknown, feeds_from: None, inside: place.inside };
                self.command(*body, &mut own);
                place.cwd = folder::either(&place.cwd, &own.cwd);
            }
        }
    }

    /// Lists that run again from wherever they ended.
    fn repeated(&mut self, lists: Vec<List>, place: &mut Place) {
        let before = place.cwd.clone();
        let (from, from_redirect) = (self.line.commands.len(), self.line.redirects.len());
        for list in lists {
            self.list(list, place);
        }
        if place.cwd == before {
            return;
        }
        place.cwd = Cwd::Unknown;
        for simple in self.line.commands.iter_mut().skip(from) {
            simple.cwd = Cwd::Unknown;
            simple.redirects.iter_mut().for_each(|redirect| redirect.cwd = Cwd::Unknown);
        }
        for redirect in self.line.redirects.iter_mut().skip(from_redirect) {
            redirect.cwd = Cwd::Unknown;
        }
    }

    fn simple(&mut self, plain: Plain, redirects: Vec<Aim>, place: &mut Place) {
        let mut nested = Vec::new();
        let mut simple = Simple {
            cwd: place.cwd.clone(),
            inside: place.inside,
            feeds_from: place.feeds_from,
            ..Simple::default()
        };
        for (name, mut value) in plain.assignments {
            nested.append(&mut value.nested);
            simple.assignments.push((name, value.word));
        }
        for mut word in plain.words {
            nested.append(&mut word.nested);
            simple.words.push(word.word);
        }
        for aim in redirects {
            let redirect = self.redirect(aim, &place.cwd, &mut nested);
            simple.redirects.extend(redirect);
        }
        declared::add(&mut simple);
        if let Some(why) = builtin::doubt(&simple) {
            self.doubt(why);
        }
        let within = place.clone();
        let at = self.push(simple);
        wrappers::see_through(&mut self.line, at, self.depth, self.dialect);
        place.cwd = folder::after(self.line.commands.get(at..).unwrap_or_default(), &place.cwd);
        for list in nested {
            self.list(list, &mut Place { inside: Some(at), ..within.clone() });
        }
    }

    fn push(&mut self, simple: Simple) -> usize {
        let at = self.line.commands.len();
        if at >= COMMANDS_MAX {
            self.doubt("it runs too many commands");
        } else {
            self.line.commands.push(simple);
        }
        at
    }

    fn doubt(&mut self, why: &str) {
        if !self.line.unclear.iter().any(|known| known == why) {
            self.line.unclear.push(why.to_owned());
        }
    }

    /// Words that belong to no command.
    fn words(&mut self, words: Vec<Scanned>, place: &Place) {
        for word in words {
            self.side_lists(word.nested, place);
        }
    }

    fn side_lists(&mut self, lists: Vec<List>, place: &Place) {
        for list in lists {
            self.list(list, &mut place.clone());
        }
    }

    fn redirect(&mut self, aim: Aim, cwd: &Cwd, nested: &mut Vec<List>) -> Option<Redirect> {
        let mut target = match aim.target {
            Target::Word(word) => word,
            Target::Here(at) => self.heres.get_mut(at)?.take()?,
        };
        nested.append(&mut target.nested);
        Some(Redirect { kind: aim.kind, target: target.word, cwd: cwd.clone() })
    }
}
