//! What a client in front of haft lends to a server behind it, for as long as a call of its runs: its person, its model,
//! and its folders where the settings say so.
//!
//! A server is told only of what that very client can do, so that it asks nobody for what nobody has.

use super::{config::ServerConfig, router::Asker, server::Server};
use crate::{Front, Fronts, RpcError, exchange::elicits};
use haft_core::{Failure, FailureKind, exact};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What this client declares for a request: what it can do for itself, or with whoever made the call.
pub(super) fn capabilities(own: &Value, lends: Lends, front: Option<&Arc<dyn Front>>) -> Value {
    let (Some(front), Value::Object(own)) = (front, own) else { return own.clone() };
    let (mut all, theirs) = (own.clone(), front.capabilities());
    match theirs.get("elicitation") {
        Some(modes) => all.insert("elicitation".to_owned(), modes.clone()),
        None => all.shift_remove("elicitation"),
    };
    match theirs.get("sampling") {
        Some(form) => all.insert("sampling".to_owned(), form.clone()),
        // The session's own model isn't the client's.
        None => all.shift_remove("sampling"),
    };
    if lends.roots && theirs.contains_key("roots") {
        all.entry("roots").or_insert_with(|| json!({}));
    }
    Value::Object(all)
}

/// What this client declares once for all calls of a connection, as the older era wants it: also what only some who make
/// calls may have. A question to one that hasn't got it is answered by an error.
pub(super) fn declared(own: &Value, lends: Lends) -> Value {
    let Value::Object(own) = own else { return own.clone() };
    let mut all = own.clone();
    if lends.clients {
        all.entry("sampling").or_insert_with(|| json!({}));
        if lends.roots {
            all.entry("roots").or_insert_with(|| json!({}));
        }
    }
    Value::Object(all)
}

/// What the settings let through, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lends {
    /// Whether a client's own folders are named to the server.
    pub(crate) roots: bool,
    /// Whether clients in front of haft make calls.
    pub(crate) clients: bool,
}

impl Lends {
    pub(super) fn of(config: &ServerConfig, fronts: &Fronts) -> Self {
        Self { roots: config.pass_roots && config.roots.is_empty(), clients: fronts.are_expected() }
    }

    /// Whether a question of a server goes to the client in front as it is.
    pub(super) fn goes_on(self, method: &str, params: &Value, front: &dyn Front) -> bool {
        let theirs = front.capabilities();
        match method {
            "elicitation/create" => {
                let mode = params.get("mode").and_then(Value::as_str).unwrap_or("form");
                elicits(&theirs, mode)
            }
            "sampling/createMessage" => theirs.contains_key("sampling"),
            "roots/list" => self.roots && theirs.contains_key("roots"),
            _ => false,
        }
    }
}

impl Server {
    /// Whether a question goes to the client in front.
    pub(super) fn goes_on(&self, method: &str, params: &Value, asker: &Asker) -> bool {
        asker.front.as_ref().is_some_and(|front| self.lends().goes_on(method, params, front.as_ref()))
    }

    /// Puts questions to the client in front, all at once; the call's time stands still meanwhile.
    ///
    /// # Errors
    /// What the client says.
    pub(super) async fn put(
        &self,
        mut requests: Map<String, Value>,
        asker: &Asker,
    ) -> Result<Map<String, Value>, RpcError> {
        let Some(front) = &asker.front else { return Ok(Map::new()) };
        if self.config.screen {
            requests.values_mut().for_each(|request| self.sign(request));
        }
        let _paused = asker.person.as_ref().map(|person| person.pause());
        front.ask(requests).await
    }

    /// Says who asks: there may be many servers behind haft.
    fn sign(&self, request: &mut Value) {
        if request.get("method").is_none_or(|method| method != "elicitation/create") {
            return;
        }
        let message = request.get_mut("params").and_then(|params| params.get_mut("message"));
        if let Some(Value::String(message)) = message {
            *message = format!("the server {} asks: {}", exact(&self.config.name), exact(message));
        }
    }

    /// An error of the client in front as the failure of the call.
    pub(super) fn unlent(&self, asker: &Asker, error: RpcError) -> Failure {
        let text = format!("the server {} can't go on: {}", self.config.name, error.message);
        if let Some(front) = asker.front.as_ref().filter(|_| error.code == RpcError::MISSING_CAPABILITY) {
            front.refuse(error);
        }
        Failure::new(FailureKind::Unavailable, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::BoxFuture;

    struct Client(Value);

    impl Front for Client {
        fn capabilities(&self) -> Map<String, Value> {
            self.0.as_object().cloned().unwrap()
        }

        fn ask(&self, _: Map<String, Value>) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>> {
            Box::pin(async { Ok(Map::new()) })
        }

        fn progress(&self, _: &Map<String, Value>) {}

        fn log_level(&self) -> Option<String> {
            None
        }

        fn log(&self, _: &Map<String, Value>) {}

        fn refuse(&self, _: RpcError) {}
    }

    fn told(theirs: Value, roots: bool) -> Value {
        let front: Arc<dyn Front> = Arc::new(Client(theirs));
        let own = json!({"elicitation": {"form": {}, "url": {}}});
        capabilities(&own, Lends { roots, clients: true }, Some(&front))
    }

    #[test]
    fn a_server_is_told_of_what_the_client_in_front_can_do() {
        let own = json!({"elicitation": {"form": {}, "url": {}}});
        assert_eq!(capabilities(&own, Lends { roots: true, clients: true }, None), own);
        assert_eq!(told(json!({}), true), json!({}));
        let lending = json!({"elicitation": {}, "sampling": {}});
        let front: Arc<dyn Front> = Arc::new(Client(json!({})));
        let lends = Lends { roots: false, clients: true };
        assert_eq!(
            capabilities(&lending, lends, Some(&front)),
            json!({}),
            "a client's calls get its model or none"
        );
        assert_eq!(capabilities(&lending, lends, None), lending);
        assert_eq!(told(json!({"elicitation": {}, "roots": {}}), false), json!({"elicitation": {}}));
        let all = json!({"sampling": {"tools": {}}, "roots": {"listChanged": true}});
        assert_eq!(told(all, true), json!({"sampling": {"tools": {}}, "roots": {}}));
    }

    #[test]
    fn a_server_of_the_older_era_is_told_what_clients_in_front_may_have() {
        let own = json!({"elicitation": {"form": {}, "url": {}}});
        let told = |roots, clients| declared(&own, Lends { roots, clients });
        assert_eq!(told(true, false), own, "nobody is in front");
        assert_eq!(
            (told(false, true)["sampling"].clone(), told(false, true).get("roots")),
            (json!({}), None)
        );
        assert_eq!(told(true, true)["roots"], json!({}));
    }

    #[test]
    fn only_what_the_client_has_goes_on_to_it() {
        let lends = Lends { roots: false, clients: true };
        let goes_on = |theirs: Value, method: &str| lends.goes_on(method, &json!({}), &Client(theirs));
        assert!(goes_on(json!({"elicitation": {}}), "elicitation/create"));
        assert!(!goes_on(json!({"elicitation": {"url": {}}}), "elicitation/create"));
        assert!(goes_on(json!({"sampling": {}}), "sampling/createMessage"));
        assert!(!goes_on(json!({}), "sampling/createMessage"));
        assert!(!goes_on(json!({"roots": {}}), "roots/list"), "the settings don't say so");
        assert!(!goes_on(json!({"tools": {}}), "tools/list"));
    }
}
