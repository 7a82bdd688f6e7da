//! Builtins that make a line mean something else than its words say.

use crate::command::{Simple, Word};

const MEANING: &str = "it changes what later words mean";
const EVALUATES: &str = "a builtin evaluates a text, which can run commands";

/// Why a line with this command isn't exact.
pub(super) fn doubt(simple: &Simple) -> Option<&'static str> {
    let words = simple.words.get(1..).unwrap_or_default();
    let has = |option: &str| words.iter().any(|word| word.exact().is_none_or(|text| text == option));
    let is_given = |option: &str| words.iter().any(|word| word.exact() == Some(option));
    let has_flag = |flag: char| {
        words.iter().any(|word| word.prefix().starts_with(['-', '+']) && word.prefix().contains(flag))
    };
    match simple.program()? {
        "alias" | "enable" => words.iter().any(|word| word.exact() != Some("-p")).then_some(MEANING),
        "hash" => words.iter().any(|word| word.exact() != Some("-r")).then_some(MEANING),
        "shopt" => (has("expand_aliases") || has("extglob")).then_some(MEANING),
        "let" => Some(EVALUATES),
        "unset" | "read" | "getopts" => words.iter().any(may_index).then_some(EVALUATES),
        "mapfile" | "readarray" => (has_flag('C') || words.iter().any(may_index)).then_some(EVALUATES),
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            let mut names = words.iter().filter_map(|word| word.prefix().split('=').next());
            (has_flag('i') || has_flag('n') || names.any(|name| name.contains('['))).then_some(EVALUATES)
        }
        "printf" => {
            let sets = |prefix: &str| matches!(prefix, "" | "-") || prefix.starts_with("-v");
            let may_set = words.first().is_some_and(|word| sets(word.prefix()));
            (may_set && words.iter().take(2).any(may_index)).then_some(EVALUATES)
        }
        "wait" => (has_flag('p') && words.iter().any(may_index)).then_some(EVALUATES),
        "test" | "[" => (is_given("-v") && words.iter().any(may_index)).then_some(EVALUATES),
        _ => None,
    }
}

/// Whether a name could have a subscript, which is arithmetic.
fn may_index(word: &Word) -> bool {
    match word {
        Word::Exact(text) => text.contains('[') && text != "[",
        Word::Glob { .. } | Word::Unknown { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::command::{Dialect, read_line};

    #[test]
    fn a_builtin_that_changes_meaning_or_evaluates_makes_the_line_unclear() {
        let unclear = [
            "alias ls=rm",
            "enable -n test",
            "hash -p /bin/rm ls",
            "shopt -s expand_aliases",
            "let x",
            "unset 'a[$(rm x)]'",
            "read 'a[$(rm x)]'",
            "printf -v 'a[$(rm x)]' x",
            "printf '-va[$(rm x)]' x",
            "declare -i x=y",
            "declare 'a[$(rm x)]=1'",
            "[ -v 'a[$(rm x)]' ]",
            "test -v \"$x\"",
            "mapfile -C rm a",
        ];
        for text in unclear {
            assert!(!read_line(text, Dialect::Bash).is_exact(), "{text}");
        }
        let exact = [
            "alias -p",
            "hash -r",
            "unset x",
            "read -r x",
            "printf '%s [%d]' a",
            "[ -f x ]",
            "test -n \"$x\"",
            "printf '%s' \"$x\"",
            "wait $!",
            "export A=1",
            "declare -x A=b",
        ];
        for text in exact {
            let line = read_line(text, Dialect::Bash);
            assert!(line.is_exact(), "{text}: {:?}", line.unclear);
        }
    }
}
