//! `haft secret`: credentials that are stored for haft. Values go in, and never out again by this command.

mod list;
mod typed;

use crate::{app::App, print, status::Status, terminal::clean, trouble::Trouble};
use haft_core::{Credential, Credentials, Secret, SecretName};
use haft_os::NewKey;
use serde_json::json;
use typed::Asking;

/// A shorter value is found in the middle of words, and so isn't masked.
const MASKED_MIN_BYTES: usize = 6;
/// A shorter passphrase is found by trying.
const PASSPHRASE_MIN_CHARS: usize = 8;

/// `haft secret`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SecretArgs {
    #[command(subcommand)]
    pub(crate) command: SecretCommand,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with stored secrets.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a value: asked for without showing it, or from standard input where that is no terminal
    Set {
        /// Its name, for example `work`, or whom it is for first: `model:anthropic`
        name: String,
        /// Only caught, to say why a value isn't taken here
        #[arg(hide = true)]
        rest: Vec<String>,
    },
    /// What is stored: names, when they changed, what names them; never a value
    List,
    /// Take a value away
    Remove {
        /// Its name as it is listed
        name: String,
    },
    /// Seal all that is stored with another key
    Rekey(RekeyArgs),
}

/// `haft secret rekey`.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(id = "key", required = true, multiple = false)]
pub(crate) struct RekeyArgs {
    /// A passphrase, asked for without showing it, or from standard input where that is no terminal
    #[arg(long)]
    pub(crate) passphrase: bool,
    /// A new key in a file beside them
    #[arg(long)]
    pub(crate) key_file: bool,
}

/// Stores, lists, removes, or seals anew.
///
/// # Errors
/// A name or a value that is none; what is stored can't be opened or written.
pub(super) fn secret(app: &App, args: &SecretArgs) -> anyhow::Result<Status> {
    match &args.command {
        SecretCommand::Set { name, rest } => set(app, name, rest, args.json),
        SecretCommand::List => list::list(app, args.json),
        SecretCommand::Remove { name } => remove(app, name, args.json),
        SecretCommand::Rekey(key) => {
            let with = if key.key_file { NewKey::File } else { NewKey::Passphrase(passphrase()?) };
            rekey(app, &with, args.json)
        }
    }
}

fn set(app: &App, name: &str, rest: &[String], json: bool) -> anyhow::Result<Status> {
    if !rest.is_empty() {
        let what =
            "a value isn't taken from the command line: other programs see it there, and the shell keeps it";
        let fix = "run `haft secret set NAME` and type it, or pipe it in; count the one you wrote as seen by others";
        return Err(Trouble::usage(what, fix).into());
    }
    let name = named(name)?;
    let value = Asking::new().value(&format!("The value of {name} (it isn't shown): "))?;
    app.keys.vault.put(&name, &value)?;
    let length = value.reveal().len();
    let at = app.keys.vault.path().to_string_lossy().into_owned();
    if json {
        print::json(&json!({"stored": name.as_str(), "bytes": length, "file": at}))?;
    } else {
        print::line(&clean(&format!("stored {name} ({length} bytes) in {at}")));
        let used = used_by(app, &name);
        if used.is_empty() {
            print::line(&clean(&format!("  settings name it as \"secret:{name}\"")));
        } else {
            print::line(&clean(&format!("  used by: {}", used.join(", "))));
        }
    }
    for doubt in doubts(&value) {
        print::note(doubt);
    }
    Ok(Status::Completed)
}

/// What is odd about a value, though it may be right.
fn doubts(value: &Secret) -> Vec<&'static str> {
    let value = value.reveal();
    let mut doubts = Vec::new();
    if value.len() < MASKED_MIN_BYTES {
        doubts.push("it is so short that it isn't masked where it stands in a text");
    }
    if value.trim() != value {
        doubts.push("it begins or ends with a blank or an empty line; set it again if that is no part of it");
    }
    doubts
}

fn remove(app: &App, name: &str, json: bool) -> anyhow::Result<Status> {
    let name = named(name)?;
    if !app.keys.vault.remove(&name)? {
        let what = format!("no secret {name} is stored");
        return Err(Trouble::usage(what, "run `haft secret list` and name one as it is listed").into());
    }
    let used = used_by(app, &name);
    if json {
        print::json(&json!({"removed": name.as_str(), "usedBy": used}))?;
        return Ok(Status::Completed);
    }
    print::line(&clean(&format!("removed {name}")));
    if !used.is_empty() {
        print::line(&clean(&format!("  it is missing now for: {}", used.join(", "))));
    }
    Ok(Status::Completed)
}

fn rekey(app: &App, with: &NewKey, json: bool) -> anyhow::Result<Status> {
    app.keys.vault.rekey(with)?;
    let (kind, text) = match with {
        NewKey::File => ("key-file", "sealed with a new key in a file beside it"),
        NewKey::Passphrase(_) => (
            "passphrase",
            "sealed with the passphrase: from now on HAFT_VAULT_PASSPHRASE, or the program of passphraseCommand under \
             [secrets], has to give it",
        ),
    };
    let at = app.keys.vault.path().to_string_lossy().into_owned();
    if json {
        print::json(&json!({"file": at, "sealedWith": kind}))?;
    } else {
        print::line(&clean(&format!("{at} is {text}")));
    }
    Ok(Status::Completed)
}

/// A new passphrase; at a terminal typed twice.
fn passphrase() -> anyhow::Result<Secret> {
    let asking = Asking::new();
    let first = asking.value("The new passphrase (it isn't shown): ")?;
    if first.line()?.chars().count() < PASSPHRASE_MIN_CHARS {
        let what = format!("a passphrase of less than {PASSPHRASE_MIN_CHARS} characters is found by trying");
        return Err(Trouble::usage(what, "take a longer one, for example of several words").into());
    }
    if asking.is_typed() && asking.value("The same again: ")? != first {
        let what = "the two weren't the same; nothing was changed";
        return Err(Trouble::usage(what, "run it again").into());
    }
    Ok(first)
}

fn named(text: &str) -> Result<SecretName, Trouble> {
    SecretName::parse(text).map_err(|error| Trouble {
        what: error.to_string(),
        fix: None,
        status: Status::Usage,
    })
}

/// What names a secret in the settings that hold here.
fn used_by(app: &App, name: &SecretName) -> Vec<String> {
    let stored = Credential::Stored(name.clone());
    app.uses().into_iter().filter(|used| used.credential == stored).map(|used| used.by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_about_a_value_is_said() {
        for (value, count) in [("hunter2-hunter2", 0), ("short", 1), (" hunter2", 1), ("a\n", 2)] {
            assert_eq!(doubts(&Secret::new(value)).len(), count, "{value:?}");
        }
    }

    #[test]
    fn a_wrong_name_is_wrong_usage() {
        assert_eq!(named("a/b").unwrap_err().status, Status::Usage);
    }
}
