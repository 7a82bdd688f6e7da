//! Every command that can be seen in a line, plain or not. For what denies and asks, never for what allows.

use super::plain_argv;

/// How deep commands inside commands are followed.
const DEPTH_MAX: usize = 8;

/// Programs that run another one: their short options that take a value, and how many words come before the
/// inner command. For shells the inner word may be a whole line.
static WRAPPERS: [(&str, &str, usize); 25] = [
    ("bash", "oO", 0),
    ("busybox", "", 0),
    ("builtin", "", 0),
    ("chroot", "", 1),
    ("command", "", 0),
    ("dash", "o", 0),
    ("doas", "uC", 0),
    ("env", "uC", 0),
    ("eval", "", 0),
    ("exec", "a", 0),
    ("ionice", "cn", 0),
    ("ksh", "o", 0),
    ("nice", "n", 0),
    ("nohup", "", 0),
    ("parallel", "j", 0),
    ("setsid", "", 0),
    ("sh", "o", 0),
    ("stdbuf", "ioe", 0),
    ("strace", "oe", 0),
    ("sudo", "ughpCTUrtDR", 0),
    ("time", "fo", 0),
    ("timeout", "sk", 1),
    ("watch", "n", 0),
    ("xargs", "nILPdsEa", 0),
    ("zsh", "o", 0),
];

/// The options of `find` after which a command stands.
const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Grammar that may stand before a command.
const LEADERS: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "!", "coproc"];

/// The commands seen in a line.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Each command's words; a program given by path stands here with and without it.
    pub(crate) commands: Vec<Vec<String>>,
    /// Whether something stayed unclear.
    pub(crate) unclear: bool,
}

impl Reading {
    /// Reads a line.
    pub(crate) fn of(line: &str) -> Self {
        let mut reading = Self::default();
        reading.add_line(line, 0);
        reading
    }

    fn add_line(&mut self, line: &str, depth: usize) {
        if let Some(argv) = plain_argv(line) {
            self.add(argv, depth);
            return;
        }
        self.unclear = true;
        for words in split(line) {
            self.add(words, depth);
        }
    }

    fn add(&mut self, words: Vec<String>, depth: usize) {
        if depth >= DEPTH_MAX {
            self.unclear = true;
            return;
        }
        for at in inners(&words) {
            let Some((first, rest)) = words.get(at..).and_then(<[String]>::split_first) else {
                continue;
            };
            if plain_argv(first).is_some_and(|argv| argv == [first.as_str()]) {
                self.add(std::iter::once(first).chain(rest).cloned().collect(), depth + 1);
            } else {
                self.add_line(first, depth + 1);
            }
        }
        let Some((program, arguments)) = words.split_first() else {
            return;
        };
        let bare = base_name(program);
        if bare != program {
            self.commands.push(std::iter::once(bare.to_owned()).chain(arguments.iter().cloned()).collect());
        }
        self.commands.push(words);
    }
}

/// Where the innermost command begins that a plain command runs, 0 where it runs none.
pub(crate) fn innermost(words: &[String]) -> usize {
    let mut from = 0;
    while let Some(at) = words.get(from..).and_then(|rest| inners(rest).into_iter().max()) {
        from += at;
    }
    from
}

/// Where commands begin that this one runs.
fn inners(words: &[String]) -> Vec<usize> {
    let Some(program) = words.first().map(|word| base_name(word)) else {
        return Vec::new();
    };
    if program == "find" {
        let runs = words.iter().enumerate().filter(|(_, word)| FIND_RUNS.contains(&word.as_str()));
        return runs.map(|(at, _)| at + 1).filter(|at| *at < words.len()).collect();
    }
    let Some((_, valued, positionals)) = WRAPPERS.iter().find(|(name, ..)| *name == program) else {
        return Vec::new();
    };
    let mut left = *positionals;
    let mut rest = words.iter().enumerate().skip(1);
    while let Some((at, word)) = rest.next() {
        if let Some(option) = word.strip_prefix('-') {
            if option.chars().count() == 1 && valued.contains(option) {
                rest.next();
            }
        } else if is_assignment(word) {
            // Before the inner command, as `env A=1 rm`.
        } else if left > 0 {
            left -= 1;
        } else {
            return vec![at];
        }
    }
    Vec::new()
}

/// The commands of a line by a naive split: quotes and backslashes dropped, so that they hide nothing.
fn split(line: &str) -> Vec<Vec<String>> {
    let joined = line.replace("\\\n", "");
    let text: String = joined.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    text.split([';', '&', '|', '\n', '\r', '`', '(', ')', '{', '}'])
        .map(command_words)
        .filter(|words| !words.is_empty())
        .collect()
}

fn command_words(segment: &str) -> Vec<String> {
    let spaced = segment.replace('<', " < ").replace('>', " > ");
    let mut words: Vec<String> = Vec::new();
    let mut is_target = false;
    for word in spaced.split_whitespace() {
        if matches!(word, "<" | ">") {
            is_target = true;
        } else if is_target {
            is_target = false;
        } else if !(words.is_empty() && is_before_command(word)) {
            words.push(word.to_owned());
        }
    }
    words
}

fn is_before_command(word: &str) -> bool {
    is_assignment(word) || LEADERS.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(line: &str) -> Vec<String> {
        Reading::of(line).commands.into_iter().filter_map(|words| words.into_iter().next()).collect()
    }

    #[test]
    fn a_program_is_seen_behind_every_disguise() {
        let lines = [
            "rm x",
            "ls; rm x",
            "ls && rm x",
            "ls\nrm x",
            "ls $(rm x)",
            "ls `rm x`",
            "\"rm\" x",
            "r''m x",
            "\\rm x",
            "/bin/rm x",
            "env A=1 rm x",
            "A=1 rm x",
            "xargs rm < f",
            "bash -c 'rm x'",
            "bash -lc \"ls; rm x\"",
            "sudo -u root rm x",
            "timeout -s KILL 5 rm x",
            "nice -n 5 rm x",
            "xargs -n1 -I % rm %",
            "eval 'rm x'",
            "find . -name x -exec rm {} +",
            "find . -exec rm x +",
            "if true; then rm x; fi",
            "> f rm x",
            "2>f rm x",
            "env -S 'rm x'",
            "time rm x",
            "ls | xargs -0 rm",
            "nohup sh -c 'sudo rm x' &",
            "r\\\nm x",
            "(rm x)",
        ];
        for line in lines {
            assert!(programs(line).iter().any(|program| program == "rm"), "{line}: {:?}", programs(line));
        }
    }

    #[test]
    fn a_program_named_in_an_argument_is_not_seen() {
        for line in ["ls rm", "ls \"a; rm x\"", "echo 'rm x'", "xargs grep rm", "git rm x"] {
            assert!(!programs(line).iter().any(|program| program == "rm"), "{line}");
            assert!(!Reading::of(line).unclear, "{line}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let line = "env ".repeat(50_000) + "rm x";
        assert!(Reading::of(&line).unclear);
        assert_eq!(innermost(&plain_argv(&line).unwrap()), 50_000);
    }
}
