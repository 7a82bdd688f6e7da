//! A patch as both formats mean it: parts, each for one file, with hunks.

use haft_core::{PathArg, Touch};

/// A whole patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Patch {
    /// The parts, in order.
    pub(super) sections: Vec<Section>,
    /// What a reader should know of how it was read.
    pub(super) notes: Vec<String>,
}

/// What is done to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The file; for a move or copy the one there is.
    pub(super) path: String,
    /// What is done.
    pub(super) kind: Kind,
    /// The changes of its lines.
    pub(super) hunks: Vec<Hunk>,
    /// Whether it may be run as a program from then on, where the patch says so.
    pub(super) executable: Option<bool>,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is made; the hunks' lines are its content.
    Add,
    /// It is removed.
    Delete {
        /// Whether the hunks state the content that it must have.
        is_stated: bool,
    },
    /// Its lines change.
    Update,
    /// It gets another path, and its lines may change.
    Move {
        /// The other path.
        to: String,
    },
    /// Another file is made from it, whose lines may differ.
    Copy {
        /// The other path.
        to: String,
    },
}

/// Lines that change together, with lines around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines above that narrow the place, outermost first.
    pub(super) anchors: Vec<String>,
    /// The first line's number, from 1, as far as the patch knows.
    pub(super) line: Option<usize>,
    /// The lines.
    pub(super) lines: Vec<Line>,
    /// Whether its last line is the file's.
    pub(super) to_end: bool,
    /// Whether the format says where a last line has no line end.
    pub(super) states_ends: bool,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its sign.
    pub(super) sign: Sign,
    /// Its text without the line feed; a carriage return that was written stands in it.
    pub(super) text: String,
    /// Whether it has no line end.
    pub(super) is_open: bool,
}

/// What is done to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It stays.
    Context,
    /// It goes.
    Old,
    /// It comes.
    New,
}

impl Section {
    /// What it touches: paths as they are written, first as what is written.
    pub(super) fn touches(&self) -> Vec<Touch<PathArg>> {
        let path = || PathArg(self.path.clone());
        match &self.kind {
            Kind::Add => vec![Touch::Write(path())],
            Kind::Delete { .. } | Kind::Update => vec![Touch::Write(path()), Touch::Read(path())],
            Kind::Move { to } => {
                vec![Touch::Write(path()), Touch::Read(path()), Touch::Write(PathArg(to.clone()))]
            }
            Kind::Copy { to } => vec![Touch::Read(path()), Touch::Write(PathArg(to.clone()))],
        }
    }

    /// The text of a new file.
    pub(super) fn content(&self) -> String {
        let mut text = String::new();
        for line in self.hunks.iter().flat_map(|hunk| &hunk.lines) {
            text.push_str(&line.text);
            if !line.is_open {
                text.push('\n');
            }
        }
        text
    }
}

impl Hunk {
    /// The lines that must be there.
    pub(super) fn old(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.sign != Sign::New)
    }

    /// The lines that are there afterwards.
    pub(super) fn new_lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.sign != Sign::Old)
    }

    /// How many of the lines that must be there stand before the end of the last change.
    pub(super) fn changed_until(&self) -> usize {
        let end = self.lines.iter().rposition(|line| line.sign != Sign::Context).map_or(0, |last| last + 1);
        self.lines.iter().take(end).filter(|line| line.sign != Sign::New).count()
    }

    /// How many lines go, and how many come.
    pub(super) fn counts(&self) -> (usize, usize) {
        let count = |sign: Sign| self.lines.iter().filter(|line| line.sign == sign).count();
        (count(Sign::Old), count(Sign::New))
    }
}

impl Line {
    /// A line of the patch by its first character; an empty one is context, since blanks at line ends get lost.
    pub(super) fn parse(written: &str) -> Option<Self> {
        let (sign, text) = if let Some(text) = written.strip_prefix(' ') {
            (Sign::Context, text)
        } else if let Some(text) = written.strip_prefix('-') {
            (Sign::Old, text)
        } else if let Some(text) = written.strip_prefix('+') {
            (Sign::New, text)
        } else if written.trim_end_matches('\r').is_empty() {
            (Sign::Context, written)
        } else {
            return None;
        };
        Some(Self { sign, text: text.to_owned(), is_open: false })
    }
}
