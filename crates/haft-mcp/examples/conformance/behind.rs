//! Resources, prompts and completion.

use crate::{
    asks::person,
    sample::{PNG, embedded, image, text},
};
use haft_core::BoxFuture;
use haft_mcp::{Change, Features, Relayed, RpcError, Upstreams};
use serde_json::{Map, Value, json};
use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::broadcast;

/// How many changes a slow listener may miss before it is told that it missed some.
const CHANGES_MAX: usize = 64;

/// What there is besides tools.
pub(crate) struct Behind {
    changes: broadcast::Sender<Change>,
    /// Whether there is one prompt more.
    has_more: AtomicBool,
}

impl Behind {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { changes: broadcast::Sender::new(CHANGES_MAX), has_more: AtomicBool::new(false) })
    }

    /// Adds a prompt, or takes it away.
    pub(crate) fn change_prompts(&self) {
        self.has_more.fetch_xor(true, Ordering::Relaxed);
        // Nobody may be listening.
        let _ = self.changes.send(Change::Prompts);
    }

    async fn answer(&self, request: Relayed) -> Result<Value, RpcError> {
        let text = |key: &str| request.params.get(key).and_then(Value::as_str).unwrap_or_default();
        match request.method {
            "resources/list" => Ok(json!({"resources": resources()})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": [{
                "uriTemplate": "test://template/{id}/data",
                "name": "template",
                "description": "Data by id.",
                "mimeType": "application/json",
            }]})),
            "resources/read" => read(text("uri")),
            "prompts/list" => Ok(json!({"prompts": self.prompts()})),
            "prompts/get" => prompt(text("name"), &request).await,
            "completion/complete" => {
                Ok(json!({"completion": {"values": completed(&request.params), "hasMore": false}}))
            }
            other => Err(RpcError::internal(format!("{other} isn't answered here"))),
        }
    }

    fn prompts(&self) -> Vec<Value> {
        let needed = |name: &str, about: &str| json!({"name": name, "description": about, "required": true});
        let prompt = |name: &str, about: &str, arguments: &[Value]| json!({"name": name, "description": about, "arguments": arguments});
        let two = [needed("arg1", "First test argument"), needed("arg2", "Second test argument")];
        let uri = [needed("resourceUri", "URI of the resource to embed")];
        let mut all = vec![
            prompt("test_simple_prompt", "Says one thing.", &[]),
            prompt("test_prompt_with_arguments", "Says what it is given.", &two),
            prompt("test_prompt_with_embedded_resource", "Has a resource in it.", &uri),
            prompt("test_prompt_with_image", "Has a picture in it.", &[]),
            prompt("test_input_required_result_prompt", "Asks first.", &[]),
        ];
        if self.has_more.load(Ordering::Relaxed) {
            all.push(prompt("test_added_prompt", "Comes and goes.", &[]));
        }
        all
    }
}

impl Upstreams for Behind {
    fn features(&self) -> Features {
        Features { resources: true, subscriptions: true, prompts: true, completions: true }
    }

    fn request(&self, request: Relayed) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>> {
        Box::pin(async move {
            match self.answer(request).await? {
                Value::Object(fields) => Ok(fields),
                other => Err(RpcError::internal(format!("{other} is no result"))),
            }
        })
    }

    fn subscribe(&self, _: &str) -> BoxFuture<'_, Result<Box<dyn Any + Send>, RpcError>> {
        // Nothing here changes by itself, so there is nothing to keep.
        Box::pin(async {
            let kept: Box<dyn Any + Send> = Box::new(());
            Ok(kept)
        })
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

fn resources() -> Vec<Value> {
    [
        ("test://static-text", "static-text", "A text.", "text/plain"),
        ("test://static-binary", "static-binary", "A picture.", "image/png"),
        ("test://watched-resource", "watched-resource", "A text that can be subscribed to.", "text/plain"),
    ]
    .into_iter()
    .map(|(uri, name, about, kind)| json!({"uri": uri, "name": name, "description": about, "mimeType": kind}))
    .collect()
}

fn read(uri: &str) -> Result<Value, RpcError> {
    let plain = |words: &str| json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": words}]});
    match uri {
        "test://static-text" => Ok(plain("This is the content of the static text resource.")),
        "test://watched-resource" => Ok(plain("Watched resource content.")),
        "test://static-binary" => {
            Ok(json!({"contents": [{"uri": uri, "mimeType": "image/png", "blob": PNG}]}))
        }
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let id = id.filter(|id| !id.is_empty()).ok_or_else(|| RpcError::no_resource(uri))?;
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            let item = json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()});
            Ok(json!({"contents": [item]}))
        }
    }
}

async fn prompt(name: &str, request: &Relayed) -> Result<Value, RpcError> {
    let argument = |key: &str| {
        let arguments = request.params.get("arguments");
        arguments.and_then(|all| all.get(key)).and_then(Value::as_str).unwrap_or_default()
    };
    let messages = |items: &[Value]| -> Value {
        let all: Vec<Value> =
            items.iter().map(|content| json!({"role": "user", "content": content})).collect();
        json!({"messages": all})
    };
    match name {
        "test_simple_prompt" | "test_added_prompt" => {
            Ok(messages(&[text("This is a simple prompt for testing.")]))
        }
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            Ok(messages(&[text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]))
        }
        "test_prompt_with_embedded_resource" => {
            let words = "Embedded resource content for testing.";
            let resource = embedded(argument("resourceUri"), "text/plain", words);
            Ok(messages(&[resource, text("Please process the embedded resource above.")]))
        }
        "test_prompt_with_image" => Ok(messages(&[image(), text("Please analyze the image above.")])),
        "test_input_required_result_prompt" => {
            let question = person("What context should the prompt use?", "context");
            let requests = Map::from_iter([("user_context".to_owned(), question)]);
            let answers = request.front.ask(requests).await?;
            let context =
                answers.get("user_context").and_then(|answer| answer["content"]["context"].as_str());
            Ok(messages(&[text(&format!("The context is {}.", context.unwrap_or("unknown")))]))
        }
        _ => Err(RpcError::invalid_params(format!("Unknown prompt: {name}"))),
    }
}

/// Values that begin with what is there.
fn completed(params: &Map<String, Value>) -> Vec<&'static str> {
    let begun = params.get("argument").and_then(|argument| argument["value"].as_str()).unwrap_or_default();
    ["paris", "park", "party"].into_iter().filter(|value| value.starts_with(begun)).collect()
}
