//! Requests that servers behind haft answer: resources, prompts and completion.

use crate::{Change, Front, Relayed, RpcError, encode, exchange::Exchange, fault::Fault, office::Office};
use futures::FutureExt;
use serde_json::{Map, Value};
use std::{panic::AssertUnwindSafe, sync::Arc};

/// One such method.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    /// Whether its server may ask the client something first, as the modern era has it.
    pub(crate) may_ask: bool,
    feature: Feature,
}

#[derive(Clone, Copy)]
enum Feature {
    Resources,
    Prompts,
    Completions,
}

static METHODS: [Method; 6] = [
    Method { name: "resources/list", may_ask: false, feature: Feature::Resources },
    Method { name: "resources/templates/list", may_ask: false, feature: Feature::Resources },
    Method { name: "resources/read", may_ask: true, feature: Feature::Resources },
    Method { name: "prompts/list", may_ask: false, feature: Feature::Prompts },
    Method { name: "prompts/get", may_ask: true, feature: Feature::Prompts },
    Method { name: "completion/complete", may_ask: false, feature: Feature::Completions },
];

/// The method of that name, where some server has it now.
pub(crate) fn method(name: &str, office: &Office) -> Option<&'static Method> {
    let features = office.features();
    METHODS.iter().find(|method| method.name == name).filter(|method| match method.feature {
        Feature::Resources => features.resources,
        Feature::Prompts => features.prompts,
        Feature::Completions => features.completions,
    })
}

/// Passes a request on; what becomes of it is told to the exchange.
pub(crate) fn start(
    office: &Arc<Office>,
    exchange: &Arc<Exchange>,
    method: &'static Method,
    params: Map<String, Value>,
) {
    let (office, exchange) = (Arc::clone(office), Arc::clone(exchange));
    tokio::spawn(async move {
        // One that panics would never be answered.
        let result = AssertUnwindSafe(relay(&office, &exchange, method.name, params))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(RpcError::internal("haft failed while it passed the request on")));
        exchange.end(result.map_err(Fault::from));
        office.parked.outlast(&exchange).await;
    });
}

async fn relay(
    office: &Office,
    exchange: &Arc<Exchange>,
    method: &'static str,
    params: Map<String, Value>,
) -> Result<String, RpcError> {
    let upstream = office.upstream.as_ref().ok_or_else(|| RpcError::internal("no server is behind haft"))?;
    let front: Arc<dyn Front> = exchange.clone();
    tokio::select! {
        answer = upstream.request(Relayed { method, params, front }) => {
            Ok(encode::relayed(method, answer?, exchange.era(), &office.server))
        }
        () = exchange.cancel.cancelled() => Err(RpcError::internal("cancelled")),
        () = exchange.left_alone() => Err(RpcError::internal("the client didn't come back in time")),
    }
}

/// The notification that tells of a change, with its parameters.
pub(crate) fn note_of(change: &Change) -> (&'static str, Map<String, Value>) {
    match change {
        Change::Prompts => ("notifications/prompts/list_changed", Map::new()),
        Change::Resources => ("notifications/resources/list_changed", Map::new()),
        Change::Resource(uri) => {
            let params = Map::from_iter([("uri".to_owned(), Value::from(uri.as_ref()))]);
            ("notifications/resources/updated", params)
        }
    }
}
