//! How a command line reaches the shell byte for byte; pure.
//!
//! The text is never quoted, wrapped or extended: it travels as arguments, which the wrapper joins and gives
//! to `eval`. So a heredoc may end with the text, a comment may end it, and a syntax error is the shell's own.
//! The exit status is that of the shell; the working directory is left in the report file.

/// Longest piece in one argument: Linux takes at most 128 KiB in one.
const PIECE_MAX_BYTES: usize = 96 * 1024;

/// POSIX, and on one line, so that the shell's messages count the caller's lines from 1.
///
/// - `>|` since the caller may have set noclobber, `set +x` since a trace of this isn't the caller's.
/// - A subshell, `exec` or a trap of the caller's on EXIT leaves no report: the directory is then unchanged.
/// - The blank in `eval " …"` keeps a text that begins with a dash from being an option.
const WRAPPER: &str = concat!(
    "__haft_report=$HAFT_REPORT; unset HAFT_REPORT; ",
    r#"trap '{ set +x; pwd -P >|"$__haft_report" || :; } >/dev/null 2>&1' EXIT; "#,
    "__haft_text=; for __haft_piece do __haft_text=$__haft_text$__haft_piece; done; ",
    "unset __haft_piece; set --; ",
    r#"eval " $__haft_text""#,
);

/// What makes editors, pagers and prompts fail at once or stay away, since nobody could answer them.
const QUIET: [(&str, &str); 9] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("VISUAL", "false"),
];

/// The variables of a command; with a terminal of its own it may move the cursor there.
pub(super) fn variables(has_terminal: bool) -> Vec<(String, String)> {
    let term = if has_terminal { "xterm-256color" } else { "dumb" };
    let all = QUIET.iter().copied().chain([("TERM", term)]);
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The arguments that make `shell` run `command`.
pub(super) fn argv(shell: &str, command: &str) -> Vec<String> {
    [shell, "-c", WRAPPER, shell].into_iter().chain(pieces(command)).map(str::to_owned).collect()
}

fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let mut cut = text.len().min(PIECE_MAX_BYTES);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let (piece, rest) = text.split_at(cut);
        pieces.push(piece);
        text = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_argument_of_its_own_unchanged() {
        let command = "cat <<'Z'\nit's $5 & a\\\\b !x\nZ";
        let argv = argv("bash", command);
        assert_eq!(argv, ["bash", "-c", WRAPPER, "bash", command]);
    }

    #[test]
    fn a_long_command_is_cut_between_characters_and_joins_to_itself() {
        let command = format!("a{}", "é".repeat(100_000));
        let argv = argv("sh", &command);
        assert!(argv.len() > 5 && argv.iter().all(|one| one.len() <= PIECE_MAX_BYTES));
        assert_eq!(argv[4..].concat(), command);
    }

    #[test]
    fn the_wrapper_is_one_line() {
        assert!(!WRAPPER.contains('\n'));
    }
}
