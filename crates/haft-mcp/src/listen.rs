//! Who is told of changes: in the modern era whoever listens, for what they ask; in the legacy one each client that has
//! shaken hands, and of single resources those that subscribed.

use crate::{
    Change,
    changes::{Changes, News},
    encode,
    fault::Fault,
    office::Office,
    peer::Peer,
    place::Place,
    reach::Reach,
    relay,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{any::Any, collections::HashSet, sync::Arc};

/// Most resources that one client or one stream hears of.
const RESOURCES_MAX: usize = 1_024;

/// What a client wants to hear of, as it says it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Wanted {
    tools_list_changed: Option<bool>,
    prompts_list_changed: Option<bool>,
    resources_list_changed: Option<bool>,
    resource_subscriptions: Option<Vec<String>>,
}

/// One stream of the modern era.
pub(crate) struct Listening {
    wanted: Wanted,
    changes: Changes,
    via: Arc<dyn Reach>,
}

impl Listening {
    /// Hears of changes from now on.
    ///
    /// # Errors
    /// What is wanted can't be read, or is too much.
    pub(crate) fn new(
        office: &Office,
        notifications: Option<Value>,
        via: &Arc<dyn Reach>,
    ) -> Result<Self, Fault> {
        let wanted = notifications
            .ok_or_else(|| Fault::invalid_params("subscriptions/listen needs \"notifications\""))?;
        let wanted: Wanted = serde_json::from_value(wanted).map_err(|error| {
            Fault::invalid_params(format!("Invalid params for subscriptions/listen: {error}"))
        })?;
        if wanted.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() > RESOURCES_MAX) {
            return Err(Fault::invalid_params(format!(
                "one stream hears of at most {RESOURCES_MAX} resources"
            )));
        }
        Ok(Self { wanted, changes: Changes::watch(office), via: Arc::clone(via) })
    }

    /// Tells of changes until the client cancels, and then nothing more, or until the server ends: then the result.
    pub(crate) async fn run(self, peer: &Peer, place: &Place) -> Option<String> {
        let Self { wanted, mut changes, via } = self;
        let id = place.raw_id.as_str();
        let (accepted, _held) = tokio::select! {
            biased;
            () = place.cancelled.cancelled() => return None,
            () = peer.leaving.cancelled() => return Some(encode::unsubscribed(id, &peer.office.server)),
            accepted = accepted(&peer.office, wanted) => accepted,
        };
        let params = Map::from_iter([("notifications".to_owned(), accepted.to_json())]);
        via.push(encode::told(id, "notifications/subscriptions/acknowledged", params)).ok()?;
        loop {
            let news = tokio::select! {
                biased;
                () = place.cancelled.cancelled() => return None,
                () = peer.leaving.cancelled() => return Some(encode::unsubscribed(id, &peer.office.server)),
                news = changes.next() => news,
            };
            for (method, params) in accepted.notes(&news) {
                via.tell(encode::told(id, method, params)).ok()?;
            }
        }
    }
}

/// The part that there is, and what keeps single resources told of.
async fn accepted(office: &Office, wanted: Wanted) -> (Accepted, Vec<Box<dyn Any + Send>>) {
    let features = office.features();
    let mut accepted = Accepted {
        tools: wanted.tools_list_changed == Some(true),
        prompts: features.prompts && wanted.prompts_list_changed == Some(true),
        resources: features.resources && wanted.resources_list_changed == Some(true),
        uris: Vec::new(),
    };
    let mut held = Vec::new();
    let mut uris = wanted.resource_subscriptions.unwrap_or_default();
    let mut named = HashSet::new();
    uris.retain(|uri| named.insert(uri.clone()));
    if let Some(upstream) = office.upstream.as_ref().filter(|_| features.subscriptions) {
        for uri in uris {
            if let Ok(subscription) = upstream.subscribe(&uri).await {
                held.push(subscription);
                accepted.uris.push(uri);
            }
        }
    }
    (accepted, held)
}

/// What a stream tells of.
struct Accepted {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl Accepted {
    fn to_json(&self) -> Value {
        let mut said = Map::new();
        let lists = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        said.extend(
            lists.iter().filter(|(_, is_told)| *is_told).map(|(name, _)| ((*name).to_owned(), json!(true))),
        );
        if !self.uris.is_empty() {
            said.insert("resourceSubscriptions".to_owned(), json!(self.uris));
        }
        Value::Object(said)
    }

    fn notes(&self, news: &News) -> Vec<(&'static str, Map<String, Value>)> {
        let tells = |change: &Change| match change {
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.iter().any(|known| known.as_str() == uri.as_ref()),
        };
        notes(news, self.tools, tells, &self.uris)
    }
}

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// The notifications of some news for whoever hears of tools or not, and of what `tells` says.
fn notes(
    news: &News,
    tools: bool,
    tells: impl Fn(&Change) -> bool,
    uris: &[String],
) -> Vec<(&'static str, Map<String, Value>)> {
    let all = match news {
        News::Tools => return if tools { vec![(TOOLS_CHANGED, Map::new())] } else { Vec::new() },
        News::Of(change) => vec![change.clone()],
        News::Anything => {
            let resources = uris.iter().map(|uri| Change::Resource(uri.as_str().into()));
            [Change::Prompts, Change::Resources].into_iter().chain(resources).collect()
        }
    };
    all.iter().filter(|change| tells(change)).map(relay::note_of).collect()
}

/// Tells a client of the legacy era of changes until it leaves.
pub(crate) async fn tell(peer: Arc<Peer>, mut changes: Changes) {
    loop {
        let news = tokio::select! {
            news = changes.next() => news,
            () = peer.leaving.cancelled() => return,
        };
        let uris = peer.subscriptions.uris();
        let tells = |change: &Change| match change {
            Change::Prompts | Change::Resources => true,
            Change::Resource(uri) => uris.iter().any(|known| known.as_str() == uri.as_ref()),
        };
        for (method, params) in notes(&news, true, tells, &uris) {
            if peer.aside.tell(encode::note(method, &params)).is_err() {
                return;
            }
        }
    }
}
