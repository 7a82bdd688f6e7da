//! The command part of a rule.

use super::{Match, RuleError, matching::stricter, running};
use crate::{
    Dialect, Line, Simple,
    command::{innermost, is_transparent, plainly, read_line},
    wild::Wild,
};
use std::collections::BTreeSet;

/// Shell grammar between commands. A pattern that holds such a word is about a whole line.
const OPERATORS: [&str; 6] = ["&", "&&", ";", "|", "|&", "||"];

/// Words with `*`: `git diff *`, `npm run test:*`, or exact words.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    words: Vec<Wild>,
    /// Whether further arguments may follow, none included.
    is_open: bool,
    /// For `npm run test:*`: the last word followed by a colon and anything.
    colon: Option<Wild>,
}

impl CommandPattern {
    /// Reads the words as a shell would, except that an unquoted `*` is a wildcard.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let prefix = text.strip_suffix(":*");
        let mut words = words(prefix.unwrap_or(text)).ok_or_else(|| RuleError::Quote(text.to_owned()))?;
        let colon = prefix.and(words.last()).and_then(|last| last.followed_by(':'));
        let is_open = prefix.is_some() || words.last().is_some_and(Wild::is_open);
        if words.last().is_some_and(Wild::is_any) {
            words.pop();
        }
        if words.is_empty() && !is_open {
            return Err(RuleError::NoSpec(text.to_owned()));
        }
        Ok(Self { words, is_open, colon })
    }

    /// Whether every command of the line is covered by this one rule.
    ///
    /// A wrapper that only bounds what it runs needs no rule of its own. What a command runs is covered by
    /// itself, or by a rule that names both: `env *` is not a rule about `rm`. Variables that are set are
    /// never covered, unless they are named so; redirections are left to others. A pattern that names no
    /// program covers one command alone.
    pub(super) fn allows(&self, line: &Line) -> bool {
        let is_own = |simple: &&Simple| simple.wrapper.is_none() && !simple.words.is_empty();
        let count = line.commands.iter().filter(is_own).count();
        if !line.is_exact() || count == 0 || (count > 1 && self.names().next().is_none()) {
            return false;
        }
        let mut named: BTreeSet<usize> = BTreeSet::new();
        line.commands.iter().enumerate().all(|(at, simple)| {
            if simple.wrapper.is_some_and(|wrapper| named.contains(&wrapper)) {
                named.insert(at);
                return true;
            }
            let is_covered = self.covers_command(simple);
            if is_covered && self.names().count() > innermost(simple) {
                named.insert(at);
            }
            let is_idle = simple.words.is_empty();
            simple.assignments.is_empty() && (is_idle || is_covered || is_transparent(line, at))
        })
    }

    /// Whether one command is covered, all its words being known. What it sets and runs is for others to
    /// judge.
    pub(super) fn covers_command(&self, simple: &Simple) -> bool {
        let Some(argv) = simple.argv().filter(|argv| !argv.is_empty()) else {
            return false;
        };
        // What makes the program run another one is covered only where it is named.
        let is_named = |option: &str| self.words.iter().any(|word| running::names(word.prefix(), option));
        self.fits(argv.iter().copied().map(Some), false, stays_beneath)
            && running::options(&argv).into_iter().all(is_named)
    }

    /// Whether a covered command can be seen in the line, or may be hidden in it.
    pub(super) fn restricts(&self, line: &Line, text: &str) -> Match {
        // A line that nobody has read is read here.
        let unread = (line.commands.is_empty() && !line.is_exact()).then(|| read_line(text, Dialect::Bash));
        let commands = unread.as_ref().unwrap_or(line).commands.iter();
        let seen = commands.map(|simple| self.sees(simple)).fold(Match::No, stricter);
        if seen == Match::No && (!line.is_exact() || self.is_about(line, text)) {
            return Match::Maybe;
        }
        seen
    }

    fn sees(&self, simple: &Simple) -> Match {
        let Some(first) = simple.words.first() else {
            return Match::No;
        };
        let Some(program) = plainly(first) else {
            return Match::Maybe;
        };
        let known: Vec<Option<String>> = simple.words.iter().skip(1).map(plainly).collect();
        let base = program.rsplit('/').next().unwrap_or_default();
        let mut found = Match::No;
        for name in [program.as_str(), base] {
            // As written, what expands stands for itself; then for anything.
            let written = known.iter().zip(simple.words.iter().skip(1));
            let written = written.map(|(known, word)| Some(known.as_deref().unwrap_or(word.text())));
            if self.fits(std::iter::once(Some(name)).chain(written), false, Wild::matches) {
                return Match::Yes;
            }
            let possible = std::iter::once(Some(name)).chain(known.iter().map(Option::as_deref));
            if self.fits(possible, simple.is_open, Wild::matches) {
                found = Match::Maybe;
            }
        }
        found
    }

    /// Whether the pattern is about a line of several commands, as `curl * | sh`, and this may be one.
    fn is_about(&self, line: &Line, text: &str) -> bool {
        let is_operator = |word: &Wild| {
            !word.is_any()
                && OPERATORS.iter().any(|operator| word.matches(operator) && text.contains(operator))
        };
        let mut parts = self.words.split(is_operator);
        let Some(first) = parts.next().filter(|first| first.len() < self.words.len()) else {
            return false;
        };
        let first = Self { words: first.to_vec(), is_open: true, colon: None };
        line.commands.iter().any(|simple| first.sees(simple) != Match::No)
    }

    /// The words before the first that may be anything.
    fn names(&self) -> impl Iterator<Item = &Wild> {
        self.words.iter().take_while(|word| !word.is_any())
    }

    /// Whether the arguments fit; `None` is any number of unknown ones, and so are those after an open end.
    fn fits<'t>(
        &self,
        arguments: impl Iterator<Item = Option<&'t str>>,
        is_open: bool,
        matches: Matching,
    ) -> bool {
        // Each state is how many words of the pattern are behind.
        let mut states = BTreeSet::from([0]);
        for argument in arguments {
            states = self.after(&states, argument, matches);
            if states.is_empty() {
                return false;
            }
        }
        is_open || states.contains(&self.words.len())
    }

    fn after(&self, states: &BTreeSet<usize>, argument: Option<&str>, matches: Matching) -> BTreeSet<usize> {
        let Some(argument) = argument else {
            return states.first().map(|least| (*least..=self.words.len()).collect()).unwrap_or_default();
        };
        let mut next = BTreeSet::new();
        for at in states {
            match self.words.get(*at) {
                None if self.is_open => {
                    next.insert(*at);
                }
                // In the middle it stands for one or more arguments.
                Some(word) if word.is_any() => next.extend([*at, at + 1]),
                Some(word) if matches(word, argument) || self.ends_with_colon(*at, argument) => {
                    next.insert(at + 1);
                }
                _ => {}
            }
        }
        next
    }

    fn ends_with_colon(&self, at: usize, argument: &str) -> bool {
        at + 1 == self.words.len() && self.colon.as_ref().is_some_and(|colon| colon.matches(argument))
    }
}

/// Whether a word of a pattern fits an argument.
type Matching = fn(&Wild, &str) -> bool;

/// For what allows: a wildcard within a word doesn't lead out of the folder that the word begins with.
fn stays_beneath(word: &Wild, argument: &str) -> bool {
    word.matches(argument) && !(word.is_wild() && argument.split('/').any(|part| part == ".."))
}

/// The words of a pattern, `None` where a quotation doesn't end.
fn words(text: &str) -> Option<Vec<Wild>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<String>> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let literal = match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                None
            }
            (Some(_), c) => Some(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                None
            }
            (None, c) if c.is_whitespace() => {
                words.extend(word.take().map(Wild::from_pieces));
                continue;
            }
            (None, '*') => {
                word.get_or_insert_with(|| vec![String::new()]).push(String::new());
                continue;
            }
            (None, '\\') => chars.next(),
            (None, c) => Some(c),
        };
        let pieces = word.get_or_insert_with(|| vec![String::new()]);
        if let Some(piece) = pieces.last_mut() {
            piece.extend(literal);
        }
    }
    words.extend(word.map(Wild::from_pieces));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_allows() {
        let cases = [
            ("git diff *", "git diff", true),
            ("git diff *", "git diff --stat a", true),
            ("git diff *", "git difftool", false),
            ("git diff *", "git", false),
            ("git diff", "git diff a", false),
            ("ls", "ls", true),
            ("ls", "ls -la", false),
            ("ls *", "ls -la", true),
            ("ls *", "ls \"a;b\"", true),
            ("ls*", "lsof -i", true),
            ("npm run test:*", "npm run test", true),
            ("npm run test:*", "npm run test -- -x", true),
            ("npm run test:*", "npm run test:unit -v", true),
            ("npm run test:*", "npm run tests", false),
            ("git * main", "git push origin main", true),
            ("git * main", "git main", false),
            ("git * main", "git push main x", false),
            ("*", "ls -la", true),
            ("*", "ls; rm x", false),
            ("grep '*' f", "grep '*' f", true),
            ("grep '*' f", "grep x f", false),
            ("echo 'a b'", "echo \"a b\"", true),
            ("echo \\*", "echo '*'", true),
            ("env *", "env A=1 rm x", false),
            ("env A=1 ls *", "env A=1 ls x", true),
            ("find *", "find . -name x", true),
            ("find *", "find . -exec rm x +", false),
            ("bash -c *", "bash -c 'rm x'", false),
            ("bash -c 'ls x'", "bash -c 'ls x'", true),
            ("ls && rm *", "ls && rm x", false),
            ("ls *", "ls a && ls b | ls c", true),
            ("ls *", "ls a && rm b", false),
            ("ls *", "ls $(ls)", false),
            ("ls *", "ls *.rs", false),
            ("ls *", "ls $X", false),
            ("ls *", "timeout 5 nice -n 3 ls x", true),
            ("ls *", "./timeout 5 ls x", false),
            ("ls *", "sudo ls x", false),
            ("sudo ls *", "sudo ls x", true),
            ("ls *", "env ls x", true),
            ("ls *", "env A=1 ls x", false),
            ("ls *", "A=1 ls x", false),
            ("ls *", "xargs ls", false),
            ("xargs ls *", "xargs ls -d", true),
            ("ls *", "for f in a b; do ls -l; done", true),
            ("ls *", "f() { ls; }; ls", false),
            ("ls *", "", false),
            ("node scripts/*", "node scripts/a.mjs", true),
            ("node scripts/*", "node scripts/../src/x.js", false),
            ("node *", "node --require ./x.js y", false),
            ("node *", "node -r ./x.js y", false),
            ("node *", "node y -r x", true),
            ("git *", "git -c core.pager=x log", false),
            ("git switch *", "git switch -c x", true),
            ("git fetch *", "git fetch --upload-pack=./x", false),
            ("git fetch *", "git fetch --upl ./x", false),
            ("git fetch --upload-pack=./x *", "git fetch --upload-pack=./x o", true),
            ("git rebase *", "git rebase --exec ./x", false),
            ("git rebase *", "git rebase -x ./x", false),
            ("git clean *", "git clean -n -x", true),
            ("go test *", "go test -exec ./x ./...", false),
            ("go test *", "go test -run X ./...", true),
            ("go build *", "go build -toolexec=./x", false),
            ("cargo build *", "cargo build --config ./x.toml", false),
            ("cargo run *", "cargo run -- --config x", true),
            ("cargo build *", "cargo build --release", true),
            ("npm run *", "npm run x --script-shell=./x", false),
            ("npm run *", "npm run x -- --require y", true),
            ("tar *", "tar xf a -I ./x", false),
            ("tar *", "tar cf a --checkpoint-action=exec=x b", false),
            ("tar *", "tar --to-com=sh xf a", false),
            ("tar *", "tar -xzf a", true),
            ("rsync *", "rsync -e ./x a b", false),
            ("rsync *", "rsync -ae ./x a b", false),
            ("ssh *", "ssh -oProxyCommand=x h", false),
            ("bash *", "bash --rcfile x", false),
            ("pytest *", "pytest -p evil", false),
            ("pytest *", "pytest -pevil", false),
            ("pytest *", "pytest -p no:cacheprovider -q", true),
            ("python -m pytest *", "python -m pytest -p evil", false),
            ("wget *", "wget --use-askpass=./x a", false),
        ];
        for (pattern, line, expected) in cases {
            let read = read_line(line, Dialect::Bash);
            assert_eq!(
                CommandPattern::parse(pattern).unwrap().allows(&read),
                expected,
                "{pattern} on {line}"
            );
        }
    }

    #[test]
    fn what_a_pattern_restricts() {
        let cases = [
            ("rm *", "rm", Match::Yes),
            ("rm *", "sudo /bin/rm x", Match::Yes),
            ("rm *", "ls | xargs rm", Match::Yes),
            ("rm *", "ls rm", Match::No),
            ("rm *", "ls \"a; rm x\"", Match::No),
            ("rm *", "ls > f", Match::No),
            ("rm *", "r$X x", Match::Maybe),
            ("rm *", "bash -c 'r$X x'", Match::Maybe),
            ("./deploy.sh *", "./deploy.sh x", Match::Yes),
            ("git push --force *", "cd a && git push --force origin", Match::Yes),
            ("curl * | sh", "curl x | sh", Match::Maybe),
            ("*", "anything at all", Match::Yes),
            ("rm *", "\\rm x", Match::Yes),
            ("rm *", "r''m x", Match::Yes),
            ("rm *", "$(rm x)", Match::Yes),
            ("rm *", "bash -c 'rm x'", Match::Yes),
            ("rm *", "rm x 'a", Match::Yes),
            ("rm *", "f() { rm x; }", Match::Yes),
            ("rm *", "alias l='rm x'", Match::Yes),
            ("rm *", "/bin/r? x", Match::Maybe),
            ("rm -rf *", "rm $X", Match::Maybe),
            ("rm -rf *", "xargs rm", Match::Maybe),
            ("rm -rf *", "ls | xargs rm -r", Match::No),
            ("git push *", "git add *.rs", Match::No),
            ("git push *", "git $X", Match::Maybe),
            ("rm *", "ls 2>/dev/null", Match::No),
            ("rm *", "ls $X && cat \"$Y\"", Match::No),
        ];
        for (pattern, line, expected) in cases {
            assert_eq!(
                CommandPattern::parse(pattern).unwrap().restricts(&read_line(line, Dialect::Bash), line),
                expected,
                "{pattern} on {line}"
            );
        }
    }
}
