//! Keys of models and stored secrets: by their names, never their values.

use super::finding::Finding;
use crate::app::{App, passphrase};
use haft_core::{Credential, Failure, StoredSecret, shell_word};
use haft_os::SealedWith;
use std::collections::BTreeSet;

/// Variables that hold keys of model providers, besides those that are taken by themselves.
const MORE_KEYS: [&str; 1] = ["OPENROUTER_API_KEY"];

/// Names only: a value is never shown by this command.
pub(super) fn model_keys(app: &App, stored: &[StoredSecret]) -> Finding {
    let of_models = app.model_uses().into_iter().map(|used| used.credential);
    let more = MORE_KEYS.into_iter().map(|name| Credential::Variable(name.to_owned()));
    let all: BTreeSet<Credential> = of_models.chain(more).collect();
    let is_there = |credential: &&Credential| match credential {
        Credential::Variable(name) => app.environment.get(name).is_some_and(|value| !value.is_empty()),
        Credential::Stored(name) => stored.iter().any(|known| known.name == *name),
    };
    let shown = |credential: &Credential| match credential {
        Credential::Variable(name) => name.clone(),
        Credential::Stored(_) => credential.to_string(),
    };
    let present: Vec<String> = all.iter().filter(is_there).map(shown).collect();
    if present.is_empty() {
        Finding::warning(
            "model keys",
            "none is stored or in the environment; `haft run` needs one, all else works without",
            "haft secret set model:anthropic (or model:openai), or export ANTHROPIC_API_KEY or OPENAI_API_KEY, or name \
             another with apiKey in [models.NAME]",
        )
    } else {
        Finding::ok("model keys", present.join(", "))
    }
}

/// How many there are, what seals them, and whether anybody else gets at them.
pub(super) fn secrets(app: &App, stored: &Result<Vec<StoredSecret>, Failure>) -> Vec<Finding> {
    const NAME: &str = "stored secrets";
    let vault = &app.keys.vault;
    let at = vault.path().to_string_lossy().into_owned();
    let mut findings = Vec::new();
    let sealed = vault.sealed_with().ok().flatten();
    findings.push(match (stored, &sealed) {
        (Err(failure), _) => Finding::fault(
            NAME,
            format!("none can be used, and none of them is masked: {}", failure.text),
            "give the passphrase, or put the folder back from a backup, or move it away and set them anew",
        ),
        (Ok(_), None) => Finding::ok(NAME, "none; haft secret set NAME stores one"),
        (Ok(all), Some(sealed)) => {
            let with = match sealed {
                SealedWith::KeyFile(_) => "the key beside it",
                SealedWith::Passphrase => "a passphrase",
            };
            Finding::ok(NAME, format!("{} in {at}, sealed with {with}", all.len()))
        }
    });
    let has_passphrase = app.environment.get(passphrase::VARIABLE).is_some_and(|value| !value.is_empty())
        || app.settings.passphrase_command.is_some();
    if has_passphrase && matches!(sealed, Some(SealedWith::KeyFile(_))) {
        findings.push(Finding::warning(
            NAME,
            "a passphrase is given, and isn't used: the key lies in a file beside them",
            "haft secret rekey --passphrase",
        ));
    }
    let open: Vec<String> = vault.exposed().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    if !open.is_empty() {
        findings.push(Finding::fault(
            NAME,
            format!("other users of this machine may get at {}", open.join(", ")),
            format!("chmod go= {}", open.iter().map(|path| shell_word(path)).collect::<Vec<_>>().join(" ")),
        ));
    }
    findings
}
