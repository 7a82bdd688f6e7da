//! Which model, where, and with what key; the host reads them from wherever it keeps settings.

use super::{Anthropic, Chat, Model};
use haft_core::Http;
use std::{fmt, sync::Arc, time::Duration};

/// Between two pieces of an answer; long, since local servers read a long prompt in silence.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// The protocol of a model endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions and everything compatible with it.
    OpenAi,
    /// Recorded turns in a file.
    Scripted,
}

/// A model and how to reach it.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The protocol.
    pub provider: Provider,
    /// The model's name, or the script's path.
    pub model: String,
    /// Where the endpoint is, if not at the provider's own address.
    pub base_url: Option<String>,
    /// The key; local servers need none.
    pub api_key: Option<String>,
    /// Most tokens of one turn; unset, Anthropic gets 16,384 (it demands a number), others decide.
    pub max_tokens: Option<u32>,
    /// How many tokens the model takes at all, where that is known.
    pub window_tokens: Option<u64>,
    /// How long to wait for an answer to begin, and between its pieces.
    pub idle_timeout: Duration,
}

/// Why a text names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelSpecError {
    /// No provider of that name, or none given.
    #[error("\"{0}\" names no model: write anthropic:MODEL, openai:MODEL or scripted:FILE")]
    Provider(String),
    /// Nothing after the colon.
    #[error("\"{0}\" names a provider but no model")]
    Model(String),
    /// A script isn't connected to.
    #[error("a scripted model is read from its file, not connected to")]
    Scripted,
}

impl ModelSettings {
    /// Reads `anthropic:MODEL`, `openai:MODEL` or `scripted:FILE`; the rest is left at its defaults.
    ///
    /// # Errors
    /// Says which forms there are.
    pub fn parse(text: &str) -> Result<Self, ModelSpecError> {
        let (provider, model) =
            text.split_once(':').ok_or_else(|| ModelSpecError::Provider(text.to_owned()))?;
        let provider = match provider {
            "anthropic" => Provider::Anthropic,
            "openai" => Provider::OpenAi,
            "scripted" => Provider::Scripted,
            _ => return Err(ModelSpecError::Provider(text.to_owned())),
        };
        if model.is_empty() {
            return Err(ModelSpecError::Model(text.to_owned()));
        }
        Ok(Self {
            provider,
            model: model.to_owned(),
            base_url: None,
            api_key: None,
            max_tokens: None,
            window_tokens: None,
            idle_timeout: IDLE_TIMEOUT,
        })
    }

    /// The model behind these settings; nothing is sent yet.
    ///
    /// # Errors
    /// A script: read its file and use [`super::Scripted::parse`].
    pub fn connect(self, http: Arc<dyn Http>) -> Result<Arc<dyn Model>, ModelSpecError> {
        match self.provider {
            Provider::Anthropic => Ok(Arc::new(Anthropic::new(self, http))),
            Provider::OpenAi => Ok(Arc::new(Chat::new(self, http))),
            Provider::Scripted => Err(ModelSpecError::Scripted),
        }
    }
}

impl fmt::Debug for ModelSettings {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("max_tokens", &self.max_tokens)
            .field("window_tokens", &self.window_tokens)
            .field("idle_timeout", &self.idle_timeout)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_names_provider_and_model() {
        let settings = ModelSettings::parse("openai:qwen3:8b").unwrap();
        assert_eq!((settings.provider, settings.model.as_str()), (Provider::OpenAi, "qwen3:8b"));
        assert!(matches!(ModelSettings::parse("gpt"), Err(ModelSpecError::Provider(_))));
        assert!(matches!(ModelSettings::parse("anthropic:"), Err(ModelSpecError::Model(_))));
    }

    #[test]
    fn the_key_is_never_shown() {
        let mut settings = ModelSettings::parse("anthropic:m").unwrap();
        settings.api_key = Some("secret".to_owned());
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
