//! Credentials that settings refer to: variables haft was started with, and what is stored.

use super::{App, passphrase};
use haft_core::{Credential, Credentials, Failure, FailureKind, Secret, SecretName};
use haft_os::{Environment, OsVault};
use haft_runtime::{Problem, hooks::Handler, settings::Settings};
use std::{path::Path, sync::Arc};

/// Where stored credentials lie, beneath the state folder.
pub(super) const FOLDER: &str = "vault";
/// The variables that usually hold the keys of model providers, each with the name of a stored one in its place.
pub(crate) const MODEL_KEYS: [(&str, &str); 2] =
    [("ANTHROPIC_API_KEY", "model:anthropic"), ("OPENAI_API_KEY", "model:openai")];

/// Looks credentials up. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Keys {
    environment: Environment,
    /// What is stored.
    pub(crate) vault: Arc<OsVault>,
}

/// One place that names a credential.
pub(crate) struct Use {
    /// Where its value is.
    pub(crate) credential: Credential,
    /// What it is for.
    pub(crate) by: String,
    /// Whether it is only taken where it is there.
    pub(crate) is_optional: bool,
}

impl Use {
    /// Of what a setting names.
    fn set(credential: &Credential, by: String) -> Self {
        Self { credential: credential.clone(), by, is_optional: false }
    }
}

impl Keys {
    /// Of the user whose state folder this is; nothing is read yet.
    pub(crate) fn new(environment: &Environment, state: &Path, settings: &Settings) -> Self {
        let command = settings.passphrase_command.as_ref().map(|set| set.value.clone());
        let source = passphrase::source(environment.clone(), command);
        Self { environment: environment.clone(), vault: Arc::new(OsVault::new(state.join(FOLDER), source)) }
    }

    /// The value.
    ///
    /// # Errors
    /// Not found where it isn't there; unavailable where what is stored can't be opened.
    pub(crate) fn find(&self, credential: &Credential) -> Result<Secret, Failure> {
        let found = match credential {
            Credential::Variable(name) => {
                self.environment.get(name).filter(|value| !value.is_empty()).map(Secret::new)
            }
            Credential::Stored(name) => self.vault.get(name)?,
        };
        found.ok_or_else(|| credential.missing())
    }
}

impl App {
    /// Everything that names a credential.
    pub(crate) fn uses(&self) -> Vec<Use> {
        let mut uses = self.model_uses();
        for (tool, setting) in &self.settings.tools {
            for (name, value) in &setting.env {
                uses.push(Use::set(&value.value, format!("variable {name} of {tool}")));
            }
            for header in &setting.headers {
                let by = format!("header {} of {tool} for {}", header.name, header.host);
                uses.push(Use::set(&header.value, by));
            }
        }
        for hook in &self.settings.hooks {
            if let Handler::Http(endpoint) = &hook.handler {
                let by = |name: &String| format!("header {name} of the hook {}", hook.name);
                uses.extend(endpoint.headers.iter().map(|(name, credential)| Use::set(credential, by(name))));
            }
        }
        for (server, setting) in self.mcp_startable() {
            for (kind, name, credential) in setting.credentials() {
                uses.push(Use::set(&credential, format!("{kind} {name} of the server {server}")));
            }
        }
        for (name, value) in &self.settings.set_env {
            uses.push(Use::set(&value.value, format!("variable {name} of commands")));
        }
        uses
    }

    /// What names the keys of models.
    pub(crate) fn model_uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for (name, model) in &self.settings.models {
            uses.extend(model.api_key.as_ref().map(|key| Use::set(key, format!("model {name}"))));
        }
        for (variable, stored) in MODEL_KEYS {
            let stored = SecretName::parse(stored).ok().map(Credential::Stored);
            for credential in stored.into_iter().chain([Credential::Variable(variable.to_owned())]) {
                let by = format!("models of {}", variable.trim_end_matches("_API_KEY").to_ascii_lowercase());
                uses.push(Use { credential, by, is_optional: true });
            }
        }
        uses
    }

    /// What settings name and isn't stored, or can't be opened.
    pub(super) fn credential_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for used in self.uses().iter().filter(|used| !used.is_optional) {
            let Credential::Stored(name) = &used.credential else { continue };
            match self.keys.find(&used.credential) {
                Ok(_) => {}
                Err(failure) if failure.kind == FailureKind::NotFound => problems.push(Problem {
                    source: "settings".to_owned(),
                    path: None,
                    line: None,
                    text: format!("{} names {}, which isn't stored", used.by, used.credential),
                    fix: format!("store it with: haft secret set {name}"),
                }),
                // The same for all of them.
                Err(failure) => return vec![self.unopened(&failure)],
            }
        }
        problems
    }

    /// What is stored can't be opened.
    pub(super) fn unopened(&self, failure: &Failure) -> Problem {
        Problem {
            source: "secrets".to_owned(),
            path: Some(self.keys.vault.path().to_string_lossy().into_owned()),
            line: None,
            text: format!("no stored secret can be used, and none of them is masked: {}", failure.text),
            fix: "`haft doctor` says what is in the way".to_owned(),
        }
    }

    /// The variables that commands get from what is stored; those that can't be had are left out and reported.
    pub(super) fn given(&self) -> Vec<(String, Secret)> {
        let all = self.settings.set_env.iter();
        all.filter_map(|(name, set)| Some((name.clone(), self.keys.find(&set.value).ok()?))).collect()
    }
}
