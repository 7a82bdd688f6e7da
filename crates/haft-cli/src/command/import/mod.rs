//! `haft import claude-code`: permission rules and hooks taken over, shown as understood before anything is
//! written.

mod found;
mod shown;

use super::settings_file::SettingsFile;
use crate::{app::App, print, status::Status, terminal::clean, trouble::Trouble};
use haft_runtime::settings::{Added, Imported, Place, Settings, SettingsSource};
use serde_json::{Value, json};
use std::path::PathBuf;

/// `haft import`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    pub(crate) what: ImportCommand,
}

/// From which tool.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum ImportCommand {
    /// Permission rules and hooks of Claude Code; only shows what they come to, unless --write
    ClaudeCode {
        /// Write it to the settings of the same scope
        #[arg(long)]
        write: bool,
        /// A settings file, or a folder that holds one [default: this workspace's and your own]
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Servers that other tools were set up with; only shows what they come to, unless --write
    Mcp {
        /// Write them to your own settings; those of this workspace to yours for it
        #[arg(long)]
        write: bool,
        /// A list of servers [default: where other tools keep theirs]
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The flags of the command.
pub(super) struct ImportFlags {
    /// Write it.
    pub(super) write: bool,
    /// What to read in place of the usual files.
    pub(super) from: Option<PathBuf>,
    /// Print JSON.
    pub(super) json: bool,
}

/// One file, what it comes to, and where that goes.
struct Plan {
    source: SettingsSource,
    imported: Imported,
    file: SettingsFile,
    added: Added,
}

/// Shows what the settings of Claude Code come to, and writes it where asked.
///
/// # Errors
/// A file can't be read or written, or is no settings file.
pub(super) fn claude_code(app: &App, flags: &ImportFlags) -> anyhow::Result<Status> {
    let sources = found::sources(app, flags.from.as_deref())?;
    let mut plans = Vec::new();
    // All are read before anything is written.
    for source in sources {
        let imported = Imported::claude_code(&source, &app.place).map_err(|error| {
            Trouble::failed(error.to_string(), "mend the file, or name another with --from PATH")
        })?;
        let file = SettingsFile::of(app, source.scope)?;
        let added = file.preview(&imported.additions())?;
        plans.push(Plan { source, imported, file, added });
    }
    if flags.write {
        for plan in &mut plans {
            plan.added = plan.file.add(&plan.imported.additions())?;
            plan.check_written(app)?;
        }
    }
    if flags.json {
        let files: Vec<Value> = plans.iter().map(shown::object).collect();
        print::json(&json!({"written": flags.write, "files": files}))?;
        return Ok(Status::Completed);
    }
    if plans.is_empty() {
        print::line("nothing to import: neither this workspace nor your home has settings of Claude Code");
        return Ok(Status::Completed);
    }
    for plan in &plans {
        print::line(&shown::plan(plan));
    }
    print::line("");
    if flags.write {
        written(app, &plans)?;
    } else {
        print::line("nothing was written; this writes it: haft import claude-code --write");
    }
    let loud: usize = plans.iter().map(shown::loud).sum();
    if loud > 0 {
        print::line(&format!(
            "look at the {loud} marked with ! first: they may protect less, or cover more, than before"
        ));
    }
    Ok(Status::Completed)
}

impl Plan {
    /// What the file says now, read as settings are read.
    fn read_back(&self, app: &App) -> anyhow::Result<Settings> {
        let text = self.file.text()?.unwrap_or_default();
        let source = SettingsSource::new(self.source.scope, self.file.shown.clone(), text);
        let place = Place { trusted: true, ..app.place.clone() };
        Ok(Settings::load(&[source], &place))
    }

    /// All that should be in the file is in it.
    fn check_written(&self, app: &App) -> anyhow::Result<()> {
        let now = self.read_back(app)?;
        let additions = self.imported.additions();
        let has = |rule: &(haft_policy::Action, String)| {
            now.rules.iter().any(|known| known.action == rule.0 && known.text == rule.1)
        };
        let lost = additions.rules.iter().find(|rule| !has(rule));
        if let Some((action, rule)) = lost {
            let what =
                format!("{} doesn't hold {} {rule} after it was written", self.file.shown, action.name());
            return Err(Trouble::failed(what, "look at the file: somebody else may have changed it").into());
        }
        Ok(())
    }
}

/// What was written, as it was read back.
fn written(app: &App, plans: &[Plan]) -> anyhow::Result<()> {
    let mut waits = false;
    for plan in plans {
        let new = &plan.added.new;
        if new.is_empty() {
            print::line(&clean(&format!("{}: all of it was there already", plan.file.shown)));
            continue;
        }
        print::line(&clean(&format!("written to {}, and read back:", plan.file.shown)));
        let now = plan.read_back(app)?;
        let rules = now.rules.iter().filter(|rule| {
            new.rules.iter().any(|(action, text)| *action == rule.action && *text == rule.text)
        });
        let mut rows: Vec<Vec<String>> = rules
            .map(|rule| {
                let source = rule.source.clone().unwrap_or_default();
                vec![rule.action.name().to_owned(), rule.text.clone(), source]
            })
            .collect();
        if new.mode.is_some() {
            let mode = now.mode.as_ref();
            rows.extend(
                mode.map(|mode| vec!["mode".to_owned(), mode.value.to_string(), mode.origin.to_string()]),
            );
        }
        let roots = now.extra_roots.iter().filter(|set| new.roots.contains(&set.value.written));
        rows.extend(
            roots.map(|set| vec!["folder".to_owned(), set.value.written.clone(), set.origin.to_string()]),
        );
        rows.extend(new.hooks.iter().map(shown::hook_row));
        print::line(&format!("  {}", clean(&print::table(&rows)).replace('\n', "\n  ")));
        let loosens = new.mode.is_some()
            || !new.roots.is_empty()
            || !new.hooks.is_empty()
            || new.rules.iter().any(|(action, _)| *action == haft_policy::Action::Allow);
        // New hooks of a trusted workspace count once they were seen.
        let is_held = !app.place.trusted && loosens || !new.hooks.is_empty();
        waits |= plan.source.scope.is_in_workspace() && is_held;
    }
    if waits {
        print::line(
            "allow rules, mode, folders and hooks of the workspace's own files count only after `haft trust`",
        );
    }
    Ok(())
}
