//! The tools that the suite calls.

use crate::{
    asks,
    sample::{WAV, embedded, image, result, said, text},
    tool::{Call, Plan, Run, Stage},
};
use haft_core::{AnyTool, Failure};
use serde_json::{Map, Value, json};
use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::time::sleep;

/// How far apart the suite wants messages of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// All of them.
pub(crate) fn all(stage: &Arc<Stage>) -> Vec<Arc<dyn AnyTool>> {
    let mut plans = plain();
    plans.extend(with_input());
    plans.extend(asks::plans());
    plans.into_iter().map(|plan| plan.tool(stage)).collect()
}

/// A tool without arguments.
pub(crate) fn plan(name: &'static str, description: &'static str, run: Run) -> Plan {
    Plan { name, description, schema: json!({"type": "object", "properties": {}}), run }
}

fn plain() -> Vec<Plan> {
    vec![
        plan("test_simple_text", "Returns a text.", |_| {
            Box::pin(async { Ok(said("This is a simple text response for testing.")) })
        }),
        plan("test_image_content", "Returns a picture.", |_| Box::pin(async { Ok(result(&[image()])) })),
        plan("test_audio_content", "Returns a sound.", |_| {
            let sound = json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"});
            Box::pin(async move { Ok(result(&[sound])) })
        }),
        plan("test_embedded_resource", "Returns a resource.", |_| {
            let words = "This is an embedded resource content.";
            Box::pin(async move { Ok(result(&[embedded("test://embedded-resource", "text/plain", words)])) })
        }),
        plan("test_multiple_content_types", "Returns content of several kinds.", |_| {
            let data = json!({"test": "data", "value": 123}).to_string();
            let resource = embedded("test://mixed-content-resource", "application/json", &data);
            Box::pin(async move { Ok(result(&[text("Multiple content types test:"), image(), resource])) })
        }),
        plan("test_error_handling", "Fails.", |_| {
            let words = "This tool intentionally returns an error for testing";
            Box::pin(async move { Ok(json!({"content": [text(words)], "isError": true})) })
        }),
        plan("test_tool_with_logging", "Says what it does while it does it.", |call| Box::pin(logging(call))),
        plan("test_logging_tool", "Says what it does while it does it.", |call| Box::pin(logging(call))),
        plan("test_tool_with_progress", "Says how far it is.", |call| Box::pin(progress(call))),
        plan("test_trigger_tool_change", "Adds a tool, or takes it away.", |call| {
            Box::pin(async move { change_tools(&call) })
        }),
        plan("test_trigger_prompt_change", "Adds a prompt, or takes it away.", |call| {
            call.stage.behind.change_prompts();
            Box::pin(async { Ok(said("The prompts are other ones now.")) })
        }),
        plan("test_reconnection", "Takes a while.", |_| {
            Box::pin(async {
                sleep(PAUSE).await;
                Ok(said("Reconnection test completed."))
            })
        }),
    ]
}

/// Those whose schema is what matters.
fn with_input() -> Vec<Plan> {
    vec![
        Plan {
            name: "json_schema_2020_12_tool",
            description: "Tool with JSON Schema 2020-12 features",
            schema: rich_schema(),
            run: |call| Box::pin(async move { Ok(said(&format!("It was given {}.", call.input))) }),
        },
        Plan {
            name: "test_header_argument",
            description: "Has an argument that stands in a header too.",
            schema: json!({
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
                "required": ["region"],
            }),
            run: |call| Box::pin(async move { Ok(said(&call.text("region"))) }),
        },
    ]
}

fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

async fn logging(call: Call) -> Result<Value, Failure> {
    let lines = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    for (index, line) in lines.into_iter().enumerate() {
        if index > 0 {
            sleep(PAUSE).await;
        }
        call.front.log(&Map::from_iter([
            ("level".to_owned(), json!("info")),
            ("logger".to_owned(), json!("fixture")),
            ("data".to_owned(), json!(line)),
        ]));
    }
    Ok(said("Tool with logging executed."))
}

async fn progress(call: Call) -> Result<Value, Failure> {
    for done in [0, 50, 100] {
        if done > 0 {
            sleep(PAUSE).await;
        }
        call.front.progress(&Map::from_iter([
            ("progress".to_owned(), json!(done)),
            ("total".to_owned(), json!(100)),
        ]));
    }
    Ok(said("Tool with progress executed."))
}

fn change_tools(call: &Call) -> Result<Value, Failure> {
    let mut added = call.stage.added.lock().unwrap_or_else(PoisonError::into_inner);
    *added = if let Some(handle) = added.take() {
        drop(handle);
        None
    } else {
        let plan = plan("test_added_tool", "Comes and goes.", |_| Box::pin(async { Ok(said("Here.")) }));
        let registered = call.stage.catalogue.register(plan.tool(&call.stage), "fixture");
        Some(registered.map_err(|error| Failure::internal(error.to_string()))?)
    };
    Ok(said("The tools are other ones now."))
}
