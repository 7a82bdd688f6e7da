//! The command line, defined once: parsing and help come from here, and the flags of a command from its own file.

use crate::command::{
    CheckArgs, DemoArgs, DoctorArgs, ExplainArgs, ImportArgs, LogArgs, McpArgs, NewArgs, PermissionsArgs,
    RulesArgs, RunArgs, SaveToolArgs, SecretArgs, ServeArgs, TestArgs, ToolsArgs, TrustArgs, UndoArgs,
};
use clap::{Args, Parser, Subcommand};
use haft_policy::Mode;
use std::path::PathBuf;

const ABOUT: &str = "The runtime between a model's tool calls and the world";
const CALL_HELP: &str = "Input is one JSON object, or `-` to read it from standard input, or --key value pairs: \
    a key that comes several times is a list, one without a value is true. haft's own flags come before the tool's \
    name or after its JSON.";
const CALL_USAGE: &str =
    "haft call [FLAGS] TOOL '{JSON}' [FLAGS]\n       haft call [FLAGS] TOOL [--KEY VALUE]...";
const EXPLAIN_USAGE: &str =
    "haft explain [FLAGS] TOOL '{JSON}' [FLAGS]\n       haft explain [FLAGS] TOOL [--KEY VALUE]...";
const CALL_STATUS: &str = "Exit status: 0 completed, 1 failed, 2 invalid input, unknown tool or wrong usage, \
    3 denied, 4 timed out, 5 cancelled.";

const SECRET_HELP: &str = "Settings name a secret as \"secret:NAME\" where its value belongs. All of them lie in one encrypted \
    file. Its key lies in a file beside it, unless there was a passphrase in HAFT_VAULT_PASSPHRASE, or from the program \
    that passphraseCommand names under [secrets], when the first was stored.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "haft", version, about = ABOUT, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    /// None: interactive.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Common {
    /// Approval mode: plan, ask, default, accept-edits, auto, yolo, full or headless
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) mode: Option<Mode>,
    /// Answer each question with "allow once"
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Root of the workspace [default: the git root of the current folder, else the folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Session of the workspace, or `new` [default: the one of the command, `cli` for calls]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

impl Common {
    /// Adds flags that stood further right; those win.
    pub(crate) fn and(&mut self, later: Self) {
        self.mode = later.mode.or(self.mode);
        self.yes |= later.yes;
        self.workspace = later.workspace.or(self.workspace.take());
        self.session = later.session.or(self.session.take());
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// One agent run
    Run(RunArgs),
    /// One call through the whole path
    #[command(after_help = CALL_STATUS, override_usage = CALL_USAGE)]
    Call(CallArgs),
    /// What would become of a call, gate by gate; nothing runs
    #[command(override_usage = EXPLAIN_USAGE)]
    Explain(ExplainArgs),
    /// The catalogue
    Tools(ToolsArgs),
    /// Start a new tool
    New(NewArgs),
    /// Make a tool of a script that ran in code mode
    SaveTool(SaveToolArgs),
    /// Check the files of tools
    Check(CheckArgs),
    /// Run a tool's examples
    Test(TestArgs),
    /// Serve the tools to other programs
    Serve(ServeArgs),
    /// What may run, and what was always allowed or denied
    Permissions(PermissionsArgs),
    /// Rule files
    Rules(RulesArgs),
    /// Servers of the Model Context Protocol whose tools are used here
    Mcp(McpArgs),
    /// Take over what another tool was allowed
    Import(ImportArgs),
    /// Mark the workspace as your own
    Trust(TrustArgs),
    /// Keys, tokens and passwords that haft keeps for you
    #[command(after_help = SECRET_HELP)]
    Secret(SecretArgs),
    /// What happened in a session
    Log(LogArgs),
    /// Put files back to how they were before a call
    Undo(UndoArgs),
    /// What works on this machine, and how to fix what doesn't
    Doctor(DoctorArgs),
    /// A real run on a small broken project, with recorded model turns
    Demo(DemoArgs),
}

/// `haft call` and `haft explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) flags: CallFlags,
    /// The tool's name and its input
    #[arg(required = true, trailing_var_arg = true, value_name = "TOOL [INPUT]", long_help = CALL_HELP)]
    pub(crate) words: Vec<String>,
}

/// Flags of `haft call` that may also come after the JSON.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CallFlags {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// haft's own flags after a tool's JSON.
#[derive(Debug, Parser)]
#[command(name = "haft call TOOL JSON", no_binary_name = true, disable_version_flag = true)]
pub(crate) struct LaterFlags {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) call: CallFlags,
}

/// Which settings a rule is written to.
#[derive(Debug, Clone, Copy, Default, Args)]
#[group(id = "place", multiple = false)]
pub(crate) struct RulePlace {
    /// In your settings for all workspaces
    #[arg(long)]
    pub(crate) user: bool,
    /// In the settings that all who work here share, .haft/config.toml
    #[arg(long)]
    pub(crate) project: bool,
    /// In your own settings for this workspace, .haft/config.local.toml
    #[arg(long)]
    pub(crate) local: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use haft_policy::OWN_SWITCHES;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
        LaterFlags::command().debug_assert();
    }

    /// Commands that leave what haft allows and keeps as it is.
    const FOR_ALL: [&str; 19] = [
        "run",
        "call",
        "explain",
        "tools list",
        "tools show",
        "tools search",
        "check",
        "test",
        "serve mcp",
        "permissions list",
        "permissions explain",
        "rules test",
        "mcp list",
        "mcp test",
        "secret list",
        "log",
        "undo",
        "doctor",
        "demo",
    ];

    #[test]
    fn what_is_for_people_only_is_what_the_commands_are() {
        let whole = Cli::command();
        for (name, beside) in &OWN_SWITCHES {
            let command = whole.find_subcommand(name).unwrap_or_else(|| panic!("there is no haft {name}"));
            let has_flag = |command: &clap::Command| {
                let flag = beside.strip_prefix("--");
                command.get_arguments().any(|argument| flag.is_some() && argument.get_long() == flag)
            };
            let is_there = beside.is_empty()
                || command.find_subcommand(beside).is_some()
                || command.get_subcommands().any(has_flag);
            assert!(is_there, "there is no haft {name} {beside}");
        }
        for command in whole.get_subcommands() {
            let name = command.get_name();
            let inner: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            for inner in if inner.is_empty() { vec![""] } else { inner } {
                let is_meant =
                    |beside: &str| beside.is_empty() || beside.starts_with("--") || beside == inner;
                let is_switch =
                    OWN_SWITCHES.iter().any(|(switch, beside)| *switch == name && is_meant(beside));
                let path = format!("{name} {inner}");
                assert_ne!(is_switch, FOR_ALL.contains(&path.trim_end()), "haft {path}");
            }
        }
    }

    #[test]
    fn flags_before_the_tools_name_are_hafts_and_after_it_the_tools() {
        let cli = Cli::try_parse_from([
            "haft", "call", "--json", "--mode", "plan", "x", "--json", "--mode", "a", "--", "-",
        ]);
        let cli = cli.unwrap();
        assert_eq!(cli.common.mode, Some(Mode::Plan));
        let Some(Command::Call(call)) = cli.command else { panic!("no call") };
        assert!(call.flags.json);
        assert_eq!(call.words, ["x", "--json", "--mode", "a", "--", "-"]);
    }

    #[test]
    fn flags_of_explain_may_follow_the_json_and_not_a_key() {
        let parsed = |words: &[&str]| {
            let Some(Command::Explain(mut args)) = Cli::try_parse_from(words).unwrap().command else {
                panic!("no explain")
            };
            args.take_later();
            (args.flags.why_not, args.flags.all, args.call.words)
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let after = parsed(&["haft", "explain", "x", "{}", "--why-not", "--json", "--all"]);
        assert_eq!(after, (true, true, words(&["x", "{}", "--json"])));
        let before = parsed(&["haft", "explain", "--why-not", "x", "{}"]);
        assert_eq!(before, (true, false, words(&["x", "{}"])));
        let keys = parsed(&["haft", "explain", "x", "--all", "--why-not"]);
        assert_eq!(keys, (false, false, words(&["x", "--all", "--why-not"])));
    }

    #[test]
    fn what_is_to_be_typed_stands_in_help_as_it_is_typed() {
        fn all(command: &clap::Command, told: &mut Vec<String>) {
            told.extend(command.get_about().map(ToString::to_string));
            told.extend(
                command.get_arguments().filter_map(|argument| Some(argument.get_help()?.to_string())),
            );
            command.get_subcommands().for_each(|inner| all(inner, told));
        }
        let mut told = Vec::new();
        all(&Cli::command(), &mut told);
        for text in &told {
            // A word that a backquote cuts in two can't be typed.
            let pieces: Vec<&str> = text.split('`').collect();
            let is_cut = |c: char| c.is_alphanumeric() || "_${}-".contains(c);
            // Every second piece stands between two of them.
            let is_whole = pieces.iter().enumerate().step_by(2).all(|(at, piece)| {
                let follows = at > 0 && piece.starts_with(is_cut);
                let goes_on = at + 1 < pieces.len() && piece.ends_with(is_cut);
                !follows && !goes_on
            });
            assert!(is_whole, "{text}");
        }
        assert!(told.iter().any(|text| text.contains("[default: mcp__NAME__]")));
        assert!(told.iter().any(|text| text.contains("Bearer ${GITHUB_TOKEN}")));
    }

    #[test]
    fn unknown_flags_and_modes_are_wrong_usage() {
        let wrong = [
            vec!["haft", "permissions", "allow", "--user", "--local", "x"],
            vec!["haft", "permissions", "revoke"],
            vec!["haft", "serve", "mcp", "--no-token"],
            vec!["haft", "serve", "mcp", "--http", "nowhere"],
            vec!["haft", "serve", "mcp", "--http", "1", "--no-token", "--new-token"],
            vec!["haft", "permissions", "revoke", "x", "--all"],
            vec!["haft", "rules"],
            vec!["haft", "import"],
            vec!["haft", "secret"],
            vec!["haft", "secret", "set"],
            vec!["haft", "secret", "rekey"],
            vec!["haft", "secret", "rekey", "--passphrase", "--key-file"],
            vec!["haft", "mcp", "add", "x"],
            vec!["haft", "mcp", "approve"],
            vec!["haft", "mcp", "approve", "x", "--all"],
            vec!["haft", "call", "--jsno", "x"],
            vec!["haft", "--mode", "slow", "tools"],
            vec!["haft", "tools", "--bogus"],
            vec!["haft", "call"],
            vec!["haft", "new", "tool", "x"],
        ];
        for words in wrong {
            let error = Cli::try_parse_from(&words).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{words:?}");
        }
    }
}
