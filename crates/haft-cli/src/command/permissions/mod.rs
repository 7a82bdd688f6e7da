//! `haft permissions`: what may run, where that is written, and changing it.

mod change;
mod list;
mod words;

use crate::{
    app::{App, pins},
    cli::RulePlace,
    print,
    status::Status,
    terminal::clean,
    trouble::Trouble,
};
use haft_policy::{Action, Rule, RuleError, RuleOrigin};
use serde_json::json;

pub(super) use words::covers;

/// `haft permissions`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PermissionsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<PermissionsCommand>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with permissions.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum PermissionsCommand {
    /// The mode, the rules with where they stand, and what was always allowed, denied or pinned
    List,
    /// Always allow by a rule, in this workspace
    #[command(alias = "add")]
    Allow(RuleArgs),
    /// Always ask for what a rule covers; without a flag in your own settings for this workspace
    Ask(RuleArgs),
    /// Always deny by a rule, in this workspace
    Deny(RuleArgs),
    /// Take an "always" back
    Revoke {
        /// The rule as it is listed
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        rule: Option<String>,
        /// Everything that was always allowed or denied here
        #[arg(long)]
        all: bool,
    },
    /// What a rule covers, in words, and which tools of this workspace
    Explain {
        /// The rule, for example `edit(./src/**)`
        rule: String,
    },
    /// Let a tool run as it is now, without its question at first use
    Pin {
        /// The tool's name
        tool: String,
    },
}

/// A rule, and where it is written.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RuleArgs {
    /// The rule, for example `bash(cargo test *)`
    pub(crate) rule: String,
    #[command(flatten)]
    pub(crate) place: RulePlace,
}

/// Lists, explains or changes.
///
/// # Errors
/// The rule is none, or a file can't be written.
pub(super) fn permissions(app: &App, args: &PermissionsArgs) -> anyhow::Result<Status> {
    match args.command.as_ref().unwrap_or(&PermissionsCommand::List) {
        PermissionsCommand::List => list::list(app, args.json),
        PermissionsCommand::Allow(rule) => change::add(app, Action::Allow, rule, args.json),
        PermissionsCommand::Ask(rule) => change::add(app, Action::Ask, rule, args.json),
        PermissionsCommand::Deny(rule) => change::add(app, Action::Deny, rule, args.json),
        PermissionsCommand::Revoke { rule: Some(rule), .. } => change::revoke(app, rule, args.json),
        PermissionsCommand::Revoke { rule: None, .. } => change::revoke_all(app, args.json),
        PermissionsCommand::Explain { rule } => explain(app, rule, args.json),
        PermissionsCommand::Pin { tool } => {
            let said = pins::pin(app, tool)?;
            if args.json {
                print::json(&json!({"pinned": tool, "said": said}))?;
            } else {
                print::line(&clean(&said));
            }
            Ok(Status::Completed)
        }
    }
}

/// A rule as it is understood, or what to write in its place. `command` is the subcommand that was typed.
fn parsed(app: &App, action: Action, command: &str, text: &str) -> Result<Rule, Trouble> {
    Rule::parse(action, text, &origin(app))
        .map_err(|error| Trouble::usage(error.to_string(), instead(command, &error)))
}

fn instead(command: &str, error: &RuleError) -> String {
    match error {
        RuleError::Unclosed(text) => format!("write it as: haft permissions {command} '{text})'"),
        _ => format!("write it as in: haft permissions {command} 'bash(cargo test *)'"),
    }
}

fn origin(app: &App) -> RuleOrigin {
    app.place.rule_origin(None)
}

fn explain(app: &App, text: &str, json: bool) -> anyhow::Result<Status> {
    let rule = parsed(app, Action::Allow, "explain", text)?;
    let covered = covers(&rule.text);
    let tools = words::tools_of(app, &rule.text)?;
    let beyond = words::beyond(&rule.text);
    if json {
        print::json(&json!({"rule": rule.text, "covers": covered, "tools": tools, "beyond": beyond}))?;
        return Ok(Status::Completed);
    }
    print::line(&clean(&format!("{} covers {covered}", rule.text)));
    if tools.is_empty() {
        print::line("  no tool of this workspace is meant by its name");
    } else {
        print::line(&clean(&format!("  tools of this workspace: {}", tools.join(", "))));
    }
    if let Some(beyond) = beyond {
        print::line(&format!("  {beyond}"));
    }
    print::line("  under allow such calls run, under ask they are asked, under deny they never run;");
    print::line("  deny beats ask beats allow, and no allow rule beats a guard");
    Ok(Status::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_rule_is_mended_for_the_command_that_was_typed() {
        let unclosed = Rule::parse(Action::Deny, "bash(ls", &RuleOrigin::default()).unwrap_err();
        let other = Rule::parse(Action::Deny, "risk:high", &RuleOrigin::default()).unwrap_err();
        for command in ["allow", "ask", "deny", "explain"] {
            let said = instead(command, &unclosed);
            assert_eq!(said, format!("write it as: haft permissions {command} 'bash(ls)'"));
            assert!(instead(command, &other).contains(&format!("permissions {command} 'bash(")));
        }
    }
}
