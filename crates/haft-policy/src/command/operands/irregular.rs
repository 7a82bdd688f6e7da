//! Programs whose words no table describes: `find`, the editors of streams, and `dd`.

use super::Paths;
use crate::command::{
    Access, Word,
    grammar::{items, names},
    read_only::{is_test_with_value, roots},
};

/// Options of the editors of streams.
const SED: &str =
    "-nErsuz -i? -I? -l: -e: -f:@ --quiet --silent --in-place[=] --expression= --file=@ --regexp-extended";
const AWK: &str = "-F: -v: -f:@ --file=@ --field-separator= --assign=";

impl Paths<'_> {
    pub(super) fn find(&mut self, words: &[Word]) {
        let roots = roots(words);
        let removes = words.iter().any(|word| matches!(word.text(), "-delete"));
        let access = if removes { Access::WriteTree } else { Access::ReadTree };
        for word in &roots {
            self.word(access, word);
        }
        if roots.is_empty() {
            self.add(access, ".");
        }
        for pair in words.windows(2) {
            let [option, value] = pair else {
                continue;
            };
            let text = option.text();
            if matches!(text, "-fprint" | "-fprint0" | "-fprintf" | "-fls") {
                self.word(Access::Write, value);
            } else if matches!(text, "-samefile" | "-files0-from")
                || (text.starts_with("-newer") && is_test_with_value(text))
            {
                self.word(Access::Read, value);
            }
        }
    }

    pub(super) fn sed(&mut self, words: &[Word]) -> Access {
        let in_place = |word: &Word| {
            let text = word.text();
            text.starts_with("--in")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains(['i', 'I']))
        };
        let access = if words.iter().any(in_place) { Access::Write } else { Access::Read };
        self.scripted(SED, words, access)
    }

    pub(super) fn awk(&mut self, words: &[Word]) -> Access {
        self.scripted(AWK, words, Access::Read)
    }

    /// A script first, unless an option gives it; then paths.
    fn scripted(&mut self, grammar: &str, words: &[Word], access: Access) -> Access {
        let items = items(grammar, words);
        let operands = self.options(&items, "", "");
        let given = names(&items).any(|name| matches!(name, "-e" | "-f" | "--expression" | "--file"));
        operands.iter().skip(usize::from(!given)).for_each(|word| self.word(access, word));
        for word in operands.iter().take(usize::from(!given)) {
            if matches!(word, Word::Unknown { splits: true, .. }) {
                self.word(access, word);
            }
        }
        access
    }

    /// `dd`.
    pub(super) fn copied(&mut self, words: &[Word]) -> Access {
        for word in words {
            let (access, file) = match word.text().split_once('=') {
                Some(("if", file)) => (Access::Read, file),
                Some(("of", file)) => (Access::Write, file),
                _ if word.exact().is_none() => (Access::Write, word.text()),
                _ => continue,
            };
            let text = file.to_owned();
            let file = match word {
                Word::Exact(_) => Word::Exact(text),
                _ => Word::Unknown { text, prefix: String::new(), splits: false },
            };
            self.word(access, &file);
        }
        Access::Write
    }
}
