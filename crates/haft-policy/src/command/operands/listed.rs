//! Programs whose words the tables describe: readers by the positive list, writers by a table of their own.

use super::{
    Paths,
    copies::Given,
    tree,
    writers::{Shape, WRITERS, Writer},
};
use crate::command::{
    Access, Word,
    grammar::{Item, completed, items, names},
    read_only::{Operands, Row, fits, fits_a_row, is_among, rows},
};

impl Paths<'_> {
    /// By the tables; gives how unknown words would be used.
    pub(super) fn listed(&mut self, program: &str, words: &[Word], reads_pipe: bool) -> Option<Access> {
        let shows =
            is_among("gzip gunzip xz unxz bzip2 bunzip2", program) && fits_a_row(program, words).is_ok();
        if let Some(writer) = WRITERS.iter().filter(|_| !shows).find(|writer| is_among(writer.0, program)) {
            return Some(self.writer(writer, words));
        }
        let action = words.first().and_then(Word::exact).unwrap_or_default();
        let is_meant = |row: &&Row| row.actions.is_empty() || is_among(row.actions, action);
        let fitting = rows(program).find(|row| is_meant(row) && fits(row, program, words).is_ok());
        if let Some(row) = fitting.or_else(|| rows(program).find(is_meant)) {
            return self.reader(row, words, reads_pipe);
        }
        if !matches!(program, "test" | "[" | "printf" | "kill" | "export" | "set" | "exit" | "command") {
            for word in words {
                self.named(word);
            }
            return Some(Access::Named);
        }
        if matches!(program, "test" | "[") {
            return Some(self.each(words, Access::Read));
        }
        None
    }

    pub(super) fn each(&mut self, words: &[Word], access: Access) -> Access {
        let is_sign =
            |text: &str| text.starts_with('-') || matches!(text, "]" | "!" | "=" | "!=" | "==" | "(" | ")");
        for word in words {
            if !word.exact().is_some_and(is_sign) {
                self.word(access, word);
            }
        }
        access
    }

    fn reader(&mut self, row: &Row, words: &[Word], reads_pipe: bool) -> Option<Access> {
        let words = if row.actions.is_empty() { words } else { words.get(1..).unwrap_or_default() };
        let items = items(row.options, words);
        let operands = self.options(&items, "", "");
        let is_deep = names(&items).any(|name| is_among(row.deep, name));
        let access = match row.operands {
            Operands::Trees => Access::ReadTree,
            _ if is_deep || is_among("rg fd fdfind", row.programs.split(' ').next().unwrap_or_default()) => {
                Access::ReadTree
            }
            _ => Access::Read,
        };
        let skip = match row.operands {
            Operands::Pattern(unless) => usize::from(!names(&items).any(|name| is_among(unless, name))),
            Operands::Paths | Operands::OnePath | Operands::Trees => 0,
            Operands::None | Operands::Words | Operands::Plus | Operands::OneOf(_) => return None,
        };
        // A word that could become several, or an option, may move what comes first.
        for word in operands.iter().take(skip).filter(|word| word.exact().is_none()) {
            if matches!(word, Word::Unknown { splits: true, .. }) || word.prefix().is_empty() {
                self.word(access, word);
            }
        }
        operands.iter().skip(skip).for_each(|word| self.word(access, word));
        let is_alone = operands.len() <= skip;
        if is_alone && (row.here || is_deep) && !(reads_pipe && skip > 0) {
            self.add(access, ".");
        }
        Some(access)
    }

    fn writer(&mut self, writer: &Writer, words: &[Word]) -> Access {
        let (programs, options, shape, written, deep) = *writer;
        let words = completed(options, words);
        let items = items(options, &words);
        let operands = self.options(&items, written, deep);
        let is_deep = names(&items).chain(words.iter().map(Word::text)).any(|name| is_among(deep, name));
        let deepened = |access| if is_deep { tree(access) } else { access };
        match shape {
            Shape::All(access) => {
                for word in &operands {
                    self.word(deepened(access), word);
                }
                let saves_here = options.contains("--output-dir=@")
                    && names(&items).any(|name| matches!(name, "-O" | "--remote-name" | "--remote-name-all"));
                if saves_here {
                    self.add(Access::WriteTree, ".");
                } else if operands.is_empty() && access == Access::ReadTree {
                    self.add(access, ".");
                }
                deepened(access)
            }
            Shape::After(access) => {
                // `chmod -x file` has its mode among the options.
                let has_mode = items.iter().any(|item| matches!(item, Item::Strange(_)));
                let skip = usize::from(!has_mode && !names(&items).any(|name| name == "--reference"));
                operands.iter().skip(skip).for_each(|word| self.word(deepened(access), word));
                deepened(access)
            }
            Shape::Into(_)
                if programs == "install"
                    && names(&items).any(|name| matches!(name, "-d" | "--directory")) =>
            {
                for word in &operands {
                    self.word(Access::Write, word);
                }
                Access::Write
            }
            Shape::Into(access) => {
                self.copied_into(&Given { items: &items, operands: &operands, options, is_deep }, access);
                deepened(Access::Write)
            }
            Shape::FirstRead => {
                for (place, word) in operands.iter().enumerate() {
                    self.word(if place == 0 { Access::Read } else { Access::Write }, word);
                }
                if options.contains("-d:@")
                    && !names(&items).any(|name| matches!(name, "-d" | "-l" | "-v" | "-Z" | "-p" | "-t"))
                {
                    self.add(Access::WriteTree, ".");
                }
                Access::Write
            }
            Shape::Here => {
                for word in operands {
                    self.word(Access::Write, word);
                }
                if !names(&items).any(|name| is_among(written, name)) {
                    self.add(Access::WriteTree, ".");
                }
                Access::Write
            }
        }
    }
}
