//! Which model an agent works with: a name from the settings, or a spec such as `anthropic:NAME`.

use crate::trouble::Trouble;
use haft_agent::{Model, ModelSettings, Provider, Scripted};
use haft_core::Http;
use haft_os::host;
use haft_runtime::settings::{ModelSetting, Settings};
use std::{path::Path, sync::Arc};

/// More than that is no script.
const SCRIPT_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The forms that a model can be given in.
const FORMS: &str =
    "write anthropic:MODEL, openai:MODEL or scripted:FILE, or the NAME of a [models.NAME] table";

/// Looks up a variable that haft was started with.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

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
    variable: Variable<'_>,
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
    model.api_key = key(&model, setting, variable)?;
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
            "add --model anthropic:MODEL (with ANTHROPIC_API_KEY set), --model openai:MODEL --base-url URL, or a table \
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
    Ok(model)
}

/// A key goes only where it is known to belong: the provider's usual one to the provider's own address or to
/// one given on the command line, and to an address from the settings just the one named beside it.
fn key(
    model: &ModelSettings,
    setting: Option<&ModelSetting>,
    variable: Variable<'_>,
) -> Result<Option<String>, Trouble> {
    let usual = match model.provider {
        Provider::Anthropic => "ANTHROPIC_API_KEY",
        Provider::OpenAi => "OPENAI_API_KEY",
        Provider::Scripted => return Ok(None),
    };
    let named = setting.and_then(|setting| setting.api_key_env.as_deref());
    let is_elsewhere = setting.is_some_and(|setting| setting.base_url.is_some());
    let name = match named {
        Some(name) => name,
        None if is_elsewhere => return Ok(None),
        None => usual,
    };
    let key = variable(name).filter(|key| !key.is_empty());
    if key.is_none() && (named.is_some() || model.base_url.is_none()) {
        return Err(Trouble::usage(
            format!("{name} isn't set, which holds the key of the model"),
            format!("set {name} to the key, or name another model with --model"),
        ));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_runtime::settings::{Place, Scope, SettingsSource};

    fn settings(text: &str) -> Settings {
        let place = Place { workspace: "/w".to_owned(), home: None, trusted: true };
        Settings::load(&[SettingsSource::new(Scope::User, "/c/config.toml", text)], &place)
    }

    fn variable(name: &str) -> Option<String> {
        let known = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OWN_KEY"];
        known.contains(&name).then(|| format!("value of {name}"))
    }

    fn chosen(
        text: &str,
        model: Option<&str>,
        base_url: Option<&str>,
    ) -> Result<Option<ModelSettings>, Trouble> {
        choose(&settings(text), Wanted { model, base_url }, &variable)
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
        assert_eq!(key("", Some("openai:x"), None).as_deref(), Some("value of OPENAI_API_KEY"));
        assert_eq!(key("", Some("openai:x"), Some("http://h")).as_deref(), Some("value of OPENAI_API_KEY"));
        assert_eq!(key("[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'", None, None), None);
        let own = "[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'\napiKeyEnv = 'OWN_KEY'";
        assert_eq!(key(own, None, None).as_deref(), Some("value of OWN_KEY"));
        let gone = "[models.a]\nprovider = 'openai'\nbaseUrl = 'http://h'\napiKeyEnv = 'NO_KEY'";
        assert!(chosen(gone, None, None).unwrap_err().what.starts_with("NO_KEY isn't set"));
        let none: Variable<'_> = &|_| None;
        let wanted = |base_url| Wanted { model: Some("openai:x"), base_url };
        assert!(choose(&settings(""), wanted(None), none).is_err());
        assert!(choose(&settings(""), wanted(Some("http://h")), none).is_ok());
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
