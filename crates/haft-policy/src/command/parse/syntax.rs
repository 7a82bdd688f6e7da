//! The grammar of a line as a tree, before it becomes a list of simple commands.

use crate::command::{RedirectKind, Word};

/// Commands one after the other.
pub(super) type List = Vec<AndOr>;

/// Why a text can't be read exactly, in words.
pub(super) type Fallible<T> = Result<T, String>;

/// Pipelines joined by `&&` and `||`.
#[derive(Debug)]
pub(super) struct AndOr {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Joint, Pipeline)>,
    pub(super) is_background: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    And,
    Or,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) is_negated: bool,
    pub(super) commands: Vec<Command>,
}

#[derive(Debug)]
pub(super) struct Command {
    pub(super) node: Node,
    pub(super) redirects: Vec<Aim>,
}

#[derive(Debug)]
pub(super) enum Node {
    Simple(Plain),
    /// `{ … }`
    Group(List),
    /// `( … )`
    Subshell(List),
    /// `if` and `case`: each list may run.
    Choice {
        words: Vec<Scanned>,
        lists: Vec<List>,
    },
    /// `for`, `while`, `until`: the lists may run again and again.
    Loop {
        variable: Option<String>,
        words: Vec<Scanned>,
        lists: Vec<List>,
    },
    /// The body of a function, which runs where nobody can say.
    Function(Box<Command>),
}

/// A simple command.
#[derive(Debug, Default)]
pub(super) struct Plain {
    pub(super) assignments: Vec<(String, Scanned)>,
    pub(super) words: Vec<Scanned>,
}

/// A word with the commands of its substitutions.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) word: Word,
    /// Where it stands in the text, in bytes.
    pub(super) span: (usize, usize),
    /// Whether any of it is quoted: such a word is no keyword.
    pub(super) is_quoted: bool,
    pub(super) nested: Vec<List>,
}

/// A redirection.
#[derive(Debug)]
pub(super) struct Aim {
    pub(super) kind: RedirectKind,
    pub(super) target: Target,
}

#[derive(Debug)]
pub(super) enum Target {
    Word(Scanned),
    /// A here-document, as its place among those of the text.
    Here(usize),
}
