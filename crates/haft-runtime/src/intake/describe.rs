//! What a call touches, in words for the trace.

use haft_core::{Effects, RealPath, Touch};
use std::borrow::Cow;

/// One line for the step "effects".
pub(crate) fn describe(effects: &Effects<RealPath>) -> Cow<'static, str> {
    match effects {
        Effects::Everything => "not stated: judged as a whole".into(),
        Effects::Delegated => "only makes other calls".into(),
        Effects::Only(touches) if touches.is_empty() => "touches nothing".into(),
        Effects::Only(touches) => touches.iter().map(one).collect::<Vec<_>>().join(", ").into(),
    }
}

fn one(touch: &Touch<RealPath>) -> String {
    match touch {
        Touch::Read(path) => format!("reads {path}"),
        Touch::Write(path) => format!("writes {path}"),
        Touch::ReadTree(path) => format!("reads in {path}"),
        Touch::WriteTree(path) => format!("writes in {path}"),
        Touch::Host(host) => format!("contacts {host}"),
        Touch::Command(line) => format!("runs {line}"),
        Touch::Server(name) => format!("asks the server {name}"),
        Touch::Session(key) => format!("changes {key}"),
        Touch::Unconfined => "leaves the sandbox".to_owned(),
        Touch::Outlives => "outlives the session".to_owned(),
    }
}
