//! Programs that run another one, with the options that may stand before it.

/// One such program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Short options without a value.
    pub(super) flags: &'static str,
    /// Short options with a value, glued or as the next word.
    pub(super) valued: &'static str,
    /// Short options whose value can only be glued.
    pub(super) glued: &'static str,
    /// Long options without a value, or with one that can only stand behind `=`.
    pub(super) long: &'static [&'static str],
    /// Long options with a value behind `=` or as the next word.
    pub(super) long_valued: &'static [&'static str],
    /// Words of its own before the command.
    pub(super) operands: usize,
    pub(super) manner: Manner,
    /// A short option whose value is a shell's text.
    pub(super) text: Option<char>,
    /// Whether the command runs in another folder, or on another machine.
    pub(super) is_elsewhere: bool,
}

/// How the command stands in the wrapper's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// The words behind the options and operands.
    Words,
    /// The same, with `NAME=value` before them.
    Assignments,
    /// The same, and more words follow that nobody knows.
    Open,
    /// All words that are left, joined, are a shell's text.
    Joined,
    /// Only the text of an option.
    Text,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    valued: "",
    glued: "",
    long: &[],
    long_valued: &[],
    operands: 0,
    manner: Manner::Words,
    text: None,
    is_elsewhere: false,
};

/// Every wrapper whose options follow the common pattern. Options that are left out make a line unclear:
/// among them are those that run a program of their own, change the folder, or mean different things in
/// different versions.
pub(super) static WRAPPERS: &[Wrapper] = &[
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "busybox", ..PLAIN },
    Wrapper { name: "caffeinate", flags: "dimsu", valued: "tw", ..PLAIN },
    Wrapper { name: "catchsegv", ..PLAIN },
    Wrapper { name: "chroot", operands: 1, is_elsewhere: true, ..PLAIN },
    Wrapper { name: "chrt", flags: "abfiormpv", operands: 1, ..PLAIN },
    Wrapper { name: "command", flags: "p", ..PLAIN },
    Wrapper { name: "doas", flags: "n", valued: "u", ..PLAIN },
    Wrapper {
        name: "env",
        flags: "iv0",
        valued: "u",
        long: &["ignore-environment", "null", "debug"],
        long_valued: &["unset"],
        manner: Manner::Assignments,
        ..PLAIN
    },
    Wrapper { name: "exec", flags: "cl", valued: "a", ..PLAIN },
    Wrapper {
        name: "flock",
        flags: "sexnuoFv",
        valued: "wE",
        long: &["shared", "exclusive", "nonblock", "unlock", "close", "no-fork", "verbose"],
        long_valued: &["wait", "timeout", "conflict-exit-code"],
        operands: 1,
        text: Some('c'),
        ..PLAIN
    },
    Wrapper { name: "gtimeout", flags: "vf", valued: "ks", operands: 1, ..PLAIN },
    Wrapper {
        name: "ionice",
        flags: "t",
        valued: "cn",
        long: &["ignore"],
        long_valued: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper { name: "ltrace", flags: "CfirStTL", valued: "aenopsux", ..PLAIN },
    Wrapper { name: "nice", valued: "n", long_valued: &["adjustment"], ..PLAIN },
    Wrapper { name: "nocache", ..PLAIN },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "nsenter", is_elsewhere: true, ..PLAIN },
    Wrapper { name: "parallel", flags: "k0tX", valued: "jnNL", manner: Manner::Open, ..PLAIN },
    Wrapper { name: "pkexec", long_valued: &["user"], is_elsewhere: true, ..PLAIN },
    Wrapper {
        name: "runuser",
        flags: "mp",
        valued: "gGs",
        manner: Manner::Text,
        text: Some('c'),
        is_elsewhere: true,
        ..PLAIN
    },
    Wrapper { name: "script", flags: "aqefk", manner: Manner::Text, text: Some('c'), ..PLAIN },
    Wrapper { name: "setarch", flags: "RvZ", operands: 1, ..PLAIN },
    Wrapper { name: "setsid", flags: "cfw", long: &["ctty", "fork", "wait"], ..PLAIN },
    Wrapper {
        name: "ssh",
        flags: "46AaCfGgKkMNnqsTtVvXxYy",
        valued: "BbcDeEiJLlmpRWw",
        operands: 1,
        manner: Manner::Joined,
        is_elsewhere: true,
        ..PLAIN
    },
    Wrapper { name: "stdbuf", valued: "ioe", long_valued: &["input", "output", "error"], ..PLAIN },
    Wrapper { name: "strace", flags: "CcdfFhiqrtTvVxyz", valued: "abeIOPsSuX", ..PLAIN },
    Wrapper {
        name: "su",
        flags: "mpl",
        valued: "gGs",
        manner: Manner::Text,
        text: Some('c'),
        is_elsewhere: true,
        ..PLAIN
    },
    Wrapper {
        name: "sudo",
        flags: "bEHnPSkN",
        valued: "ugpCTrth",
        long: &["background", "preserve-env", "set-home", "non-interactive", "preserve-groups", "stdin"],
        long_valued: &["user", "group", "prompt", "host"],
        manner: Manner::Assignments,
        ..PLAIN
    },
    Wrapper { name: "systemd-run", flags: "qtPGd", is_elsewhere: true, ..PLAIN },
    Wrapper { name: "taskset", flags: "ac", operands: 1, ..PLAIN },
    Wrapper { name: "time", flags: "pv", manner: Manner::Assignments, ..PLAIN },
    Wrapper {
        name: "timeout",
        flags: "vf",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "toybox", ..PLAIN },
    Wrapper { name: "unbuffer", flags: "p", ..PLAIN },
    Wrapper { name: "unshare", flags: "mnpuUifrCTc", is_elsewhere: true, ..PLAIN },
    Wrapper {
        name: "watch",
        flags: "bcdegptCw",
        valued: "nq",
        long: &["beep", "color", "errexit", "chgexit", "no-title", "precise", "no-wrap"],
        long_valued: &["interval"],
        manner: Manner::Joined,
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0oprtx",
        valued: "adEILnPRSsJ",
        glued: "eil",
        long: &[
            "null",
            "interactive",
            "no-run-if-empty",
            "verbose",
            "exit",
            "open-tty",
            "replace",
            "max-lines",
            "eof",
        ],
        long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars", "process-slot-var"],
        manner: Manner::Open,
        ..PLAIN
    },
];

/// Shells whose text is read, and whether they take all of Bash. Others have rules of their own.
pub(super) const SHELLS: [(&str, bool); 6] =
    [("ash", false), ("bash", true), ("dash", false), ("ksh", false), ("sh", false), ("zsh", false)];

/// Of these, those whose text isn't read as they do.
pub(super) const OTHER_SHELLS: [&str; 2] = ["ksh", "zsh"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_no_option_stands_twice() {
        for pair in WRAPPERS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{}", pair[1].name);
        }
        for row in WRAPPERS {
            let mut options: Vec<char> = row
                .flags
                .chars()
                .chain(row.valued.chars())
                .chain(row.glued.chars())
                .chain(row.text)
                .collect();
            let count = options.len();
            options.sort_unstable();
            options.dedup();
            assert_eq!(options.len(), count, "{}", row.name);
        }
    }
}
