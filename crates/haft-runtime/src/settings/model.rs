//! `[models.NAME]`: where a model is reached.

use super::{Origin, section::Section};
use haft_core::Credential;
use serde::Serialize;

const KEYS: [&str; 8] =
    ["provider", "model", "baseUrl", "apiKey", "apiKeyEnv", "maxTokens", "contextWindow", "default"];

/// One model. Taken whole from the strongest scope that names it, so that nobody puts another address under
/// somebody else's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSetting {
    /// Which wire format it speaks.
    pub provider: Option<String>,
    /// Its name at the provider.
    pub model: Option<String>,
    /// Where it is reached.
    pub base_url: Option<String>,
    /// Where its key is.
    pub api_key: Option<Credential>,
    /// Most tokens of one answer.
    pub max_tokens: Option<u64>,
    /// How many tokens it takes at all.
    pub context_window: Option<u64>,
    /// Whether it is used where none is named.
    pub default: bool,
    /// Where it was written.
    pub origin: Origin,
}

impl ModelSetting {
    pub(super) fn read(section: &Section<'_>, origin: Origin) -> Self {
        section.only(&KEYS);
        let text = |key: &str| section.text(key).map(|set| set.value);
        Self {
            provider: text("provider"),
            model: text("model"),
            base_url: text("baseUrl"),
            api_key: section.credential("apiKey", "apiKeyEnv"),
            max_tokens: section.number("maxTokens").map(|set| set.value),
            context_window: section.number("contextWindow").map(|set| set.value),
            default: section.flag("default").is_some_and(|set| set.value),
            origin,
        }
    }
}
