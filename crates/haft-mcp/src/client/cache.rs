//! What a server said when it was last asked, kept so that its tools are listed while it sleeps, and the era that it
//! speaks.

use super::{canonical, greet::Greeting, registry::TakenIn};
use crate::era::Era;
use haft_core::{Failure, StateFolder};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// The form of the file.
const VERSION: u32 = 1;
/// More than that isn't kept.
const FILE_MAX_BYTES: usize = 12 * 1024 * 1024;

/// Where one server's words are kept.
#[derive(Clone)]
pub(crate) struct Cache {
    state: Arc<dyn StateFolder>,
    at: String,
    launch: Arc<str>,
}

/// What is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    version: u32,
    /// The hash of how it is reached: another one has said nothing yet.
    launch: String,
    is_modern: bool,
    protocol: String,
    info: Value,
    capabilities: Value,
    instructions: Option<String>,
    pub(crate) tools: Vec<Value>,
    /// What was wrong with the list of them.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
}

impl Kept {
    /// What the server said of itself.
    pub(crate) fn greeting(&self) -> Greeting {
        Greeting {
            era: if self.is_modern { Era::Modern } else { Era::Legacy },
            version: self.protocol.clone(),
            info: self.info.clone(),
            capabilities: self.capabilities.clone(),
            instructions: self.instructions.clone(),
        }
    }
}

impl Cache {
    /// The place for a server of that name which is reached in that way.
    pub(crate) fn new(state: Arc<dyn StateFolder>, name: &str, launch: &[(String, String)]) -> Self {
        let named = canonical::digest(&Value::String(name.to_owned()));
        let short: String = named.chars().take(16).collect();
        Self { state, at: format!("mcp/{short}.json"), launch: canonical::digest(&json!(launch)) }
    }

    /// What was kept; none where there is nothing of use.
    pub(crate) fn load(&self) -> Option<Kept> {
        let bytes = self.state.read_tail(&self.at, FILE_MAX_BYTES + 1).ok().flatten()?;
        let kept: Kept = serde_json::from_slice(&bytes).ok()?;
        (kept.version == VERSION && *kept.launch == *self.launch).then_some(kept)
    }

    /// Keeps what the server says now; where that is kept already, nothing is written. Blocking.
    ///
    /// # Errors
    /// It can't be written. The server is asked again the next time.
    pub(crate) fn store(&self, greeting: &Greeting, taken: &TakenIn) -> Result<(), Failure> {
        let kept = Kept {
            version: VERSION,
            launch: self.launch.to_string(),
            is_modern: greeting.era == Era::Modern,
            protocol: greeting.version.clone(),
            info: greeting.info.clone(),
            capabilities: greeting.capabilities.clone(),
            instructions: greeting.instructions.clone(),
            tools: taken.definitions.iter().map(|tool| Value::Object(tool.raw().clone())).collect(),
            warnings: taken.warnings.clone(),
        };
        let bytes = serde_json::to_vec(&kept).map_err(|error| {
            Failure::internal("the definitions have no JSON form").diagnose(error.to_string())
        })?;
        if bytes.len() > FILE_MAX_BYTES {
            return self.state.remove(&self.at);
        }
        // Writing waits for the disk, and most starts find what they found before.
        let kept = self.state.read_tail(&self.at, FILE_MAX_BYTES + 1).ok().flatten();
        if kept.is_some_and(|kept| kept == bytes) {
            return Ok(());
        }
        self.state.update(&self.at, &mut |_: Option<&[u8]>| Ok(bytes.clone()))
    }
}
