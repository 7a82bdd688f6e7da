//! What to do about failures that come from nobody being there to answer; pure.

/// Signs in the output, and the advice for them.
const HINTS: [(&[&str], &str); 4] = [
    (
        &["problem with the editor", "but editor unset", "editor 'false'", "editor \"false\""],
        "no editor can open here: pass the text itself (git commit -m \"…\", git commit --amend --no-edit, git rebase \
         --continue with GIT_EDITOR=true)",
    ),
    (
        &["terminal prompts disabled", "could not read username", "could not read password"],
        "nobody can type credentials here: they must come from a credential helper or an ssh key",
    ),
    (
        &["/dev/tty", "not a tty", "not a terminal", "terminal is required", "no tty present"],
        "there is no terminal here: use the program's non-interactive form (--yes, --no-input, -m, a file, …), or \
         run it with bash and pty=true",
    ),
    (
        &["fork: resource temporarily unavailable", "cannot fork", "can't fork", "fork: retry"],
        "it may have as many processes as it is allowed to: run fewer side by side (-j 4), or have the user raise \
         processes under [sandbox]",
    ),
];

/// What to do where it looks as if the sandbox had stopped a command.
pub(super) const BARRED: &str = "this ran in a sandbox: it changes only the workspace and temporary files, and reaches no \
                                 host that isn't allowed; if that is why it failed and it has to be, repeat it with \
                                 outside=true, and the user is asked";

/// The same for a tool that starts commands by itself.
pub(crate) const BARRED_ELSEWHERE: &str = "this ran in a sandbox: it changes only the workspace and temporary files, and \
                                           reaches no host that isn't allowed; if that is why it failed, run the line \
                                           through bash with outside=true, and the user is asked, or have the user \
                                           allow the host (network under [sandbox] in the settings)";

/// Signs that a command wanted to change what is kept in the workspace, and the advice for them. A path that is kept is
/// a mount: what would replace or remove it is told that it is busy.
const KEPT: [(&[&str], &str); 2] = [
    (
        &["could not write config file", "could not lock config file", "could not set 'remote"],
        "in the sandbox git's settings and hooks stay as they are, since git runs what they name; commits, branches and \
         repositories in new folders work: repeat just this command with outside=true, and the user is asked",
    ),
    (
        &["device or resource busy"],
        "in the sandbox some paths can be neither removed nor replaced: those that make programs run, also in repositories \
         deeper in the workspace, and files that were allowed by name; if it has to be, repeat it with outside=true, and \
         the user is asked",
    ),
];

/// Advice on a failed command that ran in the sandbox, where its output shows that it met what is kept there.
pub(super) fn kept(output: &str) -> Option<&'static str> {
    let output = output.to_ascii_lowercase();
    KEPT.iter().find(|(signs, _)| signs.iter().any(|sign| output.contains(sign))).map(|(_, advice)| *advice)
}

/// Advice on a failed command, where its output shows why.
pub(super) fn hint(output: &str) -> Option<&'static str> {
    let output = output.to_ascii_lowercase();
    HINTS.iter().find(|(signs, _)| signs.iter().any(|sign| output.contains(sign))).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: Option<&str>) {
        let found = hint(output);
        assert_eq!(found.is_some(), expected.is_some(), "{output}: {found:?}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{output}: {found:?}");
    }

    #[test]
    fn failures_of_missing_people_get_advice() {
        check("error: there was a problem with the editor 'false'", Some("git commit -m"));
        check("error: Terminal is dumb, but EDITOR unset", Some("git commit -m"));
        check(
            "fatal: could not read Username for 'https://x': terminal prompts disabled",
            Some("credential helper"),
        );
        check("sh: 1: cannot open /dev/tty: No such device or address", Some("non-interactive"));
        check("bash: fork: retry: Resource temporarily unavailable", Some("side by side"));
        check("sh: 1: Cannot fork", Some("side by side"));
        check("error[E0308]: mismatched types", None);
    }
}
