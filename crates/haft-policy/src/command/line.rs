//! A shell line as it was read: what runs, with which words, where, and what stayed unclear.

use std::sync::Arc;

/// The language of a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Bash.
    #[default]
    Bash,
    /// A POSIX shell: what isn't POSIX stays unclear.
    Posix,
}

/// One line, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Every simple command that may run, in the order in which they are written; what a wrapper runs comes
    /// after the wrapper.
    pub commands: Vec<Simple>,
    /// Redirections that belong to no simple command: of groups, subshells, loops, or alone.
    pub redirects: Vec<Redirect>,
    /// What isn't read exactly, in words. Empty: the line does just what `commands` and `redirects` say.
    pub unclear: Vec<String>,
}

/// One simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Simple {
    /// Program and arguments; empty where only variables are set.
    pub words: Vec<Word>,
    /// `NAME=value` before the program (or, without words, for the rest of the line).
    pub assignments: Vec<(String, Word)>,
    /// Where its streams go.
    pub redirects: Vec<Redirect>,
    /// The folder it runs in.
    pub cwd: Cwd,
    /// The wrapper that runs it, as its place in [`Line::commands`].
    pub wrapper: Option<usize>,
    /// The command whose output it reads through a pipe, as its place in [`Line::commands`].
    pub feeds_from: Option<usize>,
    /// Whether words follow that nobody knows yet (`xargs`, `find -exec … +`).
    pub is_open: bool,
    /// The command whose substitution (`$(…)`, backticks, `<(…)`) or shell text it stands in, as its place.
    pub inside: Option<usize>,
}

/// One word after quote removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Just these characters.
    Exact(String),
    /// An unquoted pattern over file names. `prefix` is the literal text before the first wildcard; empty where the
    /// pattern could name something that starts with `-`, since then the word could be an option.
    Glob {
        /// The pattern as written.
        text: String,
        /// The literal beginning.
        prefix: String,
    },
    /// An expansion: what it becomes isn't known. It may be several words or none where `splits`.
    Unknown {
        /// As written.
        text: String,
        /// The literal beginning, before the first expansion.
        prefix: String,
        /// Whether the shell may split it or drop it (an unquoted expansion).
        splits: bool,
    },
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The file, or the descriptor of [`RedirectKind::Copy`].
    pub target: Word,
    /// The folder that a relative target starts from.
    pub cwd: Cwd,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write,
    /// `<>`
    ReadWrite,
    /// `2>&1`, `<&3`, `>&-`: no file.
    Copy,
    /// `<<` and `<<<`; `target` is the text.
    Text,
}

/// The folder that a command runs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Cwd {
    /// Where the line starts.
    #[default]
    Start,
    /// After these directory changes, one after the other, each as written.
    Moved(Vec<String>),
    /// Nobody knows.
    Unknown,
}

/// How a path among a command's words is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It is handed to a program that may do anything with it.
    Named,
    /// It is read, or its name looked at.
    Read,
    /// What git tracks in the repository around it may be read.
    Tracked,
    /// Anything beneath it may be read.
    ReadTree,
    /// It is created, changed, moved or removed.
    Write,
    /// Anything beneath it may be changed or removed.
    WriteTree,
}

/// A path among the words of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathWord {
    /// The command, as its place in [`Line::commands`]; none for the line's own redirections.
    pub command: Option<usize>,
    /// How it is used.
    pub access: Access,
    /// As written, without quotes.
    pub text: String,
    /// The folder that it starts from.
    pub cwd: Cwd,
    /// Whether it is the target of a redirection.
    pub is_redirect: bool,
    /// Whether `text` is a pattern over names, which stands for every path that it matches.
    pub is_pattern: bool,
}

impl Line {
    /// A line of which nothing could be read.
    pub fn unreadable(why: impl Into<String>) -> Self {
        Self { unclear: vec![why.into()], ..Self::default() }
    }

    /// Whether the line does just what it says.
    pub fn is_exact(&self) -> bool {
        self.unclear.is_empty()
    }
}

impl Simple {
    /// The program's name without its folder, where it is known.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first()?.exact()?;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    /// Every word, where all are known and none may follow.
    pub fn argv(&self) -> Option<Vec<&str>> {
        if self.is_open {
            return None;
        }
        self.words.iter().map(Word::exact).collect()
    }
}

impl Word {
    /// A known word.
    pub fn known(text: impl Into<String>) -> Self {
        Self::Exact(text.into())
    }

    /// The word, where it is known.
    pub fn exact(&self) -> Option<&str> {
        match self {
            Self::Exact(text) => Some(text),
            Self::Glob { .. } | Self::Unknown { .. } => None,
        }
    }

    /// The literal text it begins with.
    pub fn prefix(&self) -> &str {
        match self {
            Self::Exact(text) => text,
            Self::Glob { prefix, .. } | Self::Unknown { prefix, .. } => prefix,
        }
    }

    /// As written, for people.
    pub fn text(&self) -> &str {
        match self {
            Self::Exact(text) | Self::Glob { text, .. } | Self::Unknown { text, .. } => text,
        }
    }
}

/// A line in the hands of the gates: read once, its paths resolved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgedLine {
    /// As the shell gets it.
    pub text: Arc<str>,
    /// As it was read.
    pub line: Arc<Line>,
    /// The folder it starts in, absolute; none where that isn't known.
    pub start: Option<String>,
    /// The paths it names.
    pub paths: Vec<LinePath>,
    /// For each command, the file that its program is; none where there is no such program or it isn't known.
    pub programs: Vec<Option<String>>,
    /// The folders, absolute and normalised by name, in which git as it is set up there runs no program of the
    /// workspace's choosing when it is only asked (with the settings that can be switched off switched off).
    pub neutral_git: Vec<String>,
}

impl JudgedLine {
    /// What the redirections write; what the commands write is theirs to be allowed.
    pub(crate) fn written(&self) -> impl Iterator<Item = &LinePath> {
        self.paths.iter().filter(|path| path.word.is_redirect && path.word.access >= Access::Write)
    }
}

/// A path that a line names, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct LinePath {
    /// The word.
    pub word: PathWord,
    /// What it stands for; none where its folder isn't known or it can't be resolved.
    pub path: Option<crate::JudgedPath>,
    /// Whether the folder that would hold it is there; where not, it is hardly meant as a path.
    pub has_parent: bool,
    /// Of [`Access::Tracked`], the files that git tracks there, absolute, as far as a rule may be about one.
    pub tracked: Arc<[String]>,
}
