//! `tar`: which of its words are archives, folders and members.

use super::Paths;
use crate::command::{
    Access, Word,
    grammar::{Item, completed, items, names},
    read_only::{is_among, tar_words},
};

const TAR: &str = "-cxtruAdvzjJZpPkmMOhSalwiBnGWo -f:@ -C:@ -T:@ -X:@ -g:@ -bIKNVFHLs: --file=@ --directory=@ \
    --files-from=@ --exclude-from=@ --listed-incremental=@ --index-file=@ --exclude= --strip-components= --transform= \
    --use-compress-program= --to-command= --checkpoint[=] --checkpoint-action= --rsh-command= --info-script= \
    --new-volume-script= --owner= --group= --mode= --create --extract --get --list --gzip --bzip2 --xz --zstd \
    --verbose --append --update --delete --concatenate --catenate --diff --compare --remove-files --dereference \
    --to-stdout --keep-old-files --overwrite --same-owner --no-same-owner --auto-compress";

/// What changes the archive.
const WRITES: &str = "-c -r -u -A --create --append --update --delete --concatenate --catenate";

impl Paths<'_> {
    /// The paths of `tar`; gives how unknown words would be used.
    pub(super) fn tar(&mut self, words: &[Word]) -> Access {
        let words = completed(TAR, &tar_words(words));
        let items = items(TAR, &words);
        let has = |wanted: &str| names(&items).any(|name| is_among(wanted, name));
        let (writes, extracts) = (has(WRITES), has("-x --extract --get"));
        let kept = "-g --listed-incremental --index-file";
        let archive = format!("-f --file {kept}");
        let unpacked = format!("-C --directory {kept}");
        let written = match (writes, extracts) {
            (true, _) => archive.as_str(),
            (false, true) => unpacked.as_str(),
            (false, false) => kept,
        };
        let operands = self.options(&items, written, "-C --directory");
        if writes {
            // What it packs starts from there.
            for item in &items {
                if let Item::Option { name, value: Some(value), .. } = item
                    && is_among("-C --directory", name)
                {
                    self.word(Access::ReadTree, value);
                }
            }
            let is_member = has("--delete");
            let access = if has("--remove-files") { Access::WriteTree } else { Access::ReadTree };
            operands.into_iter().filter(|_| !is_member).for_each(|word| self.word(access, word));
            if has("-h --dereference") {
                self.unknown(Access::ReadTree, "what links lead to");
            }
        } else if extracts && !has("-C --directory") {
            self.add(Access::WriteTree, ".");
        } else if !extracts && !has("-t --list") {
            for word in operands {
                self.named(word);
            }
        }
        if extracts { Access::WriteTree } else { Access::ReadTree }
    }
}
