//! Removing, moving or opening up the root, the home, the workspace root or a folder of the system.

use super::super::{
    Cwd, JudgedLine, RedirectKind, Simple, Word,
    glob::matches_name,
    place::{Places, covers, of_word},
    read_only::{finds_all, is_among, roots},
};
use super::values;
use crate::Policy;

/// Folders that the system stands on.
const SYSTEM: &str = "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /opt /proc /root /run /sbin /srv /sys /usr \
    /usr/bin /usr/lib /usr/lib64 /usr/local /usr/sbin /usr/share /var /var/lib /var/log /Users /System /Library \
    /Applications /Volumes /private /nix /snap";

/// The folder that a command stands in, for `find` without one.
static HERE: Word = Word::Exact(String::new());

/// What is done to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Remove,
    Move,
    Open,
}

/// Why the command may never run.
pub(super) fn of_places(
    line: &JudgedLine,
    at: usize,
    policy: &Policy,
    places: &Places<'_>,
) -> Option<String> {
    let simple = line.line.commands.get(at)?;
    let (deed, targets) = targets(simple)?;
    let mut targets: Vec<Word> = targets.into_iter().cloned().collect();
    if simple.is_open {
        targets.extend(fed(line, simple));
    }
    let protected = Protected { policy, places };
    targets.into_iter().find_map(|target| {
        let bases = bases(line, at, simple);
        let text = of_word(&target);
        let is_pattern = target.exact().is_none();
        let texts = if is_pattern { values::possible(line, at, &target) } else { vec![text.clone()] };
        let mut places = texts.iter().flat_map(|text| bases.iter().map(move |cwd| (text, cwd)));
        let by_letters = places.find_map(|(text, cwd)| protected.hit(deed, text, is_pattern, cwd));
        // Where links lead.
        by_letters.or_else(|| {
            let found =
                line.paths.iter().find(|path| path.word.command == Some(at) && path.word.text == text)?;
            protected.hit(deed, &found.path.as_ref()?.real.absolute(), false, &Cwd::Start)
        })
    })
}

/// What the command does, and the words that it does it to.
fn targets(simple: &Simple) -> Option<(Deed, Vec<&Word>)> {
    let program = simple.program()?;
    let words = simple.words.get(1..)?;
    let is_recursive = given(words, "rR", "--recursive");
    let end = words.iter().position(|word| word.text() == "--").unwrap_or(words.len());
    let operands = || {
        let plain = words
            .iter()
            .enumerate()
            .filter(move |(place, word)| *place > end || !word.text().starts_with('-'));
        plain.map(|(_, word)| word)
    };
    match program {
        "rm" if is_recursive => Some((Deed::Remove, operands().collect())),
        "rm" if given(words, "f", "--force") => {
            Some((Deed::Remove, operands().filter(|word| is_everything(word)).collect()))
        }
        "find" => {
            let removes = words.iter().any(|word| word.text() == "-delete")
                || words.windows(2).any(|pair| {
                    matches!(pair, [option, program] if is_among("-exec -execdir -ok -okdir", option.text())
                        && is_among("rm /bin/rm /usr/bin/rm shred", program.text()))
                });
            let mut found = roots(words);
            if found.is_empty() {
                found.push(&HERE);
            }
            (removes && finds_all(words)).then_some((Deed::Remove, found))
        }
        "rsync" if words.iter().any(|word| word.text().starts_with("--del")) => {
            Some((Deed::Remove, operands().next_back().into_iter().collect()))
        }
        "mv" => {
            let mut all: Vec<&Word> = operands().collect();
            if !given(words, "t", "--target-directory") {
                all.pop();
            }
            Some((Deed::Move, all))
        }
        "chmod" | "chown" | "chgrp" if given(words, "R", "--recursive") => {
            Some((Deed::Open, operands().skip(1).collect()))
        }
        _ => None,
    }
}

/// Whether one of the letters or the long option, abbreviated or not, is given.
fn given(words: &[Word], letters: &str, long: &str) -> bool {
    words.iter().take_while(|word| word.text() != "--").any(|word| {
        let text = word.text();
        match text.strip_prefix("--") {
            Some(name) => name.len() > 1 && long.starts_with(text),
            None => text.strip_prefix('-').is_some_and(|text| text.contains(|c: char| letters.contains(c))),
        }
    })
}

/// Whether the word is a pattern for everything in a folder.
fn is_everything(word: &Word) -> bool {
    word.exact().is_none() && all_of(&of_word(word)).is_some()
}

/// The folder of which a pattern names everything: `x` of `x/*`, `x/.*`, `x/{*,.*}`, `x/*/`.
fn all_of(text: &str) -> Option<&str> {
    let text = text.trim_end_matches('/');
    let (folder, last) = text.rsplit_once('/').unwrap_or((".", text));
    let is_wild = last.contains(['*', '?']) && last.chars().all(|c| "*?.[]{},!^".contains(c));
    let folder = if folder.is_empty() { "/" } else { folder };
    is_wild.then_some(folder)
}

/// The folders that the words may start from: where nobody knows, those that the line goes to before.
fn bases(line: &JudgedLine, at: usize, simple: &Simple) -> Vec<Cwd> {
    if simple.cwd != Cwd::Unknown {
        return vec![simple.cwd.clone()];
    }
    let before = line.line.commands.iter().take(at).rev().take(16);
    let moves = before.filter(|other| matches!(other.program(), Some("cd" | "pushd")));
    let folders = moves.map(|other| other.words.get(1).map_or_else(|| "~".to_owned(), of_word));
    let known = folders.map(|folder| Cwd::Moved(vec![folder]));
    known.chain([Cwd::Unknown]).collect()
}

/// The words that `echo … | xargs rm` hands on.
fn fed(line: &JudgedLine, simple: &Simple) -> Vec<Word> {
    let commands = &line.line.commands;
    let outer = simple.wrapper.and_then(|outer| commands.get(outer));
    let texts = outer.into_iter().flat_map(|outer| &outer.redirects);
    let texts = texts.filter(|redirect| redirect.kind == RedirectKind::Text);
    let given: Vec<Word> = texts.flat_map(|redirect| split(&redirect.target)).collect();
    if !given.is_empty() {
        return given;
    }
    let feeder = outer.and_then(|outer| outer.feeds_from);
    let Some(feeder) = feeder.and_then(|feeder| commands.get(feeder)) else {
        return Vec::new();
    };
    let words = feeder.words.get(1..).unwrap_or_default();
    match feeder.program() {
        Some("echo" | "printf" | "ls") => {
            words.iter().filter(|word| !word.text().starts_with('-')).flat_map(split).collect()
        }
        Some("find") if finds_all(words) => roots(words).into_iter().cloned().collect(),
        _ => Vec::new(),
    }
}

/// The words that a program makes of a text that it reads.
fn split(word: &Word) -> Vec<Word> {
    let Some(text) = word.exact() else {
        return vec![word.clone()];
    };
    let lines = text.replace("\\n", "\n");
    lines.split_whitespace().take(64).map(Word::known).collect()
}

/// The places that stay.
struct Protected<'p> {
    policy: &'p Policy,
    places: &'p Places<'p>,
}

impl Protected<'_> {
    /// Why the deed may not be done to what the text names.
    fn hit(&self, deed: Deed, text: &str, is_pattern: bool, cwd: &Cwd) -> Option<String> {
        let whole = if is_pattern { all_of(text) } else { None };
        let target = whole.unwrap_or(text);
        let what = match deed {
            Deed::Remove => "remove",
            Deed::Move => "move",
            Deed::Open => "change the owner or mode of all of",
        };
        let verdict = |name: &str| Some(format!("it would {what} {name}"));
        if is_pattern && target.contains(['*', '?', '[']) {
            let named = SYSTEM.split_ascii_whitespace().find(|place| fits(target, place));
            return named.and_then(verdict);
        }
        let path = self.places.absolute(target, cwd)?;
        if is_among(SYSTEM, &path) {
            return verdict(&path);
        }
        if self.places.home.is_some_and(|home| covers(&path, home)) {
            return verdict("the home folder");
        }
        let workspace = self.policy.workspace.absolute();
        // Modes of a project are its people's business; a move of what lies in it can be undone.
        let spared = deed == Deed::Open || (deed == Deed::Move && whole.is_some());
        if !spared && covers(&path, &workspace) {
            return verdict("the workspace root");
        }
        None
    }
}

/// Whether a pattern whose first part has a wildcard names the place.
fn fits(pattern: &str, place: &str) -> bool {
    let (pattern, place) = (pattern.trim_end_matches('/'), place.trim_end_matches('/'));
    let mut parts = pattern.split('/').zip(place.split('/'));
    pattern.starts_with('/')
        && pattern.split('/').count() == place.split('/').count()
        && parts.all(|(pattern, part)| matches_name(&loosened(pattern), part))
}

/// The pattern with any character for each bracket, since what a range holds differs by shell and language.
fn loosened(pattern: &str) -> String {
    let mut loose = String::new();
    let mut rest = pattern;
    while let Some((before, bracket)) = rest.split_once('[') {
        loose.push_str(before);
        loose.push('?');
        rest = bracket.split_once(']').map_or("", |(_, rest)| rest);
    }
    loose + rest
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_read};

    #[test]
    fn disguised_places_stay_too() {
        check_read(
            &[
                "rm -rf /{bin,etc}",
                "rm -rf {/,x}",
                "rm -rf x{,/../..}/..",
                "rm -r $'/'",
                "rm -rf \\/",
                "xargs rm -rf <<< /",
                "x=/; rm -rf $x",
                "x=/; rm -rf \"${x}\"",
                "x=/; rm -rf $x*",
                "x=~; rm -rf $x",
                "for d in /; do rm -rf $d; done",
                "for d in a /etc b; do rm -rf \"$d\"; done",
                "bash -c 'rm -rf \"$1\"' _ /",
                "sh -c 'rm -rf $0' /",
                "sh -c 'rm -rf \"$@\"' _ x /",
            ],
            &[
                "rm -rf {a,b}",
                "rm -rf src/{a,b}",
                "x=target; rm -rf $x",
                "for d in a b; do rm -rf $d; done",
                "bash -c 'rm -rf \"$1\"' _ x",
                "xargs rm -rf <<< x",
                "rm -rf a\\ b",
            ],
        );
    }

    #[test]
    fn root_home_workspace_and_system_stay() {
        check(
            &[
                "rm -r -f \"/\"",
                "rm -rf /",
                "rm -rf //",
                "rm -rf /.",
                "rm -fr -- /",
                "rm --recursive --force /",
                "rm --recurs /",
                "rm -rf --no-preserve-root /",
                "/bin/rm -rf $HOME",
                "rm -rf \"$HOME\"",
                "rm -rf ~",
                "rm -rf ~/",
                "rm -rf ~/*",
                "rm -f ~/*",
                "rm -rf /*",
                "rm / -rf",
                "sudo rm -rf /etc",
                "rm -rf /etc/*",
                "rm -rf /usr/bin",
                "rm -rf /home",
                "rm -rf /home/*",
                "rm -rf /u*",
                "rm -rf /us?",
                "rm -rf x /etc",
                "cd / && rm -rf *",
                "cd / ; rm -rf *",
                "cd ~ && rm -rf .",
                "rm -rf .",
                "rm -rf *",
                "rm -rf ./*",
                "rm -rf /w",
                "rm -rf $PWD",
                "rm -rf ..",
                "rm -rf src/..",
                "rm -rf src/../../home/u",
                "find / -delete",
                "find ~ -delete",
                "find . -type f -delete",
                "find ~ -exec rm {} +",
                "rsync -a --delete empty/ ~",
                "mv / x",
                "mv ~ /tmp/x",
                "mv /etc x",
                "chmod -R 777 /",
                "chown -R u /usr",
                "chown -R u ~",
                "echo / | xargs rm -rf",
                "find / | xargs rm -rf",
                "timeout 5 rm -rf /",
                "rm -rf ~+",
                "rm -rf ~+/",
                "printf '/\\n' | xargs rm -rf",
            ],
            &[
                "rm -rf target",
                "rm -rf ./node_modules",
                "rm -rf /tmp/x",
                "rm -rf build/*",
                "rm -rf ~/x/y",
                "rm -rf /w/target",
                "rm -rf '*'",
                "rm -f *.o",
                "rm *.o",
                "rm x",
                "rm -rf \"$X\"",
                "cd build && rm -rf *",
                "cd build ; rm -rf x",
                "find . -name '*.pyc' -delete",
                "find target -delete",
                "mv src/* lib",
                "mv * sub",
                "mv a b",
                "chmod -R 755 .",
                "chmod +x x",
                "rsync -a --delete a/ b/",
                "ls /",
                "ls | xargs rm -f",
                "rm -rf /var/lib/x",
            ],
        );
    }
}
