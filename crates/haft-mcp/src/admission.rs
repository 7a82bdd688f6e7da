//! Takes each line in as it comes, in order: answers what is no message, opens a place for each request and
//! reserves each call's turn, before the SDK starts handlers in whatever order it likes.

use crate::{
    changes::{Changes, Handed},
    desk::Desk,
    fault::Fault,
    frame::{Asked, Frame, Id, parse},
    lines::{LINE_MAX_BYTES, Line},
    place::{Call, Place, Places, Slot},
};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use std::sync::Arc;

/// A request's `_meta`.
pub(crate) type Meta = Map<String, Value>;

/// What goes on to the SDK.
pub(crate) enum Admitted {
    /// A tool call with its place.
    Call { id: Id, meta: Meta, call: Arc<Call> },
    /// The list of tools.
    List { id: Id, meta: Meta, slot: Arc<Slot> },
    /// The modern era's first question.
    Discover { id: Id, meta: Meta },
    /// Any other request, for the SDK to read from the line; with a watch where it wants to hear of changes.
    Other { id: Id, method: String, changes: Option<Handed> },
    /// The legacy client is ready to be told of changes.
    Initialized { changes: Handed },
    /// The client no longer wants a reply.
    Cancelled { id: Id },
}

/// The parameters that are read here.
#[derive(Default, Deserialize)]
struct Params<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    cursor: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
}

/// Takes lines in.
pub(crate) struct Admission {
    desk: Arc<Desk>,
    places: Places,
    is_initialized: bool,
}

impl Admission {
    pub(crate) fn new(desk: Arc<Desk>) -> Self {
        Self { desk, places: Places::default(), is_initialized: false }
    }

    /// Whether every request was answered or cancelled.
    pub(crate) fn is_idle(&self) -> bool {
        self.places.is_empty()
    }

    /// Closes the place of a request that is to be answered; none where it was cancelled.
    pub(crate) fn close(&mut self, id: &Id) -> Option<Place> {
        self.places.close(id)
    }

    /// Closes the place and answers with an error.
    pub(crate) fn refuse(&mut self, id: &Id, fault: &Fault) {
        if let Some(place) = self.places.close(id) {
            self.desk.refuse(Some(&place.raw_id), fault);
        }
    }

    /// Takes one line in; none where it was answered here or wants nothing.
    ///
    /// Before the client `has_started` a life cycle, notifications mean nothing, and the SDK would give up on
    /// the client that sends one.
    pub(crate) fn admit(&mut self, line: &Line, has_started: bool) -> Option<Admitted> {
        let text = match line {
            Line::Text(text) => text,
            Line::TooLong => {
                let fault = Fault::invalid_request(&format!("a message has at most {LINE_MAX_BYTES} bytes"));
                self.desk.refuse(None, &fault);
                return None;
            }
            Line::NotText => {
                self.desk.refuse(None, &Fault::not_json("a message is UTF-8"));
                return None;
            }
        };
        match parse(text) {
            Frame::Request(asked) => match self.request(&asked) {
                Ok(admitted) => Some(admitted),
                Err(fault) => {
                    self.desk.refuse(Some(asked.raw_id), &fault);
                    None
                }
            },
            Frame::Notification { method, params } if has_started => self.notification(&method, params),
            // Nothing was asked of this client, so a reply answers nothing.
            Frame::Notification { .. } | Frame::Reply => None,
            Frame::Fault { id, fault } => {
                self.desk.refuse(id, &fault);
                None
            }
        }
    }

    fn request(&mut self, asked: &Asked<'_>) -> Result<Admitted, Fault> {
        let id = asked.id.clone();
        match asked.method.as_str() {
            "tools/call" => self.call(asked),
            "tools/list" => {
                let params = read(asked)?;
                if params.cursor.is_some() {
                    return Err(Fault::invalid_params("unknown cursor: all tools are on the first page"));
                }
                let slot = self.places.open(asked)?;
                Ok(Admitted::List { id, meta: params.meta.unwrap_or_default(), slot })
            }
            "server/discover" => {
                let params = read(asked)?;
                self.places.open(asked)?;
                Ok(Admitted::Discover { id, meta: params.meta.unwrap_or_default() })
            }
            method => {
                self.places.open(asked)?;
                let changes = (method == "subscriptions/listen").then(|| self.watch());
                Ok(Admitted::Other { id, method: method.to_owned(), changes })
            }
        }
    }

    fn call(&mut self, asked: &Asked<'_>) -> Result<Admitted, Fault> {
        let params = read(asked)?;
        let tool = params.name.ok_or_else(|| Fault::invalid_params("a call needs the \"name\" of a tool"))?;
        let slot = self.places.open(asked)?;
        // The call sees the tools of now, which are those of a list asked for now.
        let snapshot = self.desk.session.refresh();
        if let (haft_runtime::Resolved::Unknown(_), Some(renewal)) =
            (snapshot.resolve(&tool), &self.desk.renewal)
        {
            renewal();
            self.desk.session.refresh();
        }
        let seat = self.desk.executor.reserve(&self.desk.session);
        let mut call = Call::new(tool, asked, seat, slot);
        if let Some(arguments) = params.arguments {
            arguments.get().clone_into(&mut call.arguments);
        }
        let meta = params.meta.unwrap_or_default();
        let is_token = |token: &&Value| token.is_string() || token.is_i64() || token.is_u64();
        call.progress_token = meta.get("progressToken").filter(is_token).cloned();
        Ok(Admitted::Call { id: asked.id.clone(), meta, call: Arc::new(call) })
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) -> Option<Admitted> {
        match method {
            "notifications/cancelled" => {
                let params: Params<'_> = serde_json::from_str(params?.get()).ok()?;
                let id = Id::read(params.request_id?)?;
                // One that was answered already, or never asked, can't be cancelled.
                self.places.close(&id)?;
                Some(Admitted::Cancelled { id })
            }
            "notifications/initialized" if !self.is_initialized => {
                self.is_initialized = true;
                Some(Admitted::Initialized { changes: self.watch() })
            }
            _ => None,
        }
    }

    fn watch(&self) -> Handed {
        Handed::new(Changes::watch(&self.desk.session))
    }
}

fn read<'a>(asked: &Asked<'a>) -> Result<Params<'a>, Fault> {
    let Some(params) = asked.params else {
        return Ok(Params::default());
    };
    serde_json::from_str(params.get())
        .map_err(|error| Fault::invalid_params(format!("Invalid params for {}: {error}", asked.method)))
}
