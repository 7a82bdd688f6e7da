//! Whether a command surely only reads: the positive list by program, action and options, with the programs that a
//! list of options can't describe (`find`, `sed`, `awk`, `test`, `printf`, wrappers).
//!
//! Where its output goes, what paths it reads, and what the commands inside it do is judged by others.

mod builtin;
mod find;
mod fit;
mod script;
mod table;
mod wrapper;

pub(crate) use find::{finds_all, is_test_with_value, roots};
pub(crate) use fit::{fits, fits_a_row, rows, tar_words};
pub(crate) use table::{Operands, Row};
pub(crate) use wrapper::has_inner;

use super::{JudgedLine, Word, git, variables::harmless};
use builtin::{looks_up, printf, strictness, test};
use wrapper::wrapper;

/// Folders whose programs the workspace doesn't choose.
static SYSTEM: [&str; 7] =
    ["/bin/", "/sbin/", "/usr/", "/opt/", "/nix/store/", "/snap/", "/run/current-system/sw/"];

/// What a shell does itself.
static BUILTINS: [&str; 15] = [
    ":", "[", "[[", "set", "builtin", "cd", "command", "echo", "eval", "false", "hash", "printf", "pwd",
    "test", "true",
];

/// Ok where the command surely only reads; else why not.
pub(crate) fn read_only(line: &JudgedLine, at: usize) -> Result<(), String> {
    let simple = line.line.commands.get(at).ok_or("there is no such command")?;
    for (name, value) in &simple.assignments {
        harmless(name, value)?;
    }
    let Some((first, rest)) = simple.words.split_first() else {
        return Ok(());
    };
    let written = first.exact().ok_or("the program isn't known")?;
    let program = simple.program().unwrap_or(written);
    from_system(line, at, written)?;
    if let Some(verdict) = wrapper(line, at, program) {
        return verdict;
    }
    if simple.is_open && !rows(program).any(|row| row.any) {
        return Err(format!("{program} gets words that nobody knows yet"));
    }
    match program {
        "echo" | "true" | "false" | ":" => Ok(()),
        "git" => git::read_only(line, at),
        "find" => find::read_only(rest),
        "sed" | "gsed" => script::sed(rest),
        "awk" | "gawk" | "mawk" | "nawk" => script::awk(rest),
        "test" | "[" | "[[" => test(rest),
        "printf" => printf(rest),
        "command" => looks_up(rest),
        "hash" if rest.is_empty() => Ok(()),
        "set" => strictness(rest),
        "tar" | "bsdtar" => fits_a_row(program, &tar_words(rest)),
        _ => fits_a_row(program, rest),
    }
}

/// Whether the program is one of the system's.
fn from_system(line: &JudgedLine, at: usize, written: &str) -> Result<(), String> {
    if written.contains('/') && !is_system(written) {
        return Err(format!("{written} doesn't lie in a system folder"));
    }
    match line.programs.get(at).and_then(Option::as_deref) {
        Some(path) if is_system(path) => Ok(()),
        Some(path) => Err(format!("{path} doesn't lie in a system folder")),
        None if BUILTINS.contains(&written) => Ok(()),
        // Has no file where only the shell has it.
        None if matches!(written, "time" | "type") => Ok(()),
        None => Err(format!("what {written} runs isn't known")),
    }
}

/// Whether a program's path lies in a folder of the system.
pub(crate) fn is_system(path: &str) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
        && !path.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."))
}

fn not_listed(program: &str, word: &Word) -> String {
    format!("{program} may do more than read with {}", word.text())
}

/// Whether a list of words separated by blanks has the word.
pub(crate) fn is_among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::typed::typed;

    fn verdict(text: &str) -> Result<(), String> {
        let line = typed(text);
        (0..line.line.commands.len()).try_for_each(|at| read_only(&line, at))
    }

    pub(super) fn check(yes: &[&str], no: &[&str]) {
        for text in yes {
            assert_eq!(verdict(text), Ok(()), "{text}");
        }
        for text in no {
            assert!(verdict(text).is_err(), "{text} is taken for read-only");
        }
    }

    #[test]
    fn programs_come_from_the_system() {
        check(
            &["/bin/ls", "/usr/bin/cat x"],
            &["./ls", "bin/ls", "/tmp/ls", "/w/ls", "/usr/../w/ls", "/usr//x/ls"],
        );
        let mut line = typed("ls");
        line.programs = vec![Some("/w/bin/ls".to_owned())];
        assert!(read_only(&line, 0).is_err());
        line.programs = vec![None];
        assert!(read_only(&line, 0).is_err());
        let mut line = typed("echo x");
        line.programs = vec![None];
        assert_eq!(read_only(&line, 0), Ok(()));
        assert!(read_only(&line, 1).is_err());
    }

    #[test]
    fn an_assignment_must_be_harmless() {
        check(
            &["LC_ALL=C sort x", "NO_COLOR=1 ls", "env LANG=C ls"],
            &[
                "PATH=. ls",
                "A=b ls",
                "env LD_PRELOAD=x ls",
                "RIPGREP_CONFIG_PATH=x rg y",
                "env",
                "env LANG=C",
            ],
        );
    }
}
