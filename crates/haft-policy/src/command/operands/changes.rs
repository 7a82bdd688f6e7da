//! What a line does to the meaning of its own later words: other folders behind well-known names, and new links.

use crate::command::{
    Access, Cwd, Line, PathWord, Simple, Word, git,
    read_only::{is_among, rows, tar_words},
};

/// Variables that lead words and directory changes.
const LEADING: &str = "HOME PWD OLDPWD CDPATH DIRSTACK";

/// What sets variables that stand among its words.
const SETTERS: &str =
    "unset export declare typeset local readonly read mapfile readarray printf getopts let eval";

/// What git does that puts other files in place, links among them.
const GIT_PLACES: &str =
    "switch checkout pull stash merge reset restore rebase apply am cherry-pick revert worktree clone bisect";

/// Whether the line may change what `~`, `$HOME` or `$PWD` stand for, or where a directory change leads.
pub(super) fn moves_home(line: &Line) -> bool {
    let is_leading = |name: &str| is_among(LEADING, name);
    line.commands.iter().any(|simple| {
        let sets = simple.program().is_some_and(|program| is_among(SETTERS, program));
        let names = |word: &Word| {
            let text = word.text().trim_start_matches(['"', '\'']);
            let text = text.strip_prefix("-v").unwrap_or(text);
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
            text.get(..end).is_some_and(is_leading)
        };
        simple.assignments.iter().any(|(name, _)| is_leading(name))
            || (sets && simple.words.iter().skip(1).any(names))
    })
}

/// Behind a command that may have made links nobody knows where a path leads that a reader is given. The folder that
/// the line stands in stays the same whatever happens to its name.
pub(super) fn forget_behind_links(line: &Line, found: &mut [PathWord]) {
    let Some(first) = line.commands.iter().position(makes_links) else {
        return;
    };
    for path in found {
        let reader = path.command.filter(|at| *at > first).and_then(|at| line.commands.get(at));
        let is_reader = reader.is_some_and(|simple| path.is_redirect || simple.program().is_some_and(reads));
        let is_here = path.text == "." && path.cwd == Cwd::Start;
        if is_reader && !is_here && matches!(path.access, Access::Read | Access::ReadTree) {
            path.cwd = Cwd::Unknown;
        }
    }
}

/// Programs that read what they are given.
fn reads(program: &str) -> bool {
    rows(program).next().is_some() || is_among("find sed gsed awk gawk mawk nawk test [ [[", program)
}

/// Whether the command may put links in place.
fn makes_links(simple: &Simple) -> bool {
    let Some(program) = simple.program() else {
        return false;
    };
    let words = simple.words.get(1..).unwrap_or_default();
    let has_letter = |letters: &str| {
        words.iter().map(Word::text).any(|text| {
            let short = text.strip_prefix('-').filter(|text| !text.starts_with('-'));
            short.is_some_and(|text| text.contains(|c: char| letters.contains(c)))
        })
    };
    let has_long = |longs: &[&str]| {
        let names = words.iter().filter_map(|word| word.text().split('=').next());
        names
            .filter(|name| name.len() > 2 && name.starts_with("--"))
            .any(|name| longs.iter().any(|long| long.starts_with(name)))
    };
    match program {
        "git" => git::call(simple).is_none_or(|call| {
            let first = call.rest.iter().map(Word::text).find(|text| !text.starts_with('-'));
            is_among(GIT_PLACES, call.action)
                && !(call.action == "stash" && matches!(first, Some("list" | "show")))
                && !(call.action == "worktree" && first == Some("list"))
        }),
        "cp" => {
            has_letter("rRaPds")
                || has_long(&["--recursive", "--archive", "--no-dereference", "--symbolic-link"])
        }
        "tar" | "bsdtar" | "gtar" => tar_words(words).iter().any(|word| {
            let text = word.text();
            matches!(text, "--extract" | "--get" | "--ex" | "--ext")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('x'))
        }),
        _ => is_among("mv ln unzip rsync patch cpio 7z 7za pax", program),
    }
}
