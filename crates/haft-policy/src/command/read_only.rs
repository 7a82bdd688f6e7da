//! Whether a command surely only reads: the positive list by program, action and options, with the programs that a
//! list of options can't describe (`find`, `sed`, `awk`, `test`, `printf`, wrappers).
//!
//! Where its output goes, what paths it reads, and what the commands inside it do is judged by others.

mod find;
mod script;
mod table;

use super::{
    JudgedLine, Simple, Word, git,
    grammar::{Item, items, names, operands},
    variables::harmless,
};
pub(crate) use find::{finds_all, is_test_with_value, roots};
pub(crate) use table::{Operands, ROWS, Row};

/// Folders whose programs the workspace doesn't choose.
static SYSTEM: [&str; 7] =
    ["/bin/", "/sbin/", "/usr/", "/opt/", "/nix/store/", "/snap/", "/run/current-system/sw/"];

/// What a shell does itself.
static BUILTINS: [&str; 15] = [
    ":", "[", "[[", "set", "builtin", "cd", "command", "echo", "eval", "false", "hash", "printf", "pwd",
    "test", "true",
];

/// Shells that get a text with `-c`; the text is read as a line of its own.
static SHELLS: [&str; 3] = ["bash", "dash", "sh"];

/// Programs that hand `@file` on as more options.
static RESPONSE_FILES: [&str; 5] = ["strings", "nm", "objdump", "readelf", "size"];

/// What lets a jq program read what no word names.
const JQ_REACHES: &str = "import include modulemeta env ENV input_filename input_line get_search_list";

/// Letters of `tar` that take a value.
const TAR_VALUED: &str = "bfCTXgHIKLNVF";

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

/// The rows about a program.
pub(crate) fn rows(program: &str) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.is_about(program))
}

/// Whether what a wrapper runs stands in the line as a command of its own.
pub(crate) fn has_inner(line: &JudgedLine, at: usize) -> bool {
    line.line.commands.iter().any(|command| command.wrapper == Some(at))
}

/// A wrapper that adds nothing to what it runs; none where the command is no such wrapper.
fn wrapper(line: &JudgedLine, at: usize, program: &str) -> Option<Result<(), String>> {
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

fn not_listed(program: &str, word: &Word) -> String {
    format!("{program} may do more than read with {}", word.text())
}

/// By the rows of the table: one of them has to fit.
pub(crate) fn fits_a_row(program: &str, words: &[Word]) -> Result<(), String> {
    let mut why = format!("{program} isn't known to only read");
    for row in rows(program) {
        match fits(row, program, words) {
            Ok(()) => return Ok(()),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

/// Whether the words fit the row.
pub(crate) fn fits(row: &Row, program: &str, words: &[Word]) -> Result<(), String> {
    let words = if row.actions.is_empty() {
        words
    } else {
        let (action, rest) = words.split_first().ok_or_else(|| format!("{program} lacks an action"))?;
        let is_listed = action.exact().is_some_and(|action| is_among(row.actions, action));
        if !is_listed {
            return Err(not_listed(program, action));
        }
        rest
    };
    let items = items(row.options, words);
    for item in &items {
        match item {
            Item::Option { .. } | Item::Operand { is_sure: true, .. } => {}
            Item::Operand { .. } if row.any => {}
            Item::Operand { word, .. } => return Err(not_listed(program, word)),
            Item::Strange(word) if row.any && word.exact().is_none() => {}
            Item::Strange(word) => return Err(not_listed(program, word)),
        }
    }
    if !row.needs.is_empty() && !names(&items).any(|name| is_among(row.needs, name)) {
        return Err(format!("{program} only reads with {}", row.needs));
    }
    for (place, word) in operands(&items).enumerate() {
        let is_fine = match row.operands {
            Operands::None => false,
            Operands::OnePath => place == 0 && !matches!(word, Word::Glob { .. }),
            Operands::Plus => word.prefix().starts_with('+'),
            Operands::OneOf(among) => word.exact().is_some_and(|word| is_among(among, word)),
            Operands::Paths | Operands::Trees | Operands::Words | Operands::Pattern(_) => true,
        };
        if !is_fine || is_special(program, place, word) {
            return Err(not_listed(program, word));
        }
    }
    let given = |wanted: &str| names(&items).any(|name| is_among(wanted, name));
    if row.is_about("ls") && given("-L --dereference") && given(row.deep) {
        return Err(format!("{program} follows links to anywhere"));
    }
    // Another machine's archive is fetched by a program.
    let is_remote = |item: &Item<'_>| {
        matches!(item, Item::Option { value: Some(value), is_path: true, .. }
            if program.ends_with("tar") && (value.exact().is_none() || value.text().contains(':')))
    };
    if items.iter().any(is_remote) { Err(format!("{program} may read from elsewhere")) } else { Ok(()) }
}

/// Operands that mean more than a name to the program.
fn is_special(program: &str, place: usize, word: &Word) -> bool {
    let text = word.text();
    match program {
        // Programs of these languages can load files that no word names, and show the environment.
        "jq" => (place == 0 && word.exact().is_none()) || has_name(text, JQ_REACHES),
        "yq" => {
            let reaches = ["load", "env", "eval", "input_filename"];
            word.exact().is_none() || reaches.iter().any(|part| text.contains(part))
        }
        // Letters without a dash, of which one shows the environment; numbers and lists are values.
        "ps" => {
            let is_letters = !text.contains(',') && text.contains('e');
            word.exact().is_none() || is_letters
        }
        _ => RESPONSE_FILES.contains(&program) && (text.starts_with('@') || word.exact().is_none()),
    }
}

/// Whether one of the names stands in a program's text.
fn has_name(text: &str, names: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|name| is_among(names, name))
}

/// Whether a list of words separated by blanks has the word.
pub(crate) fn is_among(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The words of `tar` with a dash before each option: of `tar tfv x`, whose first word is letters alone, those with a
/// value take the following words in turn.
pub(crate) fn tar_words(words: &[Word]) -> Vec<Word> {
    let Some((Word::Exact(letters), rest)) = words.split_first() else {
        return words.to_vec();
    };
    if letters.starts_with('-') {
        return words.to_vec();
    }
    let mut rest = rest.iter();
    let mut all = Vec::new();
    for letter in letters.chars() {
        all.push(Word::known(format!("-{letter}")));
        if TAR_VALUED.contains(letter) {
            all.extend(rest.next().cloned());
        }
    }
    all.extend(rest.cloned());
    all
}

/// `test` and `[`: arithmetic and `-v` evaluate what a word says, substitutions included.
fn test(words: &[Word]) -> Result<(), String> {
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
fn strictness(words: &[Word]) -> Result<(), String> {
    const STRICT: [&str; 12] =
        ["-e", "-u", "-x", "-ex", "-eu", "-eux", "-o", "-eo", "-uo", "-euo", "-euxo", "pipefail"];
    let is_strict = |word: &Word| word.exact().is_some_and(|text| STRICT.contains(&text));
    let is_fit = !words.is_empty() && words.iter().all(is_strict);
    if is_fit { Ok(()) } else { Err("set may change how the rest of the line is read".to_owned()) }
}

/// `printf FORMAT …`: `-v` sets a variable, whose index may run a command; `%b` and numbers only convert.
fn printf(words: &[Word]) -> Result<(), String> {
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
fn looks_up(words: &[Word]) -> Result<(), String> {
    match words.first().and_then(Word::exact) {
        Some("-v" | "-V" | "-pv" | "-pV") => Ok(()),
        _ => Err("what command runs isn't known".to_owned()),
    }
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
    fn every_row_holds_its_examples() {
        for row in ROWS {
            check(row.yes, row.no);
            assert!(!row.yes.is_empty(), "{} has no example", row.programs);
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

    #[test]
    fn jq_and_yq_load_nothing() {
        check(
            &["jq .a x", "jq '.environment' x", "yq .a x.yml"],
            &[
                "jq 'import \"a\" as b; .' x",
                "jq 'include \"a\"; .' x",
                "jq -f x y",
                "jq -fx y",
                "jq --from-file x y",
                "jq -L x . y",
                "jq -n env",
                "jq -n '$ENV.X'",
                "jq -n 'env|keys'",
                "jq '\"x\"|modulemeta' y",
                "jq input_filename x",
                "jq \".a$X\" x",
                "yq 'strenv(X)' x.yml",
            ],
        );
    }

    #[test]
    fn ps_shows_no_environment() {
        check(&["ps aux", "ps -ef", "ps -p 12"], &["ps auxe", "ps e", "ps axeww", "ps a*"]);
    }

    #[test]
    fn modes_of_packers_are_not_mixed() {
        check(
            &["xz -lv x", "gzip -cdk x", "tar tfv x", "tar tvf x", "diff <(sort a) <(sort b)"],
            &[
                "xz -l -d x",
                "xz -ld x",
                "xz -lc x",
                "unxz --list --decompress x",
                "gunzip -v x",
                "tar tfI x sh",
                "tar tf h:x",
                "tar tA x",
                "tar tfg x y",
                "tar tf x --index-file=y",
                "tar tf x --listed-incremental=y",
                "tar tf x --rsh-command=sh",
                "tar tf x --delete y",
            ],
        );
    }

    #[test]
    fn links_in_trees_are_not_followed() {
        check(
            &["grep -r x .", "find -H .", "ls -L x", "ls -R x", "rg x", "du -D x", "tree x"],
            &[
                "grep -R x .",
                "grep -nR x .",
                "grep --dereference-recursive x .",
                "find -L .",
                "find . -follow",
                "ls -LR x",
                "ls -R --dereference x",
                "rg -L x",
                "rg --follow x",
                "fd -L x",
                "fd --follow x",
                "du -L x",
                "tree -l x",
            ],
        );
    }
}
