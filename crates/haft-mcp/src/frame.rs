//! One message as it came: what kind it is, and its parts as raw text. Leaves their meaning to `peer`.

use crate::fault::Fault;
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, value::RawValue};
use std::sync::Arc;

/// How long an id may be, which stands in all that is said of its request.
const ID_MAX_BYTES: usize = 1_024;

/// A request's id; two spellings of one number are one id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Number(i64),
    Text(Arc<str>),
}

/// One message.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    /// Wants a reply.
    Request(Asked<'a>),
    /// Wants none.
    Notification { method: String, params: Option<&'a RawValue> },
    /// Answers a request of ours, by a result or by an error; without a readable id it answers none.
    Reply { id: Option<Id>, answer: Result<&'a RawValue, &'a RawValue> },
    /// No message of the protocol; with the id where there is one that can be answered.
    Fault { id: Option<&'a str>, fault: Fault },
}

/// A request.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) id: Id,
    /// The id as it was written, to be written so again.
    pub(crate) raw_id: &'a str,
    pub(crate) method: String,
    /// An object, where there is one.
    pub(crate) params: Option<&'a RawValue>,
}

/// The parts of a message as raw text.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) error: Option<&'a RawValue>,
}

/// Tells `null` from nothing.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&'de RawValue>::deserialize(deserializer).map(Some)
}

impl Id {
    /// The id as text, for the log.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.as_ref().to_owned(),
        }
    }

    /// The id that a JSON text stands for, if it is one.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        match serde_json::from_str::<Value>(raw.get()).ok()? {
            Value::String(text) => Some(Self::Text(text.into())),
            Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)).map(Self::Number),
            _ => None,
        }
    }
}

/// `1.0` and `1e2` are whole numbers in float form; from 2^53 on a float no longer says which.
fn whole(number: f64) -> Option<i64> {
    let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    exact.then(|| format!("{number:.0}").parse().ok()).flatten()
}

/// Reads one line.
pub(crate) fn parse(line: &str) -> Frame<'_> {
    if !line.starts_with('{') {
        let fault = match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => Fault::invalid_request(
                "a message is one JSON object; arrays of them are of revision 2025-03-26 alone",
            ),
            Err(error) => Fault::not_json(&error.to_string()),
        };
        return Frame::Fault { id: None, fault };
    }
    match serde_json::from_str::<Envelope<'_>>(line) {
        Ok(envelope) => sort(&envelope),
        Err(error) if error.is_data() => {
            Frame::Fault { id: None, fault: Fault::invalid_request(&error.to_string()) }
        }
        Err(error) => Frame::Fault { id: None, fault: Fault::not_json(&error.to_string()) },
    }
}

fn sort<'a>(envelope: &Envelope<'a>) -> Frame<'a> {
    let short = envelope.id.filter(|raw| raw.get().len() <= ID_MAX_BYTES);
    let id = short.and_then(|raw| Id::read(raw).map(|id| (id, raw.get())));
    let readable = id.as_ref().map(|(_, raw)| *raw);
    let refuse = |fault: Fault| Frame::Fault { id: readable, fault };
    if envelope.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
        return refuse(Fault::invalid_request("\"jsonrpc\" must be \"2.0\""));
    }
    let answer = envelope.result.map(Ok).or_else(|| envelope.error.map(Err));
    let method = match (envelope.method, answer) {
        (Some(_), Some(_)) => {
            return refuse(Fault::invalid_request("\"method\" can't stand beside \"result\" or \"error\""));
        }
        (Some(method), None) => method,
        (None, Some(answer)) => return Frame::Reply { id: id.map(|(id, _)| id), answer },
        (None, None) => return refuse(Fault::invalid_request("\"method\" is missing")),
    };
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return refuse(Fault::invalid_request("\"method\" must be a string"));
    };
    let params = envelope.params.filter(|params| params.get() != "null");
    let is_object = params.is_none_or(|params| params.get().starts_with('{'));
    match (envelope.id, id) {
        (None, _) => Frame::Notification { method, params: params.filter(|_| is_object) },
        (Some(_), None) => refuse(Fault::invalid_request(&format!(
            "\"id\" must be a string or a whole number, of at most {ID_MAX_BYTES} bytes"
        ))),
        (Some(_), Some(_)) if !is_object => refuse(Fault::invalid_params("\"params\" must be an object")),
        (Some(_), Some((id, raw_id))) => Frame::Request(Asked { id, raw_id, method, params }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_fault(line: &str, code: i64, id: Option<&str>) {
        match parse(line) {
            Frame::Fault { id: found, fault } => assert_eq!((fault.error.code, found), (code, id), "{line}"),
            other => panic!("{line} was read as {other:?}"),
        }
    }

    #[test]
    fn parts_of_a_request_stay_as_written() {
        let line = r#"{"id": 1.0, "jsonrpc":"2.0","params": {"a": 1.50},"method":"m"}"#;
        let Frame::Request(asked) = parse(line) else { panic!("a request") };
        assert_eq!((asked.id, asked.raw_id, asked.method.as_str()), (Id::Number(1), "1.0", "m"));
        assert_eq!(asked.params.unwrap().get(), r#"{"a": 1.50}"#);
    }

    #[test]
    fn faults_carry_the_id_where_it_can_be_read() {
        check_fault("{", -32_700, None);
        check_fault("hello", -32_700, None);
        check_fault(r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, -32_600, None);
        check_fault(r#"{"jsonrpc":"1.0","id":"a","method":"m"}"#, -32_600, Some("\"a\""));
        check_fault(r#"{"jsonrpc":"2.0","id":7,"method":3}"#, -32_600, Some("7"));
        check_fault(r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32_600, None);
        check_fault(r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32_600, None);
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#, "x".repeat(ID_MAX_BYTES));
        check_fault(&long, -32_600, None);
        check_fault(r#"{"jsonrpc":"2.0","id":7}"#, -32_600, Some("7"));
        check_fault(r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}"#, -32_602, Some("7"));
    }

    #[test]
    fn replies_and_notifications_are_told_apart() {
        let reply = parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(matches!(reply, Frame::Reply { id: Some(Id::Number(1)), answer: Ok(_) }));
        let reply = parse(r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"no"}}"#);
        assert!(matches!(reply, Frame::Reply { id: Some(Id::Text(_)), answer: Err(_) }));
        let note = parse(r#"{"jsonrpc":"2.0","method":"n","params":null}"#);
        assert!(matches!(note, Frame::Notification { method, params: None } if method == "n"));
    }
}
