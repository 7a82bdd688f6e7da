//! The one file that knows the SDK's types: its transport is fed from `admission` and written by `outbox`,
//! its handlers leave raw results in the request's slot, and `send` swaps them in for the SDK's own.
//!
//! Keeps "conflicting calls keep the order in which they were sent": the SDK polls `receive` from one task
//! and spawns a handler only for what came out of it, so a place taken there stands before any handler runs.

use crate::{
    McpError,
    admission::{Admission, Admitted, Meta},
    call::{self, END_TIMEOUT, FINISH_TIMEOUT},
    changes::Handed,
    desk::Desk,
    encode::{self, Era},
    fault::Fault,
    frame::Id,
    lines::{Line, Lines},
    place::{Call, Slot},
};
use futures::FutureExt;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotification,
        CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ClientRequest, DiscoverRequest,
        DiscoverRequestParams, DiscoverResult, ErrorCode, Extensions, GetExtensions, Implementation,
        InitializedNotification, JsonRpcMessage, ListToolsRequest, ListToolsResult, NumberOrString,
        PaginatedRequestParams, ProtocolVersion, RequestMetaObject, ServerCapabilities, ServerConfig,
        ServerJsonRpcMessage, ServerResult, SubscriptionFilter,
    },
    service::{NotificationContext, RequestContext, ServerInitializeError, SubscriptionContext},
    transport::Transport,
};
use std::{future::pending, io, panic::AssertUnwindSafe, sync::Arc};
use tokio::{
    io::AsyncRead,
    time::{Instant, sleep_until},
};

/// Methods whose malformed parameters the SDK would take for an unknown method.
const TYPED_METHODS: [&str; 2] = ["initialize", "subscriptions/listen"];

/// Serves until the client leaves.
pub(crate) async fn serve<R>(desk: &Arc<Desk>, lines: Lines<R>) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
{
    let frames = Frames {
        admission: Admission::new(Arc::clone(desk)),
        desk: Arc::clone(desk),
        lines,
        has_started: false,
        deadline: None,
    };
    let handler = Handler { desk: Arc::clone(desk), config: config(desk) };
    let failed = |error: &dyn std::error::Error| McpError::Protocol(error.to_string());
    match Box::pin(rmcp::serve_server(handler, frames)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| failed(&error)),
        // It left before it said what it wants.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

fn config(desk: &Desk) -> ServerConfig {
    let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
    let info = &desk.info;
    ServerConfig::new(capabilities)
        .with_server_info(Implementation::new(info.name.as_str(), info.version.as_str()))
        .with_instructions(info.instructions.as_str())
}

/// The transport.
struct Frames<R> {
    desk: Arc<Desk>,
    admission: Admission,
    lines: Lines<R>,
    /// Whether the SDK has chosen a life cycle and left its first phase.
    has_started: bool,
    /// When to stop waiting for open requests, once the client has left.
    deadline: Option<Instant>,
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Frames<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // Queued here and not in the future: the SDK runs those in any order.
        std::future::ready(self.pass_out(item))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // In its first phase the SDK answers each request before it asks for the next message.
        self.has_started |= !self.admission.is_idle();
        while self.deadline.is_none() {
            match next_line(&self.desk, &mut self.lines).await {
                Ok(Some(line)) => {
                    if let Some(message) = self.pass_in(&line) {
                        return Some(message);
                    }
                }
                Ok(None) => self.end(),
                Err(error) => {
                    self.desk.input_broke(error);
                    self.end();
                }
            }
        }
        // The SDK drops this future to pass a reply out and asks again, so this ends with the last reply.
        if let Some(deadline) = self.deadline.filter(|_| !self.admission.is_idle()) {
            sleep_until(deadline).await;
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // The outbox outlives the SDK and is closed by whoever opened it.
        Ok(())
    }
}

/// The next line, once the client has taken most of what it asked for; none where it takes no more.
async fn next_line<R: AsyncRead + Unpin>(desk: &Desk, lines: &mut Lines<R>) -> io::Result<Option<Line>> {
    let line = async {
        desk.outbox.room().await;
        lines.next().await
    };
    tokio::select! {
        () = desk.outbox.closed() => Ok(None),
        line = line => line,
    }
}

impl<R> Frames<R> {
    /// The client has said all it wants. It may still read: what it asked for is finished, within bounds.
    fn end(&mut self) {
        let desk = Arc::clone(&self.desk);
        desk.leaving.cancel();
        tokio::spawn(async move {
            tokio::select! {
                () = desk.outbox.closed() => {}
                () = tokio::time::sleep(FINISH_TIMEOUT) => {}
            }
            desk.ending.cancel();
        });
        self.deadline = Some(Instant::now() + FINISH_TIMEOUT + END_TIMEOUT);
    }

    fn pass_in(&mut self, line: &Line) -> Option<ClientJsonRpcMessage> {
        match self.admission.admit(line, self.has_started)? {
            Admitted::Call { id, meta, call } => {
                let mut request = CallToolRequest::new(CallToolRequestParams::new(call.tool.clone()));
                extend(&mut request.extensions, meta, call);
                Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id.into()))
            }
            Admitted::List { id, meta, slot } => {
                let mut request = ListToolsRequest::default();
                extend(&mut request.extensions, meta, slot);
                Some(JsonRpcMessage::request(ClientRequest::ListToolsRequest(request), id.into()))
            }
            Admitted::Discover { id, meta } => {
                let mut request = DiscoverRequest::new(DiscoverRequestParams {});
                request.extensions.insert(RequestMetaObject::from(meta));
                Some(JsonRpcMessage::request(ClientRequest::DiscoverRequest(request), id.into()))
            }
            Admitted::Other { id, method, changes } => self.decode(line, &id, &method, changes),
            Admitted::Initialized { changes } => {
                let mut note = InitializedNotification::default();
                note.extensions.insert(changes);
                Some(JsonRpcMessage::notification(ClientNotification::InitializedNotification(note)))
            }
            Admitted::Cancelled { id } => {
                let params = CancelledNotificationParam::new(Some(id.into()), None);
                let note = CancelledNotification::new(params);
                Some(JsonRpcMessage::notification(ClientNotification::CancelledNotification(note)))
            }
        }
    }

    /// Lets the SDK read a request that is nothing special here.
    fn decode(
        &mut self,
        line: &Line,
        id: &Id,
        method: &str,
        changes: Option<Handed>,
    ) -> Option<ClientJsonRpcMessage> {
        let text = match line {
            Line::Text(text) => text.as_str(),
            Line::TooLong | Line::NotText => "",
        };
        let is_misread = |request: &ClientRequest| {
            matches!(request, ClientRequest::CustomRequest(_)) && TYPED_METHODS.contains(&method)
        };
        match serde_json::from_str::<ClientJsonRpcMessage>(text) {
            Ok(JsonRpcMessage::Request(mut request)) if !is_misread(&request.request) => {
                if let Some(changes) = changes {
                    request.request.extensions_mut().insert(changes);
                }
                Some(JsonRpcMessage::Request(request))
            }
            _ => {
                self.admission.refuse(id, &Fault::invalid_params(format!("Invalid params for {method}")));
                None
            }
        }
    }

    fn pass_out(&mut self, item: ServerJsonRpcMessage) -> io::Result<()> {
        let line = match item {
            JsonRpcMessage::Response(response) => {
                // Of its answers in the first phase, only that to `initialize` ends it.
                self.has_started |= !matches!(
                    response.result,
                    ServerResult::EmptyResult(_) | ServerResult::DiscoverResult(_)
                );
                let Some(place) = self.admission.close(&response.id.into()) else {
                    return Ok(());
                };
                match place.slot.get() {
                    Some(result) => encode::reply(&place.raw_id, result),
                    None => encode::reply(&place.raw_id, &serde_json::to_string(&response.result)?),
                }
            }
            JsonRpcMessage::Error(error) => {
                let Some(place) = error.id.and_then(|id| self.admission.close(&id.into())) else {
                    return Ok(());
                };
                encode::error(&place.raw_id, &serde_json::to_string(&error.error)?)
            }
            message @ (JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) => {
                serde_json::to_string(&message)?
            }
        };
        self.desk.outbox.push(line)
    }
}

/// Adds what the handler needs to a request's extensions, which the SDK hands on to it.
fn extend<T: Clone + Send + Sync + 'static>(extensions: &mut Extensions, meta: Meta, ours: T) {
    extensions.insert(RequestMetaObject::from(meta));
    extensions.insert(ours);
}

impl From<Id> for NumberOrString {
    fn from(id: Id) -> Self {
        match id {
            Id::Number(number) => Self::Number(number),
            Id::Text(text) => Self::String(text),
        }
    }
}

impl From<NumberOrString> for Id {
    fn from(id: NumberOrString) -> Self {
        match id {
            NumberOrString::Number(number) => Self::Number(number),
            NumberOrString::String(text) => Self::Text(text),
        }
    }
}

/// The handlers.
struct Handler {
    desk: Arc<Desk>,
    config: ServerConfig,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    /// Only the versions that need no handshake; the others are agreed on by `initialize`.
    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = ProtocolVersion::KNOWN_VERSIONS.iter().filter(|version| !version.has_initialize());
        Ok(DiscoverResult::from_server_info(versions.cloned().collect(), self.get_info()))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let slot = ours::<Arc<Slot>>(&context.extensions)?;
        if let Some(renewal) = self.desk.renewal.clone() {
            // One that panics leaves the list as it was.
            drop(tokio::task::spawn_blocking(move || renewal()).await);
        }
        let (session, server) = (&self.desk.session, &self.desk.server);
        let snapshot = session.refresh();
        // What a rule denies whole, nobody needs to see.
        let offers = snapshot.offers().filter(|offer| !session.denies(offer));
        slot.fill(encode::list(offers, era(&context), server));
        Ok(ListToolsResult::default())
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = ours::<Arc<Call>>(&context.extensions)?;
        let (era, cancelled) = (era(&context), context.ct.clone());
        let run = call::run(&self.desk, &call, era, &cancelled);
        // A handler that panics would never be answered.
        let result = AssertUnwindSafe(run)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Fault::internal("haft failed while it ran the call")))
            .map_err(refused)?;
        call.slot.fill(result);
        Ok(CallToolResult::success(Vec::new()).into())
    }

    /// All of it: the SDK leaves what isn't among the capabilities out.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let handed = context.request_context().extensions.get::<Handed>().and_then(Handed::take);
        let changes = handed.filter(|_| context.accepted().tools_list_changed == Some(true));
        let tell = async {
            let Some(mut changes) = changes else {
                return pending().await;
            };
            loop {
                changes.next().await;
                if context.sink().notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = tell => {}
            () = context.cancelled() => {}
            () = self.desk.leaving.cancelled() => {}
        }
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let handed = context.extensions.get::<Handed>().and_then(Handed::take);
        // In the modern era only those are told who subscribed.
        let Some(mut changes) = handed.filter(|_| context.peer.peer_info().is_some()) else {
            return;
        };
        loop {
            tokio::select! {
                () = changes.next() => {}
                () = self.desk.leaving.cancelled() => return,
            }
            if self.desk.outbox.push(encode::list_changed()).is_err() {
                return;
            }
        }
    }
}

fn era(context: &RequestContext<RoleServer>) -> Era {
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Era::Modern,
        _ => Era::Legacy,
    }
}

/// What `Frames` put into the request.
fn ours<T: Clone + Send + Sync + 'static>(extensions: &Extensions) -> Result<T, ErrorData> {
    extensions.get::<T>().cloned().ok_or_else(|| refused(Fault::internal("the request lost its frame")))
}

fn refused(fault: Fault) -> ErrorData {
    ErrorData::new(ErrorCode(fault.code), fault.message, None)
}
