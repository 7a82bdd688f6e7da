//! Options that make a program run another one, or load code: what a `*` never stands for in a rule that allows.
//!
//! Best effort over well-known programs; a rule for a whole program trusts that program with all the rest.

use crate::command::is_among;

/// Programs and such options of theirs. Of one dash and one letter: alone, glued or among others.
static RUNNING: &[(&str, &str)] = &[
    (
        "git",
        "--upload-pack --receive-pack --exec --extcmd --exec-path --config-env --open-files-in-pager --ext-diff \
         --textconv",
    ),
    ("go", "-exec -toolexec -vettool --exec --toolexec --vettool"),
    ("cargo", "--config"),
    ("bash sh dash zsh ksh fish", "--rcfile --init-file"),
    ("ssh scp sftp", "-o -F"),
    ("wget", "-e --execute --use-askpass --config"),
    ("sudo", "-A --askpass"),
    ("rsync", "-e --rsh --rsync-path"),
    (
        "tar bsdtar gtar",
        "-I -F --use-compress-program --to-command --checkpoint-action --rsh-command --rmt-command --info-script \
         --new-volume-script",
    ),
    ("npm npx pnpm yarn", "--script-shell --node-options --userconfig --globalconfig"),
    ("pytest py.test", "-p -c --plugin --config-file"),
    ("mocha", "-r --require --compilers --loader --import"),
];

/// Those of interpreters and of git that count only before the script or the action.
static EARLY: &[(&str, &str)] = &[
    ("node nodejs tsx ts-node", "-r --require --import --loader --experimental-loader"),
    ("bun deno", "-r --preload --require --import"),
    ("git", "-c --exec-path --config-env"),
];

/// What runs programs whatever it is an option of.
const ANYWHERE: &str = "--upload-pack --receive-pack --to-command --checkpoint-action --use-compress-program \
    --script-shell --node-options --use-askpass --rsh --compiler --toolexec -toolexec";

/// The options among the words that make the program run another one, as the tables name them.
pub(super) fn options(argv: &[&str]) -> Vec<&'static str> {
    let Some((first, words)) = argv.split_first() else {
        return Vec::new();
    };
    let mut program = first.rsplit('/').next().unwrap_or_default();
    let mut words = words;
    if program.starts_with("python")
        && let ["-m", module, rest @ ..] = words
    {
        (program, words) = (*module, rest);
    }
    let listed = |table: &'static [(&'static str, &'static str)]| {
        let rows = table.iter().filter(move |(programs, _)| is_among(programs, program));
        rows.flat_map(|(_, options)| options.split_ascii_whitespace())
    };
    let mut found = Vec::new();
    let (mut is_early, mut is_value) = (true, false);
    let mut rest = words.iter().copied().take_while(|word| *word != "--").peekable();
    while let Some(word) = rest.next() {
        is_early &= is_value || word.starts_with('-');
        is_value = word == "-C";
        if !word.starts_with('-') {
            continue;
        }
        let value = rest.peek().copied().unwrap_or_default();
        // A plugin that is left out.
        if program == "pytest" && (word.starts_with("-pno:") || (word == "-p" && value.starts_with("no:"))) {
            continue;
        }
        found.extend(listed(RUNNING).filter(|option| is_given(word, option)));
        found.extend(listed(EARLY).filter(|option| is_early && is_given(word, option)));
        found.extend(
            ANYWHERE.split_ascii_whitespace().filter(|option| word.split('=').next() == Some(*option)),
        );
    }
    // Letters that mean something else elsewhere.
    let is_git = |action: &str| program == "git" && words.contains(&action);
    for (action, letter) in
        [("rebase", "-x"), ("clone", "-u"), ("clone", "-c"), ("grep", "-O"), ("difftool", "-x")]
    {
        found.extend(
            Some(letter).filter(|letter| is_git(action) && words.iter().any(|word| is_given(word, letter))),
        );
    }
    found
}

/// Whether the literal beginning of a pattern's word names the option.
pub(super) fn names(prefix: &str, option: &str) -> bool {
    let is_letter = option.len() == 2;
    prefix.split('=').next() == Some(option) || (is_letter && prefix.starts_with(option))
}

/// Whether the word is the option: whole, abbreviated, with its value, or a letter among others.
fn is_given(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    if name == option {
        return true;
    }
    if option.starts_with("--") {
        return name.len() > 3 && name.starts_with("--") && option.starts_with(name);
    }
    match option.strip_prefix('-').filter(|letter| letter.len() == 1) {
        Some(letter) => !word.starts_with("--") && word.starts_with('-') && name.contains(letter),
        None => false,
    }
}
