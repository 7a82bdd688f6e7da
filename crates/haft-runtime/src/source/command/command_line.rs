//! What a tool runs, as its manifest writes it.

use super::Hosted;
use haft_core::shell_word;
use serde::Deserialize;
use std::fmt;

/// A command: a line for the shell, a program with its arguments, or a module under a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub enum CommandLine {
    /// Run by `sh`.
    Shell(String),
    /// Run without a shell.
    Argv(Vec<String>),
    /// Run by a runtime of the user's. It is never written as a command.
    #[serde(skip)]
    Module(Hosted),
}

impl CommandLine {
    /// The argument vector. A relative program with a slash is one of the tool's folder.
    pub(super) fn argv(&self, folder: &str) -> Vec<String> {
        match self {
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Self::Argv(words) => {
                let mut words = words.clone();
                if let Some(program) = words.first_mut().filter(|program| is_in_folder(program)) {
                    *program = format!("{folder}/{}", program.trim_start_matches("./"));
                }
                words
            }
            Self::Module(hosted) => hosted.argv(),
        }
    }

    /// The program in the tool's folder that it starts, where that can be read from it.
    pub(super) fn own_program(&self) -> Option<&str> {
        let first: &str = match self {
            Self::Shell(line) => {
                let word = line.split_whitespace().next()?;
                let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
                Some(word).filter(|word| word.chars().all(plain))?
            }
            Self::Argv(words) => words.first()?,
            Self::Module(_) => return None,
        };
        Some(first).filter(|program| is_in_folder(program))
    }
}

fn is_in_folder(program: &str) -> bool {
    program.contains('/') && !program.starts_with('/')
}

/// The line as a person would type it.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Argv(words) => {
                let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
                f.write_str(&words.join(" "))
            }
            Self::Module(hosted) => write!(f, "{hosted}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_of_the_folder_is_looked_at() {
        let argv = |words: &[&str]| CommandLine::Argv(words.iter().map(|word| (*word).to_owned()).collect());
        let cases = [
            (argv(&["./count.sh", "-x"]), Some("./count.sh")),
            (argv(&["bin/count"]), Some("bin/count")),
            (argv(&["python3", "./count.py"]), None),
            (argv(&["/bin/cat"]), None),
            (CommandLine::Shell("./count.sh | sort".into()), Some("./count.sh")),
            (CommandLine::Shell("$X/count.sh".into()), None),
            (CommandLine::Shell("jq .".into()), None),
        ];
        for (line, program) in cases {
            assert_eq!(line.own_program(), program, "{line}");
        }
        assert_eq!(argv(&["./count.sh", "a b"]).argv("/w/t"), ["/w/t/count.sh", "a b"]);
        assert_eq!(argv(&["./a.sh", "it's", ""]).to_string(), r"./a.sh 'it'\''s' ''");
        assert_eq!(CommandLine::Shell("x".into()).argv("/w"), ["sh", "-c", "x"]);
    }
}
