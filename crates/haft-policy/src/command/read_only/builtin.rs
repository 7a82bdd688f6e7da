//! What a shell does itself, as far as its words decide whether that only reads: `test`, `set`, `printf`, `command`.

use crate::command::Word;

/// `test` and `[`: arithmetic and `-v` evaluate what a word says, substitutions included.
pub(super) fn test(words: &[Word]) -> Result<(), String> {
    let evaluates = ["-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"];
    let has =
        |wanted: &[&str]| words.iter().any(|word| word.exact().is_some_and(|text| wanted.contains(&text)));
    let is_known = words.iter().all(|word| word.exact().is_some());
    let has_index = words.iter().any(|word| word.text().contains('['));
    let splits = words.iter().any(|word| matches!(word, Word::Unknown { splits: true, .. }));
    if has(&["-v", "-R"])
        || (has(&evaluates) && !is_known)
        || (has_index && (has(&evaluates) || !is_known))
        || splits
    {
        return Err("test may evaluate what a word says".to_owned());
    }
    // Three unknown words could be a comparison, `-v` could hide in one.
    let unsure = words.iter().filter(|word| word.prefix().is_empty() && word.exact().is_none());
    let operator = words.iter().any(|word| {
        word.exact().is_some_and(|text| {
            matches!(text, "=" | "==" | "!=" | "<" | ">") || (text.len() == 2 && text.starts_with('-'))
        })
    });
    if unsure.count() > 0 && !operator {
        return Err("test may evaluate what a word says".to_owned());
    }
    Ok(())
}

/// `set -euo pipefail` and the like: how strict the shell is, nothing else.
pub(super) fn strictness(words: &[Word]) -> Result<(), String> {
    const STRICT: [&str; 12] =
        ["-e", "-u", "-x", "-ex", "-eu", "-eux", "-o", "-eo", "-uo", "-euo", "-euxo", "pipefail"];
    let is_strict = |word: &Word| word.exact().is_some_and(|text| STRICT.contains(&text));
    let is_fit = !words.is_empty() && words.iter().all(is_strict);
    if is_fit { Ok(()) } else { Err("set may change how the rest of the line is read".to_owned()) }
}

/// `printf FORMAT …`: `-v` sets a variable, whose index may run a command; `%b` and numbers only convert.
pub(super) fn printf(words: &[Word]) -> Result<(), String> {
    let rest = match words.first().and_then(Word::exact) {
        Some("--") => words.get(1..).unwrap_or_default(),
        Some(text) if text.starts_with('-') && text != "-" => return Err(format!("printf gets {text}")),
        _ => words,
    };
    let format = rest.first().and_then(Word::exact).ok_or("the format of printf isn't known")?;
    if format.contains("%n") {
        return Err("printf may set a variable".to_owned());
    }
    let converts = format.split('%').skip(1).any(|part| {
        let kind = part.trim_start_matches(|c: char| c.is_ascii_digit() || "+-# .'*lhjzt".contains(c));
        kind.starts_with(['d', 'i', 'u', 'o', 'x', 'X', 'c', 'f', 'F', 'e', 'E', 'g', 'G', '('])
    });
    if (converts || format.contains('*')) && rest.iter().any(|word| word.exact().is_none()) {
        return Err("printf may evaluate what a word says".to_owned());
    }
    Ok(())
}

/// `command -v NAME`.
pub(super) fn looks_up(words: &[Word]) -> Result<(), String> {
    match words.first().and_then(Word::exact) {
        Some("-v" | "-V" | "-pv" | "-pV") => Ok(()),
        _ => Err("what command runs isn't known".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn test_never_evaluates_what_is_not_known() {
        check(
            &["test -f x", "[ -d src ]", "[ 1 -lt 2 ]", "[ -n \"$X\" ]", "[ \"$X\" = y ]"],
            &[
                "[ -v a[0] ]",
                "[ \"$X\" -eq 1 ]",
                "test -v x",
                "[ a[0] -eq 1 ]",
                "[ $X = y ]",
                "test \"$X\" \"$Y\"",
            ],
        );
    }

    #[test]
    fn printf_never_sets_a_variable() {
        check(
            &["printf hi", "printf '%s\\n' \"$X\"", "printf -- -x", "printf %q x", "printf %d 3"],
            &[
                "printf -v x y",
                "printf -vx y",
                "printf $X",
                "printf \"$X\"",
                "printf %d \"$X\"",
                "printf %n x",
            ],
        );
    }

    #[test]
    fn looking_a_program_up_only_reads() {
        // What `command` runs is a command of its own, judged by itself.
        check(&["command -v ls", "command ls", "hash", "type ls"], &["command", "hash -p x ls", "hash x"]);
    }
}
