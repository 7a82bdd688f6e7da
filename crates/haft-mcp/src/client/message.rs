//! What a server says, as it came: replies, requests, notifications; one or, from servers of 2025-03-26, several on a
//! line. Lenient where a slip can't be taken for something else.

use crate::{
    RpcError,
    batch::{BATCH_MAX, each},
    frame::{Envelope, Id},
};
use serde_json::{Value, value::RawValue};

/// How deep a message is read; beyond some more nobody's reader goes.
const DEPTH_MAX: usize = 110;
/// What stands in place of what is nested deeper.
const CUT: &str = "\"[nested too deep to be read]\"";

/// One message.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Answers a request of ours; without an id where the server couldn't read it.
    Reply { id: Option<Id>, result: Result<Value, RpcError> },
    /// Wants an answer.
    Request { raw_id: &'a str, method: String, params: Option<Value> },
    /// Wants none.
    Notification { method: String, params: Option<Value> },
}

/// What there was on a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// How many messages were handed on.
    pub(crate) taken: usize,
    /// How many more there are than are read of one line.
    pub(crate) further: usize,
}

/// Hands the messages of a line on, one after another. Of several on a line all replies are: whoever waits for one that was
/// left out would wait for nothing, and they cost no more than what is open.
pub(crate) fn read<'a>(line: &'a str, mut take: impl FnMut(Message<'a>)) -> Seen {
    let mut seen = Seen::default();
    if !line.starts_with('[') {
        if let Some(message) = read_one(line) {
            seen.taken = 1;
            take(message);
        }
        return seen;
    }
    // Nothing is taken of what isn't whole.
    if each(line, |_| {}).is_err() {
        return seen;
    }
    let mut count = 0_usize;
    let again = each(line, |raw| {
        count += 1;
        match read_one(raw.get()) {
            None if count <= BATCH_MAX => {}
            Some(message) if count <= BATCH_MAX || matches!(message, Message::Reply { .. }) => {
                seen.taken += 1;
                take(message);
            }
            _ => seen.further += 1,
        }
    });
    debug_assert!(again.is_ok(), "it was whole a moment ago");
    seen
}

fn read_one(text: &str) -> Option<Message<'_>> {
    let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
    if let Some(method) = envelope.method {
        let method: String = serde_json::from_str(method.get()).ok()?;
        let params = envelope.params.and_then(value).filter(Value::is_object);
        return Some(match envelope.id.filter(|id| id.get() != "null") {
            Some(id) => Message::Request { raw_id: id.get(), method, params },
            None => Message::Notification { method, params },
        });
    }
    let id = envelope.id.and_then(Id::read);
    if let Some(error) = envelope.error.filter(|error| error.get() != "null") {
        let error = serde_json::from_str(error.get()).unwrap_or_else(|_| RpcError {
            code: 0,
            message: "it gave an error that isn't one of the protocol".to_owned(),
            data: value(error),
        });
        return Some(Message::Reply { id, result: Err(error) });
    }
    // Without an id it answers nothing.
    let id = Some(id?);
    if let Some(result) = envelope.result.and_then(value) {
        return Some(Message::Reply { id, result: Ok(result) });
    }
    // A line of a log may have an id as well, so only what calls itself a message of the protocol is taken for one.
    let is_reply = envelope.jsonrpc.is_some() && envelope.params.is_none();
    is_reply.then(|| Message::Reply {
        id,
        result: Err(RpcError {
            code: 0,
            message: "its reply has neither a result nor an error".to_owned(),
            data: None,
        }),
    })
}

/// A part of a message. What is nested deeper than can be read is cut there, visibly.
fn value(raw: &RawValue) -> Option<Value> {
    let whole = serde_json::from_str(raw.get()).ok();
    whole.or_else(|| serde_json::from_str(&shallow(raw.get())).ok())
}

fn shallow(json: &str) -> String {
    let mut kept = String::with_capacity(json.len());
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for c in json.chars() {
        let was_deep = depth > DEPTH_MAX;
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '{' | '[' => {
                depth += 1;
                if depth == DEPTH_MAX + 1 {
                    kept.push_str(CUT);
                }
            }
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !was_deep && depth <= DEPTH_MAX {
            kept.push(c);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(line: &str) -> Vec<Message<'_>> {
        let mut all = Vec::new();
        read(line, |message| all.push(message));
        all
    }

    #[test]
    fn each_kind_is_told_from_the_others() {
        let reply = messages(r#"{"id":1.0,"result":{"b":1,"a":2}}"#).remove(0);
        assert!(
            matches!(&reply, Message::Reply { id: Some(Id::Number(1)), result: Ok(value) }
                if serde_json::to_string(value).unwrap() == r#"{"b":1,"a":2}"#),
            "{reply:?}"
        );
        let request = messages(r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}"#).remove(0);
        assert!(matches!(request, Message::Request { raw_id: "\"a\"", params: None, .. }));
        let note = messages(r#"{"jsonrpc":"2.0","method":"n","id":null,"params":{"x":1}}"#).remove(0);
        assert!(
            matches!(note, Message::Notification { params: Some(params), .. } if params == json!({"x": 1}))
        );
        let failed =
            messages(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#).remove(0);
        assert!(matches!(failed, Message::Reply { id: None, result: Err(error) } if error.code == -32_700));
    }

    #[test]
    fn slips_are_forgiven_and_noise_is_none() {
        let both = messages(r#"{"id":1,"result":{},"error":null}"#).remove(0);
        assert!(matches!(both, Message::Reply { result: Ok(_), .. }));
        let odd = messages(r#"{"id":1,"error":"no"}"#).remove(0);
        assert!(matches!(odd, Message::Reply { result: Err(error), .. } if error.data == Some(json!("no"))));
        for empty in [r#"{"jsonrpc":"2.0","id":1}"#, r#"{"jsonrpc":"2.0","id":1,"error":null}"#] {
            let Message::Reply { id: Some(Id::Number(1)), result: Err(error) } = messages(empty).remove(0)
            else {
                panic!("{empty} fails what it answers")
            };
            assert!(error.message.contains("neither a result nor an error"), "{empty}");
        }
        for noise in [
            r#"{"id":1,"msg":"started"}"#,
            r#"{"jsonrpc":"2.0","id":1,"params":{}}"#,
            "hello",
            "3",
            "{}",
            "{",
            r#"{"result":{}}"#,
            r#"{"level":"info","msg":"started"}"#,
            "null",
        ] {
            assert!(messages(noise).is_empty(), "{noise}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_cut_and_the_rest_arrives() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let line = format!(r#"{{"id":1,"result":{{"a":{deep},"b":"[\\\"]"}}}}"#);
        let Message::Reply { result: Ok(result), .. } = messages(&line).remove(0) else { panic!("no reply") };
        assert_eq!(result["b"], "[\\\"]");
        assert!(result.to_string().contains("[nested too deep to be read]"));
    }

    #[test]
    fn a_batch_is_several_messages() {
        let all = messages(r#"[{"id":1,"result":{}}, 7, {"method":"n"}]"#);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(messages(r#"[{"id":1,"result":{}}, {"#).is_empty(), "it breaks off");
    }

    #[test]
    fn of_a_batch_that_is_too_long_the_replies_are_read_and_the_rest_counted() {
        let note = r#"{"method":"n"}"#;
        let mut all = vec![note; BATCH_MAX];
        all.extend([note, r#"{"id":1,"result":{}}"#, r#"{"id":5,"method":"ping"}"#, "7"]);
        let mut last = None;
        let seen = read(&format!("[{}]", all.join(",")), |message| {
            last = Some(matches!(message, Message::Reply { id: Some(Id::Number(1)), .. }));
        });
        assert_eq!((seen, last), (Seen { taken: BATCH_MAX + 1, further: 3 }, Some(true)));
    }
}
