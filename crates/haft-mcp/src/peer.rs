//! One client: a connection over stdio, a session over HTTP, or a single request of the modern era over HTTP.
//!
//! Takes each message in as it comes, in order: opens a place for each request and reserves each call's turn before
//! anything is spawned. Keeps "conflicting calls keep the order in which they were sent".

use crate::{
    about::About,
    asks::Asks,
    call::{self, Call},
    changes::Changes,
    encode,
    era::{BATCHING, Era, negotiate},
    exchange::{Caller, Exchange},
    fault::Fault,
    frame::{Asked, Frame, Id},
    level::Level,
    listen::{self, Listening},
    office::Office,
    params::Params,
    place::{Place, Places},
    reach::Reach,
    relay,
    seal::Ticket,
    subscriptions::Subscriptions,
    work::{Task, Work},
};
use serde_json::{Map, Value, value::RawValue};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What a client gets whose state doesn't open, or whose call no longer waits.
const STALE: &str = "this requestState is for no call that waits here, or for other parameters; make the request again \
    without requestState and inputResponses";

/// One client.
pub(crate) struct Peer {
    pub(crate) office: Arc<Office>,
    /// Where messages go that belong to no request.
    pub(crate) aside: Arc<dyn Reach>,
    /// Fires when the client wants no news any more.
    pub(crate) leaving: CancellationToken,
    /// Fires when its calls must end.
    pub(crate) ending: CancellationToken,
    /// The resources that it has subscribed to in the legacy era.
    pub(crate) subscriptions: Subscriptions,
    asks: Asks,
    places: Places,
    working: Arc<watch::Sender<usize>>,
    hears: AtomicBool,
    said: Mutex<Said>,
}

/// What a client of the legacy era said about itself.
#[derive(Default)]
struct Said {
    version: Option<&'static str>,
    capabilities: Map<String, Value>,
    level: Option<Level>,
}

/// What became of a message.
pub(crate) enum Heard {
    /// A request, to be worked on.
    Request(Work),
    /// It wants no answer.
    Taken,
    /// No message, or a request that is refused; with the id where it could be read.
    Fault { raw_id: Option<String>, fault: Fault },
}

/// Counts what is worked on.
pub(crate) struct Working(Arc<watch::Sender<usize>>);

impl Working {
    fn new(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(Arc::clone(count))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Peer {
    pub(crate) fn new(office: &Arc<Office>, aside: Arc<dyn Reach>) -> Arc<Self> {
        Arc::new(Self {
            leaving: office.leaving.child_token(),
            ending: office.ending.child_token(),
            office: Arc::clone(office),
            aside,
            subscriptions: Subscriptions::default(),
            asks: Asks::default(),
            places: Places::default(),
            working: Arc::new(watch::Sender::new(0)),
            hears: AtomicBool::new(false),
            said: Mutex::default(),
        })
    }

    /// The revision that was agreed on in a handshake.
    pub(crate) fn version(&self) -> Option<&'static str> {
        self.said().version
    }

    /// Whether it may send several messages at once.
    pub(crate) fn takes_batches(&self) -> bool {
        self.version() == Some(BATCHING)
    }

    /// The era of a message over stdio: of a request what it says itself, or what its method belongs to.
    pub(crate) fn era_of(&self, frame: &Frame<'_>) -> Era {
        let Frame::Request(asked) = frame else { return Era::Legacy };
        let says_modern = || Params::read(asked).is_ok_and(|mut params| params.meta().is_modern());
        let is_legacy = match asked.method.as_str() {
            "server/discover" | "subscriptions/listen" => false,
            "initialize" | "ping" => !says_modern(),
            _ => self.version().is_some() && !says_modern(),
        };
        if is_legacy { Era::Legacy } else { Era::Modern }
    }

    /// Takes one message in; what answers it goes by `via`.
    pub(crate) fn hear(self: &Arc<Self>, frame: &Frame<'_>, via: &Arc<dyn Reach>, era: Era) -> Heard {
        match frame {
            Frame::Request(asked) => match self.request(asked, via, era) {
                Ok(work) => Heard::Request(work),
                Err(fault) => Heard::Fault { raw_id: Some(asked.raw_id.to_owned()), fault },
            },
            Frame::Notification { method, params } => {
                self.notified(method, *params);
                Heard::Taken
            }
            Frame::Reply { id, answer } => {
                if let Some(id) = id {
                    self.asks.answered(id, *answer);
                }
                Heard::Taken
            }
            Frame::Fault { id, fault } => {
                Heard::Fault { raw_id: id.map(str::to_owned), fault: fault.clone() }
            }
        }
    }

    /// Whether nothing is worked on.
    pub(crate) fn is_idle(&self) -> bool {
        *self.working.borrow() == 0
    }

    /// Waits until nothing is worked on.
    pub(crate) async fn idle(&self) {
        // Fails only without a sender, and `self` has one.
        drop(self.working.subscribe().wait_for(|count| *count == 0).await);
    }

    /// It says nothing any more: no news for it, and its questions end without an answer. Its calls go on.
    pub(crate) fn hush(&self) {
        self.leaving.cancel();
        self.asks.end();
    }

    /// Nobody is there any more: its calls end, and it is told nothing.
    pub(crate) fn end(&self) {
        self.hush();
        self.ending.cancel();
    }

    fn request(self: &Arc<Self>, asked: &Asked<'_>, via: &Arc<dyn Reach>, era: Era) -> Result<Work, Fault> {
        let mut params = Params::read(asked)?;
        let caller = self.caller(&mut params, via, era)?;
        let place = self.places.open(asked)?;
        let task = match (era, asked.method.as_str()) {
            (_, "tools/list") => whole_list(&params).map(|()| Task::Tools)?,
            (_, "tools/call") => self.call(asked, &params, caller, &place)?,
            (Era::Modern, "server/discover") => {
                Task::Known(encode::discovered(&self.office.capabilities(), &self.office.info))
            }
            (Era::Modern, "subscriptions/listen") => {
                Task::Listen(Listening::new(&self.office, params.notifications.take(), via)?)
            }
            (Era::Legacy, "initialize") => self.initialize(&mut params)?,
            (Era::Legacy, "ping") => Task::Known("{}".to_owned()),
            (Era::Legacy, "logging/setLevel") => self.set_level(&params)?,
            (Era::Legacy, "resources/subscribe" | "resources/unsubscribe") => {
                self.subscribe(asked, params)?
            }
            (_, method) => self.relay(asked, method, &params, caller)?,
        };
        let (via, peer, working) = (Arc::clone(via), Arc::clone(self), Working::new(&self.working));
        Ok(Work { place, via, era, task, peer, working })
    }

    /// Who asks, and what they can do: of the modern era as each request says, of the legacy one as was agreed.
    fn caller(&self, params: &mut Params<'_>, via: &Arc<dyn Reach>, era: Era) -> Result<Caller, Fault> {
        let meta = params.meta();
        let (capabilities, level) = match era {
            Era::Modern => (meta.check()?, meta.level()),
            Era::Legacy => {
                let said = self.said();
                let capabilities = if via.can_ask() { said.capabilities.clone() } else { Map::new() };
                (capabilities, said.level)
            }
        };
        let (token, meta) = (meta.token(), meta.foreign());
        Ok(Caller { era, capabilities, level, token, meta, via: Arc::clone(via) })
    }

    fn initialize(&self, params: &mut Params<'_>) -> Result<Task, Fault> {
        let requested = params.protocol_version.as_deref().ok_or_else(|| {
            Fault::invalid_params("Invalid params for initialize: \"protocolVersion\" is missing")
        })?;
        let version = negotiate(requested);
        let mut said = self.said();
        said.version = Some(version);
        said.capabilities = params.capabilities.take().unwrap_or_default();
        drop(said);
        Ok(Task::Known(encode::initialized(version, &self.office.capabilities(), &self.office.info)))
    }

    fn set_level(&self, params: &Params<'_>) -> Result<Task, Fault> {
        let level =
            params.level.as_deref().and_then(Level::parse).ok_or_else(|| {
                Fault::invalid_params(format!("\"level\" must be one of {}", Level::names()))
            })?;
        self.said().level = Some(level);
        Ok(Task::Known("{}".to_owned()))
    }

    fn subscribe(&self, asked: &Asked<'_>, params: Params<'_>) -> Result<Task, Fault> {
        if !self.office.features().subscriptions {
            return Err(Fault::no_method(&asked.method));
        }
        let uri = params
            .uri
            .ok_or_else(|| Fault::invalid_params("a subscription needs the \"uri\" of a resource"))?;
        if asked.method == "resources/unsubscribe" {
            self.subscriptions.remove(&uri);
            return Ok(Task::Known("{}".to_owned()));
        }
        self.subscriptions.add(uri).map(Task::Subscribe)
    }

    /// A call gets its turn, or goes on where it waits for its client.
    fn call(
        &self,
        asked: &Asked<'_>,
        params: &Params<'_>,
        caller: Caller,
        place: &Place,
    ) -> Result<Task, Fault> {
        let name = params
            .name
            .as_deref()
            .ok_or_else(|| Fault::invalid_params("a call needs the \"name\" of a tool"))?;
        let about = (caller.era == Era::Modern).then(|| About::of(asked));
        if let Some(ticket) = self.ticket(asked, params, caller.era)? {
            return Ok(Task::Talk { exchange: self.resumed(ticket, params, caller)?, about });
        }
        let given = given(params, caller.era)?;
        let tool = self.office.called(name);
        let seat = self.office.executor.reserve(&self.office.session);
        let exchange = Exchange::new(caller, given, self.asks.clone(), &self.ending);
        let arguments = params.arguments.map_or("{}", RawValue::get).to_owned();
        let call = Call { tool, arguments, foreign_id: place.foreign_id(), seat };
        call::start(&self.office, &exchange, call);
        Ok(Task::Talk { exchange, about })
    }

    /// A request that servers behind haft answer.
    fn relay(
        &self,
        asked: &Asked<'_>,
        method: &str,
        params: &Params<'_>,
        caller: Caller,
    ) -> Result<Task, Fault> {
        let method = relay::method(method, &self.office).ok_or_else(|| Fault::no_method(method))?;
        if method.name.ends_with("/list") {
            whole_list(params)?;
        }
        let about = (method.may_ask && caller.era == Era::Modern).then(|| About::of(asked));
        if method.may_ask
            && let Some(ticket) = self.ticket(asked, params, caller.era)?
        {
            return Ok(Task::Talk { exchange: self.resumed(ticket, params, caller)?, about });
        }
        let mut fields = fields(asked)?;
        let own = ["_meta", "inputResponses", "requestState", "cursor"];
        fields.retain(|key, _| !own.contains(&key.as_str()));
        if !caller.meta.is_empty() {
            fields.insert("_meta".to_owned(), Value::Object(caller.meta.clone()));
        }
        let given = given(params, caller.era)?;
        let exchange = Exchange::new(caller, given, self.asks.clone(), &self.ending);
        relay::start(&self.office, &exchange, method, fields);
        Ok(Task::Talk { exchange, about })
    }

    /// What a request of the modern era says of the call that it comes back to.
    fn ticket(&self, asked: &Asked<'_>, params: &Params<'_>, era: Era) -> Result<Option<Ticket>, Fault> {
        let Some(state) = params.request_state.as_deref().filter(|_| era == Era::Modern) else {
            return Ok(None);
        };
        let ticket = self.office.seal.open(state, &About::of(asked).identity());
        ticket.map(Some).ok_or_else(|| Fault::invalid_params(STALE))
    }

    /// The call that waits for what this request brings back.
    fn resumed(&self, ticket: Ticket, params: &Params<'_>, caller: Caller) -> Result<Arc<Exchange>, Fault> {
        let answers = params.answers()?;
        let exchange = self.office.parked.resume(ticket, caller, &answers);
        exchange.ok_or_else(|| Fault::invalid_params(STALE))
    }

    fn notified(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/cancelled" => {
                let id =
                    params.and_then(|params| Params::of(params).ok()).and_then(|params| params.request_id);
                if let Some(id) = id.and_then(Id::read) {
                    self.places.cancel(&id);
                }
            }
            // Before the handshake it means nothing, and a second one nothing more.
            "notifications/initialized"
                if self.version().is_some() && !self.hears.swap(true, Ordering::Relaxed) =>
            {
                tokio::spawn(listen::tell(Arc::clone(self), Changes::watch(&self.office)));
            }
            _ => {}
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lists have one page.
fn whole_list(params: &Params<'_>) -> Result<(), Fault> {
    match &params.cursor {
        Some(_) => Err(Fault::invalid_params("unknown cursor: all of the list is on the first page")),
        None => Ok(()),
    }
}

/// Answers that came without a state; only the modern era knows them.
fn given(params: &Params<'_>, era: Era) -> Result<Map<String, Value>, Fault> {
    if era == Era::Modern { params.answers() } else { Ok(Map::new()) }
}

/// All parameters, as they go on to a server.
fn fields(asked: &Asked<'_>) -> Result<Map<String, Value>, Fault> {
    let Some(params) = asked.params else { return Ok(Map::new()) };
    serde_json::from_str(params.get())
        .map_err(|error| Fault::invalid_params(format!("Invalid params for {}: {error}", asked.method)))
}
