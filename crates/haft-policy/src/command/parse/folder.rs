//! The folder that later commands run in.

use crate::command::{Cwd, Simple, Word};

/// After more changes than this nobody follows.
const MOVES_MAX: usize = 64;

/// Programs that may change the folder of the shell itself.
const MOVERS: [&str; 3] = ["cd", "pushd", "popd"];

/// Where it may be either.
pub(super) fn either(one: &Cwd, other: &Cwd) -> Cwd {
    if one == other { one.clone() } else { Cwd::Unknown }
}

/// The folder after one more change.
pub(in crate::command) fn moved(cwd: &Cwd, to: &str) -> Cwd {
    if to.starts_with('/') {
        return Cwd::Moved(vec![to.to_owned()]);
    }
    match cwd {
        Cwd::Start => Cwd::Moved(vec![to.to_owned()]),
        Cwd::Moved(moves) if moves.len() < MOVES_MAX => {
            Cwd::Moved(moves.iter().cloned().chain(std::iter::once(to.to_owned())).collect())
        }
        Cwd::Moved(_) | Cwd::Unknown => Cwd::Unknown,
    }
}

/// The folder after a command has succeeded; what the command runs stands behind it.
pub(super) fn after(commands: &[Simple], cwd: &Cwd) -> Cwd {
    let Some((simple, inner)) = commands.split_first() else {
        return cwd.clone();
    };
    if simple.words.is_empty() {
        return cwd.clone();
    }
    match simple.words.first().and_then(Word::exact) {
        Some("cd") => changed(simple, cwd, &["-P", "-L", "-e", "--"]),
        Some("pushd") => changed(simple, cwd, &["--"]),
        Some("popd" | "source" | ".") => Cwd::Unknown,
        Some("builtin" | "command") => after(inner, cwd),
        Some("eval" | "trap") if moves(simple, inner) => Cwd::Unknown,
        Some(_) => cwd.clone(),
        None => Cwd::Unknown,
    }
}

fn changed(simple: &Simple, cwd: &Cwd, options: &[&str]) -> Cwd {
    let sets_search = |(name, _): &(String, Word)| matches!(name.as_str(), "CDPATH" | "HOME" | "OLDPWD");
    if simple.is_open || simple.assignments.iter().any(sets_search) {
        return Cwd::Unknown;
    }
    let Some(words) = simple.argv() else {
        return Cwd::Unknown;
    };
    let mut operands = words.into_iter().skip(1).skip_while(|word| options.contains(word));
    match (operands.next(), operands.next()) {
        (Some(to), None) if !to.is_empty() && !to.starts_with(['-', '+']) => moved(cwd, to),
        _ => Cwd::Unknown,
    }
}

/// Whether a text that the shell evaluates may change its folder.
fn moves(simple: &Simple, inner: &[Simple]) -> bool {
    simple.argv().is_none()
        || inner.iter().any(|command| {
            let word = command.words.first();
            word.is_some_and(|word| word.exact().is_none_or(|program| MOVERS.contains(&program)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Dialect, read_line};

    fn to(moves: &[&str]) -> Cwd {
        Cwd::Moved(moves.iter().map(|to| (*to).to_owned()).collect())
    }

    /// The folder of the command `here`.
    fn folder(line: &str) -> Cwd {
        let line = read_line(line, Dialect::Bash);
        let here = line.commands.iter().find(|simple| simple.program() == Some("here"));
        here.unwrap_or_else(|| panic!("{line:?}")).cwd.clone()
    }

    #[test]
    fn a_change_is_followed_only_where_it_is_certain() {
        let cases = [
            ("here", Cwd::Start),
            ("cd a && here", to(&["a"])),
            ("cd a && cd b && here x", to(&["a", "b"])),
            ("cd a && cd /b && here", to(&["/b"])),
            ("cd -P -- a && here", to(&["a"])),
            ("command cd a && here", to(&["a"])),
            ("pushd a && here", to(&["a"])),
            ("(cd a && here)", to(&["a"])),
            ("(cd a && ls); here", Cwd::Start),
            ("cd a | here", Cwd::Start),
            ("cd a & here", Cwd::Start),
            ("echo $(cd a && here)", to(&["a"])),
            ("echo $(cd a) && here", Cwd::Start),
            ("cd a && bash -c 'cd b && here'", to(&["a", "b"])),
            ("cd a; here", Cwd::Unknown),
            ("cd a\nhere", Cwd::Unknown),
            ("cd a || here", Cwd::Unknown),
            ("! cd a && here", Cwd::Unknown),
            ("ls || cd a && here", Cwd::Unknown),
            ("cd a; cd /b && here", to(&["/b"])),
            ("cd && here", Cwd::Unknown),
            ("cd - && here", Cwd::Unknown),
            ("cd $X && here", Cwd::Unknown),
            ("cd ~ && here", Cwd::Unknown),
            ("cd a b && here", Cwd::Unknown),
            ("popd && here", Cwd::Unknown),
            ("eval 'cd a' && here", Cwd::Unknown),
            ("eval 'ls' && here", Cwd::Start),
            ("$X a && here", Cwd::Unknown),
            ("CDPATH=/x cd a && here", Cwd::Unknown),
            ("if cd a; then here; fi", Cwd::Unknown),
            ("if true; then cd a; fi; here", Cwd::Unknown),
            ("while true; do here; cd a; done", Cwd::Unknown),
            ("for x in a b; do (cd a && ls); here; done", Cwd::Start),
        ];
        for (line, expected) in cases {
            assert_eq!(folder(line), expected, "{line}");
        }
    }
}
