//! Variables that change how a program shows things, never what runs.

use super::Word;

/// Names that no program takes code, programs or places from.
static HARMLESS: [&str; 40] = [
    "ANSICON",
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CARGO_TERM_QUIET",
    "CARGO_TERM_VERBOSE",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "DO_NOT_TRACK",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "GREP_COLOR",
    "GREP_COLORS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LS_COLORS",
    "NEXT_TELEMETRY_DISABLED",
    "NODE_ENV",
    "NO_COLOR",
    "NPM_CONFIG_COLOR",
    "NPM_CONFIG_FUND",
    "NPM_CONFIG_LOGLEVEL",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "PIP_NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    "PY_COLORS",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
    "npm_config_loglevel",
];

/// Why an assignment isn't surely harmless.
pub(crate) fn harmless(name: &str, value: &Word) -> Result<(), String> {
    let is_pager = matches!(name, "GIT_PAGER" | "PAGER") && matches!(value.exact(), Some("" | "cat"));
    let is_harmless = is_pager || HARMLESS.contains(&name) || name.starts_with("LC_");
    let Some(value) = value.exact() else {
        return Err(format!("the value of {name} isn't known"));
    };
    // A value that names a file is read as one by TZ, TERM and the locales.
    if is_harmless && !value.contains(['/', '\n', '(', '`']) {
        return Ok(());
    }
    Err(format!("setting {name} may change what runs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_with_plain_values_are_harmless() {
        for (name, value) in
            [("LC_ALL", "C.UTF-8"), ("NO_COLOR", "1"), ("TZ", "UTC"), ("CI", ""), ("GIT_PAGER", "cat")]
        {
            assert_eq!(harmless(name, &Word::known(value)), Ok(()), "{name}");
        }
        for (name, value) in [
            ("PATH", "/usr/bin"),
            ("LD_PRELOAD", "x.so"),
            ("GIT_SSH_COMMAND", "x"),
            ("PAGER", "sh"),
            ("BASH_ENV", "x"),
            ("IFS", ","),
            ("RIPGREP_CONFIG_PATH", "x"),
            ("GREP_OPTIONS", "x"),
            ("HAFT_HOME", "x"),
            ("TZ", "/etc/shadow"),
            ("lang", "C"),
        ] {
            assert!(harmless(name, &Word::known(value)).is_err(), "{name}");
        }
        let unknown = Word::Unknown { text: "$X".to_owned(), prefix: String::new(), splits: false };
        assert!(harmless("LANG", &unknown).is_err());
    }

    #[test]
    fn names_are_listed_once_and_in_order() {
        assert!(HARMLESS.is_sorted());
    }
}
