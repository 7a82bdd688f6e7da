//! The first words with a server: which era it speaks, and what it says of itself.
//!
//! The modern era is asked first. Over streams a server of the older one may say nothing at all to that, or end itself
//! over it: then it is greeted the older way, and remembered for it.

use super::{
    lent,
    refusal::Refusal,
    wire::{Ask, CallError, Link, Wire},
};
use crate::{
    RpcError,
    era::{Era, LATEST_LEGACY, LEGACY_VERSIONS, MODERN, SERVER_KEY},
};
use haft_core::Cancel;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a server may keep silent when it is asked in the modern way.
const PROBE_TIME: Duration = Duration::from_secs(2);
/// How long instructions may be.
const INSTRUCTIONS_MAX_BYTES: usize = 16 * 1024;

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Greeting {
    pub(crate) era: Era,
    pub(crate) version: String,
    /// Name and version of the server.
    pub(crate) info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

impl Greeting {
    /// Whether it has that, by a path of names.
    pub(crate) fn can(&self, path: &[&str]) -> bool {
        let found = path.iter().try_fold(&self.capabilities, |at, name| at.get(name));
        found.is_some_and(|value| value.is_object() || value.as_bool() == Some(true))
    }
}

/// Why there is no understanding.
#[derive(Debug)]
pub(crate) enum GreetError {
    /// It ended over the modern question: started again, it is greeted the older way.
    EndedOverProbe(String),
    /// Anything else.
    Call(CallError),
    /// It speaks, but nothing that is understood here.
    Foreign(String),
}

impl GreetError {
    /// Whether the server said it, so that it lives and speaks.
    fn is_spoken(&self) -> bool {
        match self {
            Self::Foreign(_) | Self::Call(CallError::Rpc(_)) => true,
            Self::Call(CallError::Refused(refusal)) => {
                refusal.status.is_some_and(|status| !matches!(status, 401 | 403))
            }
            Self::EndedOverProbe(_) | Self::Call(_) => false,
        }
    }
}

impl From<CallError> for GreetError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

/// Greets a server, in the era that it is remembered for first.
pub(crate) async fn greet(
    wire: &Wire,
    remembered: Option<Era>,
    patience: Duration,
    cancel: &Cancel,
) -> Result<Greeting, GreetError> {
    let greeter = Greeter { wire, patience, cancel };
    if is_older(wire) {
        greeter.open_older().await?;
        return greeter.initialize().await;
    }
    if remembered == Some(Era::Legacy) {
        match greeter.legacy().await {
            Err(GreetError::Call(CallError::Rpc(error))) if is_of_modern_server(&error) => {}
            other => return other,
        }
    }
    // One that is known to speak this way says nothing because it is slow, and may take all the time there is.
    let is_known = remembered == Some(Era::Modern);
    let silence = if is_known { patience } else { PROBE_TIME.min(patience) };
    match greeter.discover(silence).await? {
        Said::Modern(greeting) => Ok(greeting),
        Said::Older => greeter.legacy().await,
        Said::Nothing if is_known => Err(CallError::Silent(silence).into()),
        Said::Nothing => greeter.after_silence().await,
    }
}

/// What a server says to the modern question.
enum Said {
    /// It speaks that way.
    Modern(Greeting),
    /// It is to be greeted the older way.
    Older,
    /// Nothing in time: it doesn't know the question, or is slow.
    Nothing,
}

fn is_older(wire: &Wire) -> bool {
    matches!(&wire.link, Link::Http(owner) if owner.0.is_older())
}

/// What a server says to a handshake that it no longer has.
fn is_of_modern_server(error: &RpcError) -> bool {
    matches!(
        error.code,
        RpcError::METHOD_NOT_FOUND | RpcError::UNSUPPORTED_VERSION | RpcError::MISSING_CAPABILITY
    )
}

struct Greeter<'a> {
    wire: &'a Wire,
    patience: Duration,
    cancel: &'a Cancel,
}

impl Greeter<'_> {
    /// Greets a server the older way that said nothing to the modern question. One that is only slow to start, and no longer
    /// has that way, refuses it, and is then asked again and given all the time there is.
    async fn after_silence(&self) -> Result<Greeting, GreetError> {
        let refused = match self.legacy().await {
            Err(error) if error.is_spoken() => error,
            other => return other,
        };
        match self.discover(self.patience).await {
            Ok(Said::Modern(greeting)) => Ok(greeting),
            // What it said to the greeting says more.
            _ => Err(refused),
        }
    }

    /// Asks in the modern way; `silence` is how long it may take.
    async fn discover(&self, silence: Duration) -> Result<Said, GreetError> {
        if let Link::Http(owner) = &self.wire.link {
            owner.0.forget();
            owner.0.agree(MODERN);
        }
        // A server may not have the version that it was asked in, and name one that it is asked in again.
        for _ in 0..2 {
            let mut ask = Ask::new("server/discover", Map::new(), self.cancel);
            ask.is_modern = true;
            ask.idle = Some(silence);
            let error = match self.wire.ask(ask).await {
                Ok(result) => return discovered(&result),
                Err(error) => error,
            };
            match error {
                CallError::Rpc(error) if error.code == RpcError::UNSUPPORTED_VERSION => {
                    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
                    match choice(supported) {
                        Choice::Modern => {}
                        Choice::Legacy => return Ok(Said::Older),
                        Choice::None => return Err(GreetError::Foreign(unspoken(supported))),
                    }
                }
                CallError::Rpc(error) if error.code == RpcError::MISSING_CAPABILITY => {
                    return Err(CallError::Rpc(error).into());
                }
                CallError::Silent(_) => return Ok(Said::Nothing),
                CallError::Rpc(_) | CallError::TooLong(_) => return Ok(Said::Older),
                CallError::Refused(Refusal { status: Some(status), .. }) if !matches!(status, 401 | 403) => {
                    return Ok(Said::Older);
                }
                CallError::Lost { why, .. } if matches!(self.wire.link, Link::Stdio(_)) => {
                    return Err(GreetError::EndedOverProbe(why));
                }
                other => return Err(other.into()),
            }
        }
        Err(GreetError::Foreign(format!("it refuses {MODERN} and names it as what it speaks")))
    }

    /// Greets it the older way; over HTTP in the oldest form where it has only that.
    async fn legacy(&self) -> Result<Greeting, GreetError> {
        let refusal = match self.initialize().await {
            Err(GreetError::Call(CallError::Refused(refusal))) if is_elsewhere(&refusal) => refusal,
            other => return other,
        };
        match self.open_older().await {
            Ok(()) => self.initialize().await,
            // What was wrong at first says more.
            Err(_) => Err(CallError::Refused(refusal).into()),
        }
    }

    async fn open_older(&self) -> Result<(), GreetError> {
        let Link::Http(owner) = &self.wire.link else { return Ok(()) };
        owner.0.forget();
        owner.0.open_older().await.map_err(|refusal| CallError::Refused(refusal).into())
    }

    async fn initialize(&self) -> Result<Greeting, GreetError> {
        if let Link::Http(owner) = &self.wire.link {
            owner.0.forget();
        }
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), json!(LATEST_LEGACY));
        params.insert("capabilities".to_owned(), lent::declared(&self.wire.capabilities, self.wire.lends));
        params.insert("clientInfo".to_owned(), self.wire.client.clone());
        let mut ask = Ask::new("initialize", params, self.cancel);
        ask.idle = Some(self.patience);
        let result = self.wire.ask(ask).await?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let era = match version {
            MODERN => Era::Modern,
            known if LEGACY_VERSIONS.contains(&known) => Era::Legacy,
            other => return Err(GreetError::Foreign(format!("it speaks the protocol of \"{other}\""))),
        };
        if let Link::Http(owner) = &self.wire.link {
            owner.0.agree(version);
        }
        let greeting = said(era, version, &result, result.get("serverInfo"));
        self.wire.note("notifications/initialized", &json!({}));
        Ok(greeting)
    }
}

/// Whether a server may have another way to be spoken with.
fn is_elsewhere(refusal: &Refusal) -> bool {
    refusal.status.is_some_and(|status| matches!(status, 400 | 404 | 405 | 406 | 415))
}

/// What it has to say to the modern question.
fn discovered(result: &Value) -> Result<Said, GreetError> {
    let supported = result.get("supportedVersions");
    match choice(supported) {
        Choice::Modern => {
            let meta = result.get("_meta").and_then(|meta| meta.get(SERVER_KEY));
            let info = meta.or_else(|| result.get("serverInfo"));
            Ok(Said::Modern(said(Era::Modern, MODERN, result, info)))
        }
        Choice::Legacy => Ok(Said::Older),
        Choice::None => Err(GreetError::Foreign(unspoken(supported))),
    }
}

fn said(era: Era, version: &str, result: &Value, info: Option<&Value>) -> Greeting {
    let instructions = result.get("instructions").and_then(Value::as_str).map(|text| {
        let end = text.floor_char_boundary(INSTRUCTIONS_MAX_BYTES);
        text.get(..end).unwrap_or_default().to_owned()
    });
    Greeting {
        era,
        version: version.to_owned(),
        info: info.cloned().unwrap_or(Value::Null),
        capabilities: result.get("capabilities").cloned().unwrap_or_else(|| json!({})),
        instructions: instructions.filter(|text| !text.trim().is_empty()),
    }
}

enum Choice {
    Modern,
    Legacy,
    None,
}

fn choice(supported: Option<&Value>) -> Choice {
    let all: Vec<&str> =
        supported.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if all.contains(&MODERN) {
        Choice::Modern
    } else if all.is_empty() || all.iter().any(|version| LEGACY_VERSIONS.contains(version)) {
        Choice::Legacy
    } else {
        Choice::None
    }
}

fn unspoken(supported: Option<&Value>) -> String {
    format!("it speaks {} and nothing else", supported.unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_taken_as_it_came() {
        let result = json!({"supportedVersions": [MODERN, "2025-11-25"], "capabilities": {"tools": {"listChanged": true}},
            "instructions": " ", "_meta": {SERVER_KEY: {"name": "s", "x": 1}}});
        let Ok(Said::Modern(greeting)) = discovered(&result) else { panic!("it is a modern one") };
        assert_eq!((greeting.era, greeting.info["x"].as_i64()), (Era::Modern, Some(1)));
        assert!(
            greeting.can(&["tools"])
                && greeting.can(&["tools", "listChanged"])
                && !greeting.can(&["prompts"])
        );
        assert_eq!(greeting.instructions, None);
    }

    #[test]
    fn the_version_is_chosen_by_what_both_speak() {
        assert!(matches!(discovered(&json!({"supportedVersions": ["2025-06-18"]})), Ok(Said::Older)));
        assert!(
            matches!(discovered(&json!({})), Ok(Said::Older)),
            "whatever it is, it doesn't know the question"
        );
        assert!(matches!(
            discovered(&json!({"supportedVersions": ["2031-01-01"]})),
            Err(GreetError::Foreign(_))
        ));
    }
}
