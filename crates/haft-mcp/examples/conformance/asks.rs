//! Tools that ask their client something first.

use crate::{
    sample::said,
    tool::{Call, Plan},
    tools::plan,
};
use haft_core::Failure;
use haft_mcp::{Front, RpcError};
use serde_json::{Map, Value, json};

/// The tools.
pub(crate) fn plans() -> Vec<Plan> {
    let mut plans = with_requests_of_a_server();
    plans.extend(with_input_required());
    plans
}

fn with_requests_of_a_server() -> Vec<Plan> {
    let one =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        Plan {
            name: "test_sampling",
            description: "Asks the client's model.",
            schema: one("prompt"),
            run: |call| Box::pin(sampling(call)),
        },
        Plan {
            name: "test_elicitation",
            description: "Asks the client's user.",
            schema: one("message"),
            run: |call| Box::pin(elicitation(call)),
        },
        plan("test_elicitation_sep1034_defaults", "Asks with defaults.", |call| {
            Box::pin(filled_in(call, "Please review", defaults()))
        }),
        plan("test_elicitation_sep1330_enums", "Asks for choices.", |call| {
            Box::pin(filled_in(call, "Please choose", choices()))
        }),
        plan("test_missing_capability", "Needs a client that lends its model.", |call| {
            Box::pin(async move { Ok(said(&spoken(&ask(&call, "question", model("Hello", 100)).await?))) })
        }),
        plan("test_streaming_elicitation", "Asks the client's user.", |call| {
            Box::pin(async move {
                let answer = ask(&call, "answer", person("What is your name?", "name")).await?;
                Ok(said(&format!("It was {answer}.")))
            })
        }),
    ]
}

fn with_input_required() -> Vec<Plan> {
    vec![
        plan("test_input_required_result_elicitation", "Greets by name.", |call| {
            Box::pin(async move {
                let answer = ask(&call, "user_name", person("What is your name?", "name")).await?;
                match answer["content"]["name"].as_str() {
                    Some(name) => Ok(said(&format!("Hello, {name}!"))),
                    None => Ok(said("Hello, whoever you are!")),
                }
            })
        }),
        plan("test_input_required_result_sampling", "Asks the model for a capital.", |call| {
            Box::pin(async move {
                let request = model("What is the capital of France?", 100);
                Ok(said(&spoken(&ask(&call, "capital_question", request).await?)))
            })
        }),
        plan("test_input_required_result_list_roots", "Names the client's folders.", |call| {
            Box::pin(async move {
                let answer = ask(&call, "client_roots", roots()).await?;
                Ok(said(&format!("The roots are {}.", answer["roots"])))
            })
        }),
        plan("test_input_required_result_request_state", "Wants a confirmation.", |call| {
            Box::pin(confirmed(call))
        }),
        plan("test_input_required_result_tampered_state", "Wants a confirmation.", |call| {
            Box::pin(confirmed(call))
        }),
        plan("test_input_required_result_multiple_inputs", "Asks three things at once.", |call| {
            Box::pin(async move {
                let requests = Map::from_iter([
                    ("user_name".to_owned(), person("What is your name?", "name")),
                    ("greeting".to_owned(), model("Generate a greeting", 50)),
                    ("client_roots".to_owned(), roots()),
                ]);
                let answers = ask_all(&call, requests).await?;
                Ok(said(&format!("It was all answered: {}.", Value::Object(answers))))
            })
        }),
        plan("test_input_required_result_multi_round", "Asks one thing after the other.", |call| {
            Box::pin(async move {
                let name = ask(&call, "step1", person("Step 1: What is your name?", "name")).await?;
                let color =
                    ask(&call, "step2", person("Step 2: What is your favorite color?", "color")).await?;
                Ok(said(&format!("{} likes {}.", name["content"]["name"], color["content"]["color"])))
            })
        }),
        plan("test_input_required_result_capabilities", "Asks what the client can answer.", |call| {
            Box::pin(async move {
                let all = [
                    ("elicitation", person("What is your name?", "name")),
                    ("sampling", model("Generate a greeting", 50)),
                    ("roots", roots()),
                ];
                let can = call.front.capabilities();
                let asked = all.into_iter().filter(|(name, _)| can.contains_key(*name));
                let requests: Map<String, Value> =
                    asked.map(|(name, request)| (name.to_owned(), request)).collect();
                if requests.is_empty() {
                    return Ok(said("The client can answer nothing."));
                }
                Ok(said(&format!("It was {}.", Value::Object(ask_all(&call, requests).await?))))
            })
        }),
    ]
}

async fn sampling(call: Call) -> Result<Value, Failure> {
    let answer = ask(&call, "prompt", model(&call.text("prompt"), 100)).await?;
    Ok(said(&format!("LLM response: {}", spoken(&answer))))
}

async fn elicitation(call: Call) -> Result<Value, Failure> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    });
    let answer = ask(&call, "user", form(&call.text("message"), schema)).await?;
    Ok(said(&format!("User response: {answer}")))
}

async fn filled_in(call: Call, message: &str, schema: Value) -> Result<Value, Failure> {
    let answer = ask(&call, "form", form(message, schema)).await?;
    Ok(said(&format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"])))
}

async fn confirmed(call: Call) -> Result<Value, Failure> {
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]});
    let answer = ask(&call, "confirm", form("Please confirm", schema)).await?;
    Ok(said(&format!("state-ok: {}", answer["content"])))
}

async fn ask(call: &Call, key: &str, request: Value) -> Result<Value, Failure> {
    let mut answers = ask_all(call, Map::from_iter([(key.to_owned(), request)])).await?;
    Ok(answers.remove(key).unwrap_or_default())
}

async fn ask_all(call: &Call, requests: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    call.front.ask(requests).await.map_err(|error| refused(call.front.as_ref(), error))
}

/// A client that lacks a capability is told so by an error of the protocol; anything else is a result.
fn refused(front: &dyn Front, error: RpcError) -> Failure {
    let failure = Failure::internal(error.message.as_str());
    if error.code == RpcError::MISSING_CAPABILITY {
        front.refuse(error);
    }
    failure
}

fn form(message: &str, schema: Value) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

/// A form with one text.
pub(crate) fn person(message: &str, field: &str) -> Value {
    form(message, json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}))
}

fn model(prompt: &str, tokens: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// What a model said.
fn spoken(answer: &Value) -> String {
    answer["content"]["text"].as_str().map_or_else(|| answer["content"].to_string(), str::to_owned)
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
        "required": [],
    })
}

fn choices() -> Value {
    let titled = |of: &[(&str, &str)]| -> Vec<Value> {
        of.iter().map(|(value, title)| json!({"const": value, "title": title})).collect()
    };
    let options =
        titled(&[("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")]);
    let several =
        titled(&[("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice")]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": options},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {"type": "array", "items": {"anyOf": several}},
        },
        "required": [],
    })
}
