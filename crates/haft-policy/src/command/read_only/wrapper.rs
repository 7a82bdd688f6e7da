//! Wrappers that add nothing to what they run: `timeout`, `xargs`, `sh -c` and the like.

use super::not_listed;
use crate::command::{
    JudgedLine, Simple, Word,
    grammar::{Item, items},
    variables::harmless,
};

/// Shells that get a text with `-c`; the text is read as a line of its own.
static SHELLS: [&str; 3] = ["bash", "dash", "sh"];

/// Wrappers that add nothing to what they run, with their options.
static WRAPPERS: [(&str, &str); 14] = [
    ("bash", ""),
    ("builtin", ""),
    ("command", "-p"),
    ("dash", ""),
    ("env", ""),
    ("eval", ""),
    ("ionice", "-cn: --class= --classdata="),
    ("nice", "-n: -# --adjustment="),
    ("nohup", ""),
    ("sh", ""),
    ("stdbuf", "-ioe: --input= --output= --error="),
    ("time", "-pv"),
    ("timeout", "-fpv -ks: --foreground --preserve-status --verbose --kill-after= --signal="),
    (
        "xargs",
        "-0rtx -nLPIsEd: -a:@ --null --no-run-if-empty --verbose --exit --max-args= --max-lines= --max-procs= \
         --replace= --max-chars= --delimiter= --arg-file=@",
    ),
];

/// Whether what a wrapper runs stands in the line as a command of its own.
pub(crate) fn has_inner(line: &JudgedLine, at: usize) -> bool {
    line.line.commands.iter().any(|command| command.wrapper == Some(at))
}

/// A wrapper that adds nothing to what it runs; none where the command is no such wrapper.
pub(super) fn wrapper(line: &JudgedLine, at: usize, program: &str) -> Option<Result<(), String>> {
    let simple = line.line.commands.get(at)?;
    let (_, options) = WRAPPERS.iter().find(|(name, _)| *name == program)?;
    let is_text = program == "eval" || SHELLS.contains(&program);
    let text = |command: &Simple| is_text && command.inside == Some(at);
    if !has_inner(line, at) && !line.line.commands.iter().any(text) {
        return (program != "command").then(|| Err(format!("what {program} runs isn't known")));
    }
    let words = simple.words.get(1..).unwrap_or_default();
    if is_text {
        let is_known = words.iter().all(|word| word.exact().is_some());
        let is_plain = match words.first().map(Word::text) {
            _ if program == "eval" => true,
            Some(flags) => matches!(flags, "-c" | "-lc" | "-ec" | "-euc") && words.len() >= 2,
            None => false,
        };
        let why = || format!("{program} gets more than a known text");
        return Some(if is_known && is_plain { Ok(()) } else { Err(why()) });
    }
    let inner = line.line.commands.iter().find(|command| command.wrapper == Some(at))?;
    let own = words.len().saturating_sub(inner.words.len());
    Some(own_words(program, options, words.get(..own).unwrap_or_default()))
}

/// Whether the words between a wrapper and what it runs are harmless.
fn own_words(program: &str, options: &str, words: &[Word]) -> Result<(), String> {
    for item in items(options, words) {
        match item {
            Item::Option { .. } => {}
            Item::Operand { word, .. } => {
                let text = word.exact().ok_or_else(|| format!("a word of {program} isn't known"))?;
                let is_fine = match program {
                    "timeout" => text.starts_with(|c: char| c.is_ascii_digit()),
                    "env" => match text.split_once('=') {
                        Some((name, value)) => {
                            harmless(name, &Word::known(value))?;
                            true
                        }
                        None => text == "-",
                    },
                    _ => false,
                };
                if !is_fine {
                    return Err(format!("{program} gets {text}"));
                }
            }
            Item::Strange(word) => return Err(not_listed(program, word)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn wrappers_are_seen_through() {
        check(
            &[
                "timeout 5 ls",
                "xargs cat",
                "xargs wc -l",
                "xargs ls -d",
                "timeout 5 env CI=1 ls",
                "find . | xargs grep x",
            ],
            &[
                "timeout 5 rm x",
                "xargs rm",
                "xargs sort",
                "xargs",
                "timeout --foo 5 ls",
                "sudo ls",
                "xargs rg x",
                "xargs file",
            ],
        );
    }
}
