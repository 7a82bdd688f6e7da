//! What lands where: programs whose last word is a file or the folder that they copy, move or link into.

use super::{Paths, tree};
use crate::command::{
    Access, Word,
    grammar::{Item, names},
    read_only::is_among,
};

/// The words of such a program.
pub(super) struct Given<'i, 'w> {
    pub(super) items: &'i [Item<'w>],
    pub(super) operands: &'i [&'w Word],
    /// Its grammar.
    pub(super) options: &'static str,
    /// Whether whole trees are meant.
    pub(super) is_deep: bool,
}

impl Given<'_, '_> {
    fn has(&self, wanted: &str) -> bool {
        names(self.items).any(|name| is_among(wanted, name))
    }

    /// Whether it copies between machines.
    fn is_far(&self) -> bool {
        self.options.contains("--rsh=")
    }

    /// The folder that an option names.
    fn folder(&self) -> Option<Word> {
        if self.is_far() {
            return None;
        }
        self.items.iter().find_map(|item| match item {
            Item::Option { name, value: Some(value), .. } if is_among("-t --target-directory", name) => {
                Some(value.clone().into_owned())
            }
            _ => None,
        })
    }

    /// `host:path`.
    fn is_remote(&self, word: &Word) -> bool {
        self.is_far() && word.text().split('/').next().is_some_and(|first| first.contains(':'))
    }
}

impl Paths<'_> {
    /// The sources, used so, and what is written: the target itself, and what lands in it where it is a folder.
    pub(super) fn copied_into(&mut self, given: &Given<'_, '_>, access: Access) {
        let folder = given.folder();
        let (sources, last) = match given.operands.split_last() {
            _ if folder.is_some() => (given.operands, None),
            Some((last, sources)) => (sources, Some(*last)),
            None => return,
        };
        let deepened = |access| if given.is_deep { tree(access) } else { access };
        for word in sources.iter().filter(|word| !given.is_remote(word)) {
            self.word(deepened(access), word);
        }
        if let Some(last) = last.filter(|last| !given.is_remote(last)) {
            self.word(deepened(Access::Write), last);
            if sources.is_empty() {
                // `ln -s x` makes it where it stands.
                self.placed(Access::Write, &Word::known("."), last);
            }
        }
        if given.is_deep && given.has("-L --dereference --copy-links") {
            self.unknown(Access::ReadTree, "what links lead to");
        }
        let is_the_file = !given.is_far() && given.has("-T --no-target-directory");
        let target =
            folder.or_else(|| last.cloned()).filter(|target| !is_the_file && !given.is_remote(target));
        let Some(target) = target else { return };
        let text = target.text();
        let is_folder = last.is_none()
            || sources.len() > 1
            || sources.iter().any(|source| source.exact().is_none())
            || matches!(text.rsplit('/').next(), Some("" | "." | ".."));
        let made =
            if given.is_deep || access == Access::WriteTree { Access::WriteTree } else { Access::Write };
        for source in sources {
            let is_opened = given.is_far() && given.is_deep && source.text().ends_with('/');
            if is_opened {
                self.unknown(Access::WriteTree, source.text());
            } else {
                // Where it may as well be a file, it counts as a path as far as the folder is there.
                self.placed(if is_folder { made } else { Access::Named }, &target, source);
            }
        }
    }

    /// What a source becomes in a folder.
    fn placed(&mut self, access: Access, folder: &Word, source: &Word) {
        let name =
            source.exact().map(|text| text.trim_end_matches('/').rsplit('/').next().unwrap_or_default());
        let Some(name) = name.filter(|name| !matches!(*name, "" | "." | "..")) else {
            // All that is in it comes along, under names that nobody tells.
            return self.unknown(access.max(Access::Write), source.text());
        };
        let place = format!("{}/{name}", folder.text().trim_end_matches('/'));
        let word = match folder {
            Word::Exact(_) => Word::Exact(place),
            Word::Glob { .. } | Word::Unknown { .. } => {
                Word::Unknown { text: place, prefix: String::new(), splits: false }
            }
        };
        self.word(access, &word);
    }
}
