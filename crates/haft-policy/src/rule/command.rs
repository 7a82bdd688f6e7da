//! The command part of a rule.

use super::{Match, RuleError};
use crate::{
    command::{Reading, innermost, plain_argv},
    wild::Wild,
};

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

    /// Whether the line is one plain command that is covered. A command that runs another one, as `env` and
    /// `xargs` do, is covered only by a rule that names both: `env *` is not a rule about `rm`.
    pub(super) fn allows(&self, line: &str) -> bool {
        plain_argv(line).is_some_and(|argv| {
            let named = self.words.iter().take_while(|word| !word.is_any()).count();
            let inner = innermost(&argv);
            self.covers(&argv) && (inner == 0 || inner < named)
        })
    }

    /// Whether a covered command can be seen in the line, or may be hidden in it.
    pub(super) fn restricts(&self, line: &str) -> Match {
        let reading = Reading::of(line);
        if reading.commands.iter().any(|argv| self.covers(argv)) {
            Match::Yes
        } else if reading.unclear {
            Match::Maybe
        } else {
            Match::No
        }
    }

    fn covers(&self, argv: &[String]) -> bool {
        self.fits(&self.words, argv)
    }

    fn fits(&self, words: &[Wild], argv: &[String]) -> bool {
        let Some((word, words)) = words.split_first() else {
            return argv.is_empty() || self.is_open;
        };
        let Some((argument, arguments)) = argv.split_first() else {
            return false;
        };
        if word.is_any() {
            // In the middle it stands for one or more arguments.
            return (0..=arguments.len())
                .filter_map(|skipped| arguments.get(skipped..))
                .any(|rest| self.fits(words, rest));
        }
        let by_colon = words.is_empty() && self.colon.as_ref().is_some_and(|colon| colon.matches(argument));
        (word.matches(argument) || by_colon) && self.fits(words, arguments)
    }
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
        ];
        for (pattern, line, expected) in cases {
            assert_eq!(CommandPattern::parse(pattern).unwrap().allows(line), expected, "{pattern} on {line}");
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
            ("rm *", "ls > f", Match::Maybe),
            ("rm *", "r$X x", Match::Maybe),
            ("rm *", "bash -c 'r$X x'", Match::Maybe),
            ("./deploy.sh *", "./deploy.sh x", Match::Yes),
            ("git push --force *", "cd a && git push --force origin", Match::Yes),
            ("curl * | sh", "curl x | sh", Match::Maybe),
            ("*", "anything at all", Match::Yes),
        ];
        for (pattern, line, expected) in cases {
            assert_eq!(
                CommandPattern::parse(pattern).unwrap().restricts(line),
                expected,
                "{pattern} on {line}"
            );
        }
    }
}
