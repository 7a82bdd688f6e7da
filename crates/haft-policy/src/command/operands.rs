//! Which words of a line are paths, and how the programs use them.
//!
//! Readers come from the positive list, writers from a table of their own; of any other program each word counts as
//! a path that it may do anything with. Text is given as written, with `$HOME` as `~` and `$PWD` as `.`; a text
//! with another expansion in it can't be resolved. A command whose words aren't all known yet (`xargs rm`) has one
//! more entry with an **empty text** and [`Cwd::Unknown`]: any path may be used so. A pattern over names is given as
//! such; where it matches nothing the shell hands it on as it is, so what may be written has one more entry for that.

mod archives;
mod changes;
mod copies;
mod git;
mod irregular;
mod listed;
#[cfg(test)]
mod tests;
mod word;
mod writers;

use super::{
    Access, Cwd, Line, PathWord, Redirect, RedirectKind, Simple, Word,
    grammar::{Item, completed, items},
    read_only::is_among,
};

/// Options of `xargs`.
const XARGS: &str = "-0rtxopi -nLPIsEdJR: -a:@ --null --no-run-if-empty --verbose --interactive --exit --max-args= \
    --max-lines= --max-procs= --replace= --max-chars= --delimiter= --eof= --process-slot-var= --arg-file=@";

/// Wrappers of which a word is a text that is read as a line of its own.
const TEXT_WRAPPERS: &str = "sh bash dash zsh ksh eval trap su script runuser watch";

/// The paths among the words of a line.
pub fn path_words(line: &Line) -> Vec<PathWord> {
    let mut found = Vec::new();
    let is_moved = changes::moves_home(line);
    let mut inners: Vec<Option<&Simple>> = vec![None; line.commands.len()];
    for simple in &line.commands {
        if let Some(inner) = simple.wrapper.or(simple.inside).and_then(|outer| inners.get_mut(outer)) {
            inner.get_or_insert(simple);
        }
    }
    for (at, (simple, inner)) in line.commands.iter().zip(inners).enumerate() {
        let mut paths = Paths {
            command: Some(at),
            cwd: simple.cwd.clone(),
            is_redirect: false,
            is_moved,
            found: &mut found,
        };
        paths.redirects(&simple.redirects);
        paths.command(simple, inner.map(|inner| (inner, inner.wrapper == Some(at))));
    }
    Paths { command: None, cwd: Cwd::Start, is_redirect: false, is_moved, found: &mut found }
        .redirects(&line.redirects);
    changes::forget_behind_links(line, &mut found);
    found
}

/// The paths found so far, and the command that is being read.
struct Paths<'f> {
    command: Option<usize>,
    cwd: Cwd,
    is_redirect: bool,
    /// Whether the line may change what `~`, `$HOME`, `$PWD` or a folder's name stand for.
    is_moved: bool,
    found: &'f mut Vec<PathWord>,
}

impl Paths<'_> {
    fn add(&mut self, access: Access, text: impl Into<String>) {
        self.push(access, text.into(), false);
    }

    fn push(&mut self, access: Access, text: String, is_pattern: bool) {
        let is_lost = self.is_moved && matches!(self.cwd, Cwd::Moved(_));
        let path = PathWord {
            command: self.command,
            access,
            text,
            cwd: if is_lost { Cwd::Unknown } else { self.cwd.clone() },
            is_redirect: self.is_redirect,
            is_pattern,
        };
        // Only what one word gives twice is left out.
        if !self.found.iter().rev().take(8).any(|known| *known == path) {
            self.found.push(path);
        }
    }

    /// A path that nobody can tell: it is nowhere that is known.
    fn unknown(&mut self, access: Access, text: &str) {
        let cwd = std::mem::replace(&mut self.cwd, Cwd::Unknown);
        self.add(access, text);
        self.cwd = cwd;
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            let text = redirect.target.text();
            let is_free =
                matches!(text, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty")
                    || text.starts_with("/dev/fd/");
            let accesses: &[Access] = match redirect.kind {
                _ if is_free => &[],
                RedirectKind::Read => &[Access::Read],
                RedirectKind::Write => &[Access::Write],
                RedirectKind::ReadWrite => &[Access::Read, Access::Write],
                RedirectKind::Copy | RedirectKind::Text => &[],
            };
            let cwd = std::mem::replace(&mut self.cwd, redirect.cwd.clone());
            self.is_redirect = true;
            for access in accesses {
                self.word(*access, &redirect.target);
            }
            self.is_redirect = false;
            self.cwd = cwd;
        }
    }

    /// Its words; of what it runs, only whether that is the end of its own words is of interest.
    fn command(&mut self, simple: &Simple, inner: Option<(&Simple, bool)>) {
        let Some((_, words)) = simple.words.split_first() else {
            return;
        };
        let program = simple.program().unwrap_or_default();
        let access = match program {
            "git" => Some(self.git(simple)),
            "find" => {
                self.find(words);
                None
            }
            "sed" | "gsed" => Some(self.sed(words)),
            "awk" | "gawk" | "mawk" | "nawk" => Some(self.awk(words)),
            "dd" => Some(self.copied(words)),
            "tar" | "bsdtar" | "gtar" => Some(self.tar(words)),
            "pushd" => Some(self.each(words, Access::Read)),
            _ if inner.is_some() && is_among(TEXT_WRAPPERS, program) => None,
            _ => match inner {
                Some((inner, true)) => {
                    let own = words.len().saturating_sub(inner.words.len());
                    self.wrapper(program, words.get(..own).unwrap_or_default());
                    None
                }
                _ => self.listed(program, words, simple.feeds_from.is_some()),
            },
        };
        if let Some(access) = access.filter(|_| simple.is_open) {
            let path = PathWord {
                command: self.command,
                access,
                text: String::new(),
                cwd: Cwd::Unknown,
                is_redirect: false,
                is_pattern: false,
            };
            self.found.push(path);
        }
    }

    /// The words of a wrapper before those of what it runs.
    fn wrapper(&mut self, program: &str, words: &[Word]) {
        if program != "xargs" {
            return words.iter().for_each(|word| self.named(word));
        }
        let words = completed(XARGS, words);
        let items = items(XARGS, &words);
        for word in self.options(&items, "", "") {
            self.named(word);
        }
    }

    /// The paths among options; gives the operands.
    fn options<'w>(&mut self, items: &[Item<'w>], written: &str, deep: &str) -> Vec<&'w Word> {
        let mut operands = Vec::new();
        for item in items {
            match item {
                Item::Option { name, value: Some(value), is_path: true } => {
                    let is_written = is_among(written, name);
                    let access = match (is_written, is_among(deep, name)) {
                        (true, true) => Access::WriteTree,
                        (true, false) => Access::Write,
                        (false, _) => Access::Read,
                    };
                    self.word(access, value);
                }
                // `-d @file`, `-F name=@file`.
                Item::Option { value: Some(value), .. } => {
                    let text = value.text();
                    let is_file = text.starts_with('@') || text.contains("=@") || text.contains("=<");
                    if let Some((_, file)) = text.split_once(['@', '<']).filter(|_| is_file) {
                        self.add(Access::Read, file);
                    }
                }
                Item::Option { .. } => {}
                Item::Operand { word, .. } => operands.push(*word),
                // An option of which nothing is known: what is glued to it may be a path.
                Item::Strange(word) => self.named(word),
            }
        }
        operands
    }
}

fn tree(access: Access) -> Access {
    match access {
        Access::Named => Access::Named,
        Access::Read | Access::Tracked | Access::ReadTree => Access::ReadTree,
        Access::Write | Access::WriteTree => Access::WriteTree,
    }
}
