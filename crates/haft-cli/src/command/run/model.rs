//! Which model an agent works with: a name from the settings, or a spec such as `anthropic:NAME`.

use crate::{app::MODEL_KEYS, trouble::Trouble};
use haft_agent::{Model, ModelSettings, Provider, Scripted};
use haft_core::{Credential, Failure, FailureKind, Http, Secret};
use haft_os::host;
use haft_runtime::settings::{ModelSetting, Settings};
use std::{path::Path, sync::Arc};

/// More than that is no script.
const SCRIPT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The forms that a model can be given in.
const FORMS: &str =
    "write anthropic:MODEL, openai:MODEL or scripted:FILE, or the NAME of a [models.NAME] table";

/// Looks up a credential: a variable that haft was started with, or what is stored.
pub(crate) type Lookup<'a> = &'a dyn Fn(&Credential) -> Result<Secret, Failure>;

/// What was asked for on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    /// A name or a spec.
    pub(crate) model: Option<&'a str>,
    /// Where the endpoint is.
    pub(crate) base_url: Option<&'a str>,
}

/// The model to use; none where none is named and the settings have no default.
///
/// # Errors
/// A name or spec that leads to no model, or a key that isn't there.
pub(crate) fn choose(
    settings: &Settings,
    wanted: Wanted<'_>,
    lookup: Lookup<'_>,
) -> Result<Option<ModelSettings>, Trouble> {
    let (mut model, setting) = match wanted.model {
        None => match settings.default_model() {
            None => return Ok(None),
            Some((name, setting)) => (from_setting(name, setting)?, Some(setting)),
        },
        Some(name) => match settings.models.get(name) {
            Some(setting) => (from_setting(name, setting)?, Some(setting)),
            None => (from_spec(name, settings)?, None),
        },
    };
    if let Some(url) = wanted.base_url {
        if model.provider == Provider::Scripted {
            return Err(Trouble::usage("a scripted model has no address", "leave --base-url out"));
        }
        model.base_url = Some(url.to_owned());
    }
    model.api_key = key(&model, setting, lookup)?;
    Ok(Some(model))
}

/// The model behind the settings; a script is read now.
///
/// # Errors
/// A script that isn't there or can't be read.
pub(crate) fn connect(model: ModelSettings, http: Arc<dyn Http>) -> anyhow::Result<Arc<dyn Model>> {
    if model.provider != Provider::Scripted {
        return Ok(model.connect(http)?);
    }
    let path = &model.model;
    let bytes = host::read_file(Path::new(path), SCRIPT_MAX_BYTES)?.ok_or_else(|| {
        Trouble::usage(format!("there is no script {path}"), "give the path of a file that is there")
    })?;
    let script = Scripted::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|error| Trouble::usage(format!("{path}: {error}"), "put that line right"))?;
    Ok(Arc::new(script))
}

/// What to say where there is no model.
pub(crate) fn none_configured(settings: &Settings) -> Trouble {
    let names: Vec<&str> = settings.models.keys().map(String::as_str).collect();
    if names.is_empty() {
        return Trouble::usage(
            "no model is configured",
            "add --model anthropic:MODEL (its key by `haft secret set model:anthropic`, or in ANTHROPIC_API_KEY), --model openai:MODEL --base-url URL, or a table \
             [models.NAME] with provider and model to the user's config.toml (`haft doctor` says where it is)",
        );
    }
    Trouble::usage(
        format!("no model is named, and none of {} is the default", names.join(", ")),
        "add --model NAME, or default = true to one of them",
    )
}

fn from_spec(text: &str, settings: &Settings) -> Result<ModelSettings, Trouble> {
    ModelSettings::parse(text).map_err(|error| {
        let names: Vec<&str> = settings.models.keys().map(String::as_str).collect();
        let named =
            if names.is_empty() { String::new() } else { format!(" (there are: {})", names.join(", ")) };
        Trouble::usage(error.to_string(), format!("{FORMS}{named}"))
    })
}

fn from_setting(name: &str, setting: &ModelSetting) -> Result<ModelSettings, Trouble> {
    let at = &setting.origin;
    let provider = setting.provider.as_deref().ok_or_else(|| {
        Trouble::usage(
            format!("{at}: [models.{name}] names no provider"),
            "add provider = \"anthropic\", \"openai\" or \"scripted\"",
        )
    })?;
    let spec = format!("{provider}:{}", setting.model.as_deref().unwrap_or(name));
    let parsed = ModelSettings::parse(&spec);
    let mut model = parsed.map_err(|error| Trouble::usage(format!("{at}: {error}"), FORMS))?;
    model.base_url.clone_from(&setting.base_url);
    model.max_tokens = setting.max_tokens.map(|max| u32::try_from(max).unwrap_or(u32::MAX));
    model.window_tokens = setting.context_window;
    Ok(model)
}

/// A key goes only where it is known to belong: the provider's usual one to the provider's own address or to
/// one given on the command line, and to an address from the settings just the one named beside it.
fn key(
    model: &ModelSettings,
    setting: Option<&ModelSetting>,
    lookup: Lookup<'_>,
) -> Result<Option<String>, Trouble> {
    let [anthropic, openai] = MODEL_KEYS;
    let usual = match model.provider {
        Provider::Anthropic => anthropic,
        Provider::OpenAi => openai,
        Provider::Scripted => return Ok(None),
    };
    if let Some(named) = setting.and_then(|setting| setting.api_key.as_ref()) {
        return lookup(named)
            .and_then(|key| line(&key))
            .map(Some)
            .map_err(|failure| unnamed(named, &failure));
    }
    if setting.is_some_and(|setting| setting.base_url.is_some()) {
        return Ok(None);
    }
    let (variable, stored) = usual;
    let places = [format!("env:{variable}"), format!("secret:{stored}")];
    for place in places.iter().filter_map(|place| Credential::parse(place).ok()) {
        match lookup(&place) {
            Ok(key) => return line(&key).map(Some).map_err(|failure| unnamed(&place, &failure)),
            Err(failure) if failure.kind == FailureKind::NotFound => {}
            // Something may be stored there, and can't be opened.
            Err(failure) if model.base_url.is_none() => return Err(unnamed(&place, &failure)),
            Err(_) => {}
        }
    }
    if model.base_url.is_some() {
        return Ok(None);
    }
    Err(Trouble::usage(
        format!("{variable} isn't set, which holds the key of the model, and no {stored} is stored"),
        format!(
            "store it with `haft secret set {stored}`, set {variable}, or name another model with --model"
        ),
    ))
}

fn line(key: &Secret) -> Result<String, Failure> {
    key.line().map(str::to_owned)
}

/// A key that can't be had.
fn unnamed(named: &Credential, failure: &Failure) -> Trouble {
    if failure.kind != FailureKind::NotFound {
        let what = format!("the key of the model, {named}, can't be had: {}", failure.text);
        return Trouble::failed(what, "mend that, or name another model with --model");
    }
    match named {
        Credential::Variable(name) => Trouble::usage(
            format!("{name} isn't set, which holds the key of the model"),
            format!("set {name} to the key, or name another model with --model"),
        ),
        Credential::Stored(name) => Trouble::usage(
            format!("{named} isn't stored, which is the key of the model"),
            format!("store it with `haft secret set {name}`, or name another model with --model"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_runtime::settings::{Place, Scope, SettingsSource};

    fn settings(text: &str) -> Settings {
        let place = Place { workspace: "/w".to_owned(), home: None, trusted: true };
        Settings::load(&[SettingsSource::new(Scope::User, "/c/config.toml", text)], &place)
    }

    /// Some variables, and some secrets that are stored.
    fn lookup(credential: &Credential) -> Result<Secret, Failure> {
        let known = [
            "env:ANTHROPIC_API_KEY",
            "env:OPENAI_API_KEY",
            "env:OWN_KEY",
            "secret:own",
            "secret:model:openai",
        ];
        let shown = credential.to_string();
        if known.contains(&shown.as_str()) {
            Ok(Secret::new(format!("value of {shown}")))
        } else {
            Err(credential.missing())
        }
    }

    fn chosen(
        text: &str,
        model: Option<&str>,
        base_url: Option<&str>,
    ) -> Result<Option<ModelSettings>, Trouble> {
        choose(&settings(text), Wanted { model, base_url }, &lookup)
    }

    #[test]
    fn a_name_from_the_settings_comes_before_a_spec() {
        let text = "[models.fast]\nprovider = 'openai'\nmodel = 'q'\nbaseUrl = 'http://h'\nmaxTokens = 9\n";
        for name in [Some("fast"), None] {
            let model = chosen(text, name, None).unwrap().unwrap();
            assert_eq!(
                (model.provider, model.model.as_str(), model.max_tokens),
                (Provider::OpenAi, "q", Some(9))
            );
            assert_eq!(model.base_url.as_deref(), Some("http://h"));
        }
        assert_eq!(chosen(text, Some("anthropic:x"), None).unwrap().unwrap().model, "x");
        assert_eq!(chosen("", None, None).unwrap(), None);
    }

    #[test]
    fn a_key_goes_only_where_it_belongs() {
        let key = |text: &str, model, url| chosen(text, model, url).unwrap().unwrap().api_key;
        assert_eq!(key("", Some("openai:x"), None).as_deref(), Some("value of env:OPENAI_API_KEY"));
        let there = key("", Some("openai:x"), Some("http://h"));
        assert_eq!(there.as_deref(), Some("value of env:OPENAI_API_KEY"));
        assert_eq!(key("[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'", None, None), None);
        let own = "[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'\napiKeyEnv = 'OWN_KEY'";
        assert_eq!(key(own, None, None).as_deref(), Some("value of env:OWN_KEY"));
        let stored = "[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'\napiKey = 'secret:own'";
        assert_eq!(key(stored, None, None).as_deref(), Some("value of secret:own"));
        let gone = "[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'\napiKeyEnv = 'NO_KEY'";
        assert!(chosen(gone, None, None).unwrap_err().what.starts_with("NO_KEY isn't set"));
        let lost = chosen("[models.a]\nprovider = 'openai'\napiKey = 'secret:lost'", None, None).unwrap_err();
        assert!(lost.fix.unwrap().contains("haft secret set lost"), "{}", lost.what);
        let none: Lookup<'_> = &|credential| Err(credential.missing());
        let wanted = |base_url| Wanted { model: Some("openai:x"), base_url };
        let trouble = choose(&settings(""), wanted(None), none).unwrap_err();
        assert!(trouble.fix.unwrap().contains("haft secret set model:openai"), "{}", trouble.what);
        assert!(choose(&settings(""), wanted(Some("http://h")), none).is_ok());
    }

    #[test]
    fn a_usual_key_may_be_stored_and_a_variable_comes_before_it() {
        let stored: Lookup<'_> = &|credential| match credential {
            Credential::Stored(_) => lookup(credential),
            Credential::Variable(_) => Err(credential.missing()),
        };
        let key = |model: &str, lookup: Lookup<'_>| {
            let wanted = Wanted { model: Some(model), base_url: None };
            choose(&settings(""), wanted, lookup).map(|model| model.unwrap().api_key.unwrap())
        };
        assert_eq!(key("openai:x", stored).unwrap(), "value of secret:model:openai");
        assert!(key("anthropic:x", stored).is_err());
        assert_eq!(key("openai:x", &lookup).unwrap(), "value of env:OPENAI_API_KEY");
        let shut: Lookup<'_> = &|_| Err(Failure::new(FailureKind::Unavailable, "it is damaged"));
        assert_eq!(key("openai:x", shut).unwrap_err().status, crate::status::Status::Failed);
    }

    #[test]
    fn what_leads_to_no_model_says_what_would() {
        for (text, model, url, part) in [
            ("", Some("gpt"), None, "names no model"),
            ("[models.a]\nmodel = 'x'", Some("a"), None, "[models.a] names no provider"),
            ("[models.a]\nprovider = 'gemini'", Some("a"), None, "names no model"),
            ("", Some("scripted:f"), Some("http://h"), "no address"),
        ] {
            let trouble = chosen(text, model, url).unwrap_err();
            assert!(trouble.what.contains(part) && trouble.fix.is_some(), "{}", trouble.what);
        }
        assert!(none_configured(&settings("")).what.contains("no model is configured"));
    }
}
