//! `haft secret list`: what is stored, by name.

use super::used_by;
use crate::{app::App, command::run::conversation::date, print, status::Status, terminal::clean};
use haft_core::{Credential, Credentials, StoredSecret};
use haft_os::SealedWith;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::UNIX_EPOCH,
};

/// Prints names, when they changed and what names them; and what is named and isn't stored.
///
/// # Errors
/// What is stored can't be opened.
pub(super) fn list(app: &App, json: bool) -> anyhow::Result<Status> {
    let vault = &app.keys.vault;
    let stored = vault.list()?;
    let at = vault.path().to_string_lossy().into_owned();
    let sealed = vault.sealed_with()?;
    let missing = missing(app, &stored);
    if json {
        let secrets: Vec<Value> = stored.iter().map(|secret| object(app, secret)).collect();
        let missing: Vec<Value> =
            missing.iter().map(|(name, uses)| json!({"name": name, "usedBy": uses})).collect();
        print::json(&json!({
            "file": at,
            "sealedWith": sealed.as_ref().map(kind),
            "secrets": secrets,
            "missing": missing,
        }))?;
        return Ok(Status::Completed);
    }
    match &sealed {
        None => print::line("nothing is stored; haft secret set NAME does that"),
        Some(sealed) => {
            let with = match sealed {
                SealedWith::KeyFile(key) => format!("the key {}", key.display()),
                SealedWith::Passphrase => "a passphrase".to_owned(),
            };
            print::line(&clean(&format!("{} in {at}, sealed with {with}", stored.len())));
        }
    }
    let rows: Vec<Vec<String>> = stored
        .iter()
        .map(|secret| {
            let uses = used_by(app, &secret.name);
            let used = if uses.is_empty() {
                "named by no setting that holds here".to_owned()
            } else {
                uses.join(", ")
            };
            vec![clean(secret.name.as_str()), date(secret.changed), clean(&used)]
        })
        .collect();
    if !rows.is_empty() {
        print::line(&print::table(&rows));
    }
    for (name, uses) in &missing {
        print::line(&clean(&format!("not stored: {name}, which is named by: {}", uses.join(", "))));
    }
    Ok(Status::Completed)
}

fn object(app: &App, secret: &StoredSecret) -> Value {
    let changed = secret.changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    json!({"name": secret.name.as_str(), "changedAt": changed, "usedBy": used_by(app, &secret.name)})
}

fn kind(sealed: &SealedWith) -> &'static str {
    match sealed {
        SealedWith::KeyFile(_) => "key-file",
        SealedWith::Passphrase => "passphrase",
    }
}

/// What settings name and isn't there, each with who names it.
fn missing(app: &App, stored: &[StoredSecret]) -> BTreeMap<String, Vec<String>> {
    let known: BTreeSet<&str> = stored.iter().map(|secret| secret.name.as_str()).collect();
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for used in app.uses().into_iter().filter(|used| !used.is_optional) {
        if let Credential::Stored(name) = &used.credential
            && !known.contains(name.as_str())
        {
            missing.entry(name.to_string()).or_default().push(used.by);
        }
    }
    missing
}
