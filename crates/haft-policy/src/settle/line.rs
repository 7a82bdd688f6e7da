//! How a command line is allowed: command by command, and each file that it writes by redirection.

use crate::{
    JudgedLine, LinePath, Policy, Rule, Subject,
    command::{covers, harmless, read_only},
};

/// The rules that, with what needs none, let every command of every line run; none where something is left that
/// nobody allowed. Commands that only read, harmless variables and temporary files need no rule.
pub(super) fn covered<'a>(subject: &Subject, policy: &Policy, rules: &[&'a Rule]) -> Option<Vec<&'a Rule>> {
    if rules.is_empty() || subject.lines.is_empty() || subject.lines.len() != subject.command_lines().len() {
        return None;
    }
    let mut used: Vec<&Rule> = Vec::new();
    for line in &subject.lines {
        if !line.line.is_exact() {
            return None;
        }
        for at in 0..line.line.commands.len() {
            used.extend(command(subject, line, at, rules)?.rule());
        }
        for path in line.written() {
            used.extend(write(policy, path, rules)?.rule());
        }
    }
    Some(used)
}

/// Whether the line surely changes nothing: the answer's error says what might.
///
/// # Errors
/// The first command or redirection that isn't known to only read.
pub fn reads_only(line: &JudgedLine) -> Result<(), String> {
    is_harmless(line, &[])
}

/// As [`reads_only`], where writing to temporary folders is free.
///
/// # Errors
/// The first command or redirection that isn't known to be harmless.
pub fn is_harmless(line: &JudgedLine, temp: &[String]) -> Result<(), String> {
    if let Some(why) = line.line.unclear.first() {
        return Err(format!("it can't be read exactly: {why}"));
    }
    for at in 0..line.line.commands.len() {
        passes(line, at)?;
    }
    match line.written().find(|path| !is_temporary(path, temp)) {
        Some(path) => Err(format!("it writes to {}", path.word.text)),
        None => Ok(()),
    }
}

/// What one part of a line needs to run.
enum Needs<'a> {
    /// No rule.
    Nothing,
    /// This one.
    This(&'a Rule),
}

impl<'a> Needs<'a> {
    fn rule(self) -> Option<&'a Rule> {
        match self {
            Self::Nothing => None,
            Self::This(rule) => Some(rule),
        }
    }
}

/// What a command needs; none where nothing allows it.
fn command<'a>(subject: &Subject, line: &JudgedLine, at: usize, rules: &[&'a Rule]) -> Option<Needs<'a>> {
    if passes(line, at).is_ok() {
        return Some(Needs::Nothing);
    }
    let simple = line.line.commands.get(at)?;
    let sets_freely = simple.assignments.iter().all(|(name, value)| harmless(name, value).is_ok());
    let rule = rules.iter().find(|rule| sets_freely && rule.allows_command(subject, simple))?;
    Some(Needs::This(rule))
}

/// Whether a command needs no rule.
fn passes(line: &JudgedLine, at: usize) -> Result<(), String> {
    let Some(simple) = line.line.commands.get(at) else { return Ok(()) };
    let is_bare = simple.words.is_empty();
    for (name, value) in &simple.assignments {
        if !(is_bare && is_own(name)) {
            harmless(name, value)?;
        }
    }
    if is_bare { Ok(()) } else { read_only(line, at) }
}

/// Whether a variable that is set for the rest of the line is the line's own: no program is led by it, since names in
/// small letters aren't exported unless somebody exported them before.
fn is_own(name: &str) -> bool {
    !name.ends_with("_proxy")
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// As [`command`], for a file that a redirection writes.
fn write<'a>(policy: &Policy, path: &LinePath, rules: &[&'a Rule]) -> Option<Needs<'a>> {
    if is_temporary(path, &policy.temp) {
        return Some(Needs::Nothing);
    }
    let names = path.path.as_ref()?;
    rules.iter().find(|rule| rule.allows_write(names)).map(|rule| Needs::This(rule))
}

fn is_temporary(path: &LinePath, temp: &[String]) -> bool {
    path.path.as_ref().is_some_and(|path| {
        let real = path.real.absolute();
        temp.iter().any(|folder| covers(folder, &real))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action::{Allow, Deny},
        Mode,
        sample::{bash, judged_line, policy, verdict},
    };

    #[test]
    fn each_command_needs_its_own_rule() {
        let rules = [(Allow, "bash(cargo test *)"), (Allow, "bash(git add *)"), (Allow, "edit(./out/**)")];
        let cases = [
            ("cargo test", "allow"),
            ("cargo test -p a && git add .", "allow"),
            ("cargo test 2>&1 | tail -5", "allow"),
            ("cargo test; make", "ask"),
            ("cargo test > out/log", "allow"),
            ("cargo test > log", "ask"),
            ("cargo test > /dev/null", "allow"),
            ("cargo test > /tmp/haft-s/log", "allow"),
            ("timeout 5 cargo test", "allow"),
            ("RUST_BACKTRACE=1 cargo test", "allow"),
            ("LD_PRELOAD=./x.so cargo test", "ask"),
            ("cargo test $(make)", "ask"),
            ("cd src && cargo test", "allow"),
        ];
        for (line, expected) in cases {
            assert_eq!(verdict(&bash(line), &policy(Mode::Default, &rules)), expected, "{line}");
        }
        let denied = [(Allow, "bash(cargo test *)"), (Deny, "edit(./out/**)")];
        assert_eq!(verdict(&bash("cargo test > out/log"), &policy(Mode::Default, &denied)), "deny");
    }

    #[test]
    fn a_wrapper_that_is_not_the_systems_is_asked() {
        let mut line = judged_line("timeout 5 ls");
        assert_eq!(reads_only(&line), Ok(()));
        line.programs[0] = Some("/w/node_modules/.bin/timeout".to_owned());
        assert!(reads_only(&line).unwrap_err().contains("system folder"));
    }

    #[test]
    fn what_only_reads() {
        for line in ["ls -la", "git status && git diff | head -3", "grep -r x src 2>/dev/null", "cd src; ls"]
        {
            assert_eq!(reads_only(&judged_line(line)), Ok(()), "{line}");
        }
        for line in [
            "ls > f",
            "rm x",
            "command rm x",
            "timeout 5 rm x",
            "env A=1 rm x",
            "ls; rm x",
            "ls $(rm x)",
            "FOO=$(rm x) ls",
            "r$X",
            "ls 'a",
        ] {
            assert!(reads_only(&judged_line(line)).is_err(), "{line}");
        }
        assert!(is_harmless(&judged_line("ls > /tmp/haft-s/x"), &["/tmp/haft-s".to_owned()]).is_ok());
    }
}
